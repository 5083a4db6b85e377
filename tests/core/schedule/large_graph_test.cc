// Graphs that are deep or wide: scheduling takes no recursion, keeps kernels within limits, and
// does not compute again and again. How long it takes is bench/compile's.
#include <gtest/gtest.h>

#include "tests/core/schedule/tensor_reference.h"

namespace doorbell::core {
namespace {
using namespace test;  // NOLINT

UOpRef chain_of_sines(int length) {
  UOpRef x = buffer({4});
  for (int i = 0; i < length; ++i) x = unary(Op::Sin, x);
  return x;
}

TEST(LargeGraph, DeepChainIsCut) {
  ScheduleOptions options;
  options.max_ops = 1000;
  EXPECT_EQ(kernel_count({chain_of_sines(3500)}, options), 4u);
  const usize kernels = kernel_count({chain_of_sines(1'000'000)});
  EXPECT_GE(kernels, 1'000'000u / ScheduleOptions{}.max_ops);
  EXPECT_LE(kernels, 2'000'000u / ScheduleOptions{}.max_ops);
}

// One reduction after another: each is a kernel.
UOpRef chain_of_reductions(int length) {
  UOpRef x = buffer({4, 4});
  for (int i = 0; i < length; ++i) x = add(x, sum(x, i % 2 ? 1 : 2));
  return x;
}

TEST(LargeGraph, ThousandsOfKernels) {
  const usize kernels = kernel_count({chain_of_reductions(5000)});
  EXPECT_GE(kernels, 5000u);
  EXPECT_LE(kernels, 10'000u);  // at most one more for what is added to each
}

// Every value is read in two ways that do not cancel: unlimited recomputation would double the work
// at each step.
TEST(LargeGraph, RecomputationIsBounded) {
  UOpRef x = buffer({64, 64});
  for (int i = 0; i < 40; ++i) {
    UOpRef shuffled = permute(reshape(x, {i % 2 ? 8 : 16, i % 2 ? 512 : 256}), {1, 0});
    x = add(x, reshape(shuffled, {64, 64}));
  }
  UOp root = *x;
  Schedule schedule = make_schedule({&root, 1});
  usize ops = 0;
  for (const ScheduleItem& item : schedule.items) ops += item.ast->arena->node_count();
  EXPECT_GE(schedule.items.size(), 4u);
  EXPECT_LE(schedule.items.size(), 40u);
  EXPECT_LT(ops, 40u * 60);
}

}  // namespace
}  // namespace doorbell::core
