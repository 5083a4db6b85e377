// 32-bit floats. A result that is not a number is 0x7fffffff; .FTZ flushes subnormal sources and
// results to zeros of their sign; .SAT clamps to [0, 1], NaN to 0 [PTX ISA, "Floating point
// instructions"]. FMA is fused; products and sums are rounded one by one.
//
// The approximations of MUFU are computed in f64 and rounded to f32: hardware's are within the
// bounds of PTX's .approx instructions (2 units in the last place and less; sin and cos: 2^-20.5
// absolute), and its bits are not documented.
#include <bit>
#include <cmath>

#include "emulator/core/number/number.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/lanes.h"
#include "emulator/nv/isa/rounding.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kNan = 0x7fff'ffff;

struct Lanes {
  alignas(64) f32 value[kLanes];
};

[[gnu::always_inline]] inline void load(const Warp& warp, const Source& source, bool flush,
                                        Lanes& to) {
  const u32* from = row_of(warp, source).data();
  const u32 keep = source.keep, flip = source.flip;
  if (!flush) {
    DOORBELL_NV_LANES
    for (u32 i = 0; i < kLanes; ++i) to.value[i] = std::bit_cast<f32>((from[i] & keep) ^ flip);
    return;
  }
  DOORBELL_NV_LANES
  for (u32 i = 0; i < kLanes; ++i) {
    u32 bits = (from[i] & keep) ^ flip;
    bits = (bits & 0x7f80'0000) == 0 ? bits & 0x8000'0000 : bits;
    to.value[i] = std::bit_cast<f32>(bits);
  }
}

[[gnu::always_inline]] inline void store(Warp& warp, const Operation& op, const Lanes& from,
                                         bool flush, bool saturate) {
  alignas(64) u32 out[kLanes];
  DOORBELL_NV_LANES
  for (u32 i = 0; i < kLanes; ++i) {
    const f32 v = from.value[i];
    out[i] = v != v ? kNan : std::bit_cast<u32>(v);
  }
  if (flush) {
    DOORBELL_NV_LANES
    for (u32 i = 0; i < kLanes; ++i)
      out[i] = (out[i] & 0x7f80'0000) == 0 ? out[i] & 0x8000'0000 : out[i];
  }
  if (saturate) {
    for (u32& bits : out) {
      const f32 v = std::bit_cast<f32>(bits);
      bits = v > 0 ? std::bit_cast<u32>(v > 1 ? 1.0f : v) : 0;
    }
  }
  store_row(warp, op.dst, out, warp.mask_of(op));
}

// F(a, b, c) of the modifiers that all arithmetic shares: bit 77 saturates, 78 and 79 round, 80
// flushes.
template <auto F, Second second>
[[gnu::always_inline]] inline Flow run_floats(Warp& warp, const Operation& op) {
  const bool flush = op.bit(80);
  Lanes a, b, c, out;
  load(warp, op.a, flush, a);
  load(warp, second == Second::X ? op.x : op.b, flush, b);
  if constexpr (second == Second::B) load(warp, op.c, flush, c);
  {
    const Rounding rounding(op.field(78, 2));
    DOORBELL_NV_LANES
    for (u32 i = 0; i < kLanes; ++i) {
      if constexpr (second == Second::B)
        out.value[i] = F(a.value[i], b.value[i], c.value[i]);
      else
        out.value[i] = F(a.value[i], b.value[i]);
    }
    asm volatile("" ::"r"(&out) : "memory");
  }
  store(warp, op, out, flush, op.bit(77));
  return Flow::Next;
}
template <auto F, Second second>
DOORBELL_NV_FAST_CPU Flow floats_fast(Warp& warp, const Operation& op) {
  return run_floats<F, second>(warp, op);
}
template <auto F, Second second>
DOORBELL_NV_ANY_CPU Flow floats_any(Warp& warp, const Operation& op) {
  return run_floats<F, second>(warp, op);
}
template <auto F, Second second>
Flow on_floats(Warp& warp, const Operation& op) {
  return has_fast_cpu() ? floats_fast<F, second>(warp, op) : floats_any<F, second>(warp, op);
}

// Bits 76 to 79: less, equal, greater, unordered count as true.
u32 compare(const Warp& warp, const Operation& op) {
  Lanes a, b;
  load(warp, op.a, op.bit(80), a);
  load(warp, op.x, op.bit(80), b);
  const u32 kind = op.field(76, 4);
  u32 result = 0;
  for (u32 i = 0; i < kLanes; ++i) {
    const f32 x = a.value[i], y = b.value[i];
    const u32 relation = x < y ? 1 : x == y ? 2 : x > y ? 4 : 8;
    result |= static_cast<u32>((kind & relation) != 0) << i;
  }
  return result;
}

// A product of floats is exact in f64.
Flow scaled_product(Warp& warp, const Operation& op, f64 scale) {
  Lanes a, b, out;
  load(warp, op.a, op.bit(80), a);
  load(warp, op.x, op.bit(80), b);
  {
    const Rounding rounding(op.field(78, 2));
    for (u32 i = 0; i < kLanes; ++i) {
      volatile f64 exact = f64{a.value[i]} * f64{b.value[i]} * scale;
      out.value[i] = static_cast<f32>(f64{exact});
    }
    asm volatile("" ::"r"(&out) : "memory");
  }
  store(warp, op, out, op.bit(80), op.bit(77));
  return Flow::Next;
}

}  // namespace

Flow add_float(Warp& warp, const Operation& op) {
  return on_floats<[](f32 a, f32 b) { return a + b; }, Second::X>(warp, op);
}

Flow multiply_float(Warp& warp, const Operation& op) {
  // Bits 84 to 86: the product is scaled by a power of two (.D2, .M4), of which 4 is one, before it
  // is rounded. Bit 76: zero times anything is 0.
  const u32 scale = op.field(84, 3);
  if (scale == 0 || op.bit(76)) return unknown_instruction(warp, op);
  if (scale == 4) return on_floats<[](f32 a, f32 b) { return a * b; }, Second::X>(warp, op);
  return scaled_product(warp, op, std::ldexp(1.0, static_cast<int>(scale) - 4));
}

Flow fused_float(Warp& warp, const Operation& op) {
  if (op.bit(76)) return unknown_instruction(warp, op);
  return on_floats<[](f32 a, f32 b, f32 c) { return std::fma(a, b, c); }, Second::B>(warp, op);
}

// Of a number and NaN the number, unless bit 81 (.NAN); -0 is less than 0. Bit 82 (.XORSIGN): the
// sign of a number is that of the product of the sources, as they were without |x|. [PTX ISA,
// "min": .xorsign.abs]
Flow minimum_float(Warp& warp, const Operation& op) {
  Lanes a, b, out;
  load(warp, op.a, op.bit(80), a);
  load(warp, op.x, op.bit(80), b);
  const u32 minimum = predicate_of(warp, op.in_p, op.not_p);
  for (u32 i = 0; i < kLanes; ++i) {
    const f32 x = a.value[i], y = b.value[i];
    const bool least = minimum >> i & 1;
    if (x != x || y != y) {
      out.value[i] = op.bit(81) || (x != x && y != y) ? std::bit_cast<f32>(kNan) : x != x ? y : x;
    } else if (x == y) {
      out.value[i] = std::signbit(x) == least ? x : y;
    } else {
      out.value[i] = (x < y) == least ? x : y;
    }
    if (op.bit(82) && out.value[i] == out.value[i]) {
      const u32 sign = (row_of(warp, op.a)[i] ^ row_of(warp, op.x)[i]) & 0x8000'0000;
      out.value[i] = std::copysign(out.value[i], sign != 0 ? -1.0f : 1.0f);
    }
  }
  store(warp, op, out, false, false);
  return Flow::Next;
}

Flow compare_floats(Warp& warp, const Operation& op) {
  const u32 mask = warp.mask_of(op), result = compare(warp, op);
  const u32 with = predicate_of(warp, op.in_p, op.not_p), kind = op.field(74, 2);
  set_predicate(warp, op.p, combine_predicates(kind, result, with), mask);
  set_predicate(warp, op.q, combine_predicates(kind, ~result, with), mask);
  return Flow::Next;
}

// .BF: 1.0 or 0.
Flow set_float(Warp& warp, const Operation& op) {
  const u32 result =
      combine_predicates(op.field(74, 2), compare(warp, op), predicate_of(warp, op.in_p, op.not_p));
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) out[i] = result >> i & 1 ? 0x3f80'0000 : 0;
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

// Whether a / b by the short sequence of instructions could overflow or lose bits. Nothing
// documents the exact bounds: what these exclude takes the long one, which is always right.
Flow check_division(Warp& warp, const Operation& op) {
  const Row &a = row_of(warp, op.a), &b = row_of(warp, op.x);
  u32 result = 0;
  for (u32 i = 0; i < kLanes; ++i) {
    const i32 x = static_cast<i32>(a[i] >> 23 & 0xff), y = static_cast<i32>(b[i] >> 23 & 0xff);
    const bool plain = x >= 32 && x < 254 && y >= 4 && y < 250 && x - y > -120 && x - y < 120;
    result |= static_cast<u32>(!plain) << i;
  }
  set_predicate(warp, op.p, result, warp.mask_of(op));
  return Flow::Next;
}

namespace {

constexpr u32 kExp2 = 2, kTanh = 9;
// Bits 74 to 79. Of the 64-bit ones the source and the result are the high word.
f32 approximation(u32 kind, f32 x) {
  constexpr f64 kTurn = 6.283185307179586476925;  // sin and cos take turns
  const f64 v = x;
  switch (kind) {
    case 0: return static_cast<f32>(std::cos(v * kTurn));
    case 1: return static_cast<f32>(std::sin(v * kTurn));
    case 2: return static_cast<f32>(std::exp2(v));
    case 3: return static_cast<f32>(std::log2(v));
    case 4: return static_cast<f32>(1 / v);
    case 5: return static_cast<f32>(1 / std::sqrt(v));
    case 8: return static_cast<f32>(std::sqrt(v));
    default: return static_cast<f32>(std::tanh(v));
  }
}
u32 approximation_of_double(u32 kind, u32 high) {
  const f64 v = std::bit_cast<f64>(u64{high} << 32);
  const f64 result = kind == 6 ? 1 / v : 1 / std::sqrt(v);
  if (result != result) return 0x7fff'ffff;
  return static_cast<u32>(std::bit_cast<u64>(result) >> 32);
}

// Of a half, rounded once more. Bits 60 and 61: which half of the register.
Flow approximate_half(Warp& warp, const Operation& op, bool bfloat) {
  const u32 kind = op.field(74, 6), shift = 16 * op.field(60, 1);
  const Row& from = row_of(warp, op.x);
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    const u32 bits = ((from[i] & op.x.keep) ^ op.x.flip) >> shift & 0xffff;
    const f32 result = approximation(kind, bfloat ? bfloat_to_float(bits) : half_to_float(bits));
    out[i] = result != result ? 0x7fff : bfloat ? float_to_bfloat(result) : float_to_half(result);
    // PTX has EX2 of bfloat16 only with .ftz.
    if (bfloat && kind == kExp2 && (out[i] & 0x7f80) == 0) out[i] &= 0x8000;
  }
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

}  // namespace

// Bits 72 and 73: of f16 (1; before sm_90 2) or bfloat16 (2) [nvdisasm].
Flow approximate(Warp& warp, const Operation& op) {
  const u32 kind = op.field(74, 6), format = op.field(72, 2), f16 = op.chip >= 90 ? 1 : 2;
  if (kind > 9 || format == 3 || (format != 0 && (kind == 6 || kind == 7)))
    return unknown_instruction(warp, op);
  if (format == 1 && f16 != 1) return unknown_instruction(warp, op);
  if (format != 0) return approximate_half(warp, op, format != f16);
  const Row& from = row_of(warp, op.x);
  alignas(64) u32 out[kLanes];
  for (u32 i = 0; i < kLanes; ++i) {
    u32 bits = (from[i] & op.x.keep) ^ op.x.flip;
    if (kind == 6 || kind == 7) {
      out[i] = approximation_of_double(kind, bits);
      continue;
    }
    // .TANH keeps subnormal numbers [PTX ISA, "tanh"].
    if (kind != kTanh && (bits & 0x7f80'0000) == 0) bits &= 0x8000'0000;
    const f32 result = approximation(kind, std::bit_cast<f32>(bits));
    out[i] = result != result ? kNan : std::bit_cast<u32>(result);
    if (kind != kTanh && (out[i] & 0x7f80'0000) == 0) out[i] &= 0x8000'0000;
  }
  store_row(warp, op.dst, out, warp.mask_of(op));
  return Flow::Next;
}

}  // namespace doorbell::emu::nvgpu
