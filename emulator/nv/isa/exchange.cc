// Values between the lanes of a warp. Only running lanes take part: code that needs others waits
// for them first (WARPSYNC). [PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync"]
#include <algorithm>

#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/lanes.h"

namespace doorbell::emu::nvgpu {

// The lane to read is computed from the lane or distance b and from c: bits 0 to 4 clamp, bits 8 to
// 12 are the mask of the segment.
Flow shuffle(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op), mode = op.field(58, 2);
  const Row& from = row_of(warp, op.a);
  alignas(64) u32 out[kLanes];
  u32 inside = 0;
  for (u32 i = 0; i < kLanes; ++i) {
    const u32 b = op.form == 1 || op.form == 2 ? warp.rows[op.field(32, 8)][i] : op.field(53, 5);
    const u32 c = op.form == 1 || op.form == 4 ? row_of(warp, op.e)[i] : op.field(40, 13);
    const u32 segment = c >> 8 & 31, distance = b & 31;
    const u32 last = (i & segment) | (c & 31 & ~segment), first = i & segment;
    u32 lane = i;
    bool good = true;
    switch (mode) {
      case 0: lane = first | (distance & ~segment), good = lane <= last; break;  // IDX
      case 1: lane = i - distance, good = static_cast<i32>(lane) >= static_cast<i32>(last); break;
      case 2: lane = i + distance, good = lane <= last; break;   // DOWN
      default: lane = i ^ distance, good = lane <= last; break;  // BFLY
    }
    if (!good) lane = i;
    out[i] = from[lane & 31];
    inside |= static_cast<u32>(good) << i;
  }
  store_row(warp, op.dst, out, mask);
  set_predicate(warp, op.p, inside, mask);
  return Flow::Next;
}

// Bits 72 and 73: all, any, equal. The ballot goes to a register.
Flow vote(Warp& warp, const Operation& op) {
  const bool uniform = op.opcode->flags & kUniform;
  const u32 guard = warp.guard_of(op) & (uniform ? kAllLanes : warp.active);
  const u32 voters = uniform ? warp.active : guard;
  const u32 votes = predicate_of(warp, op.in_p, op.not_p) & voters;
  const u32 kind = op.field(72, 2);
  const bool result = kind == 0   ? votes == voters
                      : kind == 1 ? votes != 0
                                  : votes == voters || votes == 0;
  alignas(64) u32 out[kLanes];
  for (u32& word : out) word = votes;
  const u32 mask = uniform && guard != 0 ? kAllLanes : guard;
  store_row(warp, op.dst, out, mask);
  set_predicate(warp, op.p, result ? kAllLanes : 0, mask);
  return Flow::Next;
}

// Bit 73: of 64 bits; 79: any, otherwise all: no lanes if one differs.
Flow match_lanes(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op);
  const Row &low = row_of(warp, op.a), &high = row_of(warp, op.a, op.bit(73) ? 1 : 0);
  alignas(64) u32 out[kLanes] = {};
  u32 all = 0;
  for (u32 i = 0; i < kLanes; ++i) {
    for (u32 j = 0; j < kLanes; ++j)
      if ((mask >> j & 1) && low[i] == low[j] && high[i] == high[j]) out[i] |= 1u << j;
    if (out[i] == mask) all |= 1u << i;
    if (!op.bit(79) && out[i] != mask) out[i] = 0;
  }
  store_row(warp, op.dst, out, mask);
  if (!op.bit(79)) set_predicate(warp, op.p, all, mask);
  return Flow::Next;
}

// One of the lanes whose source predicate holds: the lowest. Its number is uniform, and the
// predicate is true for it alone. [PTX ISA, "elect.sync"]
Flow elect_lane(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op), among = lanes & predicate_of(warp, op.in_p, op.not_p);
  if (op.form != 4) return unknown_instruction(warp, op);
  if (lanes == 0) return Flow::Next;
  const u32 leader = among == 0 ? 0 : Warp::first_lane(among);
  Row number;
  number.fill(leader);
  store_row(warp, op.dst, number.data(), kAllLanes);
  set_predicate(warp, op.p, among == 0 ? 0 : 1u << leader, lanes);
  return Flow::Next;
}

// Bits 78 to 80: and, or, xor, sum, min, max; 73: signed. The result is uniform.
Flow reduce_lanes(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op), kind = op.field(78, 3);
  if (mask == 0) return Flow::Next;
  if (kind > 5) return unknown_instruction(warp, op);
  const Row& from = row_of(warp, op.a);
  const u32 flip = op.bit(73) && kind >= 4 ? 0x8000'0000 : 0;
  u32 result = from[Warp::first_lane(mask)];
  for (u32 i = Warp::first_lane(mask) + 1; i < kLanes; ++i) {
    if (!(mask >> i & 1)) continue;
    const u32 value = from[i];
    switch (kind) {
      case 0: result &= value; break;
      case 1: result |= value; break;
      case 2: result ^= value; break;
      case 3: result += value; break;
      case 4: result = std::min(result ^ flip, value ^ flip) ^ flip; break;
      default: result = std::max(result ^ flip, value ^ flip) ^ flip; break;
    }
  }
  warp.rows[op.dst].fill(op.dst == kUniformZero ? 0 : result);
  return Flow::Next;
}

// The value of the first running lane.
Flow register_to_uniform(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op);
  if (mask == 0) return Flow::Next;
  const Row& values = row_of(warp, op.a);
  const u32 taken = values[Warp::first_lane(mask)];
  u32 others = 0;
  for (u32 lane = 0; lane < kLanes; ++lane) others |= u32{values[lane] != taken} << lane;
  set_predicate(warp, op.p, others, mask);
  if (op.dst != kUniformZero) warp.rows[op.dst].fill(taken);
  return Flow::Next;
}

}  // namespace doorbell::emu::nvgpu
