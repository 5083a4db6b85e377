// Learning-rate schedules at their corners.
#include "tensor/nn/schedule.h"

#include <gtest/gtest.h>

namespace doorbell::test {
namespace {

TEST(Schedule, MultiStepDropsAtMilestones) {
  const nn::MultiStep rate{.rate = 1.0, .milestones = {10, 20}, .factor = 0.5};
  EXPECT_DOUBLE_EQ(rate(0), 1);
  EXPECT_DOUBLE_EQ(rate(9), 1);
  EXPECT_DOUBLE_EQ(rate(10), 0.5);
  EXPECT_DOUBLE_EQ(rate(25), 0.25);
}

TEST(Schedule, CosineFallsAfterTheWarmUp) {
  const nn::CosineAnnealing rate{.rate = 2.0, .steps = 14, .least = 1.0, .warm_up = 4};
  EXPECT_DOUBLE_EQ(rate(0), 0.5);
  EXPECT_DOUBLE_EQ(rate(3), 2);
  EXPECT_DOUBLE_EQ(rate(4), 2);
  EXPECT_DOUBLE_EQ(rate(9), 1.5);
  EXPECT_DOUBLE_EQ(rate(14), 1);
  EXPECT_DOUBLE_EQ(rate(99), 1);
}

TEST(Schedule, OneCycleRisesAndFalls) {
  const nn::OneCycle rate{
      .peak = 1.0, .steps = 101, .rise = 0.5, .start_divisor = 10, .final_divisor = 100};
  EXPECT_DOUBLE_EQ(rate(0), 0.1);
  EXPECT_DOUBLE_EQ(rate(25), 0.55);
  EXPECT_DOUBLE_EQ(rate(50), 1);
  EXPECT_NEAR(rate(75), 0.5005, 1e-12);
  EXPECT_NEAR(rate(100), 0.001, 1e-12);
}

}  // namespace
}  // namespace doorbell::test
