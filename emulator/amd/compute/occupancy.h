// How many groups of a dispatch the compute units hold at a time: as many run beside each other,
// the others wait until one of them has ended. See grid.h for the order.
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

// At least 1: callers refuse a dispatch that the chip cannot hold at all. The dispatch has them all
// to itself: what other dispatches hold at the time is not counted.
u64 max_resident_groups(const Chip& chip, const ComputeUnits& units, const Dispatch& dispatch);

}  // namespace doorbell::emu::amdgpu
