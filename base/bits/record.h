// Records of hardware words: packets, registers, descriptors, page table entries. A record is an
// aggregate that states the position of each field once, and gets encode, decode, printing
// (base/bits/print.h) and a proof of soundness.
//
//   struct Example {
//     static constexpr u32 kWords = 3;
//     static constexpr u32 kHeader = 0xc0010000;      // optional: the constant part of word 0
//     u64 addr = 0;
//     bool enable = false;
//     static constexpr void fields(auto& p, auto f) {
//       f("addr",   Bits{79, 32}, p.addr, Shift{4});   // words hold addr >> 4, not the rest
//       f("enable", word(2, 31, 31), p.enable);
//     }
//   };
//   static_assert(sound<Example>());
//
// A field may be an unsigned or signed integer (two's complement in its width), bool, f32, an enum,
// or a class with `u64 bits() const` and `static T from_bits(u64)`. A constant that does not fit
// does not compile; another value that does not fit fails a CHECK. The record's comment in
// drivers/*/hw says what a device does with it.
#pragma once

#include <array>
#include <bit>
#include <limits>
#include <type_traits>

#include "base/bits/bits.h"
#include "base/util/check.h"
#include "base/util/result.h"

// Put on the visitors of encode and decode: once inlined, a record with constant positions is a few
// shifts.
#define DOORBELL_INLINE_FIELD __attribute__((always_inline))

