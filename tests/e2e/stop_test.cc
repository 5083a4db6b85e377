// Stopping a computation: what was computed stays, what was not has no value, and the next call is
// right. The device asks whether to stop a bounded number of times after it was told.
#include "base/util/stop.h"

#include <atomic>

#include <gtest/gtest.h>

#include "drivers/cpu/device.h"
#include "runtime/doorbell.h"
#include "tensor/engine/realize.h"

namespace doorbell {
namespace {

std::atomic<int> asked{0};

// stop_asked() is true from its `nth` call on.
struct StopAt {
  explicit StopAt(int nth) {
    StopAt::nth = nth;
    asked = 0;
    set_stop_check([] { return ++asked >= StopAt::nth; });
  }
  ~StopAt() { set_stop_check(nullptr); }
  static inline int nth = 0;
};

// Rows that sum up to 1 stay rows that do.
Tensor averaging(i64 n) { return Tensor::full({n, n}, 1.0 / static_cast<f64>(n)); }

Tensor chain(const Tensor& x, int products) {
  Tensor y = x;
  for (int i = 0; i < products; ++i) y = y.matmul(x).contiguous();
  return y;
}

TEST(Stop, ATokenThatIsStoppedAlready) {
  std::stop_source source;
  source.request_stop();
  const Tensor x = Tensor::from_data(std::vector<f32>(64, 2.f), {64});
  const Tensor y = x * 3 + 1;
  {
    StopScope outer(source.get_token());
    StopScope inner(std::stop_source().get_token());
    EXPECT_THROW(y.realize(), Stopped);
  }
  EXPECT_EQ(y.to_vector<f32>(), std::vector<f32>(64, 7.f));
}

// Makes the CPU's queue wait for a signal that is never raised. `device` is null on another default
// device, whose queue cannot be held.
struct HeldQueue {
  cpu::CpuDevice* device = dynamic_cast<cpu::CpuDevice*>(&engine::device());

  void hold() {
    const hcq::Signal go = *device->signals().make();
    auto wait = device->compute_queue().make_commands();
    wait->wait(go.address(), 1);
    ASSERT_TRUE(device->compute_queue().submit(*wait));
  }
};

TEST(Stop, BeforeKernels) {
  const Tensor x = averaging(16).contiguous();
  x.realize();
  const Tensor y = chain(x, 40), z = chain(x, 3);
  {
    StopAt at(2);
    EXPECT_THROW(y.realize(), Stopped);
    EXPECT_LE(asked, 12);
  }
  for (f32 value : z.to_vector<f32>()) ASSERT_NEAR(value, 1 / 16.0, 1e-5);
  for (f32 value : y.to_vector<f32>()) ASSERT_NEAR(value, 1 / 16.0, 1e-5);
}

TEST(Stop, WhileKernelsAreOnTheirWay) {
  HeldQueue queue;
  if (queue.device == nullptr)
    GTEST_SKIP() << "the queue of " << engine::device().name() << " cannot be held";
  const Tensor x = averaging(16).contiguous();
  x.realize();
  const Tensor y = chain(x, 40), z = chain(x, 3);
  queue.hold();
  {
    StopAt at(10);
    EXPECT_THROW(y.realize(), Stopped);
    EXPECT_GE(asked, 10);
    EXPECT_LE(asked, 20);
  }
  for (f32 value : z.to_vector<f32>()) ASSERT_NEAR(value, 1 / 16.0, 1e-5);
  for (f32 value : y.to_vector<f32>()) ASSERT_NEAR(value, 1 / 16.0, 1e-5);
}

TEST(Stop, FromAnotherThread) {
  const Tensor x = averaging(16).contiguous();
  x.realize();
  const Tensor y = chain(x, 5);
  std::stop_source source;
  bool stopped = false;
  std::thread other([&] { source.request_stop(); });
  try {
    StopScope scope(source.get_token());
    for (int i = 0; i < 1'000'000'000; ++i) (chain(x, 5) + i).realize();
  } catch (const Stopped& error) {
    stopped = true;
    EXPECT_EQ(error.kind, ErrorKind::Timeout);
  }
  other.join();
  EXPECT_TRUE(stopped);
  for (f32 value : y.to_vector<f32>()) ASSERT_NEAR(value, 1 / 16.0, 1e-5);
}

// A call of a jitted function that is on its way is taken back: what it read is as it was, what it
// gave has no value.
TEST(Stop, AReplayThatIsOnItsWay) {
  HeldQueue queue;
  if (queue.device == nullptr)
    GTEST_SKIP() << "the queue of " << engine::device().name() << " cannot be held";
  Tensor state = Tensor::from_data(std::vector<f32>(1000, 1.f), {1000});
  auto step = jit([&](const Tensor& x) {
    state.assign(state * 2 + x);
    return state.sum();
  });
  const Tensor one = Tensor::from_data(std::vector<f32>(1000, 1.f), {1000});
  for (int i = 0; i < 3; ++i) step(one);
  EXPECT_EQ(state.to_vector<f32>(), std::vector<f32>(1000, 15.f));
  queue.hold();
  const Tensor first = step(one);
  {
    StopAt at(2);
    EXPECT_THROW((void)first.item<f32>(), Stopped);
    EXPECT_LE(asked, 10);
  }
  EXPECT_THROW((void)first.item<f32>(), Stopped);
  EXPECT_THROW((void)(first + 1).item<f32>(), Stopped);
  EXPECT_EQ(state.to_vector<f32>(), std::vector<f32>(1000, 15.f));
  EXPECT_EQ(step(one).item<f32>(), 31000.f);
  EXPECT_EQ(state.to_vector<f32>(), std::vector<f32>(1000, 31.f));
}

}  // namespace
}  // namespace doorbell
