// Schedules without a counterpart in PyTorch: warm-up, groups, errors. For the others see
// optim_torch_test.cc.
#include "tensor/nn/schedule.h"

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

std::vector<Tensor> one() { return {Tensor::ones({1}, {.requires_grad = true})}; }

TEST(Schedule, CosineFallsAfterTheWarmUp) {
  nn::SGD optimizer(one(), 2.0);
  nn::CosineAnnealingLR schedule(optimizer, {.T_max = 10, .eta_min = 1.0, .warmup_steps = 4});
  const double expected[] = {0.5, 1, 1.5, 2, 2};
  for (double rate : expected) {
    EXPECT_DOUBLE_EQ(optimizer.learning_rate(), rate);
    schedule.step();
  }
  while (schedule.last_epoch() < 9) schedule.step();
  EXPECT_DOUBLE_EQ(optimizer.learning_rate(), 1.5);
  while (schedule.last_epoch() < 14) schedule.step();
  EXPECT_DOUBLE_EQ(optimizer.learning_rate(), 1);
}

TEST(Schedule, GroupsStepTogether) {
  nn::SGD first(one(), 1.0), second(one(), 2.0);
  nn::MultiStepLR a(first, {.milestones = {1}}), b(second, {.milestones = {2}, .gamma = 0.5});
  nn::LRSchedulerGroup both({&a, &b});
  both.step();
  both.step();
  EXPECT_DOUBLE_EQ(first.learning_rate(), 0.1);
  EXPECT_DOUBLE_EQ(second.learning_rate(), 1);
}

TEST(Schedule, RefusesSettings) {
  nn::SGD optimizer(one(), 1.0);
  nn::OneCycleLR cycle(optimizer, {.max_lr = 1, .total_steps = 2});
  cycle.step();
  cycle.step();
  EXPECT_EQ(message_of([&] { cycle.step(); }), "step 3 of a cycle of 2 steps, which is over");
  EXPECT_EQ(message_of([&] { nn::CosineAnnealingLR(optimizer, {.T_max = 0}); }),
            "a cosine over 0 steps after 0 of warm-up, expected 1 or more after 0 or more");
  EXPECT_EQ(message_of([&] { nn::OneCycleLR(optimizer, {.total_steps = 5, .pct_start = 2}); }),
            "a cycle of 5 steps of which 2 rise, expected 1 step or more and a part of 0 to 1");
  EXPECT_EQ(message_of([&] { nn::ReduceLROnPlateau(optimizer, {.factor = 1}); }),
            "a factor of 1, expected less than 1");
}

}  // namespace
}  // namespace doorbell::test
