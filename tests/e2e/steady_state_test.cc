// Programs as users write them, on the default device: values, and what repeating them costs in
// schedules, nodes and bytes.
#include <thread>

#include <gtest/gtest.h>

#include "core/device/counters.h"
#include "core/device/device.h"
#include "core/uop/graph.h"
#include "runtime/doorbell.h"
#include "tensor/engine/in_flight.h"
#include "tensor/engine/realize.h"

namespace doorbell {
namespace {

TEST(SteadyState, NoCallBeforeTheFirstTensor) {
  const Tensor a = Tensor::of({{1, 2}, {3, 4}}), b = Tensor::of({{10, 20}, {30, 40}});
  EXPECT_EQ((a.cast(dtypes::f32) + b.cast(dtypes::f32)).to_vector<f32>(),
            (std::vector<f32>{11, 22, 33, 44}));
}

// Without what work that still runs holds.
i64 bytes_in_use() {
  engine::in_flight().wait();
  return engine::device().allocator().stats().in_use;
}

TEST(SteadyState, ALoopSchedulesOnceAndKeepsNothing) {
  Tensor weight = Tensor::of({8.f, 16.f, 32.f, 64.f});
  const Tensor gradient = Tensor::of({1.f, 2.f, 4.f, 8.f});
  i64 made = 0, nodes = 0, bytes = 0;
  for (int step = 0; step < 8; ++step) {
    weight = weight - gradient * 0.5;
    weight.realize();
    if (step == 2) {
      made = core::counters.schedules_made;
      nodes = core::TensorGraph::live_nodes();
      bytes = bytes_in_use();
    }
  }
  EXPECT_EQ(core::counters.schedules_made, made);
  EXPECT_EQ(core::TensorGraph::live_nodes(), nodes);
  EXPECT_EQ(bytes_in_use(), bytes);
  EXPECT_EQ(weight.to_vector<f32>(), (std::vector<f32>{4, 8, 16, 32}));
}

TEST(SteadyState, AKernelOverAllWorkers) {
  // Integers below 2^24 are exact in f32, so the order of the sum does not matter.
  // From memory: a sum of constants would be folded.
  const Tensor ones = Tensor::from_data(std::vector<f32>(1 << 20, 1.f), {1024, 1024});
  EXPECT_EQ((ones + ones).sum().item<f32>(), 2097152.f);
  const Tensor rows = Tensor::arange(1024).cast(dtypes::f32).reshape({1024, 1});
  const std::vector<f32> sums = (ones * rows).sum(1).to_vector<f32>();
  ASSERT_EQ(sums.size(), 1024u);
  for (usize i = 0; i < 1024; ++i) ASSERT_EQ(sums[i], static_cast<f32>(i) * 1024) << i;
}

TEST(SteadyState, ThreadsShareADevice) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(3, 0);
  for (usize t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const f32 scale = static_cast<f32>(t + 1);
      for (int i = 0; i < 20; ++i) {
        const Tensor a = Tensor::of({{1.f, 2.f}, {3.f, 4.f}}) * scale;
        const Tensor product = a.matmul(a).sum(0);
        const std::vector<f32> expected{22 * scale * scale, 32 * scale * scale};
        if (product.to_vector<f32>() != expected) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(3, 0));
}

TEST(SteadyState, NullCompilesAndCannotBeRead) {
  const Tensor a = Tensor::empty({4}, {.device = "NULL"});
  const Tensor b = a * 3;
  b.realize();
  EXPECT_EQ(b.device(), "NULL");
  EXPECT_THROW(b.to_vector<f32>(), Error);
}

}  // namespace
}  // namespace doorbell
