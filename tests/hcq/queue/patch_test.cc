// Places in words, against words worked out by hand.
#include "hcq/queue/patch.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/util/error.h"

namespace doorbell::hcq {
namespace {

TEST(Patch, WritesAWholeAddressWithoutTouchingNeighbours) {
  std::vector<u32> words(4, 0xffffffff);
  apply({1, Bits{63, 0}, 0, 0}, 0x1122334455667788, words);
  EXPECT_EQ(words, (std::vector<u32>{0xffffffff, 0x55667788, 0x11223344, 0xffffffff}));
}

TEST(Patch, SplitsAnAddressOverTwoPlaces) {
  std::vector<u32> words(3, 0);
  apply({0, Bits{31, 0}, 0, 0}, 0x1122334455667788, words);
  apply({2, Bits{23, 8}, 32, 0}, 0x1122334455667788, words);
  EXPECT_EQ(words, (std::vector<u32>{0x55667788, 0, 0x00334400}));
}

TEST(Patch, ShiftsAndKeepsOtherBits) {
  std::vector<u32> words{0xf000000f};
  apply({0, Bits{15, 8}, 4, 0}, 0xab0, words);
  EXPECT_EQ(words[0], 0xf000ab0fu);
}

TEST(Patch, AddsBeforeItShifts) {
  std::vector<u32> words(3, 0);
  apply({0, Bits{63, 0}, 0, 0, 0x100}, 0xffffff80, words);
  apply({2, Bits{31, 0}, 32, 0, 0x100}, 0xffffff80, words);
  EXPECT_EQ(words, (std::vector<u32>{0x80, 1, 1}));
}

TEST(Patch, BeyondTheWordsIsRefused) {
  std::vector<u32> words(2, 0);
  EXPECT_THROW(apply({1, Bits{63, 0}, 0, 0}, 1, words), InternalError);
  EXPECT_THROW(apply({2, Bits{31, 0}, 0, 0}, 1, words), InternalError);
}

}  // namespace
}  // namespace doorbell::hcq
