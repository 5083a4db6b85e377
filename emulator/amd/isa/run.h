// The interpreter's loop: a wave, from its pc, until it stops or has used up its budget.
#pragma once

#include "emulator/amd/isa/code_cache.h"
#include "emulator/amd/isa/memory.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

// Runs at least one block and then until `budget` instructions have been executed.
//
// Exit::Kind::Budget leaves the wave between two instructions. An illegal instruction and a fault
// leave it before theirs.
Exit run(Wave& wave, Memory& memory, CodeCache& cache, u64 budget);

// The parts of it, for another loop (isa/twin.h): one instruction, and why a block that names
// registers which the wave has not is not run.
Flow run_one(Wave& wave, const Operation& op);
Exit beyond_registers(Wave& wave, const Block& block);

}  // namespace doorbell::emu::amdgpu
