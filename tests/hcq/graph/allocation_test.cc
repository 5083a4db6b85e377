// The steady state asks for no memory: neither a replay nor a submission.
#include <gtest/gtest.h>

#include "hcq/graph/graph.h"
#include "tests/hcq/support/count_allocations.h"
#include "tests/hcq/support/kernels.h"

namespace doorbell::hcq {
namespace {

using testing::address;

TEST(Allocation, IsCounted) {
  const u64 before = testing::allocations_of_this_thread();
  const auto one = std::make_unique<int>(1);
  EXPECT_EQ(testing::allocations_of_this_thread(), before + 1);
}

TEST(Allocation, NoneInAReplayOverTwoDevices) {
  auto one = testing::make_cpu(0, {.threads = 1}), two = testing::make_cpu(1, {.threads = 1});
  auto on_one = testing::load(*one, "add", testing::add_variable, 2, 1);
  auto on_two = testing::load(*two, "add", testing::add_variable, 2, 1);
  i64 a = 0, b = 0;
  Graph graph;
  const u32 on_a = graph.memory(graph.storage(), 0, 8, graph.slot());
  const u32 on_b = graph.memory(graph.storage(), 0, 8, address(&b));
  graph.exec(one->compute_queue(),
             {on_one.get(), "one", {{on_b, Access::Write}, {on_a, Access::Read}}, {u64{1}}});
  graph.exec(two->compute_queue(),
             {on_two.get(), "two", {{on_a, Access::Write}, {on_b, Access::Read}}, {u64{2}}});
  ASSERT_OK(graph.bind());
  const u64 values[] = {address(&a)};
  for (int i = 0; i < 2000; ++i) ASSERT_OK(graph.replay(values));
  const u64 before = testing::allocations_of_this_thread();
  for (int i = 0; i < 4000; ++i) ASSERT_TRUE(graph.replay(values));
  // Whether a run finds the last one unfinished is chance; the first that does makes a builder.
  EXPECT_LE(testing::allocations_of_this_thread(), before + 12);
  ASSERT_OK(one->synchronize());
  ASSERT_OK(two->synchronize());
  EXPECT_EQ(a, 18'000);
}

TEST(Allocation, NoneInASubmission) {
  auto device = testing::make_cpu(0, {.threads = 1});
  auto program = testing::load(*device, "increment", testing::increment, 1, 0);
  Queue& queue = device->compute_queue();
  auto commands = queue.make_commands();
  i64 value = 0;
  const Operand buffers[] = {address(&value)};
  auto submit = [&] {
    commands->clear();
    commands->exec({program.get(), buffers});
    return queue.submit(*commands).has_value();
  };
  // Long enough for the rings to have been full.
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(submit());
  const u64 before = testing::allocations_of_this_thread();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(submit());
  EXPECT_EQ(testing::allocations_of_this_thread(), before);
  ASSERT_OK(queue.synchronize());
  EXPECT_EQ(value, 11'000);
}

}  // namespace
}  // namespace doorbell::hcq
