// Words that grow, and words in lent memory.
#include "hcq/queue/word_buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/util/error.h"

namespace doorbell::hcq {
namespace {

std::vector<u32> words_of(const WordBuffer& words) {
  return {words.span().begin(), words.span().end()};
}

TEST(WordBuffer, GrowsAndKeepsWhatIsThere) {
  WordBuffer words;
  std::vector<u32> expected;
  for (u32 i = 0; i < 1000; ++i) {
    const std::array<u32, 3> three{i, i + 1, i + 2};
    EXPECT_EQ(words.append(three), i * 5);
    EXPECT_EQ(words.append_zeros(2), i * 5 + 3);
    expected.insert(expected.end(), {i, i + 1, i + 2, 0, 0});
  }
  EXPECT_EQ(words_of(words), expected);
  words.clear();
  EXPECT_EQ(words.append({}), 0u);
  EXPECT_EQ(words.size(), 0u);
}

TEST(WordBuffer, WritesToLentMemoryAndNotBeyond) {
  WordBuffer words;
  words.append_zeros(2);
  std::array<u32, 4> memory{5, 5, 5, 5};
  words.lend(std::span(memory).first(3));
  const std::array<u32, 2> two{1, 2};
  EXPECT_EQ(words.append(two), 0u);
  EXPECT_EQ(memory, (std::array<u32, 4>{1, 2, 5, 5}));
  EXPECT_THROW(words.append(two), InternalError);
  EXPECT_EQ(words.append_zeros(1), 2u);
  EXPECT_EQ(memory, (std::array<u32, 4>{1, 2, 0, 5}));
  words.clear();
  EXPECT_EQ(words.append(two), 0u);
  EXPECT_EQ(words.span().data() == memory.data(), false);
  EXPECT_EQ(memory[3], 5u);
}

}  // namespace
}  // namespace doorbell::hcq
