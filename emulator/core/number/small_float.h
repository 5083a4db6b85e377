// Floats of 8, 6 and 4 bits: E4M3 and E5M2 as OCP defines them (gfx950, gfx12), and the FNUZ kind
// (gfx942), with one NaN, no -0, no infinities and a bias one higher; E2M3, E3M2 and E2M1, in which
// every code is a finite number. Used by V_CVT_*FP8*, V_CVT_SCALEF32_* and the matrix instructions.
// [OCP "8-bit Floating Point Specification" 1.0; OCP "Microscaling Formats" 1.0, 5.3; CDNA3 ISA,
// chapter on FP8 and BF8]
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "base/util/types.h"

namespace doorbell::emu {

struct SmallFormat {
  u32 exponent_bits, mantissa_bits;
  i32 bias;
  enum class Top : u8 {
    Numbers,     // no NaN, no infinity
    Nan,         // the largest code is the NaN
    Infinities,  // as in IEEE 754
    Fnuz,        // -0 is the NaN
  } top;

  constexpr u32 sign() const { return 1u << (exponent_bits + mantissa_bits); }
};
inline constexpr SmallFormat kFp8{4, 3, 7, SmallFormat::Top::Nan},
    kBf8{5, 2, 15, SmallFormat::Top::Infinities}, kFp8Fnuz{4, 3, 8, SmallFormat::Top::Fnuz},
    kBf8Fnuz{5, 2, 16, SmallFormat::Top::Fnuz}, kFp6{2, 3, 1, SmallFormat::Top::Numbers},
    kBf6{3, 2, 3, SmallFormat::Top::Numbers}, kFp4{2, 1, 1, SmallFormat::Top::Numbers};

inline f32 small_to_float(u32 code, const SmallFormat& format) {
  using Top = SmallFormat::Top;
  const u32 magnitude = code & (format.sign() - 1);
  const u32 mantissa = code & ((1u << format.mantissa_bits) - 1);
  const u32 exponent = magnitude >> format.mantissa_bits;
  const f32 sign = code & format.sign() ? -1.0f : 1.0f;
  const f32 nan = std::bit_cast<f32>(0x7fc00000u);
  if (format.top == Top::Fnuz && code == format.sign()) return nan;
  if (format.top == Top::Infinities && exponent == (1u << format.exponent_bits) - 1) {
    return mantissa ? nan : sign * HUGE_VALF;
  }
  if (format.top == Top::Nan && magnitude == format.sign() - 1) return nan;
  const i32 bits = static_cast<i32>(format.mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(static_cast<f32>(mantissa), 1 - format.bias - bits);
  return sign * std::ldexp(static_cast<f32>(mantissa | 1u << bits),
                           static_cast<i32>(exponent) - format.bias - bits);
}

// E8M0, a power of two: the scale of a block. [OCP "Microscaling Formats" 1.0, 5.4]
inline f64 scale_to_double(u32 byte) {
  return byte == 255 ? std::numeric_limits<f64>::quiet_NaN()
                     : std::ldexp(1.0, static_cast<i32>(byte) - 127);
}

namespace detail {

// The largest finite code, and the code of NaN; callers check for NaN first if the format has none.
inline u32 largest_code(const SmallFormat& format) {
  using Top = SmallFormat::Top;
  const u32 all = format.sign() - 1;
  if (format.top == Top::Nan) return all - 1;
  return format.top == Top::Infinities ? all - (1u << format.mantissa_bits) : all;
}
inline u32 nan_code(u32 sign, const SmallFormat& format) {
  return format.top == SmallFormat::Top::Fnuz ? format.sign() : sign | (format.sign() - 1);
}

// Beyond the largest number: the largest, if results are held or the format has nothing else;
// otherwise infinity, or NaN if there is no infinity.
inline u32 overflow_code(u32 sign, const SmallFormat& format, bool held) {
  using Top = SmallFormat::Top;
  if (held || format.top == Top::Numbers) return largest_code(format) | sign;
  return format.top == Top::Infinities ? (largest_code(format) + 1) | sign : nan_code(sign, format);
}

// value in steps of the format at its size, as a magnitude and the step's exponent.
struct Steps {
  f64 count;
  i32 exponent;  // of the format, 1 for denormals
};
inline Steps in_steps(f64 value, const SmallFormat& format) {
  int exponent = 0;
  const f64 magnitude = std::fabs(value);
  static_cast<void>(std::frexp(magnitude, &exponent));
  i32 biased = exponent - 1 + format.bias;
  if (biased < 1) biased = 1;
  const i32 step = biased - format.bias - static_cast<i32>(format.mantissa_bits);
  return {std::ldexp(magnitude, -step), biased};
}
inline bool is_far_beyond(const Steps& steps, const SmallFormat& format) {
  return steps.exponent > i32{1} << format.exponent_bits;
}
inline u32 code_of_steps(u32 steps, i32 biased, u32 sign, const SmallFormat& format, bool held) {
  const u32 one = 1u << format.mantissa_bits;
  // A carry out of the mantissa lands in the exponent.
  const u32 code =
      steps < one ? steps : ((static_cast<u32>(biased) << format.mantissa_bits) + steps - one);
  if (code > largest_code(format)) return overflow_code(sign, format, held);
  return code == 0 && format.top == SmallFormat::Top::Fnuz ? 0 : code | sign;
}

}  // namespace detail

// To nearest even. `held`: MODE's FP16_OVFL, with which too large values become the largest.
inline u32 float_to_small(f64 value, const SmallFormat& format, bool held) {
  const u32 sign = std::signbit(value) ? format.sign() : 0;
  if (value != value) return detail::nan_code(sign, format);
  if (std::isinf(value)) return detail::overflow_code(sign, format, held);
  const detail::Steps steps = detail::in_steps(value, format);
  if (detail::is_far_beyond(steps, format)) return detail::overflow_code(sign, format, held);
  return detail::code_of_steps(static_cast<u32>(__builtin_roundeven(steps.count)), steps.exponent,
                               sign, format, held);
}

// Adds random bits below the last bit that is kept, then truncates.
inline u32 float_to_small_random(f64 value, u32 random, const SmallFormat& format, bool held) {
  const u32 sign = std::signbit(value) ? format.sign() : 0;
  if (value != value || std::isinf(value)) return float_to_small(value, format, held);
  const detail::Steps steps = detail::in_steps(value, format);
  if (detail::is_far_beyond(steps, format)) return detail::overflow_code(sign, format, held);
  const f64 sum = steps.count + std::ldexp(static_cast<f64>(random), -32);
  return detail::code_of_steps(static_cast<u32>(sum), steps.exponent, sign, format, held);
}

// Whether the value lies between two codes below the smallest normal number.
inline bool is_between_denormals(f64 value, const SmallFormat& format) {
  const f64 steps = std::ldexp(std::fabs(value), format.bias - 1 + i32(format.mantissa_bits));
  return steps < static_cast<f64>(1u << format.mantissa_bits) && steps != std::floor(steps);
}

}  // namespace doorbell::emu
