// The position of a field in a run of 32-bit words, as vendors print it: hi:lo, both inclusive, bit
// 0 lowest in word 0. Values go in and out with deposit() and extract(). For records made of such
// fields see base/bits/record.h; drivers/*/hw says what the words mean.
//
// A position or value out of range does not compile where it is constant; otherwise it fails a
// CHECK.
#pragma once

#include <algorithm>
#include <span>

#include "base/util/check.h"
#include "base/util/types.h"

namespace doorbell {

struct Bits {
  u16 hi = 0, lo = 0;

  constexpr Bits(unsigned hi, unsigned lo) : hi(static_cast<u16>(hi)), lo(static_cast<u16>(lo)) {
    CHECK(lo <= hi && hi < 0x10000, "bits {}:{} are not hi:lo", hi, lo);
    CHECK(hi - lo < 64, "bits {}:{} are more than 64", hi, lo);
  }

  constexpr unsigned width() const { return hi - lo + 1u; }
  // The greatest value that fits.
  constexpr u64 max() const { return ~u64{0} >> (64 - width()); }

  bool operator==(const Bits&) const = default;
};

// Bits of the i-th word; the whole word by default.
constexpr Bits word(unsigned i, unsigned hi = 31, unsigned lo = 0) {
  CHECK(hi < 32, "bit {} is not in a word of 32", hi);
  return Bits{i * 32 + hi, i * 32 + lo};
}

namespace detail {

// The part of a field that lies in one word; a field of 64 bits has at most three. Separate and
// always inlined, so that a constant position becomes plain shifts and masks in every compiler.
struct WordPart {
  unsigned word, shift, count;
  u32 mask;
};

[[gnu::always_inline]] constexpr WordPart word_part(unsigned at, unsigned end) {
  unsigned shift = at % 32, count = std::min(32 - shift, end - at);
  return {at / 32, shift, count, (~u32{0} >> (32 - count)) << shift};
}

[[gnu::always_inline]] constexpr void deposit_part(std::span<u32> words, Bits bits, unsigned at,
                                                   u64 value) {
  WordPart part = word_part(at, bits.hi + 1u);
  u32& word = words[part.word];
  u32 moved = static_cast<u32>(value >> (at - bits.lo)) << part.shift;
  word = (word & ~part.mask) | (moved & part.mask);
}

[[gnu::always_inline]] constexpr u64 extract_part(std::span<const u32> words, Bits bits,
                                                  unsigned at) {
  WordPart part = word_part(at, bits.hi + 1u);
  return static_cast<u64>((words[part.word] & part.mask) >> part.shift) << (at - bits.lo);
}

}  // namespace detail

// Replaces the bits; the others stay.
[[gnu::always_inline]] constexpr void deposit(std::span<u32> words, Bits bits, u64 value) {
  CHECK(value <= bits.max(), "{:#x} does not fit bits {}:{}", value, bits.hi, bits.lo);
  CHECK(bits.hi < words.size() * 32, "bits {}:{} are beyond {} words", bits.hi, bits.lo,
        words.size());
  unsigned second = bits.lo / 32 * 32 + 32u, third = second + 32;
  detail::deposit_part(words, bits, bits.lo, value);
  if (second <= bits.hi) detail::deposit_part(words, bits, second, value);
  if (third <= bits.hi) detail::deposit_part(words, bits, third, value);
}

[[gnu::always_inline]] constexpr u64 extract(std::span<const u32> words, Bits bits) {
  CHECK(bits.hi < words.size() * 32, "bits {}:{} are beyond {} words", bits.hi, bits.lo,
        words.size());
  unsigned second = bits.lo / 32 * 32 + 32u, third = second + 32;
  u64 value = detail::extract_part(words, bits, bits.lo);
  if (second <= bits.hi) value |= detail::extract_part(words, bits, second);
  if (third <= bits.hi) value |= detail::extract_part(words, bits, third);
  return value;
}

}  // namespace doorbell
