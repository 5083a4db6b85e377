// Where the lanes of one instruction's access are. Offsets of 32 bits from a common base wherever
// they fit, so that the host finds all lanes' bytes with one lookup and vectors of offsets.
#pragma once

#include "base/util/types.h"
#include "emulator/amd/isa/operation.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emulator::amd {

struct LaneAddresses {
  u64 base = 0;
  u32 low = 0, high = 0;  // the smallest and the largest offset of an active lane
  bool compact = true;    // else `wide` holds the addresses
  alignas(64) u32 offset[64];
  alignas(64) u64 wide[64];

  u64 at(u32 lane) const { return compact ? base + offset[lane] : wide[lane]; }
  // Sets low and high from the active lanes' offsets. At least one is active.
  void find_ends(u64 active, u32 lanes);
};

// FLAT and GLOBAL, as decode_memory.h lays the operands out. `active` is not empty.
void global_addresses(const Wave& wave, const Operation& op, u64 active, LaneAddresses& out);

// SCRATCH: each lane's offset in its own scratch.
void scratch_offsets(const Wave& wave, const Operation& op, u32* out);

// Where the byte of a lane's scratch is in the wave's: dwords of all lanes beside each other.
constexpr u64 swizzle_scratch(u32 offset, u32 lane, u32 lanes) {
  return u64{offset / 4} * lanes * 4 + lane * 4 + offset % 4;
}

}  // namespace doorbell::emulator::amd
