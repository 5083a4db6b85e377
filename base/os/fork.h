// Detects that this process is a forked child, which has none of its parent's threads, devices and
// kernel objects.
//
// Thread safety: from any thread.
#pragma once

#include <string_view>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::os {

// How many forks lie between the process that asked first and this one. A number that differs from
// a remembered one means that this is a child.
u32 fork_depth();

// Remembers the process in which it was made.
class ForkGuard {
 public:
  bool is_same_process() const { return fork_depth() == depth_; }
  // Fails with Unsupported in a child whose parent had opened `devices` ("OpenCL's devices").
  Result<void> check(std::string_view devices) const;

 private:
  u32 depth_ = fork_depth();
};

}  // namespace doorbell::os
