// The hashes spread, mind order and length, and stay the same between runs (cache keys on disk
// depend on it).
#include "base/util/hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace doorbell {
namespace {

TEST(Hash, OrderAndCountMatter) {
  EXPECT_NE(hash_of(1, 2), hash_of(2, 1));
  EXPECT_NE(hash_of(0), hash_of(0, 0));
  EXPECT_NE(hash_combine(1, 2), hash_combine(2, 1));
}

TEST(Hash, TrailingZeroBytesMatter) {
  EXPECT_NE(hash_bytes(std::string_view("a", 1)), hash_bytes(std::string_view("a\0", 2)));
  EXPECT_NE(hash_bytes(std::string_view("")), hash_bytes(std::string_view("\0", 1)));
}

TEST(Hash, NoCollisionsAmongWordsInOtherOrders) {
  std::set<u64> seen;
  for (u64 a = 0; a < 40; ++a)
    for (u64 b = 0; b < 40; ++b)
      for (u64 c = 0; c < 40; ++c) seen.insert(hash_words(std::array<u64, 3>{a, b, c}));
  for (u64 a = 0; a < 40; ++a)
    for (u64 b = 0; b < 40; ++b) seen.insert(hash_words(std::array<u64, 2>{a, b}));
  EXPECT_EQ(seen.size(), 40u * 40 * 40 + 40 * 40);
}

TEST(Hash, NoCollisionsAmongSmallPairs) {
  std::set<u64> seen;
  for (int i = 0; i < 300; ++i)
    for (int j = 0; j < 300; ++j) seen.insert(hash_of(i, j));
  EXPECT_EQ(seen.size(), 90000u);
}

// One flipped input bit should flip about half the output bits; far from it means a weak table key.
TEST(Hash, FlippedBitsAvalanche) {
  int least = 64, most = 0;
  for (u64 value : {u64{1}, u64{0x123456789abcdef}, u64{1} << 40}) {
    for (int bit = 0; bit < 64; ++bit) {
      int flipped = std::popcount(hash_mix(value) ^ hash_mix(value ^ (u64{1} << bit)));
      least = std::min(least, flipped);
      most = std::max(most, flipped);
    }
  }
  EXPECT_GT(least, 10);
  EXPECT_LT(most, 54);
}

// Worked out with Python's integers from the definition in hash.h, not with the code under test.
TEST(Hash, StaysTheSame) {
  EXPECT_EQ(hash_mix(0), u64{0xf90109d2335f6b4f});
  EXPECT_EQ(hash_combine(1, 2), u64{0xcc67815cf324b0a1});
  EXPECT_EQ(hash_bytes("doorbell"), u64{0x1863c8c697f90dba});
  EXPECT_EQ(hash_words(std::array<u64, 2>{1, 2}), u64{0xddc9f387a9127d37});
  EXPECT_EQ(hash_words(std::array<u64, 3>{1, 2, 3}), u64{0x63a33227b723ce3a});
}

}  // namespace
}  // namespace doorbell
