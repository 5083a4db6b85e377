// 8-bit floats: E4M3 and E5M2 as OCP defines them (gfx950, gfx12), and the FNUZ kind (gfx942), with
// one NaN, no -0, no infinities and a bias one higher. On this file's conversions rest V_CVT_*FP8*
// and the matrix instructions.
// [OCP "8-bit Floating Point Specification" 1.0; CDNA3 ISA, chapter on FP8 and BF8]
#pragma once

#include <bit>
#include <cmath>

#include "base/util/types.h"

namespace doorbell::emulator::amd {

struct ByteFormat {
  u32 mantissa_bits;
  i32 bias;
  bool fnuz;        // 0x80 is the only NaN
  bool infinities;  // E5M2 of OCP: as in IEEE 754
};
inline constexpr ByteFormat kFp8{3, 7, false, false}, kBf8{2, 15, false, true},
    kFp8Fnuz{3, 8, true, false}, kBf8Fnuz{2, 16, true, false};

inline f32 byte_to_float(u32 byte, const ByteFormat& format) {
  const u32 mantissa = byte & ((1u << format.mantissa_bits) - 1);
  const u32 top = (1u << (7 - format.mantissa_bits)) - 1;
  const u32 exponent = byte >> format.mantissa_bits & top;
  const f32 sign = byte & 0x80 ? -1.0f : 1.0f;
  const f32 nan = std::bit_cast<f32>(0x7fc00000u);
  if (format.fnuz && byte == 0x80) return nan;
  if (format.infinities && exponent == top) return mantissa ? nan : sign * HUGE_VALF;
  if (!format.fnuz && !format.infinities && (byte & 0x7f) == 0x7f) return nan;
  const i32 bits = static_cast<i32>(format.mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(static_cast<f32>(mantissa), 1 - format.bias - bits);
  return sign * std::ldexp(static_cast<f32>(mantissa | 1u << bits),
                           static_cast<i32>(exponent) - format.bias - bits);
}

namespace detail {

// The largest finite byte, and what NaN is.
inline u32 largest_byte(const ByteFormat& format) {
  return format.fnuz ? 0x7f : format.infinities ? 0x7b : 0x7e;
}
inline u32 nan_byte(u32 sign, const ByteFormat& format) { return format.fnuz ? 0x80 : sign | 0x7f; }

// Beyond the largest: that one where results are held, else infinite, or NaN where there is no
// infinity.
inline u32 overflow_byte(u32 sign, const ByteFormat& format, bool held) {
  if (held) return largest_byte(format) | sign;
  return format.infinities ? 0x7c | sign : nan_byte(sign, format);
}

// value in steps of the format at its size, as a magnitude and the step's exponent.
struct Steps {
  f64 count;
  i32 exponent;  // of the format, 0 for denormals
};
inline Steps in_steps(f32 value, const ByteFormat& format) {
  int exponent = 0;
  const f64 magnitude = std::fabs(f64{value});
  static_cast<void>(std::frexp(magnitude, &exponent));
  i32 biased = exponent - 1 + format.bias;
  if (biased < 1) biased = 1;
  const i32 step = biased - format.bias - static_cast<i32>(format.mantissa_bits);
  return {std::ldexp(magnitude, -step), biased};
}
inline u32 byte_of_steps(u32 steps, i32 biased, u32 sign, const ByteFormat& format, bool held) {
  const u32 one = 1u << format.mantissa_bits;
  // A carry out of the mantissa lands in the exponent.
  const u32 byte =
      steps < one ? steps : ((static_cast<u32>(biased) << format.mantissa_bits) + steps - one);
  if (byte > largest_byte(format)) return overflow_byte(sign, format, held);
  return byte == 0 && format.fnuz ? 0 : byte | sign;
}

}  // namespace detail

// To nearest even. `held`: MODE's FP16_OVFL, for which what is too large becomes the largest.
inline u32 float_to_byte(f32 value, const ByteFormat& format, bool held) {
  const u32 sign = std::bit_cast<u32>(value) >> 24 & 0x80;
  if (value != value) return detail::nan_byte(sign, format);
  if (std::isinf(value)) return detail::overflow_byte(sign, format, held);
  const detail::Steps steps = detail::in_steps(value, format);
  if (steps.exponent > 64) return detail::overflow_byte(sign, format, held);
  return detail::byte_of_steps(static_cast<u32>(__builtin_roundeven(steps.count)), steps.exponent,
                               sign, format, held);
}

// Random bits are added below the last one that stays; then the rest is cut off.
inline u32 float_to_byte_random(f32 value, u32 random, const ByteFormat& format, bool held) {
  const u32 sign = std::bit_cast<u32>(value) >> 24 & 0x80;
  if (value != value || std::isinf(value)) return float_to_byte(value, format, held);
  const detail::Steps steps = detail::in_steps(value, format);
  if (steps.exponent > 64) return detail::overflow_byte(sign, format, held);
  const f64 sum = steps.count + std::ldexp(static_cast<f64>(random), -32);
  return detail::byte_of_steps(static_cast<u32>(sum), steps.exponent, sign, format, held);
}

}  // namespace doorbell::emulator::amd
