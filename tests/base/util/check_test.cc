// CHECK and its relatives: what they throw, what they print, and that they are quiet when all is
// well.
#include "base/util/check.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/util/error.h"

namespace doorbell {
namespace {

template <class Function>
std::string failure(Function function) {
  try {
    function();
  } catch (const InternalError& error) {
    EXPECT_EQ(error.kind, ErrorKind::Internal);
    return error.what();
  }
  return "no failure";
}

TEST(Check, SaysExpressionAndPlace) {
  EXPECT_EQ(failure([] { CHECK(1 + 1 == 3); }),
            "tests/base/util/check_test.cc:27: check failed: 1 + 1 == 3");
}

TEST(Check, FormatsItsMessage) {
  int rank = 9;
  EXPECT_EQ(failure([&] { CHECK(rank <= 8, "rank {} exceeds {}", rank, 8); }),
            "tests/base/util/check_test.cc:33: check failed: rank <= 8: rank 9 exceeds 8");
}

TEST(Check, CompareSaysBothValues) {
  std::vector<int> items{1, 2, 3};
  EXPECT_EQ(failure([&] { CHECK_EQ(items.size(), 4); }),
            "tests/base/util/check_test.cc:39: check failed: items.size() == 4 (3 against 4)");
  enum class Color { Red, Green };
  EXPECT_EQ(failure([] { CHECK_NE(Color::Green, Color::Green); }),
            "tests/base/util/check_test.cc:42: check failed: Color::Green != Color::Green "
            "(1 against 1)");
}

TEST(Check, CompareMindsSigns) {
  // As unsigned numbers -1 is the greatest; as numbers it is less than 1.
  EXPECT_EQ(failure([] { CHECK_LT(-1, 1u); }), "no failure");
  EXPECT_NE(failure([] { CHECK_EQ(-1, 0xffffffffu); }), "no failure");
}

TEST(Check, PassesQuietlyAndEvaluatesOnce) {
  int calls = 0;
  auto next = [&] { return ++calls; };
  EXPECT_EQ(failure([&] {
              CHECK(next() == 1, "called {} times", calls);
              CHECK_EQ(next(), 2);
              CHECK_LE(next(), 3);
              CHECK_GT(next(), 3);
              CHECK_GE(next(), 5);
            }),
            "no failure");
  EXPECT_EQ(calls, 5);
}

TEST(Check, UnreachableThrows) {
  EXPECT_EQ(failure([] { UNREACHABLE("op {}", "ADD"); }),
            "tests/base/util/check_test.cc:68: check failed: unreachable: op ADD");
}

TEST(Check, DebugCheckFollowsTheBuild) {
  int calls = 0;
  std::string said = failure([&] { DCHECK(++calls == 2); });
#ifdef NDEBUG
  EXPECT_EQ(said, "no failure");
  EXPECT_EQ(calls, 0);
#else
  EXPECT_NE(said, "no failure");
  EXPECT_EQ(calls, 1);
#endif
}

constexpr int checked_half(int value) {
  CHECK(value % 2 == 0, "{} is odd", value);
  CHECK_EQ(value % 2, 0);
  return value / 2;
}
static_assert(checked_half(4) == 2);

}  // namespace
}  // namespace doorbell
