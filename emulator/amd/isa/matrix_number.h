// Elements of matrices to and from what the host computes with.
#pragma once

#include <bit>
#include <cmath>

#include "emulator/amd/isa/matrix_layout.h"
#include "emulator/amd/isa/number.h"

namespace doorbell::emulator::amd {

// An 8-bit float with `mantissa` bits of fraction. FNUZ: the exponent's bias is one more, and what
// would be -0 is the only NaN. OCP: E5M2 has infinities and NaNs as IEEE has, E4M3 only the NaN of
// all ones. [OCP "8-bit Floating Point Specification"; CDNA3 ISA, "FP8 and BF8"]
inline f32 small_to_float(u32 bits, u32 mantissa, bool fnuz) {
  const u32 exponent_bits = 7 - mantissa;
  const i32 bias = (1 << (exponent_bits - 1)) - (fnuz ? 0 : 1);
  const u32 sign = bits >> 7 & 1, fraction = bits & ((1u << mantissa) - 1);
  const u32 exponent = bits >> mantissa & ((1u << exponent_bits) - 1);
  if (fnuz && bits == 0x80) return std::bit_cast<f32>(0x7fc00000);
  if (!fnuz && mantissa == 2 && exponent == 31) {
    return std::bit_cast<f32>(sign << 31 | 0x7f800000 | fraction << 21);
  }
  if (!fnuz && mantissa == 3 && (bits & 0x7f) == 0x7f) return std::bit_cast<f32>(0x7fc00000);
  const f32 value = exponent == 0 ? std::ldexp(static_cast<f32>(fraction), 1 - bias - i32(mantissa))
                                  : std::ldexp(static_cast<f32>(fraction | 1u << mantissa),
                                               i32(exponent) - bias - i32(mantissa));
  return sign != 0 ? -value : value;
}

// The reduced f32 of CDNA3's XF32: 10 bits of fraction, the others rounded to nearest even.
inline f32 round_xf32(f32 value) {
  const u32 bits = std::bit_cast<u32>(value);
  if ((bits & 0x7f800000) == 0x7f800000) return value;
  return std::bit_cast<f32>((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
}

inline f32 element_to_float(u32 bits, Number number, bool fnuz) {
  switch (number) {
    case Number::F16: return half_to_float(bits);
    case Number::Bf16: return bfloat_to_float(bits);
    case Number::Fp8: return small_to_float(bits, 3, fnuz);
    case Number::Bf8: return small_to_float(bits, 2, fnuz);
    case Number::Xf32: return round_xf32(std::bit_cast<f32>(bits));
    default: return std::bit_cast<f32>(bits);
  }
}

inline u32 float_to_element(f32 value, Number number) {
  if (number == Number::F16) return float_to_half(value);
  if (number == Number::Bf16) return float_to_bfloat(value);
  return std::bit_cast<u32>(value);
}

// Of 4 or 8 bits.
inline i32 element_to_integer(u32 bits, u32 width, bool is_signed) {
  return is_signed ? static_cast<i32>(bits << (32 - width)) >> (32 - width)
                   : static_cast<i32>(bits);
}

}  // namespace doorbell::emulator::amd
