// Conversion between f32 and the floats narrower than it, written once over abstract 32-bit lanes.
// The C renderer emits it as text, the LLVM renderer as instructions, tests run it on numbers. A
// renderer may use a hardware instruction instead.
//
// An emitter E has `using Value` (a u32 per lane) and `using Mask`, and:
//   constant(u32) band(a,b) bor(a,b) add(a,b) shl(a,n) shr(a,n) : on u32 lanes
//   fadd(a,b) fmul(a,b)                                         : on lanes read as f32
//   less(a,b) (unsigned)  select(mask,a,b)
#pragma once

#include "base/util/check.h"
#include "core/dtype/dtype.h"

namespace doorbell::codegen {

// A float of `width` bits: 1 sign, `exponent` and `mantissa` bits.
struct NarrowFloat {
  int width, mantissa, bias;
  // Bits without sign of the largest number, and those that too large values, infinity and NaN
  // become.
  u32 max_finite, overflow, infinity, nan;
  bool unsigned_zero;  // no negative zero: its bits are the NaN (the FNUZ types)
};

// The same formats and rounding as core/eval/float_format.h, where they are cited.
inline NarrowFloat narrow_float(core::Scalar scalar) {
  switch (scalar) {
    case core::Scalar::F8E4M3: return {8, 3, 7, 0x7e, 0x7e, 0x7e, 0x7f, false};
    case core::Scalar::F8E5M2: return {8, 2, 15, 0x7b, 0x7b, 0x7b, 0x7e, false};
    case core::Scalar::F8E4M3FNUZ: return {8, 3, 8, 0x7f, 0x7f, 0x80, 0x80, true};
    case core::Scalar::F8E5M2FNUZ: return {8, 2, 16, 0x7f, 0x7f, 0x80, 0x80, true};
    case core::Scalar::F16: return {16, 10, 15, 0x7bff, 0x7c00, 0x7c00, 0x7e00, false};
    case core::Scalar::BF16: return {16, 7, 127, 0x7f7f, 0x7f80, 0x7f80, 0x7fc0, false};
    default: UNREACHABLE("scalar {} is no narrow float", static_cast<int>(scalar));
  }
}

inline bool is_narrow_float(core::DType t) {
  return t.scalar >= core::Scalar::F8E4M3 && t.scalar <= core::Scalar::BF16;
}

// The bits of the narrow float nearest to the f32 with bits `x`, ties to even.
template <class E>
typename E::Value narrow_from_f32(E& e, typename E::Value x, const NarrowFloat& f) {
  const u32 drop = static_cast<u32>(23 - f.mantissa);
  auto sign = e.band(e.shr(x, static_cast<u32>(32 - f.width)), e.constant(1u << (f.width - 1)));
  auto magnitude = e.band(x, e.constant(0x7fffffff));
  // Rebias the exponent, add just under half of the dropped bits, and the last kept bit for ties.
  auto odd = e.band(e.shr(magnitude, drop), e.constant(1));
  u32 rebias = static_cast<u32>(f.bias - 127) << 23;
  auto rounded = e.add(e.add(magnitude, e.constant(rebias + (1u << (drop - 1)) - 1)), odd);
  auto bits = e.shr(rounded, drop);
  if (f.bias < 127) {
    // Below the normal numbers: adding 2^k, whose last bit is the least subnormal, rounds for us.
    u32 magic = static_cast<u32>(127 - f.bias + 1 + static_cast<int>(drop)) << 23;
    auto moved = e.fadd(magnitude, e.constant(magic));
    auto subnormal = e.add(moved, e.constant(0u - magic));
    auto is_small = e.less(magnitude, e.constant(static_cast<u32>(128 - f.bias) << 23));
    bits = e.select(is_small, subnormal, bits);
  }
  // From the middle between the largest number and its successor on, it overflows; the middle
  // itself belongs to the even one of the two.
  u32 largest = (f.max_finite << drop) - rebias;
  u32 limit = largest + (1u << (drop - 1)) + ((f.max_finite & 1) ? 0 : 1);
  bits = e.select(e.less(magnitude, e.constant(limit)), bits, e.constant(f.overflow));
  if (f.infinity != f.overflow) {
    bits = e.select(e.less(magnitude, e.constant(0x7f800000)), bits, e.constant(f.infinity));
  }
  bits = e.select(e.less(e.constant(0x7f800000), magnitude), e.constant(f.nan), bits);
  if (!f.unsigned_zero) return e.bor(bits, sign);
  // The sign bit alone is NaN, so a zero takes no sign.
  return e.select(e.less(bits, e.constant(1)), bits, e.bor(bits, sign));
}

// The bits of the f32 equal to the narrow float with bits `x` (zero-extended). Exact. `flushes`: on
// a target that may take subnormal f32 for zero.
template <class E>
typename E::Value f32_from_narrow(E& e, typename E::Value x, const NarrowFloat& f,
                                  bool flushes = false) {
  const u32 drop = static_cast<u32>(23 - f.mantissa);
  if (f.bias == 127) return e.shl(x, 16);  // bf16 is the upper half
  u32 sign_bit = 1u << (f.width - 1);
  auto sign = e.shl(e.band(x, e.constant(sign_bit)), static_cast<u32>(32 - f.width));
  auto magnitude = e.band(x, e.constant(sign_bit - 1));
  // Read as an f32 its exponent is too small by 127 - bias; a product repairs that, subnormals too.
  auto shifted = e.shl(magnitude, drop);
  auto bits = shifted;
  if (flushes) {
    // As f32 those are subnormal too: in the last bits of 2^k they are sums, without rounding.
    const u32 magic = static_cast<u32>(127 - f.bias + 1 + static_cast<int>(drop)) << 23;
    auto normal = e.add(shifted, e.constant(static_cast<u32>(127 - f.bias) << 23));
    auto moved = e.add(magnitude, e.constant(magic));
    auto subnormal = e.fadd(moved, e.constant(magic | 0x80000000));
    auto is_small = e.less(magnitude, e.constant(1u << f.mantissa));
    bits = e.select(is_small, subnormal, normal);
  } else {
    bits = e.fmul(shifted, e.constant(static_cast<u32>(127 + 127 - f.bias) << 23));
  }
  if (f.unsigned_zero) {
    auto is_number = e.less(e.band(e.add(x, e.constant(sign_bit - 1)), e.constant(0xff)),
                            e.constant(0xff));  // x == 0x80 gives 0xff
    return e.select(is_number, e.bor(bits, sign), e.constant(0x7fc00000));
  }
  // Infinity and NaN have all exponent bits set; e4m3 has one NaN only.
  auto special = e.bor(shifted, e.constant(0x7f800000));
  bits = e.select(e.less(e.constant(f.max_finite), magnitude), special, bits);
  return e.bor(bits, sign);
}

}  // namespace doorbell::codegen
