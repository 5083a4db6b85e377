// Moves, selections, predicates and special registers.
#include "emulator/nv/compute/block.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/lanes.h"
#include "emulator/nv/isa/undefined_bits.h"

namespace doorbell::emu::nvgpu {

Flow move(Warp& warp, const Operation& op) {
  store_row(warp, op.dst, row_of(warp, op.x).data(), warp.mask_of(op));
  return Flow::Next;
}

// Bits of a mask, of the predicates' lanes: R = (a & ~mask) | (predicates & mask).
Flow predicates_to_register(Warp& warp, const Operation& op) {
  if (op.form != 4 || op.field(76, 2) != 0) return unknown_instruction(warp, op);
  const u32 mask = op.field(32, 32);
  const Row& a = row_of(warp, op.a);
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    u32 bits = 0;
    for (u32 p = 0; p < 7; ++p) bits |= (warp.predicates[p] >> i & 1) << p;
    out[i] = (a[i] & ~mask) | (bits & mask);
  }
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

Flow register_to_predicates(Warp& warp, const Operation& op) {
  if (op.form != 4 || op.field(76, 2) != 0) return unknown_instruction(warp, op);
  const u32 which = op.field(32, 32), mask = warp.mask_of(op);
  const Row& a = row_of(warp, op.a);
  for (u32 p = 0; p < 7; ++p) {
    if (!(which >> p & 1)) continue;
    u32 bits = 0;
    for (u32 i = 0; i < kLanes; ++i) bits |= (a[i] >> p & 1) << i;
    set_predicate(warp, p, bits, mask);
  }
  return Flow::Next;
}

Flow select(Warp& warp, const Operation& op) {
  const u32 chosen = predicate_of(warp, op.in_p, op.not_p);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.x);
  alignas(64) u32 out[kLanes];
  DOORBELL_NV_LANES
  for (u32 i = 0; i < kLanes; ++i) out[i] = chosen >> i & 1 ? a[i] : b[i];
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

// Bits pass unchanged but for the modifiers; .FTZ flushes subnormal ones.
Flow select_float(Warp& warp, const Operation& op) {
  const u32 chosen = predicate_of(warp, op.in_p, op.not_p);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.x);
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    out[i] = chosen >> i & 1 ? (a[i] & op.a.keep) ^ op.a.flip : (b[i] & op.x.keep) ^ op.x.flip;
    if (op.bit(80) && (out[i] & 0x7f80'0000) == 0) out[i] &= 0x8000'0000;
  }
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

namespace {

// Each nibble of the selector takes one of the eight bytes of a (the lower four) and c, or, with
// its highest bit set, eight copies of that byte's sign [PTX ISA, "prmt"]. Other modes take a
// pattern that the selector's two low bits choose.
[[gnu::always_inline]] inline u32 permute_lane(u32 a, u32 selector, u32 c, const Operation& o) {
  const u64 bytes = a | u64{c} << 32;
  const u32 mode = o.field(72, 3), s = selector & 3;
  u32 out = 0;
  for (u32 i = 0; i < 4; ++i) {
    u32 nibble = selector >> (4 * i) & 0xf;
    switch (mode) {
      case 1: nibble = s + i; break;                         // f4e
      case 2: nibble = (s + 8 - i) & 7; break;               // b4e
      case 3: nibble = s; break;                             // rc8
      case 4: nibble = i > s ? i : s; break;                 // ecl
      case 5: nibble = i < s ? i : s; break;                 // ecr
      case 6: nibble = (selector & 1) * 2 + (i & 1); break;  // rc16
      default: break;
    }
    u32 byte = static_cast<u32>(bytes >> (8 * (nibble & 7))) & 0xff;
    if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
    out |= byte << (8 * i);
  }
  return out;
}

}  // namespace

u32 permuted_bytes(u32 a, u32 selector, u32 c, const Operation& op) {
  return permute_lane(a, selector, c, op);
}

Flow permute(Warp& warp, const Operation& op) {
  return on_words<permute_lane, Second::B>(warp, op);
}

Flow predicate_logic(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op);
  const u32 a = predicate_of(warp, op.in_p, op.not_p), b = predicate_of(warp, op.in_q, op.not_q),
            c = predicate_of(warp, op.in_s, op.not_s);
  const auto look_up = [&](u32 table) {
    u32 out = 0;
    for (u32 i = 0; i < 8; ++i)
      if (table >> i & 1) out |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return out;
  };
  const u32 first = look_up(op.field(64, 3) | op.field(72, 5) << 3);
  const u32 second = look_up(op.field(16, 8));
  set_predicate(warp, op.p, first, mask);
  set_predicate(warp, op.q, second, mask);
  return Flow::Next;
}

// Numbers of special registers: nvdisasm's names of them.
Flow special_to_register(Warp& warp, const Operation& op) {
  const Block& block = *warp.block;
  const auto& size = block.grid().launch.block;
  const u32 number = op.field(72, 8);
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    const u32 thread = block.thread_of(warp, i);
    switch (number) {
      case 0x00: out[i] = i; break;                           // SR_LANEID
      case 0x21: out[i] = thread % size[0]; break;            // SR_TID.X
      case 0x22: out[i] = thread / size[0] % size[1]; break;  // SR_TID.Y
      case 0x23: out[i] = thread / size[0] / size[1]; break;  // SR_TID.Z
      case 0x25:
      case 0x26:
      case 0x27: out[i] = block.index()[number - 0x25]; break;                        // SR_CTAID
      case 0x2f: out[i] = static_cast<u32>(block.grid().shared_window >> 32); break;  // SR_SWINHI
      case 0x38: out[i] = 1u << i; break;                                             // SR_EQMASK
      case 0x39: out[i] = (1u << i) - 1; break;                                       // SR_LTMASK
      case 0x3a: out[i] = (2u << i) - 1; break;                                       // SR_LEMASK
      case 0x3b: out[i] = ~((2u << i) - 1); break;                                    // SR_GTMASK
      case 0x3c: out[i] = ~((1u << i) - 1); break;                                    // SR_GEMASK
      case 0x43: out[i] = 0; break;                                    // SR_VIRTUALSMID
      case 0x50: out[i] = static_cast<u32>(warp.instructions); break;  // SR_CLOCKLO
      case 0x88: out[i] = 0; break;                                    // SR_CgaCtaId
      case 0xff: out[i] = 0; break;                                    // SRZ
      default: return unknown_instruction(warp, op);
    }
  }
  u32 mask = warp.mask_of(op);
  if (op.has_uniform_dst && mask != 0) mask = kAllLanes;
  store_row(warp, op.dst, out, mask);
  return Flow::Next;
}

// .64 (bit 80): a pair.
Flow clock_to_register(Warp& warp, const Operation& op) {
  const Flow flow = special_to_register(warp, op);
  if (flow != Flow::Next || !op.bit(80)) return flow;
  alignas(64) const u32 zeros[kLanes] = {};
  store_row(warp, next_row(op.dst), zeros, warp.mask_of(op));
  return flow;
}

}  // namespace doorbell::emu::nvgpu
