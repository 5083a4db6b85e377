// Devices that are only called: order, errors, and signals that are raised by polling.
#include "hcq/software/launch_device.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "hcq/graph/graph.h"
#include "hcq/software/buffer_addresses.h"
#include "tests/hcq/support/kernels.h"

namespace doorbell::hcq {
namespace {

using core::BufferView;
using testing::make_cpu;
using Kernel = std::function<Result<void>(std::span<const BufferView>, std::span<const i64>)>;

class CalledProgram final : public core::Program {
 public:
  explicit CalledProgram(Kernel kernel) : kernel_(std::move(kernel)) {}
  Result<void> launch(std::span<const BufferView> buffers,
                      std::span<const i64> variables) override {
    return kernel_(buffers, variables);
  }

 private:
  const Kernel kernel_;
};

// With `numbered`, launches have numbers, and the test says which have finished.
class CalledDevice final : public LaunchDevice {
 public:
  explicit CalledDevice(bool numbered = false)
      : LaunchDevice(core::DeviceSpec{.name = "CALLED"}), numbered_(numbered) {}
  ~CalledDevice() override { stop_queue(); }

  core::Allocator& allocator() override { return memory_; }
  Result<std::unique_ptr<core::Program>> load(const core::Binary&) override {
    return fail(ErrorKind::Unsupported, "the test makes programs");
  }
  std::string description() const override { return "is called"; }
  Result<void> finish() override {
    finished = launched.load();
    return std::exchange(fault, Result<void>{});
  }
  u64 last_launch() override { return numbered_ ? launched.load() : 0; }
  u64 finished_launch() override { return finished; }
  Result<void> launch_error() override { return std::exchange(fault, Result<void>{}); }
  Result<void> usable() override {
    return is_lost ? Result<void>(fail(ErrorKind::DeviceLost, "it is lost")) : Result<void>();
  }

  std::atomic<u64> launched{0}, finished{0};
  std::atomic<bool> is_lost{false};
  Result<void> fault;

