// The lanes' addresses of one access: 32-bit offsets from a common base if they fit, so that the
// host finds all lanes' bytes with one lookup and vectors of offsets.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/util/types.h"
#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/operation.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

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

// Processes lanes in steps of a constant size, which the compiler vectorises.
constexpr u32 kLaneStep = 32;

// Copies a row of lanes; the sizes are known to the compiler.
inline void copy_row(void* to, const void* from, u32 lanes) {
  if (lanes == 32) {
    std::memcpy(to, from, 32 * sizeof(u32));
  } else {
    std::memcpy(to, from, 64 * sizeof(u32));
  }
}

inline void LaneAddresses::find_ends(u64 active, u32 lanes) {
  u32 smallest = ~0u, largest = 0;
  if (active == (lanes == 64 ? ~u64{0} : 0xffffffffu)) {
    for (u32 first = 0; first < lanes; first += kLaneStep) {
      for (u32 i = 0; i < kLaneStep; ++i) {
        smallest = std::min(smallest, offset[first + i]);
        largest = std::max(largest, offset[first + i]);
      }
    }
  } else {
    for (u64 left = active; left != 0; left &= left - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(left));
      smallest = std::min(smallest, offset[lane]);
      largest = std::max(largest, offset[lane]);
    }
  }
  low = smallest;
  high = largest;
}

// 64-bit addresses in two registers: compact when all are within two GiB of the first's.
void wide_addresses(const Wave& wave, const Operation& op, u64 active, LaneAddresses& out);

// FLAT and GLOBAL, as decode_memory.h lays the operands out. `active` is not empty.
inline void global_addresses(const Wave& wave, const Operation& op, u64 active,
                             LaneAddresses& out) {
  const Source& scalar = op.src[kScalarAddress];
  if (scalar.kind != Source::Kind::Scalar) return wide_addresses(wave, op, active, out);
  // A 32-bit offset without sign.
  out.base = wave.pair(scalar.index) + static_cast<u64>(op.immediate);
  out.compact = true;
  copy_row(out.offset, wave.v + op.src[kAddress].row, wave.lanes);
  out.find_ends(active, wave.lanes);
}

// SCRATCH: each lane's offset in its own scratch.
void scratch_offsets(const Wave& wave, const Operation& op, u32* out);

// The position of a byte of a lane's scratch in the wave's: the dwords of all lanes are adjacent.
constexpr u64 swizzle_scratch(u32 offset, u32 lane, u32 lanes) {
  return u64{offset / 4} * lanes * 4 + lane * 4 + offset % 4;
}

}  // namespace doorbell::emu::amdgpu
