// The tests' own helper: a golden comparison must be able to fail.
#include "tests/support/golden.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace doorbell::testing {
namespace {

TEST(Golden, EqualTextMatches) {
  EXPECT_TRUE(matches_golden("tests/base/util/golden.txt", "one\ntwo\n"));
  EXPECT_EQ(read_source("tests/base/util/golden.txt"), "one\ntwo\n");
}

TEST(Golden, NamesTheFirstDifferentLine) {
  if (std::getenv("UPDATE_GOLDEN")) GTEST_SKIP() << "would rewrite the file with the wrong text";
  auto result = matches_golden("tests/base/util/golden.txt", "one\n2\n");
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("golden.txt:2 expects\n  two\nthe text has\n  2\n"),
            std::string::npos)
      << result.message();
  EXPECT_FALSE(matches_golden("tests/base/util/golden.txt", "one\ntwo\nthree\n"));
  EXPECT_FALSE(matches_golden("tests/base/util/golden.txt", "one\n"));
}

TEST(Golden, MissingFileFails) {
  if (std::getenv("UPDATE_GOLDEN")) GTEST_SKIP() << "would write the file";
  EXPECT_FALSE(matches_golden("tests/base/util/no_such_golden.txt", ""));
}

}  // namespace
}  // namespace doorbell::testing
