// Streams as queues: order within and between them, times, a device that is lost.
#include <array>
#include <thread>

#include "base/os/host.h"
#include "hcq/queue/resident_commands.h"
#include "tests/drivers/cuda_emulated/emulated_test.h"

namespace doorbell::cuda {
namespace {

struct QueuesTest : EmulatedTest {
  u64 load(const core::Allocation& memory) const {
    return __atomic_load_n(static_cast<u64*>(memory.host), __ATOMIC_ACQUIRE);
  }
};

TEST_F(QueuesTest, OneWaitsForTheOther) {
  for (const u64 seed : {1, 2, 3, 4, 5}) {
    boot({.adversarial = true, .seed = seed});
    const auto device = open(0);
    core::Allocator& memory = device->shared_memory();
    const core::Allocation cell = *memory.allocate(64);
    hcq::Queue &compute = device->compute_queue(), &copy = device->copy_queue();
    hcq::Fence after;
    for (u64 step = 1; step <= 20; ++step) {
      hcq::Queue& queue = step % 2 == 0 ? compute : copy;
      const auto commands = queue.make_commands();
      commands->write(hcq::GpuAddr{cell.address}, step);
      after = hcq::Fence(*queue.submit(*commands, after));
    }
    ASSERT_TRUE(after.wait());
    EXPECT_EQ(load(cell), 20u) << "seed " << seed;
    memory.release(cell);
  }
}

TEST_F(QueuesTest, DevicesWaitForEachOther) {
  const auto first = open(0), second = open(1);
  core::Allocator& memory = first->shared_memory();
  EXPECT_EQ(&memory, &second->shared_memory());
  const core::Allocation cell = *memory.allocate(64);
  hcq::Fence after;
  for (u64 step = 1; step <= 10; ++step) {
    hcq::Queue& queue = (step % 2 == 0 ? first : second)->compute_queue();
    const auto commands = queue.make_commands();
    commands->write(hcq::GpuAddr{cell.address}, step);
    after = hcq::Fence(*queue.submit(*commands, after));
  }
  ASSERT_TRUE(after.wait());
  EXPECT_EQ(load(cell), 10u);
  memory.release(cell);
}

TEST_F(QueuesTest, ResidentCommandsRunAgainWithOtherNumbers) {
  const auto device = open(0);
  hcq::Queue& queue = device->compute_queue();
  const core::Allocation cell = *device->shared_memory().allocate(64);
  const auto commands = queue.make_commands();
  commands->write(hcq::GpuAddr{cell.address}, hcq::Operand::of_slot(0));
  {
    const auto bound = *hcq::ResidentCommands::bind(queue, *commands, 2);
    for (u64 value : {5, 6, 7, 8}) {
      run(queue, *bound, std::array{value});
      EXPECT_EQ(load(cell), value);
    }
  }
  device->shared_memory().release(cell);
}

TEST_F(QueuesTest, TimesAreOnTheHostsClock) {
  const auto device = open(0);
  hcq::Queue& queue = device->compute_queue();
  const core::Allocation times = *device->shared_memory().allocate(64);
  const u64 before = os::host_clock().now_ns();
  const auto commands = queue.make_commands();
  commands->timestamp(hcq::GpuAddr{times.address});
  commands->timestamp(hcq::GpuAddr{times.address + 8});
  ASSERT_TRUE(queue.submit(*commands));
  ASSERT_TRUE(device->synchronize());
  const u64* ticks = static_cast<const u64*>(times.host);
  const u64 begin = queue.to_ns(ticks[0]), end = queue.to_ns(ticks[1]);
  const u64 after = os::host_clock().now_ns();
  // The base is read a moment after the device took it.
  constexpr u64 kSlack_ns = 1'000'000'000;
  EXPECT_GE(begin + kSlack_ns, before);
  EXPECT_LE(begin, end);
  EXPECT_LE(end, after + kSlack_ns);
  EXPECT_EQ(queue.to_ns(12345), 0u);
  device->shared_memory().release(times);
}

TEST_F(QueuesTest, PollsWhatCudaCanCompare) {
  const auto device = open(0);
  hcq::Queue& queue = device->compute_queue();
  const core::Allocation cell = *device->shared_memory().allocate(64);
  *static_cast<u64*>(cell.host) = 0;
  auto commands = queue.make_commands();
  commands->poll(hcq::GpuAddr{cell.address}, 6, ~u64{0});
  commands->poll(hcq::GpuAddr{cell.address}, 4, 4);
  ASSERT_TRUE(queue.submit(*commands));
  EXPECT_FALSE(queue.idle());
  __atomic_store_n(static_cast<u64*>(cell.host), 6, __ATOMIC_RELEASE);
  EXPECT_TRUE(queue.synchronize());
  commands = queue.make_commands();
  commands->poll(hcq::GpuAddr{cell.address}, 2, 6);
  const auto refused = queue.submit(*commands);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
  // The queue goes on.
  commands = queue.make_commands();
  commands->write(hcq::GpuAddr{cell.address}, 9);
  ASSERT_TRUE(queue.submit(*commands));
  ASSERT_TRUE(queue.synchronize());
  EXPECT_EQ(load(cell), 9u);
  device->shared_memory().release(cell);
}

// Another library's stream, before and after work of ours.
TEST_F(QueuesTest, AreOrderedWithForeignStreams) {
  const auto device = open(0);
  hcq::Queue& queue = device->compute_queue();
  const core::Allocation cells = *device->shared_memory().allocate(64);
  u64* values = static_cast<u64*>(cells.host);
  values[0] = values[1] = values[2] = 0;
  CUstream foreign = nullptr;
  {
    const Current current(device->context());
    ASSERT_EQ(api->cuStreamCreate(&foreign, kStreamNonBlocking), kSuccess);
    ASSERT_EQ(api->cuStreamWaitValue64(foreign, cells.address, 1, kWaitAtLeast), kSuccess);
  }
  ASSERT_TRUE(device->wait_for_stream(foreign));
  const auto commands = queue.make_commands();
  commands->write(hcq::GpuAddr{cells.address + 8}, 5);
  ASSERT_TRUE(queue.submit(*commands));
  ASSERT_TRUE(device->let_stream_wait(foreign));
  {
    const Current current(device->context());
    ASSERT_EQ(api->cuMemcpyAsync(cells.address + 16, cells.address + 8, 8, foreign), kSuccess);
  }
  EXPECT_FALSE(queue.idle());
  EXPECT_EQ(load(cells), 0u);
  __atomic_store_n(values, 1, __ATOMIC_RELEASE);
  {
    const Current current(device->context());
    ASSERT_EQ(api->cuStreamSynchronize(foreign), kSuccess);
    EXPECT_EQ(values[2], 5u);
    ASSERT_EQ(api->cuStreamDestroy(foreign), kSuccess);
  }
  ASSERT_TRUE(device->synchronize());
  device->shared_memory().release(cells);
}

// Four threads submit to both queues of two devices.
TEST_F(QueuesTest, ThreadsSubmitAtTheSameTime) {
  const auto first = open(0), second = open(1);
  const core::Allocation cells = *first->shared_memory().allocate(64);
  std::vector<std::thread> threads;
  for (u64 i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      CudaDevice& device = i % 2 == 0 ? *first : *second;
      hcq::Queue& queue = i / 2 == 0 ? device.compute_queue() : device.copy_queue();
      for (u64 step = 1; step <= 50; ++step) {
        const auto commands = queue.make_commands();
        commands->write(hcq::GpuAddr{cells.address + i * 8}, step);
        ASSERT_TRUE(queue.submit(*commands));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(first->synchronize());
  ASSERT_TRUE(second->synchronize());
  for (u64 i = 0; i < 4; ++i) EXPECT_EQ(static_cast<u64*>(cells.host)[i], 50u);
  first->shared_memory().release(cells);
}

// A fault of the device while the host waits: the wait ends with what CUDA says, and the emulator.
TEST_F(QueuesTest, ALostDeviceEndsWaitsWithTheReason) {
  boot({.checks = "off"});
  const auto device = open(0, {.explain = [] { return emu::cuda::driver()->last_fault; }});
  hcq::Queue& queue = device->compute_queue();
  const core::Allocation cell = *device->shared_memory().allocate(64);
  *static_cast<u64*>(cell.host) = 0;
  const Ref<Buffer> buffer = *Buffer::allocate(*device, 4096);
  auto commands = queue.make_commands();
  commands->poll(hcq::GpuAddr{cell.address}, 1, ~u64{0});
  commands->copy(hcq::GpuAddr{buffer->memory().address},
                 hcq::GpuAddr{buffer->memory().address + 2048}, 2048);
  const auto point = queue.submit(*commands);
  ASSERT_TRUE(point);
  {
    // As if the page were lost under the copy.
    std::lock_guard lock(emu::cuda::driver()->mutex);
    emu::cuda::driver()->free(buffer->memory().address);
  }
  __atomic_store_n(static_cast<u64*>(cell.host), 1, __ATOMIC_RELEASE);
  const Result<void> waited = queue.wait(point->position);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind, ErrorKind::DeviceLost);
  EXPECT_TRUE(contains(waited.error().message, "CUDA_ERROR_ILLEGAL_ADDRESS (700)"))
      << waited.error().message;
  EXPECT_TRUE(contains(waited.error().message, "the emulator: a copy: ")) << waited.error().message;
  EXPECT_TRUE(queue.is_dead());
  EXPECT_TRUE(device->copy_queue().is_dead());
  commands = queue.make_commands();
  EXPECT_FALSE(queue.submit(*commands));
  EXPECT_FALSE(device->synchronize());
}

}  // namespace
}  // namespace doorbell::cuda
