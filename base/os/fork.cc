// The child counts its fork itself: getpid() would cost a system call each time.
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
  (void)registered;  // fails only without memory; forks are then not detected
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
