// Float operations of AMD's vector ALU for every width: minima, maxima, classes, and the steps of
// division. Written for loops over lanes: selections rather than branches.
// [RDNA3 ISA, chapter "Instructions": V_MIN_F32, V_MED3_F32, V_CMP_CLASS_F32, V_DIV_SCALE_F32,
// V_DIV_FIXUP_F32, and the same of 64 bits]
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, u64, u32>;
template <class T>
constexpr BitsOf<T> kSignBit = BitsOf<T>{1} << (8 * sizeof(T) - 1);
template <class T>
constexpr int kMantissaBits = sizeof(T) == 8 ? 52 : 23;
template <class T>
constexpr int kExponentMask = sizeof(T) == 8 ? 0x7ff : 0xff;

template <class T>
BitsOf<T> bits_of(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}
template <class T>
T from_bits(BitsOf<T> bits) {
  return std::bit_cast<T>(bits);
}
template <class T>
bool is_nan(T value) {
  return value != value;
}
template <class T>
int biased_exponent(T value) {
  return static_cast<int>(bits_of(value) >> kMantissaBits<T>) & kExponentMask<T>;
}
template <class T>
bool is_denormal(T value) {
  return biased_exponent(value) == 0 && (bits_of(value) & ~kSignBit<T>) != 0;
}
template <class T>
T quiet(T value) {
  return from_bits<T>(bits_of(value) | BitsOf<T>{1} << (kMantissaBits<T> - 1));
}

// The one that is a number; of equal ones, -0 is the lesser.
template <class T>
T minimum_number(T a, T b) {
  const T equal = from_bits<T>(bits_of(a) | bits_of(b));
  const T least = a < b ? a : b < a ? b : equal;
  return is_nan(a) ? b : is_nan(b) ? a : least;
}
template <class T>
T maximum_number(T a, T b) {
  const T equal = from_bits<T>(bits_of(a) & bits_of(b));
  const T most = (a > b) ? a : (b > a) ? b : equal;
  return is_nan(a) ? b : is_nan(b) ? a : most;
}
// IEEE 754-2019 minimum and maximum: a NaN wins.
template <class T>
T minimum_any(T a, T b) {
  const T least = minimum_number(a, b);
  return is_nan(a) ? quiet(a) : is_nan(b) ? quiet(b) : least;
}
template <class T>
T maximum_any(T a, T b) {
  const T most = maximum_number(a, b);
  return is_nan(a) ? quiet(a) : is_nan(b) ? quiet(b) : most;
}
template <class T>
T median(T a, T b, T c) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return minimum_number(minimum_number(a, b), c);
  return maximum_number(minimum_number(a, b), minimum_number(maximum_number(a, b), c));
}

template <class T>
T fraction(T value) {
  const T below_one = from_bits<T>(bits_of(T{1}) - 1);
  const T result = value - std::floor(value);
  return result > below_one ? below_one : result;
}

// Bits: 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal,
// 8 +normal, 9 +inf.
template <class T>
u32 class_bit(T value) {
  const BitsOf<T> bits = bits_of(value);
  const BitsOf<T> mantissa = bits & ((BitsOf<T>{1} << kMantissaBits<T>)-1);
  const bool negative = (bits & kSignBit<T>) != 0;
  const int exponent = biased_exponent(value);
  if (exponent == kExponentMask<T>) {
    if (mantissa != 0) return mantissa >> (kMantissaBits<T> - 1) & 1 ? 1u << 1 : 1u << 0;
    return negative ? 1u << 2 : 1u << 9;
  }
  if (exponent != 0) return negative ? 1u << 3 : 1u << 8;
  if (mantissa != 0) return negative ? 1u << 4 : 1u << 7;
  return negative ? 1u << 5 : 1u << 6;
}
// The same for a 16-bit float, by its bits.
inline u32 class_bit_half(u32 half) {
  const u32 mantissa = half & 0x3ff, exponent = half >> 10 & 31;
  const bool negative = (half & 0x8000) != 0;
  if (exponent == 31) {
    if (mantissa != 0) return mantissa & 0x200 ? 1u << 1 : 1u << 0;
    return negative ? 1u << 2 : 1u << 9;
  }
  if (exponent != 0) return negative ? 1u << 3 : 1u << 8;
  if (mantissa != 0) return negative ? 1u << 4 : 1u << 7;
  return negative ? 1u << 5 : 1u << 6;
}

