// Conversions between number formats of GPUs that C++ has no types for: 16-bit floats and bfloat16;
// for those of 8 bits and less see small_float.h. Free of branches, so that loops over lanes
// vectorise. Rounding is to nearest even unless the name or an argument says otherwise; for that
// the host's rounding must be to nearest too.
#pragma once

#include <bit>

#include "base/util/types.h"

namespace doorbell::emu {

inline f32 half_to_float(u32 half) {
  const u32 sign = (half & 0x8000) << 16, magnitude = half & 0x7fff;
  // The exponent's bias differs by 112; the product is exact for denormal halves too.
  const f32 scaled = std::bit_cast<f32>(magnitude << 13) * 0x1p112f;
  const u32 finite = std::bit_cast<u32>(scaled);
  const u32 bits = magnitude >= 0x7c00 ? magnitude << 13 | 0x7f800000 : finite;
  return std::bit_cast<f32>(bits | sign);
}

// NaNs stay NaNs, quiet; what exceeds 65504 by half a step or more becomes infinite.
inline u32 float_to_half(f32 value) {
  const u32 bits = std::bit_cast<u32>(value), sign = bits >> 16 & 0x8000;
  const u32 magnitude = bits & 0x7fffffff;
  // A half below 2^-14 has the step 2^-24: adding 0.5 puts its bits at the bottom of a float.
  const u32 small =
      std::bit_cast<u32>(std::bit_cast<f32>(magnitude) + 0.5f) - std::bit_cast<u32>(0.5f);
  const u32 normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
  u32 result = magnitude < (113u << 23) ? small : normal;
  result = magnitude >= (143u << 23) - 0x1000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x1ff) : result;
  return result | sign;
}

inline u32 float_to_half_towards_zero(f32 value) {
  const u32 bits = std::bit_cast<u32>(value), sign = bits >> 16 & 0x8000;
  const u32 magnitude = bits & 0x7fffffff;
  const u32 exponent = magnitude >> 23;
  const u32 mantissa = (magnitude & 0x7fffff) | 0x800000;
  const u32 shift = exponent < 113 ? 126 - exponent : 13;
  const u32 small = shift > 24 ? 0 : mantissa >> (shift & 31);
  u32 result = exponent < 113 ? small : (magnitude - (112u << 23)) >> 13;
  result = exponent >= 143 ? 0x7bff : result;  // the largest finite one
  result = magnitude == 0x7f800000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x1ff) : result;
  return result | sign;
}

// How a 16-bit result is rounded: 0 nearest even, 1 up, 2 down, 3 towards zero, as in AMD's MODE.
// If it is held (MODE's FP16_OVFL), an overflow gives the largest finite number.
struct HalfRounding {
  u32 mode = 0;
  bool held = false;
};

// Uses integers only, so it does not depend on the host's rounding.
inline u32 float_to_half(f32 value, HalfRounding rounding) {
  const u32 bits = std::bit_cast<u32>(value), sign = bits >> 16 & 0x8000;
  const u32 magnitude = bits & 0x7fffffff, exponent = magnitude >> 23;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);
  if (magnitude == 0x7f800000) return sign | 0x7c00;
  const bool up = rounding.mode == 1 && sign == 0, down = rounding.mode == 2 && sign != 0;
  if (exponent < 143) {
    const bool small = exponent < 113;
    const u32 distance = small ? 126 - exponent : 13, shift = distance < 31 ? distance : 31;
    const u32 mantissa = (magnitude & 0x7fffff) | (exponent == 0 ? 0 : 0x800000);
    const u32 kept = small ? mantissa >> shift : (magnitude - (112u << 23)) >> 13;
    const u32 rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    const bool nearest_up = rounding.mode == 0 && (rest > half || (rest == half && (kept & 1)));
    const u32 result = kept + (nearest_up || (rest != 0 && (up || down)) ? 1 : 0);
    if (result < 0x7c00) return sign | result;
  }
  const bool infinite = !rounding.held && (rounding.mode == 0 || up || down);
  return sign | (infinite ? 0x7c00 : 0x7bff);
}

// A float that rounds to any 16-bit format as the double does: where something is lost, its last
// bit is set ("rounded to odd").
inline f32 double_to_odd(f64 value) {
  const f32 near = static_cast<f32>(value);
  const f64 back = near;
  const u32 bits = std::bit_cast<u32>(near);
  const u64 value_bits = std::bit_cast<u64>(value), back_bits = std::bit_cast<u64>(back);
  const u64 value_size = value_bits & ~(u64{1} << 63), back_size = back_bits & ~(u64{1} << 63);
  const u32 truncated = back_size > value_size ? bits - 1 : bits;
  const u32 odd = value_size != back_size ? truncated | 1 : bits;
  const bool beyond = (bits & 0x7fffffff) == 0x7f800000 && value_size < 0x7ff0000000000000;
  const bool finite = (bits & 0x7f800000) != 0x7f800000;
  return std::bit_cast<f32>(beyond ? bits - 1 : finite ? odd : bits);
}

// From a double in one rounding, for fused 16-bit operations.
inline u32 double_to_half(f64 value) { return float_to_half(double_to_odd(value)); }
inline u32 double_to_half(f64 value, HalfRounding rounding) {
  return float_to_half(double_to_odd(value), rounding);
}

// Adds the highest random bits to the bits that will be lost, then truncates. For a result below
// 2^-14, bits below the float's own last bit are lost before. [CDNA4 ISA, V_CVT_SR_F16_F32,
// V_CVT_SR_BF16_F32, which leave it to a function; that the highest bits count: V_CVT_SR_FP8_F32,
// V_CVT_SR_BF8_F32 there; rocjitsu util/data_types.h f32_to_binary_float_sr(), also for NaN]
inline u32 float_to_half_random(f32 value, u32 random, bool held) {
  const u32 bits = std::bit_cast<u32>(value), sign = bits >> 16 & 0x8000;
  const u32 magnitude = bits & 0x7fffffff, exponent = magnitude >> 23, added = random >> 19;
  if (magnitude > 0x7f800000) return sign | 0x7fff;
  if (magnitude == 0x7f800000) return sign | 0x7c00;
  const u32 mantissa = (magnitude & 0x7fffff) | (exponent == 0 ? 0 : 0x800000);
  const u32 small = exponent > 113 - 24 ? mantissa >> ((113 - exponent) & 31) : 0;
  const u32 kept = exponent < 113 ? small : magnitude - (112u << 23);
  const u32 result = exponent < 143 ? (kept + added) >> 13 : 0x7c00;
  return sign | (result < 0x7c00 ? result : held ? 0x7bff : 0x7c00);
}
inline u32 float_to_bfloat_random(f32 value, u32 random) {
  const u32 bits = std::bit_cast<u32>(value), sign = bits >> 16 & 0x8000;
  const u32 magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7fff;
  const u32 added = magnitude == 0x7f800000 ? 0 : random >> 16;
  return sign | (magnitude + added) >> 16;
}

inline f32 bfloat_to_float(u32 bfloat) { return std::bit_cast<f32>(bfloat << 16); }

inline u32 float_to_bfloat(f32 value) {
  const u32 bits = std::bit_cast<u32>(value);
  const u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return (bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16 | 0x40) : rounded;
}

}  // namespace doorbell::emu
