// Elements of matrices to and from what the host computes with.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "emulator/amd/isa/byte_float.h"
#include "emulator/amd/isa/matrix_layout.h"
#include "emulator/amd/isa/number.h"

namespace doorbell::emulator::amd {

// A float of 4 or 6 bits: every code is a finite number. [OCP "Microscaling Formats" 1.0, 5.3]
inline f32 tiny_to_float(u32 bits, u32 exponent_bits, u32 mantissa_bits) {
  const i32 bias = (1 << (exponent_bits - 1)) - 1, mantissa = static_cast<i32>(mantissa_bits);
  const u32 fraction = bits & ((1u << mantissa_bits) - 1);
  const i32 exponent = static_cast<i32>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const u32 steps = exponent == 0 ? fraction : fraction | 1u << mantissa_bits;
  const f32 value = std::ldexp(static_cast<f32>(steps), std::max(exponent, 1) - bias - mantissa);
  return (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -value : value;
}

// E8M0, a power of two: the scale of a block. [OCP "Microscaling Formats" 1.0, 5.4]
inline f64 scale_to_double(u32 byte) {
  return byte == 255 ? std::numeric_limits<f64>::quiet_NaN()
                     : std::ldexp(1.0, static_cast<i32>(byte) - 127);
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
    case Number::Fp8: return byte_to_float(bits, fnuz ? kFp8Fnuz : kFp8);
    case Number::Bf8: return byte_to_float(bits, fnuz ? kBf8Fnuz : kBf8);
    case Number::Fp6: return tiny_to_float(bits, 2, 3);
    case Number::Bf6: return tiny_to_float(bits, 3, 2);
    case Number::Fp4: return tiny_to_float(bits, 2, 1);
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
