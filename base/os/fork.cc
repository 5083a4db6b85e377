// Counted by the child itself: asking the system for the process's number costs a call each time.
#include "base/os/fork.h"

#include <pthread.h>

#include <atomic>

namespace doorbell::os {

namespace {
constinit std::atomic<u32> depth{0};
}

u32 fork_depth() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { depth.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;  // it fails for want of memory only, and then forks go unseen
  return depth.load(std::memory_order_relaxed);
}

Result<void> ForkGuard::check(std::string_view devices) const {
  if (is_same_process()) [[likely]]
    return {};
  return fail(ErrorKind::Unsupported,
              "{} were opened before this process was forked and cannot be used in a forked "
              "process; start it with spawn or exec",
              devices);
}

}  // namespace doorbell::os
