// Updates by atomic instructions: one function each, of the value in memory, the instruction's
// operand, and its second operand if it has one.
// [RDNA3 ISA, "Flat memory instructions", "Data share instructions": the operations' pseudo-code]
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/util/types.h"
#include "emulator/core/number/number.h"

namespace doorbell::emu::amdgpu::update {

template <class T>
u64 swap(u64, u64 operand, u64) {
  return operand;
}
template <class T>
u64 add(u64 before, u64 operand, u64) {
  return static_cast<T>(before + operand);
}
template <class T>
u64 subtract(u64 before, u64 operand, u64) {
  return static_cast<T>(before - operand);
}
template <class T>
u64 subtract_from(u64 before, u64 operand, u64) {
  return static_cast<T>(operand - before);
}
// T is signed for SMIN and unsigned for UMIN.
template <class T>
u64 minimum(u64 before, u64 operand, u64) {
  return static_cast<u64>(std::min(static_cast<T>(before), static_cast<T>(operand)));
}
template <class T>
u64 maximum(u64 before, u64 operand, u64) {
  return static_cast<u64>(std::max(static_cast<T>(before), static_cast<T>(operand)));
}
template <class T>
u64 bit_and(u64 before, u64 operand, u64) {
  return before & operand;
}
template <class T>
u64 bit_or(u64 before, u64 operand, u64) {
  return before | operand;
}
template <class T>
u64 bit_xor(u64 before, u64 operand, u64) {
  return before ^ operand;
}
template <class T>
u64 increment(u64 before, u64 operand, u64) {
  return static_cast<T>(before) >= static_cast<T>(operand) ? 0 : before + 1;
}
template <class T>
u64 decrement(u64 before, u64 operand, u64) {
  const T value = static_cast<T>(before), limit = static_cast<T>(operand);
  return value == 0 || value > limit ? limit : value - 1;
}
template <class T>
u64 subtract_clamped(u64 before, u64 operand, u64) {
  return before > operand ? before - operand : 0;
}
template <class T>
u64 subtract_if_fits(u64 before, u64 operand, u64) {
  return before >= operand ? before - operand : before;
}
// The second operand is the value to compare with.
template <class T>
u64 compare_swap(u64 before, u64 operand, u64 compare) {
  return static_cast<T>(before) == static_cast<T>(compare) ? operand : before;
}
// DS_CMPST has them the other way round.
template <class T>
u64 compare_store(u64 before, u64 compare, u64 operand) {
  return compare_swap<T>(before, operand, compare);
}
// Replaces the bits in the first operand's mask by those of the second.
template <class T>
u64 mask_or(u64 before, u64 mask, u64 bits) {
  return (before & ~mask) | bits;
}
template <class T>
u64 wrap(u64 before, u64 operand, u64 more) {
  return static_cast<T>(before >= operand ? before - operand : before + more);
}

// ---- floats ----
template <class T>
struct FloatBits;
template <>
struct FloatBits<f32> {
  static f32 value(u64 bits) { return std::bit_cast<f32>(static_cast<u32>(bits)); }
  static u64 bits(f32 value) { return std::bit_cast<u32>(value); }
};
template <>
struct FloatBits<f64> {
  static f64 value(u64 bits) { return std::bit_cast<f64>(bits); }
  static u64 bits(f64 value) { return std::bit_cast<u64>(value); }
};

template <class T>
u64 add_float(u64 before, u64 operand, u64) {
  return FloatBits<T>::bits(FloatBits<T>::value(before) + FloatBits<T>::value(operand));
}
// A number wins over a NaN; -0 is less than +0.
template <class T>
u64 min_float(u64 before, u64 operand, u64) {
  const T a = FloatBits<T>::value(before), b = FloatBits<T>::value(operand);
  if (a == b) return std::signbit(a) ? before : operand;
  return FloatBits<T>::bits(std::fmin(a, b));
}
template <class T>
u64 max_float(u64 before, u64 operand, u64) {
  const T a = FloatBits<T>::value(before), b = FloatBits<T>::value(operand);
  if (a == b) return std::signbit(a) ? operand : before;
  return FloatBits<T>::bits(std::fmax(a, b));
}
template <class T>
u64 compare_swap_float(u64 before, u64 operand, u64 compare) {
  return FloatBits<T>::value(before) == FloatBits<T>::value(compare) ? operand : before;
}
template <class T>
u64 compare_store_float(u64 before, u64 compare, u64 operand) {
  return compare_swap_float<T>(before, operand, compare);
}
inline u64 add_halves(u64 before, u64 operand, u64) {
  const auto sum = [&](u32 shift) {
    return u64{float_to_half(half_to_float(before >> shift & 0xffff) +
                             half_to_float(operand >> shift & 0xffff))};
  };
  return sum(0) | sum(16) << 16;
}
inline u64 add_bfloats(u64 before, u64 operand, u64) {
  const auto sum = [&](u32 shift) {
    return u64{float_to_bfloat(bfloat_to_float(before >> shift & 0xffff) +
                               bfloat_to_float(operand >> shift & 0xffff))};
  };
  return sum(0) | sum(16) << 16;
}

// Whether the update rounds. How LDS and caches round when MODE selects another rounding than to
// nearest is not documented: such an instruction stops. (Specialisations, because GCC 12's
// undefined behaviour sanitizer does not compare functions in constants.)
template <u64 (*kUpdate)(u64, u64, u64)>
constexpr bool kRounds = false;
template <>
inline constexpr bool kRounds<&add_float<f32>> = true;
template <>
inline constexpr bool kRounds<&add_float<f64>> = true;
template <>
inline constexpr bool kRounds<&add_halves> = true;
template <>
inline constexpr bool kRounds<&add_bfloats> = true;

}  // namespace doorbell::emu::amdgpu::update
