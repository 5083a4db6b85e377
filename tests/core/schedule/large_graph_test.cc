// Graphs that are deep or wide: scheduling takes no recursion, keeps kernels within limits, and
// takes time in proportion to the graph.
#include <chrono>

#include <gtest/gtest.h>

#include "tests/core/schedule/tensor_reference.h"

namespace doorbell::core {
namespace {
using namespace test;  // NOLINT

f64 milliseconds_to_schedule(const UOpRef& root, usize* kernels) {
  auto start = std::chrono::steady_clock::now();
  *kernels = kernel_count({root});
  return std::chrono::duration<f64, std::milli>(std::chrono::steady_clock::now() - start).count();
}

UOpRef chain_of_sines(int length) {
  UOpRef x = buffer({4});
  for (int i = 0; i < length; ++i) x = unary(Op::Sin, x);
  return x;
}

TEST(LargeGraph, DeepChainIsCut) {
  usize kernels = 0;
  ScheduleOptions options;
  options.max_ops = 1000;
  EXPECT_EQ(kernel_count({chain_of_sines(3500)}, options), 4u);
  milliseconds_to_schedule(chain_of_sines(1'000'000), &kernels);
  EXPECT_GE(kernels, 1'000'000u / ScheduleOptions{}.max_ops);
  EXPECT_LE(kernels, 2'000'000u / ScheduleOptions{}.max_ops);
}

// One reduction after another: each is a kernel.
UOpRef chain_of_reductions(int length) {
  UOpRef x = buffer({4, 4});
  for (int i = 0; i < length; ++i) x = add(x, sum(x, i % 2 ? 1 : 2));
  return x;
}

TEST(LargeGraph, ManyKernelsTakeLinearTime) {
  usize kernels = 0;
  milliseconds_to_schedule(chain_of_reductions(100), &kernels);  // warms up
  f64 small = milliseconds_to_schedule(chain_of_reductions(625), &kernels);
  EXPECT_GE(kernels, 625u);
  f64 large = milliseconds_to_schedule(chain_of_reductions(5000), &kernels);
  EXPECT_GE(kernels, 5000u);
  // Eight times the graph; quadratic time would be 64 times as long.
  EXPECT_LT(large, 24 * small + 20);
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