 private:
  const bool numbered_;
  HostMemory memory_;
};

i64& number_at(const BufferView& view) {
  return *reinterpret_cast<i64*>(static_cast<u8*>(view.buffer->host()) + view.offset);
}

core::Ref<core::Buffer> zeros(core::Device& device, i64 count) {
  core::Ref<core::Buffer> made = *core::Buffer::allocate(device, count * 8);
  std::fill_n(static_cast<i64*>(made->host()), count, 0);
  return made;
}

// buffers: {out, in}; out = in + variable.
CalledProgram add_program(CalledDevice& device) {
  return CalledProgram([&device](auto buffers, auto variables) -> Result<void> {
    ++device.launched;
    number_at(buffers[0]) = number_at(buffers[1]) + variables[0];
    return {};
  });
}

TEST(LaunchDevice, KernelsAndCopiesRunInOrderWithOffsets) {
  CalledDevice device;
  CalledProgram add = add_program(device);
  const auto memory = zeros(device, 4);
  const GpuAddr base = *device.address_of(*memory);
  auto commands = device.compute_queue().make_commands();
  const Operand buffers[] = {base + 16, base + 8}, variables[] = {u64{5}};
  commands->exec({&add, buffers, variables});
  commands->copy(base + 24, base + 16, 8);
  ASSERT_OK(device.compute_queue().submit(*commands));
  ASSERT_OK(device.synchronize());
  const auto* values = static_cast<const i64*>(memory->host());
  EXPECT_EQ(std::vector<i64>(values, values + 4), (std::vector<i64>{0, 0, 5, 5}));
}

TEST(LaunchDevice, ABufferMadeWhereAnotherWasHasItsAddress) {
  CalledDevice device;
  core::Ref<core::Buffer> first = zeros(device, 1), second = zeros(device, 1);
  const GpuAddr one = *device.address_of(*first), two = *device.address_of(*second);
  EXPECT_NE(one, two);
  EXPECT_EQ(*device.address_of(*first), one);
  const BufferView view = view_at((two + 7).value);
  EXPECT_EQ(view.buffer, second.get());
  EXPECT_EQ(view.offset, 7);
}

TEST(LaunchDevice, AnErrorOnTheThreadFailsWaitsOnceAndTheQueueGoesOn) {
  CalledDevice device;
  CalledProgram add = add_program(device);
  CalledProgram refused([](auto, auto) -> Result<void> {
    return fail(ErrorKind::Unsupported, "too many arguments");
  });
  const auto memory = zeros(device, 2);
  const GpuAddr base = *device.address_of(*memory);
  const Operand buffers[] = {base, base}, variables[] = {u64{1}};
  Queue& queue = device.compute_queue();
  auto commands = queue.make_commands();
  commands->exec({&refused, buffers, variables});
  commands->exec({&add, buffers, variables});  // behind an error: does not run
  const Point failed = *queue.submit(*commands);
  const Result<void> waited = queue.wait(failed.position);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(waited.error().message, "too many arguments");
  EXPECT_EQ(waited.error().device, "CALLED");
  EXPECT_TRUE(queue.was_abandoned(failed.position));  // what it was to write has no value
  EXPECT_FALSE(device.synchronize());
  ASSERT_OK(device.synchronize());
  commands->clear();
  commands->exec({&add, buffers, variables});
  ASSERT_OK(queue.submit(*commands));
  ASSERT_OK(device.synchronize());
  EXPECT_EQ(*static_cast<i64*>(memory->host()), 1);
  EXPECT_FALSE(queue.is_dead());
}

TEST(LaunchDevice, AFailedCheckIsAnErrorOfTheWork) {
  CalledDevice device;
  CalledProgram wrong([](auto buffers, auto) -> Result<void> {
    CHECK(buffers.size() == 2, "{} buffers, expected 2", buffers.size());
    return {};
  });
  auto commands = device.compute_queue().make_commands();
  commands->exec({&wrong, {}, {}});
  ASSERT_OK(device.compute_queue().submit(*commands));
  const Result<void> done = device.synchronize();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("0 buffers, expected 2"), std::string::npos);
}

// Bound words that are known to be short run on the submitter, whose call returns their error.
TEST(LaunchDevice, AnErrorOnTheSubmitterIsReturnedByItsCall) {
  CalledDevice device;
  bool fails = false;
  CalledProgram sometimes([&](auto, auto) -> Result<void> {
    if (fails) return fail(ErrorKind::OutOfMemory, "no room");
    return {};
  });
  const auto memory = zeros(device, 1);
  Graph graph;
  const u32 v = graph.memory(graph.storage(), 0, 8, *device.address_of(*memory));
  graph.exec(device.compute_queue(), {&sometimes, "sometimes", {{v, Access::Write}}});
  ASSERT_OK(graph.bind());
  ASSERT_OK(graph.replay());
  ASSERT_OK(device.synchronize());
  fails = true;
  bool is_returned = false;
  // The first runs may be slow on a busy machine, and go to the thread.
  for (int i = 0; i < 1000 && !is_returned; ++i) {
    const Result<Fence> replayed = graph.replay();
    is_returned = !replayed;
    if (is_returned) {
      EXPECT_EQ(replayed.error().message, "no room");
    }
    (void)device.synchronize();
  }
  EXPECT_TRUE(is_returned);
  fails = false;
  ASSERT_OK(graph.replay());
  ASSERT_OK(device.synchronize());
}

TEST(LaunchDevice, AFaultOfTheDeviceFailsTheWaitForItsWork) {
  for (const bool numbered : {false, true}) {
    CalledDevice device(numbered);
    CalledProgram add = add_program(device);
    const auto memory = zeros(device, 1);
    const GpuAddr base = *device.address_of(*memory);
    const Operand buffers[] = {base, base}, variables[] = {u64{1}};
    auto commands = device.compute_queue().make_commands();
    commands->exec({&add, buffers, variables});
    device.fault = fail(ErrorKind::DeviceLost, "a bus error");
    device.finished = 1;
    const Point point = *device.compute_queue().submit(*commands);
    const Result<void> waited = device.compute_queue().wait(point.position);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().message, "a bus error");
  }
}

