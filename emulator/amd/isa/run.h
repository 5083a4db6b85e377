// The interpreter's loop: a wave, from its pc, until it stops or has used up its budget.
#pragma once

#include "emulator/amd/isa/count/wave_counter.h"
#include "emulator/amd/isa/decode/code_cache.h"
#include "emulator/amd/isa/judges.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

// Runs at least one block and then until `budget` instructions have been executed.
//
// Exit::Kind::Budget leaves the wave between two instructions. An illegal instruction and a fault
// leave it before theirs.
Exit run(Wave& wave, Memory& memory, CodeCache& cache, u64 budget);
// The same, and counts.
Exit run_counted(Wave& wave, Memory& memory, CodeCache& cache, u64 budget, WaveCounter& counter);
// The same, and is judged.
Exit run_judged(Wave& wave, Memory& memory, CodeCache& cache, u64 budget, const Judges& judges);

// Parts of run() that the loop of isa/shadow/twin.h shares: one instruction, and the exit of a
// block that names registers which the wave does not have.
Flow run_one(Wave& wave, const Operation& op);
Exit beyond_registers(Wave& wave, const Block& block);

}  // namespace doorbell::emu::amdgpu
