// Converts elements of matrices to and from the host's types.
#pragma once

#include <bit>

#include "emulator/amd/isa/matrix/matrix_layout.h"
#include "emulator/core/number/number.h"
#include "emulator/core/number/small_float.h"

namespace doorbell::emu::amdgpu {

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
    case Number::Fp8: return small_to_float(bits, fnuz ? kFp8Fnuz : kFp8);
    case Number::Bf8: return small_to_float(bits, fnuz ? kBf8Fnuz : kBf8);
    case Number::Fp6: return small_to_float(bits, kFp6);
    case Number::Bf6: return small_to_float(bits, kBf6);
    case Number::Fp4: return small_to_float(bits, kFp4);
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

}  // namespace doorbell::emu::amdgpu
