// Which chip a code object is for: the low byte of its ELF header's e_flags.
#pragma once

#include <string_view>

#include "base/util/types.h"

namespace doorbell::amd::hw {

// "gfx1100", or empty for a number that is not here. [LLVM AMDGPUUsage "AMDGPU ELF Header e_flags";
// llvm/BinaryFormat/ELF.h EF_AMDGPU_MACH_AMDGCN_*]
std::string_view chip_of_elf_flags(u32 flags);

}  // namespace doorbell::amd::hw
