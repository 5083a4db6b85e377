// Conversions between integers and floats of 8 to 64 bits. Sizes: bits 75 and 76 of the result, 84
// and 85 of the source, as powers of two of bytes. [PTX ISA, "cvt"; fields: Mesa's NAK, OpF2F,
// OpF2I, OpI2F, OpFRnd]
#include <cmath>
#include <limits>

#include "emulator/core/number/number.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/lanes.h"
#include "emulator/nv/isa/rounding.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kHalf = 1, kSingle = 2, kDoubleSize = 3;

// Modes of number.h: 1 is up, 2 down.
HalfRounding half_rounding(u32 mode) { return {mode == 1 ? 2u : mode == 2 ? 1u : mode, false}; }

f64 source_at(const Warp& warp, const Operation& op, u32 lane, u32 size) {
  const u32 low = row_of(warp, op.x, 0)[lane];
  if (size == kDoubleSize) return as_double(low, row_of(warp, op.x, 1)[lane], op.x);
  if (size == kSingle) {
    u32 bits = (low & op.x.keep) ^ op.x.flip;
    if (op.bit(80) && (bits & 0x7f80'0000) == 0) bits &= 0x8000'0000;
    return std::bit_cast<f32>(bits);
  }
  const u32 half = op.field(60, 2) == 1 || op.field(60, 2) == 3 ? low >> 16 : low & 0xffff;
  f64 value = half_to_float(half);
  if (op.x.keep != ~0u) value = std::fabs(value);
  return op.x.flip != 0 ? -value : value;
}

u64 result_bits(f64 value, u32 size, u32 mode, bool flush) {
  if (size == kDoubleSize) return std::bit_cast<u64>(value);
  if (size == kHalf)
    return value != value ? 0x7fff : float_to_half(double_to_odd(value), half_rounding(mode));
  if (value != value) return 0x7fff'ffff;
  const Rounding rounding(mode);
  volatile f64 exact = value;  // converted in this mode, not before
  u32 bits = std::bit_cast<u32>(static_cast<f32>(exact));
  if (flush && (bits & 0x7f80'0000) == 0) bits &= 0x8000'0000;
  return bits;
}

f64 to_integral(f64 value, u32 mode) {
  switch (mode) {
    case 1: return std::floor(value);
    case 2: return std::ceil(value);
    case 3: return std::trunc(value);
    default: return std::nearbyint(value);
  }
}

void store_bits(Warp& warp, const Operation& op, const u64* values, bool pair) {
  alignas(64) u32 low[kLanes], high[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    low[i] = static_cast<u32>(values[i]);
    high[i] = static_cast<u32>(values[i] >> 32);
  }
  const u32 mask = warp.mask_of(op);
  store_row(warp, op.dst, low, mask);
  if (pair) store_row(warp, next_row(op.dst), high, mask);
}

// Out of range: the nearest that is in range. NaN: 0, or of 64 bits the least signed number.
u64 integer_of(f64 value, u32 bits, bool is_signed, bool wide) {
  if (value != value) return wide ? u64{1} << (bits - 1) : 0;
  if (is_signed) {
    const f64 limit = std::ldexp(1.0, static_cast<i32>(bits) - 1);
    if (value >= limit) return (u64{1} << (bits - 1)) - 1;
    if (value < -limit) return ~u64{0} << (bits - 1);
    return static_cast<u64>(static_cast<i64>(value));
  }
  if (value <= 0) return 0;
  if (value >= std::ldexp(1.0, static_cast<i32>(bits)))
    return bits == 64 ? ~u64{0} : (u64{1} << bits) - 1;
  return static_cast<u64>(value);
}

}  // namespace

Flow float_to_float(Warp& warp, const Operation& op) {
  const u32 from = op.field(84, 2), to = op.field(75, 2), mode = op.field(78, 2);
  if (from == 0 || to == 0) return unknown_instruction(warp, op);
  u64 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i)
    out[i] = result_bits(source_at(warp, op, i, from), to, mode, op.bit(80));
  store_bits(warp, op, out, to == kDoubleSize);
  return Flow::Next;
}

Flow round_float(Warp& warp, const Operation& op) {
  const u32 from = op.field(84, 2), to = op.field(75, 2);
  if (from == 0 || to == 0) return unknown_instruction(warp, op);
  u64 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i)
    out[i] =
        result_bits(to_integral(source_at(warp, op, i, from), op.field(78, 2)), to, 0, op.bit(80));
  store_bits(warp, op, out, to == kDoubleSize);
  return Flow::Next;
}

Flow float_to_integer(Warp& warp, const Operation& op) {
  const u32 from = op.field(84, 2), bits = 8u << op.field(75, 2);
  if (from == 0) return unknown_instruction(warp, op);
  const bool wide = from == kDoubleSize || bits == 64;
  u64 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    const f64 value = to_integral(source_at(warp, op, i, from), op.field(78, 2));
    out[i] = integer_of(value, bits, op.bit(72), wide);
  }
  store_bits(warp, op, out, bits == 64);
  return Flow::Next;
}