TEST(LaunchDevice, WorkIsDoneWhenItsLaunchHasFinished) {
  CalledDevice device(true);
  CalledProgram add = add_program(device);
  const auto memory = zeros(device, 1);
  const GpuAddr base = *device.address_of(*memory);
  const Operand buffers[] = {base, base}, variables[] = {u64{1}};
  auto commands = device.compute_queue().make_commands();
  commands->exec({&add, buffers, variables});
  const Point point = *device.compute_queue().submit(*commands);
  while (device.launched == 0) std::this_thread::yield();
  EXPECT_FALSE(device.compute_queue().idle());
  EXPECT_FALSE(device.compute_queue().wait(point.position, 1'000'000));
  device.finished = 1;
  ASSERT_OK(device.compute_queue().wait(point.position));
  EXPECT_TRUE(device.compute_queue().idle());
}

// Nobody polls on the host: the queue's own thread must.
TEST(LaunchDevice, OtherQueuesWaitForWhatIsPolled) {
  CalledDevice device(true);
  auto cpu = make_cpu(0, {.threads = 1});
  CalledProgram add = add_program(device);
  const auto memory = zeros(device, 1);
  const GpuAddr base = *device.address_of(*memory);
  const Operand buffers[] = {base, base}, variables[] = {u64{1}};
  auto commands = device.compute_queue().make_commands();
  commands->exec({&add, buffers, variables});
  const Point made = *device.compute_queue().submit(*commands);
  std::atomic<u64> seen{0};
  auto after = cpu->compute_queue().make_commands();
  after->write(testing::address(&seen), 1);
  ASSERT_OK(cpu->compute_queue().submit(*after, Fence(made)));
  while (device.launched == 0) std::this_thread::yield();
  EXPECT_EQ(seen, 0u);
  device.finished = 1;
  while (seen == 0) std::this_thread::yield();
}

// Else the queue that waits for it would do so for ever, and all that is behind it.
TEST(LaunchDevice, WhatALostDeviceRefusesEndsForOtherQueues) {
  CalledDevice device;
  auto cpu = make_cpu(0, {.threads = 1});
  CalledProgram add = add_program(device);
  const auto there = testing::load(*cpu, "add_variable", testing::add_variable, 2, 1);
  const auto between = zeros(device, 1), result = zeros(*cpu, 1);
  Graph graph;
  const u32 storage = graph.storage();
  const u32 written = graph.memory(storage, 0, 8, *device.address_of(*between));
  const u32 read = graph.memory(storage, 0, 8, testing::address(between->host()));
  const u32 made = graph.memory(graph.storage(), 0, 8, testing::address(result->host()));
  graph.exec(device.compute_queue(),
             {&add, "add", {{written, Access::Write}, {written, Access::Read}}, {u64{1}}});
  graph.exec(
      cpu->compute_queue(),
      {there.get(), "add_variable", {{made, Access::Write}, {read, Access::Read}}, {u64{1}}});
  ASSERT_OK(graph.bind());
  device.is_lost = true;
  const Result<Fence> replayed = graph.replay();
  ASSERT_FALSE(replayed);
  EXPECT_EQ(replayed.error().message, "it is lost");
  Queue& queue = cpu->compute_queue();
  const Position last = queue.last().position;
  (void)queue.wait(last, 60'000'000'000);  // which is an error, but not of the time
  EXPECT_TRUE(queue.done(last));
  EXPECT_EQ(device.launched, 0u);
}

TEST(LaunchDevice, ItsQueueWaitsForOthersOnItsThread) {
  CalledDevice device;
  auto cpu = make_cpu(0, {.threads = 1});
  const auto here = zeros(device, 1), there = zeros(*cpu, 1);
  const Signal go = *cpu->signals().make();
  auto held = cpu->compute_queue().make_commands();
  held->wait(go.address(), 1);
  held->write(testing::address(there->host()), 42);
  const Fence after(*cpu->compute_queue().submit(*held));
  auto commands = device.copy_queue().make_commands();
  commands->copy(*device.address_of(*here), *device.address_of(*there), 8);
  ASSERT_OK(device.copy_queue().submit(*commands, after));
  EXPECT_FALSE(device.copy_queue().idle());
  raise(go.cell(), 1);
  ASSERT_OK(device.synchronize());
  EXPECT_EQ(*static_cast<i64*>(here->host()), 42);
}

}  // namespace
}  // namespace doorbell::hcq
