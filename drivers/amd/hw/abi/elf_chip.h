// Which chip a code object is for, and in which mode: its ELF header's e_flags.
#pragma once

#include <string_view>

#include "base/util/types.h"

namespace doorbell::amd::hw {

// "gfx1100", or empty for a number that is not here. [LLVM AMDGPUUsage "AMDGPU ELF Header e_flags";
// llvm/BinaryFormat/ELF.h EF_AMDGPU_MACH_AMDGCN_*]
std::string_view chip_of_elf_flags(u32 flags);

// The code counts on page faults being retried (XNACK on). e_ident[EI_ABIVERSION] says how it is
// told: two bits since code object V4, before that one. [LLVM AMDGPUUsage "AMDGPU ELF Header
// e_flags for Code Object V3", "... V4 and V5"; EF_AMDGPU_FEATURE_XNACK_V3, _ON_V4]
bool is_xnack_on(u32 flags, u8 abi_version);

}  // namespace doorbell::amd::hw
