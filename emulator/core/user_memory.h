// Access to the client's memory as from the kernel: a bad pointer is EFAULT, never a crash.
#pragma once

#include <span>

#include "base/util/types.h"

namespace doorbell::emu {

// False if a byte cannot be read or written. [copy_from_user(), copy_to_user()]
bool copy_in(void* into, u64 user, usize bytes);
bool copy_out(u64 user, const void* from, usize bytes);
// Whether the range is in a process's address space. [access_ok()]
bool access_ok(u64 user, u64 bytes);
// 0: the process may write all of it; EFAULT: some of it is not mapped; EPERM: some is read-only.
// [hmm_range_fault() with HMM_PFN_REQ_WRITE]
int writable(u64 user, u64 bytes);

}  // namespace doorbell::emu
