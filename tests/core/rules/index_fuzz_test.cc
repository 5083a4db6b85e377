// Random index expressions, simplified as they are made, against the same expressions evaluated as
// written, at random and extreme points of their ranges. The seed is printed with a failure.
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/core/rules/index_generator.h"

namespace doorbell::core {
namespace {

using testing::IndexGenerator;
using testing::Pair;

u64 base_seed() {
  const char* text = std::getenv("DOORBELL_FUZZ_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20261120;
}

TEST(IndexFuzz, SimplifiedExpressionsHaveTheSameValues) {
  u64 firings = 0, stops = 0;
  for (u64 round = 0; round < 2000; ++round) {
    u64 seed = base_seed() + round;
    IndexGenerator generator(seed);
    for (int i = 0; i < 60; ++i) {
      int depth = 2 + static_cast<int>(generator.pick(4));
      Pair pair = generator.pick(3) ? generator.index(depth) : generator.condition(depth);
      ASSERT_TRUE(generator.agree(pair, 8)) << "seed " << seed << " expression " << i;
      // What is simplest stays: made again from its own parts, and found by a walk.
      UOp again = generator.rewriter().rewrite(pair.simple);
      ASSERT_EQ(again, pair.simple) << "seed " << seed << "\n"
                                    << print(generator.arena(), pair.simple) << "\nbecame\n"
                                    << print(generator.arena(), again);
    }
    firings += generator.rewriter().firings();
    stops += generator.rewriter().depth_stops();
  }
  EXPECT_GT(firings, 100000u);
  EXPECT_EQ(stops, 0u);
}

}  // namespace
}  // namespace doorbell::core
