// DS instructions that move values among lanes without memory: swizzle, permute, bpermute; and
// append and consume, which count lanes. [RDNA3 ISA, "DS_SWIZZLE_B32", "DS_PERMUTE_B32"; CDNA3 ISA]
#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/private_access.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

void write_active(Wave& wave, const Operation& op, u64 active, const u32* values) {
  u32* dst = wave.v + op.dst_row;
  for_each_lane(active, [&](u32 lane) { dst[lane] = values[lane]; });
}

// The lane that lane i of 32 reads.
u32 swizzle_lane(u32 pattern, u32 i) {
  constexpr u32 kFft = 0xe000, kRotate = 0xc000, kQuad = 0x8000;
  if (pattern >= kFft) {
    const u32 mask = pattern & 31;
    const u32 reversed = (i & 1) << 4 | (i & 2) << 2 | (i & 4) | (i & 8) >> 2 | (i & 16) >> 4;
    return reversed >> std::popcount(mask) | (i & mask);
  }
  if (pattern >= kRotate) {
    const bool down = (pattern >> 10 & 1) != 0;
    const u32 count = pattern >> 5 & 31, mask = pattern & 31;
    const u32 rotated = (down ? i + 32 - count : i + count) & 31;
    return (i & mask) | (rotated & ~mask & 31);
  }
  if (pattern >= kQuad) return (i & ~3u) | (pattern >> (i & 3) * 2 & 3);
  const u32 keep = pattern & 31, set = pattern >> 5 & 31, flip = pattern >> 10 & 31;
  return ((i & keep) | set) ^ flip;
}

// Inactive lanes read as zero.
Flow swizzle(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  const u32 pattern = static_cast<u32>(op.immediate);
  const u32* src = wave.v + op.src[kAddress].row;
  u32 values[64];
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    const u32 from = (lane & 32) | swizzle_lane(pattern, lane & 31);
    values[lane] = (active >> from & 1) != 0 ? src[from] : 0;
  }
  write_active(wave, op, active, values);
  return Flow::Next;
}

// Lanes that one permutation reaches: gfx10 and gfx11 permute the halves of a wave of 64 apart.
// [LLVM, GCNSubtarget::supportsWaveWideBPermute]
u32 permuted_lanes(const Wave& wave) {
  const Generation generation = wave.chip->generation;
  return generation == Generation::Gfx10 || generation == Generation::Gfx11 ? 32 : wave.lanes;
}

template <bool kFetchInactive>
Flow bpermute(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  const u32* address = wave.v + op.src[kAddress].row;
  const u32* src = wave.v + op.src[kData].row;
  const u32 reach = permuted_lanes(wave), offset = static_cast<u32>(op.immediate);
  u32 values[64];
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    const u32 from = (lane & ~(reach - 1)) | ((address[lane] + offset) / 4 & (reach - 1));
    values[lane] = kFetchInactive || (active >> from & 1) != 0 ? src[from] : 0;
  }
  write_active(wave, op, active, values);
  return Flow::Next;
}

// Of several lanes that send to one, the highest wins.
Flow permute(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  const u32* address = wave.v + op.src[kAddress].row;
  const u32* src = wave.v + op.src[kData].row;
  const u32 reach = permuted_lanes(wave), offset = static_cast<u32>(op.immediate);
  u32 values[64] = {};
  for_each_lane(active, [&](u32 lane) {
    const u32 to = (lane & ~(reach - 1)) | ((address[lane] + offset) / 4 & (reach - 1));
    values[to] = src[lane];
  });
  write_active(wave, op, active, values);
  return Flow::Next;
}

// The number of active lanes is added to (taken from) the dword at M0; all get what was there.
template <bool kAppend>
Flow count_lanes(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  const u32 address = (wave.s[kM0] & 0xffff) + static_cast<u32>(op.immediate);
  u32 addresses[64];
  std::fill_n(addresses, 64, address);
  u64 within = active;
  if (check_lds(wave, op, within, addresses, 4, LdsAccess::AtomicResult) == Flow::Stop)
    return Flow::Stop;
  const u32 before = within != 0 ? read_as<u32>(wave.lds + address) : 0;
  const u32 count = static_cast<u32>(std::popcount(active));
  const u32 after = kAppend ? before + count : before - count;
  if (within != 0) std::memcpy(wave.lds + address, &after, 4);
  u32* dst = wave.v + op.dst_row;
  for_each_lane(active, [&](u32 lane) { dst[lane] = before; });
  return Flow::Next;
}

constexpr Shape kShape{.flags = kMemory | kNoLaneAddress, .wide = {1, 1, 0, 0, 0}};
constexpr Shape kResult{.flags = kMemory | kNoLaneAddress | kM0Address, .wide = {1, 0, 0, 0, 0}};
constexpr Shape kTwoOperands{.flags = kMemory | kNoLaneAddress, .wide = {1, 1, 1, 0, 0}};

constexpr Entry kTable[] = {
    {"DS_SWIZZLE_B32", kShape, &swizzle},
    {"DS_BPERMUTE_B32", kTwoOperands, &bpermute<false>},
    {"DS_BPERMUTE_FI_B32", kTwoOperands, &bpermute<true>},
    {"DS_PERMUTE_B32", kTwoOperands, &permute},
    {"DS_APPEND", kResult, &count_lanes<true>},
    {"DS_CONSUME", kResult, &count_lanes<false>},
};

}  // namespace

HandlerTable lds_lanes_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
