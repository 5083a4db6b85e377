// Tests of bytes as words.
#include "base/util/words.h"

#include <gtest/gtest.h>

namespace doorbell {
namespace {

TEST(Words, OfBytes) {
  const u8 bytes[] = {0x78, 0x56, 0x34, 0x12, 0xef, 0xbe, 0xad, 0xde, 0x99};
  EXPECT_EQ(words_of(std::as_bytes(std::span(bytes))), (std::vector<u32>{0x12345678, 0xdeadbeef}));
}

TEST(Words, OfNothing) { EXPECT_TRUE(words_of({}).empty()); }

}  // namespace
}  // namespace doorbell
