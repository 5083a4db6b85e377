// The ioctl that a thread executes, so that reports name it, and so that no ioctl fails without a
// message. The objects behind the ioctls decide what to report, by which rule.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "emulator/amd/kfd/kfd_checks.h"

namespace doorbell::emu::amdgpu {

// Thread safety: used by one thread, during its ioctl.
class Calling {
 public:
  explicit Calling(const char* ioctl) : ioctl_(ioctl), outer_(std::exchange(now_, this)) {}
  ~Calling() { now_ = outer_; }
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;

  // "FREE_MEMORY_OF_GPU: handle 0x4d does not exist"; outside of ioctls only the message.
  static std::string tell(std::string message) {
    if (!now_) return message;
    now_->has_told_ = true;
    return fmt::format("{}: {}", now_->ioctl_, message);
  }
  // Marks this failure as one that clients expect.
  static void expect_failure() {
    if (now_) now_->has_told_ = true;
  }

  // To be called when the ioctl returns `why`, an errno or 0: reports an error that was not
  // reported yet.
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