Flow integer_to_float(Warp& warp, const Operation& op) {
  const u32 from = op.field(84, 2), to = op.field(75, 2), mode = op.field(78, 2);
  const bool is_signed = op.bit(74);
  if (to == 0) return unknown_instruction(warp, op);
  const u32 bits = 8u << from, shift = bits < 32 && op.form == 1 ? op.field(60, 2) * bits : 0;
  u64 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    u64 value = row_of(warp, op.x, 0)[i];
    if (from == 3) value |= u64{row_of(warp, op.x, 1)[i]} << 32;
    value = value >> shift << (64 - bits);
    value =
        is_signed ? static_cast<u64>(static_cast<i64>(value) >> (64 - bits)) : value >> (64 - bits);
    const bool negative = is_signed && static_cast<i64>(value) < 0;
    const u64 size = negative ? 0 - value : value;
    // To f16 through an f32 whose last bit says whether something was lost.
    const u32 way = to == kHalf ? 3 : negative && mode != 0 && mode != 3 ? mode ^ 3 : mode;
    const Rounding rounding(way);
    volatile u64 exact = size;
    if (to == kDoubleSize) {
      const f64 result = static_cast<f64>(u64{exact});
      out[i] = std::bit_cast<u64>(negative ? -result : result);
      continue;
    }
    u32 single = std::bit_cast<u32>(static_cast<f32>(u64{exact}));
    if (to == kHalf && static_cast<u64>(std::bit_cast<f32>(single)) != size) single |= 1;
    const f32 result = std::bit_cast<f32>(negative ? single | 0x8000'0000 : single);
    out[i] = to == kHalf ? float_to_half(result, half_rounding(mode)) : std::bit_cast<u32>(result);
  }
  store_bits(warp, op, out, to == kDoubleSize);
  return Flow::Next;
}

// Two floats to halves, the first to the high one; bit 76: bfloat16; bits 79 and 80: rounding.
Flow pack_halves(Warp& warp, const Operation& op) {
  if (op.field(74, 2) != 0 || op.field(77, 2) != 0 || op.field(81, 9) != 0)
    return unknown_instruction(warp, op);
  const bool bfloat = op.bit(76);
  const u32 mode = op.field(79, 2);
  if (bfloat && mode != 0 && mode != 3) return unknown_instruction(warp, op);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.x);
  const auto half = [&](u32 word, const Source& source) -> u32 {
    const f32 value = as_float(word, source);
    if (value != value) return 0x7fff;
    if (!bfloat) return float_to_half(value, half_rounding(mode));
    return mode == 3 ? std::bit_cast<u32>(value) >> 16 : float_to_bfloat(value);
  };
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) out[i] = half(a[i], op.a) << 16 | half(b[i], op.x);
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

}  // namespace doorbell::emu::nvgpu
