// How many groups of a dispatch the compute units hold at a time: those run at once, the others
// wait until one of them has ended. See grid.h for the order.
#pragma once

#include "emulator/amd/compute/dispatch.h"
#include "emulator/amd/compute/wave_start.h"
#include "emulator/amd/isa/chip.h"

namespace doorbell::emu::amdgpu {

// The compute units of one XCC.
struct ComputeUnits {
  u32 count = 8;
  u32 simds = 2;            // of each
  u32 waves_per_simd = 16;  // slots
  u32 vgpr_bytes = 131072;  // of a SIMD's register file
};

// At least 1: callers reject a dispatch that the chip cannot hold at all. Assumes that no other
// dispatch uses the compute units.
u64 max_resident_groups(const Chip& chip, const ComputeUnits& units, const Dispatch& dispatch);

}  // namespace doorbell::emu::amdgpu