namespace doorbell {

// The words hold the value shifted right by this much; the bits shifted out must be zero.
struct Shift {
  unsigned count = 0;
};

template <class T>
using Words = std::array<u32, T::kWords>;

namespace detail {

template <class V>
concept BitClass = requires(const V& value) {
  { value.bits() } -> std::same_as<u64>;
  { V::from_bits(u64{}) } -> std::same_as<V>;
};

// The bits a field of this type can need at most.
template <class V>
constexpr unsigned type_width() {
  if constexpr (std::is_same_v<V, bool>)
    return 1;
  else if constexpr (BitClass<V>)
    return 64;
  else
    return sizeof(V) * 8;
}

template <class V>
constexpr bool is_signed_field() {
  if constexpr (std::is_enum_v<V>)
    return std::is_signed_v<std::underlying_type_t<V>>;
  else
    return std::is_integral_v<V> && std::is_signed_v<V>;
}

template <class V>
constexpr u64 to_bits(const V& value, Bits bits, Shift shift) {
  u64 raw;
  if constexpr (BitClass<V>)
    raw = value.bits();
  else if constexpr (std::is_same_v<V, f32>)
    raw = std::bit_cast<u32>(value);
  else
    raw = static_cast<u64>(static_cast<i64>(value));
  CHECK((raw & ((u64{1} << shift.count) - 1)) == 0, "{:#x} is not a multiple of 2^{}", raw,
        shift.count);
  if constexpr (is_signed_field<V>()) {
    i64 number = static_cast<i64>(raw) >> shift.count;
    i64 limit = static_cast<i64>(bits.max() >> 1);
    CHECK(-limit - 1 <= number && number <= limit, "{} does not fit bits {}:{}, signed", number,
          bits.hi, bits.lo);
    return static_cast<u64>(number) & bits.max();
  }
  if constexpr (std::is_unsigned_v<V> && !std::is_same_v<V, bool>)
    raw = static_cast<u64>(value);  // not through i64: a u64 keeps its top bit
  return raw >> shift.count;
}

template <class V>
constexpr V from_bits(u64 raw, Bits bits, Shift shift) {
  if constexpr (is_signed_field<V>()) {
    unsigned unused = 64 - bits.width();
    raw = static_cast<u64>(static_cast<i64>(raw << unused) >> unused);
  }
  raw <<= shift.count;
  if constexpr (BitClass<V>)
    return V::from_bits(raw);
  else if constexpr (std::is_same_v<V, f32>)
    return std::bit_cast<f32>(static_cast<u32>(raw));
  else
    return static_cast<V>(raw);
}

template <class T>
constexpr u32 header_of() {
  if constexpr (requires { T::kHeader; })
    return T::kHeader;
  else
    return 0;
}

template <class T>
constexpr bool has_header = requires { T::kHeader; };

}  // namespace detail

template <class T>
constexpr Words<T> encode(const T& record) {
  Words<T> words{};
  words[0] = detail::header_of<T>();
  T::fields(record,
            [&](const char*, Bits bits, const auto& value, Shift shift = {}) DOORBELL_INLINE_FIELD {
              deposit(words, bits, detail::to_bits(value, bits, shift));
            });
  return words;
}

// Accepts all words. An enum's value may be none of its enumerators.
template <class T>
constexpr T decode(std::span<const u32, T::kWords> words) {
  T record{};
  T::fields(record,
            [&](const char*, Bits bits, auto& value, Shift shift = {}) DOORBELL_INLINE_FIELD {
              using Value = std::remove_cvref_t<decltype(value)>;
              value = detail::from_bits<Value>(extract(words, bits), bits, shift);
            });
  return record;
}

// A one in each bit that belongs to a field.
template <class T>
constexpr Words<T> fields_mask() {
  Words<T> mask{};
  T record{};
  T::fields(record, [&](const char*, Bits bits, const auto&, Shift = {}) {
    deposit(mask, bits, bits.max());
  });
  return mask;
}

// The bits that are set although no field and no header claims them.
template <class T>
constexpr Words<T> stray_bits(std::span<const u32, T::kWords> words) {
  Words<T> stray{}, mask = fields_mask<T>();
  mask[0] |= detail::header_of<T>();
  for (u32 i = 0; i < T::kWords; ++i) stray[i] = words[i] & ~mask[i];
  return stray;
}

// For words from outside: fails for a stream that is too short or has another header.
template <class T>
Result<T> try_decode(std::span<const u32> words) {
  constexpr usize kWords = T::kWords;
  if (words.size() < kWords)
    return fail(ErrorKind::Corrupt, "{} words left, expected {}", words.size(), kWords);
  auto exact = words.template first<kWords>();
  if constexpr (detail::has_header<T>) {
    u32 header = exact[0] & ~fields_mask<T>()[0], expected = T::kHeader;
    if (header != expected)
      return fail(ErrorKind::Corrupt, "header is {:#010x}, expected {:#010x}", header, expected);
  }
  return decode<T>(exact);
}

// Why a record's layout is wrong, or null.
template <class T>
constexpr const char* why_unsound() {
  const char* why = nullptr;
  Words<T> taken{};
  T record{};
  T::fields(record, [&](const char*, Bits bits, const auto& value, Shift shift = {}) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if (why) return;
    if (bits.hi >= T::kWords * 32)
      why = "a field lies beyond the words";
    else if (bits.width() + shift.count > 64)
      why = "a field shifts beyond 64 bits";
    else if (bits.width() + shift.count > detail::type_width<Value>())
      why = "a field is wider than its type";
    else if (std::is_same_v<Value, f32> && bits.width() != 32)
      why = "an f32 field is not 32 bits";
    else if (extract(taken, bits) != 0)
      why = "two fields overlap";
    else
      deposit(taken, bits, bits.max());
  });
  if (why) return why;
  if (taken[0] & detail::header_of<T>()) return "a field overlaps the header";

  // Fills one field after another with ones: it must survive decoding and encoding.
  T::fields(record, [&](const char*, Bits bits, const auto&, Shift = {}) {
    Words<T> words{};
    words[0] = detail::header_of<T>();
    deposit(words, bits, bits.max());
    if (encode(decode<T>(words)) != words) why = "a field does not survive decoding and encoding";
  });
  if (why) return why;
  return encode(decode<T>(encode(T{}))) == encode(T{}) ? nullptr : "the defaults do not survive";
}

template <class T>
constexpr bool sound() {
  return why_unsound<T>() == nullptr;
}

}  // namespace doorbell

#undef DOORBELL_INLINE_FIELD
