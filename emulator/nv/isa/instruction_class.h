// The class under which an instruction is counted (emulator/core/counts.h).
#pragma once

#include "emulator/core/counts.h"
#include "emulator/nv/isa/opcode.h"

namespace doorbell::emu::nvgpu {

// Null, an unknown instruction: Other.
InstructionClass class_of(const Opcode* opcode);

}  // namespace doorbell::emu::nvgpu
