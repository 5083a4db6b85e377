// Copies between devices wait on queues: the call returns while the queue of the source is held,
// and what is copied is what the source has once the queue has run.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "drivers/cpu/device.h"
#include "hcq/device.h"
#include "runtime/doorbell.h"
#include "tensor/engine/realize.h"

namespace doorbell {
namespace {

using Ints = std::vector<i32>;

// The default device, where it has queues that can be held, and another one.
struct Devices {
  std::string here = engine::device().name();
  std::string there = here == "CPU" ? "CPU:1" : "CPU";
};

// Holds the queues of a device until it is released: they wait for a queue of the CPU that waits
// for a signal.
class Hold {
 public:
  explicit Hold(const std::string& name) : device_(*hcq::Device::of(engine::device(name))) {
    auto& keeper = dynamic_cast<cpu::CpuDevice&>(engine::device("CPU:9"));
    go_ = *keeper.signals().make();
    auto wait = keeper.compute_queue().make_commands();
    wait->wait(go_.address(), 1);
    const hcq::Fence held(*keeper.compute_queue().submit(*wait));
    for (hcq::Queue* queue : {&device_.compute_queue(), &device_.copy_queue()}) {
      auto commands = queue->make_commands();
      commands->memory_barrier();
      EXPECT_TRUE(queue->submit(*commands, held));
    }
  }
  ~Hold() { release(); }
  bool holds() const {
    return !device_.compute_queue().idle() && !device_.copy_queue().idle() && go_.value() == 0;
  }
  void release() { go_.store(1); }

 private:
  hcq::Device& device_;
  hcq::Signal go_;
};

bool has_queues() { return hcq::Device::of(engine::device()) != nullptr; }

Ints counting(usize count) {
  Ints values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

Tensor on(const std::string& device, const Ints& values) {
  return Tensor::from_data(values, {static_cast<i64>(values.size())}, {.device = device}).realize();
}

class DeviceCopies : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_queues() || !engine::device().runs())
      GTEST_SKIP() << engine::device().name() << " has no queues that can be held";
  }
  const Devices devices_;
};

TEST_F(DeviceCopies, ReturnBeforeTheSourceHasRun) {
  for (const auto& [from, to] :
       {std::pair(devices_.here, devices_.there), std::pair(devices_.there, devices_.here)}) {
    const Ints values = counting(1000);
    const Tensor x = on(from, values);
    engine::synchronize();
    Hold hold(from);
    const Tensor y = x.to(to).realize();
    EXPECT_TRUE(hold.holds()) << from << " to " << to;
    hold.release();
    EXPECT_EQ(y.to_vector<i32>(), values) << from << " to " << to;
  }
}

TEST_F(DeviceCopies, AreOrderedWithKernelsOnBothSides) {
  auto f = jit([&](const Tensor& a) {
    const Tensor there = (a * 2).to(devices_.there) + 1;
    return std::pair(there.to(devices_.here) * 3, there.sum());
  });
  for (i32 i = 0; i < 6; ++i) {
    const Tensor a = on(devices_.here, {i, i + 1});
    Hold hold(devices_.here);
    // The first calls realise kernels of the CPU, which are waited for.
    if (i < 3) hold.release();
    const auto [product, total] = f(a);
    EXPECT_EQ(hold.holds(), i >= 3) << i;
    hold.release();
    EXPECT_EQ(product.to_vector<i32>(), (Ints{6 * i + 3, 6 * i + 9}));
    EXPECT_EQ(total.item<i32>(), 4 * i + 4);
  }
}

// More than the memory between the two holds at once.
TEST_F(DeviceCopies, OfManyPieces) {
  const Ints values = counting((usize{9} << 20) / sizeof(i32) + 5);
  const Tensor x = on(devices_.here, values);
  const Tensor y = x.to(devices_.there).realize();
  const Tensor z = y.to(devices_.here).realize(), w = x.to(devices_.there).realize();
  EXPECT_EQ(y.to_vector<i32>(), values);
  EXPECT_EQ(z.to_vector<i32>(), values);
  EXPECT_EQ(w.to_vector<i32>(), values);
}

TEST_F(DeviceCopies, KeepWhatTheyUse) {
  const Ints values = counting(1 << 16);
  Tensor result;
  Hold hold(devices_.here);
  {
    const Tensor x = on(devices_.there, values);
    result = x.to(devices_.here).realize().to(devices_.there).realize();
  }
  const Tensor other = on(devices_.there, Ints(1 << 16, -1));  // not in the same memory
  hold.release();
  EXPECT_EQ(result.to_vector<i32>(), values);
}

TEST_F(DeviceCopies, ReadMemoryOfTheCallerBeforeTheyReturn) {
  Ints values = counting(1000);
  const Tensor x = Tensor::from_blob(values.data(), dtypes::i32, {1000}, {.device = "CPU:1"});
  const std::string to = devices_.here == "CPU" ? "CPU:2" : devices_.here;
  const Tensor y = x.to(to).realize();
  values.assign(1000, 0);
  EXPECT_EQ(y.to_vector<i32>(), counting(1000));
}

TEST_F(DeviceCopies, ToADeviceThatRunsNothing) {
  const Tensor x = on("CPU:1", {1, 2, 3});
  {
    Hold hold("CPU:1");
    const Tensor y = x.to("NULL").realize();
    EXPECT_TRUE(hold.holds());
    EXPECT_THROW((void)y.to("CPU").realize(), Error);  // which has no contents
  }
  EXPECT_EQ(x.to_vector<i32>(), (Ints{1, 2, 3}));
}

}  // namespace
}  // namespace doorbell
