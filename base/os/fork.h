// Whether this process was forked. What other threads, a device or the kernel keep for a process,
// its children do not have.
//
// Thread safety: from any thread.
#pragma once

#include "base/util/types.h"

namespace doorbell::os {

// How many forks lie between the process that asked first and this one: whoever remembers the
// number sees by another one that he was copied into a child.
u32 fork_depth();

}  // namespace doorbell::os
