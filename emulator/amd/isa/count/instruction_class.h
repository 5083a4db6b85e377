// The class under which an instruction is counted (emulator/core/counts.h).
#pragma once

#include "emulator/amd/isa/operation.h"
#include "emulator/core/counts.h"

namespace doorbell::emu::amdgpu {

InstructionClass class_of(const Operation& op);

}  // namespace doorbell::emu::amdgpu
