// Pairs of 16-bit floats: f16, or bfloat16 where a bit says so. Computed in f64 and rounded once;
// NaN is 0x7fff [PTX ISA, "Half precision floating point instructions"].
#include <cmath>

#include "emulator/core/number/number.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/lanes.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr unsigned kBfloatBit = 85, kCompareBfloatBit = 65;

// Half `which` of a word, by the source's swizzle. Bit 80 (.FTZ): subnormal ones are zero.
f64 half_at(u32 word, const Source& source, u32 which, bool bfloat, const Operation& op) {
  word = (word & source.keep) ^ source.flip;
  if (source.swizzle >= 2) which = source.swizzle - 2u;
  u32 bits = word >> (16 * which) & 0xffff;
  if (op.bit(80) && (bits & (bfloat ? 0x7f80 : 0x7c00)) == 0) bits &= 0x8000;
  return bfloat ? bfloat_to_float(bits) : half_to_float(bits);
}

// The sign of half `which` as the register has it, without |x|.
u32 sign_at(u32 word, const Source& source, u32 which) {
  if (source.swizzle >= 2) which = source.swizzle - 2u;
  return word >> (16 * which + 15) & 1;
}

u32 half_bits(f64 value, bool bfloat) {
  if (value != value) return 0x7fff;
  if (!bfloat) return double_to_half(value);
  return float_to_bfloat(double_to_odd(value));
}

u32 finish(f64 value, const Operation& op, bool bfloat) {
  if (op.bit(77)) value = value > 0 ? std::fmin(value, 1.0) : 0;  // .SAT
  u32 bits = half_bits(value, bfloat);
  if (op.bit(80) && (bits & (bfloat ? 0x7f80 : 0x7c00)) == 0) bits &= 0x8000;  // .FTZ
  return bits;
}

// F(a, b, c) of both halves.
template <class F>
Flow compute(Warp& warp, const Operation& op, const Source& second, F f) {
  const bool bfloat = op.bit(kBfloatBit);
  if (op.a.swizzle == 1 || second.swizzle == 1 || op.bit(76)) return unknown_instruction(warp, op);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, second), &c = row_of(warp, op.c);
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    out[i] = 0;
    for (u32 half = 0; half < 2; ++half)
      out[i] |= f(half_at(a[i], op.a, half, bfloat, op), half_at(b[i], second, half, bfloat, op),
                  half_at(c[i], op.c, half, bfloat, op))
                << (16 * half);
  }
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

// A comparison's lanes, of the low and of the high halves.
struct Compared {
  u32 half[2] = {0, 0};
};
Compared compare(const Warp& warp, const Operation& op) {
  const bool bfloat = op.bit(kCompareBfloatBit);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.x);
  Compared out;
  for (u32 i = 0; i < kLanes; ++i)
    for (u32 half = 0; half < 2; ++half) {
      const f64 x = half_at(a[i], op.a, half, bfloat, op),
                y = half_at(b[i], op.x, half, bfloat, op);
      const u32 relation = x < y ? 1 : x == y ? 2 : x > y ? 4 : 8;
      out.half[half] |= static_cast<u32>((op.field(76, 4) & relation) != 0) << i;
    }
  return out;
}

}  // namespace

// .F32 (bit 78): the low halves' sum as an f32.
Flow add_halves(Warp& warp, const Operation& op) {
  if (!op.bit(78))
    return compute(warp, op, op.x,
                   [&](f64 a, f64 b, f64) { return finish(a + b, op, op.bit(kBfloatBit)); });
  const bool bfloat = op.bit(kBfloatBit);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.x);
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    const f64 sum = half_at(a[i], op.a, 0, bfloat, op) + half_at(b[i], op.x, 0, bfloat, op);
    out[i] = sum != sum ? 0x7fff'ffff : std::bit_cast<u32>(static_cast<f32>(sum));
  }
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

Flow multiply_halves(Warp& warp, const Operation& op) {
  if (op.bit(78) || op.bit(79)) return unknown_instruction(warp, op);
  return compute(warp, op, op.x,
                 [&](f64 a, f64 b, f64) { return finish(a * b, op, op.bit(kBfloatBit)); });
}

namespace {

// a * b + c, where its last bit is one if it is not exact: so a second rounding, to 16 bits, gives
// what one rounding would. The product of two halves is exact.
f64 fused_to_odd(f64 a, f64 b, f64 c) {
  const f64 product = a * b, sum = product + c;
  const f64 part = sum - product, error = (product - (sum - part)) + (c - part);  // Knuth, TwoSum
  u64 bits = std::bit_cast<u64>(sum);
  if (!std::isfinite(sum) || !(error != 0) || (bits & 1) != 0) return sum;
  bits = std::signbit(error) == std::signbit(sum) ? bits + 1 : bits - 1;
  return std::bit_cast<f64>(bits);
}

}  // namespace

// .RELU (bit 79): negative results become 0.
Flow fused_halves(Warp& warp, const Operation& op) {
  if (op.bit(78)) return unknown_instruction(warp, op);
  return compute(warp, op, op.b, [&](f64 a, f64 b, f64 c) {
    const f64 value = fused_to_odd(a, b, c);
    return finish(op.bit(79) && value < 0 ? 0 : value, op, op.bit(kBfloatBit));
  });
}

// Bit 81 (.NAN): NaN if one is; otherwise the number. Bit 82 (.XORSIGN): see minimum_float.
Flow minimum_halves(Warp& warp, const Operation& op) {
  if (op.bit(78)) return unknown_instruction(warp, op);
  const u32 minimum = predicate_of(warp, op.in_p, op.not_p);
  const bool bfloat = op.bit(kBfloatBit);
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.x);
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    out[i] = 0;
    for (u32 half = 0; half < 2; ++half) {
      const f64 x = half_at(a[i], op.a, half, bfloat, op),
                y = half_at(b[i], op.x, half, bfloat, op);
      const bool least = minimum >> i & 1;
      f64 value = x == y ? (std::signbit(x) == least ? x : y) : (x < y) == least ? x : y;
      if (x != x || y != y) value = op.bit(81) || (x != x && y != y) ? x + y : x != x ? y : x;
      u32 bits = half_bits(value, bfloat);
      if (op.bit(82) && value == value)
        bits = (bits & 0x7fff) | (sign_at(a[i], op.a, half) ^ sign_at(b[i], op.x, half)) << 15;
      out[i] |= bits << (16 * half);
    }
  }
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

Flow compare_halves(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op), kind = op.field(69, 2);
  const u32 with = predicate_of(warp, op.in_p, op.not_p);
  const Compared result = compare(warp, op);
  u32 first = result.half[0], second = result.half[1];
  if (op.bit(71)) {  // .H_AND: both
    first &= second;
    second = ~first;
  }
  set_predicate(warp, op.p, combine_predicates(kind, first, with), mask);
  set_predicate(warp, op.q, combine_predicates(kind, second, with), mask);
  return Flow::Next;
}

// .BF (bit 71): 1.0 or 0; otherwise all ones or 0.
Flow set_halves(Warp& warp, const Operation& op) {
  const u32 with = predicate_of(warp, op.in_p, op.not_p), kind = op.field(69, 2);
  const Compared result = compare(warp, op);
  const u32 one = !op.bit(71) ? 0xffff : op.bit(kCompareBfloatBit) ? 0x3f80 : 0x3c00;
  const u32 low = combine_predicates(kind, result.half[0], with),
            high = combine_predicates(kind, result.half[1], with);
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i)
    out[i] = (low >> i & 1 ? one : 0) | (high >> i & 1 ? one << 16 : 0);
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

}  // namespace doorbell::emu::nvgpu
