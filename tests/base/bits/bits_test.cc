// Places in words: crossing words, whole words, and refusals, also that a wrong constant does not
// compile.
#include "base/bits/bits.h"

#include <array>

#include <gtest/gtest.h>

#include "base/util/error.h"

namespace doorbell {
namespace {

// Whether Bits{hi, lo} is a constant; a wrong one is not, which is how it fails to compile.
template <unsigned hi, unsigned lo>
concept ConstantBits = requires { typename std::integral_constant<unsigned, Bits{hi, lo}.lo>; };
static_assert(ConstantBits<7, 0>);
static_assert(ConstantBits<127, 64>);
static_assert(!ConstantBits<0, 7>, "not hi:lo");
static_assert(!ConstantBits<64, 0>, "65 bits");

template <unsigned value>
concept FitsTwoBits = requires {
  typename std::integral_constant<u32, [] {
    std::array<u32, 1> words{};
    deposit(words, Bits{4, 3}, value);
    return words[0];
  }()>;
};
static_assert(FitsTwoBits<3>);
static_assert(!FitsTwoBits<4>);

TEST(Bits, DepositsAcrossWordsAndKeepsTheRest) {
  std::array<u32, 3> words{0xffffffff, 0xffffffff, 0xffffffff};
  deposit(words, Bits{68, 28}, 0);
  EXPECT_EQ(words, (std::array<u32, 3>{0x0fffffff, 0, 0xffffffe0}));
  deposit(words, Bits{68, 28}, 0x23456789ab);
  EXPECT_EQ(words, (std::array<u32, 3>{0xbfffffff, 0x3456789a, 0xffffffe2}));
}

TEST(Bits, ExtractsAcrossWords) {
  std::array<u32, 3> words{0xbfffffff, 0x3456789a, 0xffffffe2};
  EXPECT_EQ(extract(words, Bits{68, 28}), 0x23456789abu);
  EXPECT_EQ(extract(words, Bits{63, 0}), 0x3456789abfffffffu);
  EXPECT_EQ(extract(words, word(2)), 0xffffffe2u);
  EXPECT_EQ(extract(words, word(2, 7, 4)), 0xeu);
  EXPECT_EQ(extract(words, Bits{95, 95}), 1u);
}

TEST(Bits, RunTimeMistakesFailACheck) {
  std::array<u32, 2> words{};
  unsigned four = 4, forty = 40;
  EXPECT_THROW(deposit(words, Bits{1, 0}, four), InternalError);
  EXPECT_THROW(deposit(words, Bits{forty + 24, forty}, 0), InternalError);
  EXPECT_THROW(extract(words, Bits{forty + 24, forty}), InternalError);
  EXPECT_THROW((Bits{four, forty}), InternalError);
  EXPECT_THROW(word(0, forty), InternalError);
  deposit(words, Bits{63, 0}, ~u64{0});
  EXPECT_EQ(words, (std::array<u32, 2>{0xffffffff, 0xffffffff}));
}

}  // namespace
}  // namespace doorbell
