// Whether this process was forked. What other threads, a device or the kernel keep for a process,
// its children do not have.
//
// Thread safety: from any thread.
#pragma once

#include <string_view>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::os {

// How many forks lie between the process that asked first and this one: whoever remembers the
// number sees by another one that he was copied into a child.
u32 fork_depth();

// Remembers the process in which it was made.
class ForkGuard {
 public:
  bool is_same_process() const { return fork_depth() == depth_; }
  // Unsupported in a child, of which `devices` ("OpenCL's devices") were opened before.
  Result<void> check(std::string_view devices) const;

 private:
  u32 depth_ = fork_depth();
};

}  // namespace doorbell::os