// value is the numerator or the denominator of a division, to be scaled so that no step of it
// leaves the range; the bit says that v_div_fmas is to scale the quotient back. Where the documents
// would scale a denominator up that is large already (a reciprocal and a quotient that are both
// denormal), it is scaled down: that agrees with what was measured on gfx11, as does that a
// quotient counts as denormal by the difference of exponents.
// [RDNA3 ISA, V_DIV_SCALE_F32; tinygrad test/amd/hw/test_vop3.py@a9069c1, TestDivScale]
template <class T>
struct Scaled {
  T value;
  bool bit;
};
template <class T>
Scaled<T> div_scale(T value, T denominator, T numerator) {
  constexpr int kFar = sizeof(T) == 8 ? 768 : 96;   // exponents at least this far apart
  constexpr int kUp = sizeof(T) == 8 ? 128 : 64;    // scale by two to this
  constexpr int kSmall = sizeof(T) == 8 ? 53 : 23;  // a numerator's exponent at most this
  const bool is_denominator = bits_of(value) == bits_of(denominator);
  const bool is_numerator = bits_of(value) == bits_of(numerator);
  if (numerator == 0 || denominator == 0) {
    return {from_bits<T>(BitsOf<T>{kExponentMask<T>} << kMantissaBits<T> |
                         BitsOf<T>{1} << (kMantissaBits<T> - 1)),
            true};
  }
  if (biased_exponent(numerator) - biased_exponent(denominator) >= kFar) {
    return {is_denominator ? std::ldexp(value, kUp) : value, true};
  }
  if (is_denormal(denominator)) return {std::ldexp(value, kUp), false};
  const bool reciprocal_denormal = is_denormal(T{1} / denominator);
  const int quotient_exponent = biased_exponent(numerator) - biased_exponent(denominator);
  const bool quotient_denormal =
      quotient_exponent <= 1 - kExponentMask<T> / 2 || is_denormal(numerator / denominator);
  if (reciprocal_denormal && quotient_denormal) {
    return {is_denominator ? std::ldexp(value, -kUp) : value, true};
  }
  if (reciprocal_denormal) return {std::ldexp(value, -kUp), false};
  if (quotient_denormal) return {is_numerator ? std::ldexp(value, kUp) : value, true};
  if (biased_exponent(numerator) <= kSmall) return {std::ldexp(value, kUp), false};
  return {value, false};
}

// The factor of v_div_fmas for a quotient whose bit is set: it was scaled down if it is large, up
// if it is small. `addend` approximates the quotient.
template <class T>
T div_unscale(T addend) {
  constexpr int kUp = sizeof(T) == 8 ? 128 : 64, kBias = sizeof(T) == 8 ? 1023 : 127;
  return std::ldexp(T{1}, biased_exponent(addend) > kBias ? kUp : -kUp);
}

template <class T>
T div_fixup(T quotient, T denominator, T numerator) {
  constexpr int kUnderflow = sizeof(T) == 8 ? -1075 : -150;
  const BitsOf<T> sign = (bits_of(denominator) ^ bits_of(numerator)) & kSignBit<T>;
  const auto signed_as = [&](T magnitude) {
    return from_bits<T>((bits_of(magnitude) & ~kSignBit<T>) | sign);
  };
  const BitsOf<T> infinity = BitsOf<T>{kExponentMask<T>} << kMantissaBits<T>;
  const auto is_infinite = [&](T value) { return (bits_of(value) & ~kSignBit<T>) == infinity; };
  const T invalid = from_bits<T>(kSignBit<T> | infinity | BitsOf<T>{1} << (kMantissaBits<T> - 1));
  if (is_nan(numerator)) return quiet(numerator);
  if (is_nan(denominator)) return quiet(denominator);
  if (numerator == 0 && denominator == 0) return invalid;
  if (is_infinite(numerator) && is_infinite(denominator)) return invalid;
  if (denominator == 0 || is_infinite(numerator)) return signed_as(from_bits<T>(infinity));
  if (is_infinite(denominator) || numerator == 0) return signed_as(T{0});
  if (biased_exponent(numerator) - biased_exponent(denominator) < kUnderflow) {
    return signed_as(T{0});
  }
  if (is_nan(quotient)) return signed_as(from_bits<T>(infinity));
  return signed_as(quotient);
}

// Truncated, and held to the range; NaN is 0.
template <class I, class T>
I to_integer(T value) {
  constexpr T kEnd = sizeof(I) == 4 ? T(std::is_signed_v<I> ? 2147483648.0 : 4294967296.0)
                                    : T(std::is_signed_v<I> ? 32768.0 : 65536.0);
  constexpr I kMax =
      static_cast<I>(std::is_signed_v<I> ? (BitsOf<T>{1} << (8 * sizeof(I) - 1)) - 1
                                         : static_cast<std::make_unsigned_t<I>>(~I{0}));
  constexpr I kMin = std::is_signed_v<I> ? static_cast<I>(-kMax - 1) : I{0};
  if (is_nan(value)) return 0;
  if (value >= kEnd) return kMax;
  if (std::is_signed_v<I> ? value < -kEnd : value <= T{-1}) return kMin;
  return static_cast<I>(value);
}

}  // namespace doorbell::emu::amdgpu
