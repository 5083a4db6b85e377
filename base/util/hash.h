// Hashes of 64 bits for table keys and cache keys: quick, well mixed, the same in every run and on
// every machine we build for. Not safe against adversaries: compare keys in full after a hit.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/util/types.h"

namespace doorbell {

namespace detail {
// Odd constants with about half their bits set, from the digits of sqrt(2), sqrt(3), sqrt(5) and
// sqrt(7).
inline constexpr u64 kHashA = 0x6a09e667f3bcc909, kHashB = 0xbb67ae8584caa73b;
inline constexpr u64 kHashC = 0x3c6ef372fe94f82b, kHashD = 0xa54ff53a5f1d36f1;

// Both halves of the 128-bit product, folded: every bit of the inputs reaches every bit of the
// result.
constexpr u64 fold_multiply(u64 a, u64 b) {
  __extension__ using u128 = unsigned __int128;
  u128 product = static_cast<u128>(a) * b;
  return static_cast<u64>(product) ^ static_cast<u64>(product >> 64);
}
}  // namespace detail

// Spreads a number over 64 bits.
constexpr u64 hash_mix(u64 value) {
  return detail::fold_multiply(value ^ detail::kHashA, detail::kHashB);
}

// Adds a value to a running hash; order matters.
constexpr u64 hash_combine(u64 seed, u64 value) {
  return detail::fold_multiply(seed ^ detail::kHashC, value ^ detail::kHashD) ^ std::rotl(seed, 23);
}

// u64 key = hash_of(op, dtype, arg);
template <class... Values>
  requires(... && (std::is_integral_v<Values> || std::is_enum_v<Values>))
constexpr u64 hash_of(Values... values) {
  u64 hash = sizeof...(values);
  ((hash = hash_combine(hash, static_cast<u64>(values))), ...);
  return hash_mix(hash);
}

// Of many words, two for each multiplication.
constexpr u64 hash_words(std::span<const u64> words) {
  u64 hash = words.size();
  usize i = 0;
  for (; i + 2 <= words.size(); i += 2) hash = hash_combine(hash ^ words[i], words[i + 1]);
  if (i < words.size()) hash = hash_combine(hash, words[i]);
  return hash_mix(hash);
}

inline u64 hash_bytes(const void* data, usize size, u64 seed = 0) {
  static_assert(std::endian::native == std::endian::little, "words are read in host order");
  const char* bytes = static_cast<const char*>(data);
  u64 hash = hash_combine(seed, size);
  for (; size >= 8; bytes += 8, size -= 8) {
    u64 word;
    std::memcpy(&word, bytes, 8);
    hash = hash_combine(hash, word);
  }
  if (size > 0) {
    u64 word = 0;
    std::memcpy(&word, bytes, size);
    hash = hash_combine(hash, word);
  }
  return hash_mix(hash);
}

inline u64 hash_bytes(std::string_view text, u64 seed = 0) {
  return hash_bytes(text.data(), text.size(), seed);
}

inline u64 hash_bytes(std::span<const u8> bytes, u64 seed = 0) {
  return hash_bytes(bytes.data(), bytes.size(), seed);
}

}  // namespace doorbell
