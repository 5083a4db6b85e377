// The text form: literals, and print(parse(s)) == s.
#include "core/uop/print.h"

#include <gtest/gtest.h>

namespace doorbell::core {
namespace {

constexpr char kText[] =
    "%0 = Param:f32 {0, 16}\n"
    "%1 = Const:index 16\n"
    "%2 = Range:index(%1) {0, loop}\n"
    "%3 = Index:f32(%0, %2)\n"
    "%4 = Const:f32 -0.5\n"
    "%5 = Variable:index {\"n\", 1, 9}\n"
    "%6 = Cast:f32(%5)\n"
    "%7 = Mul:f32(%4, %6)\n"
    "%8 = Store:void(%3, %7)\n"
    "%9 = End:void(%8, %2)\n";

TEST(Print, ParseIsItsInverse) {
  Arena a;
  Result<UOp> root = parse(a, kText);
  ASSERT_TRUE(root.has_value()) << root.error().what();
  EXPECT_EQ(print(a, *root), kText);
}

TEST(Print, SpecialFloatsReadBack) {
  Arena a;
  for (const char* value : {"inf", "-inf", "nan", "-0", "1e-300", "0.1"}) {
    std::string text = std::string("%0 = Const:f64 ") + value + "\n";
    Result<UOp> root = parse(a, text);
    ASSERT_TRUE(root.has_value()) << value;
    EXPECT_EQ(print(a, *root), text);
  }
}

TEST(Print, RefusesWhatIsNotANodeWithItsLine) {
  for (const char* text :
       {"", "%1 = Const:f32 1\n", "%0 = Konst:f32 1\n", "%0 = Neg:f32(%0)\n", "%0 = Const:f32 x\n",
        "%0 = Add:f32\n", "%0 = Param:f32 {0, 1\n", "%0 = Range:index {0, loop}\n"}) {
    Arena a;
    EXPECT_FALSE(parse(a, text).has_value()) << text;
  }
}

}  // namespace
}  // namespace doorbell::core
