// The ioctl that a thread is in, so that whatever is told of it names it, and so that none fails
// without a word. The objects behind the ioctls decide what to report, by which rule.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "emulator/amd/kfd/kfd_checks.h"

namespace doorbell::emu::amdgpu {

// Thread safety: of one thread, for as long as its ioctl lasts.
class Calling {
 public:
  explicit Calling(const char* ioctl) : ioctl_(ioctl), outer_(std::exchange(now_, this)) {}
  ~Calling() { now_ = outer_; }
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;

  // "FREE_MEMORY_OF_GPU: handle 0x4d does not exist"; outside of ioctls the message as it is.
  static std::string tell(std::string message) {
    if (!now_) return message;
    now_->has_told_ = true;
    return fmt::format("{}: {}", now_->ioctl_, message);
  }
  // This failure is an answer that clients ask for.
  static void expect_failure() {
    if (now_) now_->has_told_ = true;
  }

  // The ioctl returns `why`, an errno or 0: told, unless it was.
  void judge(Checks& checks, int why) const {
    if (why == 0 || has_told_) return;
    checks.report(kProcess,
                  fmt::format("{}: {}", ioctl_,
                              why == EFAULT ? "its argument, or an array that it points to, is "
                                              "not memory of the process"
                                            : std::strerror(why)));
  }

 private:
  static inline thread_local Calling* now_ = nullptr;
  const char* ioctl_;  // a literal
  Calling* outer_;
  bool has_told_ = false;
};

}  // namespace doorbell::emu::amdgpu
