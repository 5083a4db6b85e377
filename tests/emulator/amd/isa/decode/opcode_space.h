// Every opcode that the instruction formats of a chip have room for, as words: what LLVM's
// disassembler makes of them is what the chip has. Of each, the forms that differ in more than
// operands: SDWA and DPP, addresses, results returned or not.
#pragma once

#include <array>
#include <vector>

#include "emulator/amd/isa/chip.h"

namespace doorbell::testing {

using Words = std::array<u32, 4>;

// Images, exports, interpolation, and parameter loads are in formats of their own and not here:
// graphics, which the emulated GPUs have none of.
std::vector<Words> opcode_space(emu::amdgpu::Generation generation);

}  // namespace doorbell::testing
