// The name of a kernel from the memory around its code: the emulator is not told names, but code
// objects are loaded with their metadata. See breakpoints.h for which breakpoints a name matches.
#pragma once

#include <string>

#include "emulator/core/address_space.h"

namespace doorbell::emu::amdgpu {

// Of the kernel whose first instruction is at `code`; empty where its code object has several, or
// was loaded without its note.
std::string kernel_name_at(const AddressSpace& space, u64 code);

}  // namespace doorbell::emu::amdgpu
