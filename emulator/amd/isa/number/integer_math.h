// Integer operations of AMD's vector ALU that take more than one operator, on one lane's values.
// [RDNA3 ISA, chapter "Instructions": V_PERM_B32, V_LERP_U8, V_SAD_U8, V_QSAD_PK_U16_U8 and so on]
#pragma once

#include <algorithm>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

constexpr i32 as_signed(u32 value) { return static_cast<i32>(value); }
constexpr i32 signed_24(u32 value) { return static_cast<i32>(value << 8) >> 8; }

// Saturated to 32 or 16 bits, for the clamp bit.
constexpr u32 hold_u32(i64 value) {
  return static_cast<u32>(std::clamp<i64>(value, 0, 0xffffffff));
}
constexpr u32 hold_i32(i64 value) {
  return static_cast<u32>(std::clamp<i64>(value, -0x80000000ll, 0x7fffffff));
}
constexpr u16 hold_u16(i64 value) { return static_cast<u16>(std::clamp<i64>(value, 0, 0xffff)); }
constexpr i16 hold_i16(i64 value) {
  return static_cast<i16>(std::clamp<i64>(value, -0x8000, 0x7fff));
}

template <class T>
constexpr T middle(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

constexpr i32 extract_signed(i32 value, u32 offset, u32 width) {
  const i32 shifted = value >> offset;
  const u32 unused = 32 - width;
  return width == 0 ? 0
                    : static_cast<i32>(static_cast<u32>(shifted) << (unused & 31)) >> (unused & 31);
}

// V_PRNG_B32: a linear feedback shift register. [CDNA4 ISA]
constexpr u32 next_random(u32 value) { return value << 1 ^ ((value >> 31) != 0 ? 197u : 0u); }

constexpr u32 reverse_bits(u32 value) {
  value = (value >> 1 & 0x55555555) | (value & 0x55555555) << 1;
  value = (value >> 2 & 0x33333333) | (value & 0x33333333) << 2;
  value = (value >> 4 & 0x0f0f0f0f) | (value & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(value);
}

// A selector's byte: 0 to 7 a byte of {a, b}, b's first; 8 to 11 the sign of b's and a's halves
// spread over a byte; 12 is 0, above is 0xff.
constexpr u32 permuted_byte(u64 both, u32 selector) {
  if (selector < 8) return static_cast<u32>(both >> (8 * selector)) & 0xff;
  if (selector < 12) return both >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
  return selector == 12 ? 0 : 0xff;
}
constexpr u32 permute_bytes(u32 a, u32 b, u32 selectors) {
  const u64 both = u64{a} << 32 | b;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    result |= permuted_byte(both, selectors >> (8 * i) & 0xff) << (8 * i);
  }
  return result;
}

constexpr u32 distance(u32 a, u32 b) { return a > b ? a - b : b - a; }
constexpr u32 sad_bytes(u32 a, u32 b) {
  u32 sum = 0;
  for (u32 i = 0; i < 32; i += 8) sum += distance(a >> i & 0xff, b >> i & 0xff);
  return sum;
}
constexpr u32 sad_halves(u32 a, u32 b) {
  return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16);
}
// Bytes whose reference is 0 are skipped.
constexpr u32 masked_sad(u32 a, u32 reference) {
  u32 sum = 0;
  for (u32 i = 0; i < 32; i += 8) {
    const u32 other = reference >> i & 0xff;
    if (other != 0) sum += distance(a >> i & 0xff, other);
  }
  return sum;
}
// Four sums, at four bytes of a, each added to 16 bits of c.
template <bool masked>
constexpr u64 four_sads(u64 a, u32 b, u64 c) {
  u64 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 part = static_cast<u32>(a >> (8 * i));
    const u32 sum = masked ? masked_sad(part, b) : sad_bytes(part, b);
    result |= (((c >> (16 * i) & 0xffff) + sum) & 0xffff) << (16 * i);
  }
  return result;
}
constexpr u32 average_bytes(u32 a, u32 b, u32 round) {
  u32 result = 0;
  for (u32 i = 0; i < 32; i += 8) {
    result |= ((a >> i & 0xff) + (b >> i & 0xff) + (round >> i & 1)) >> 1 << i;
  }
  return result;
}

}  // namespace doorbell::emu::amdgpu
