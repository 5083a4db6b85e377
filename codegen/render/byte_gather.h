// Vectors of bytes or halves that are gathered from lanes of other vectors, word by word, by an
// instruction that takes any four bytes of two words: V_PERM_B32, PRMT.
#pragma once

#include <array>
#include <optional>

#include "core/uop/uop.h"

namespace doorbell::codegen {

// A byte of a vector: of which word.
struct ByteOfWord {
  core::UOp vector;
  i64 word = 0;
  u8 byte = 0;
  bool same_word(const ByteOfWord& other) const {
    return vector == other.vector && word == other.word;
  }
};

// The bytes of word `word` of a Vec, or nothing if they are not those of lanes of whole words.
inline std::optional<std::array<ByteOfWord, 4>> bytes_of_word(core::UOp vec, i64 word) {
  const i64 size = vec.dtype().element().bytes();
  if (vec.dtype().is_bool() || size > 2 || vec.dtype().bytes() % 4) return std::nullopt;
  std::array<ByteOfWord, 4> bytes;
  for (i64 i = 0; i < 4; ++i) {
    core::UOp lane = vec.src(static_cast<usize>((word * 4 + i) / size));
    if (!lane.is(core::Op::Lane) || lane.dtype().lanes != 1) return std::nullopt;
    core::UOp vector = lane.src(0);
    if (vector.dtype().lanes * size % 4 != 0) return std::nullopt;
    const i64 at = lane.arg(0) * size + i % size;
    bytes[static_cast<usize>(i)] = {vector, at / 4, static_cast<u8>(at % 4)};
  }
  return bytes;
}

// The word of four bytes. word(byte) is the word that it is of; permute(low, high, bytes) makes one
// of the bytes so numbered, 0 to 3 of `low`, 4 to 7 of `high`.
template <class Word, class Permute>
auto gather_bytes(const std::array<ByteOfWord, 4>& bytes, const Word& word,
                  const Permute& permute) {
  using Bytes = std::array<u8, 4>;
  const auto& [a, b, c, d] = bytes;
  const bool whole = a.same_word(b) && a.same_word(c) && a.same_word(d) && a.byte == 0 &&
                     b.byte == 1 && c.byte == 2 && d.byte == 3;
  if (whole) return word(a);
  auto high = [](u8 byte) { return static_cast<u8>(4 + byte); };
  if (a.same_word(b) && c.same_word(d))
    return permute(word(a), word(c), Bytes{a.byte, b.byte, high(c.byte), high(d.byte)});
  // Two words first make one of neighbours from both, which another word of a transposed block
  // needs too.
  auto both = [&](const ByteOfWord& x, const ByteOfWord& y) {
    const u8 low_x = x.byte & 2, low_y = y.byte & 2;
    return permute(word(x), word(y),
                   Bytes{low_x, high(low_y), static_cast<u8>(low_x + 1), high(low_y + 1)});
  };
  const u8 x = a.byte & 1, y = b.byte & 1, z = c.byte & 1, w = d.byte & 1;
  return permute(
      both(a, b), both(c, d),
      Bytes{static_cast<u8>(2 * x), static_cast<u8>(2 * y + 1), high(2 * z), high(2 * w + 1)});
}

}  // namespace doorbell::codegen
