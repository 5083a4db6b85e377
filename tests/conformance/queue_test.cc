// What every device with hardware queues must do, whatever its words look like; on the default
// device (DEV names another). Nothing here needs a compiler: copies, writes and timestamps only.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/device/registry.h"
#include "hcq/device.h"
#include "hcq/graph/graph.h"
#include "runtime/runtime.h"

namespace doorbell::hcq {
namespace {

using core::Buffer;
using core::Ref;
using Contents = std::array<u64, 8>;

struct QueueConformance : ::testing::Test {
  Device* device = nullptr;
  Device* peer = nullptr;  // the next of the same kind, where there is one

  void SetUp() override {
    ASSERT_TRUE(runtime::initialize());
    core::Registry& registry = core::Registry::instance();
    auto opened = registry.default_device();
    ASSERT_TRUE(opened) << opened.error().message;
    device = Device::of(**opened);
    if (device == nullptr) GTEST_SKIP() << (*opened)->name() << " has no hardware queues";
    if (!device->runs()) GTEST_SKIP() << device->name() << " runs nothing";
    const std::string next = device->name() + ":" + std::to_string(device->spec().ordinal + 1);
    if (auto second = registry.open(next)) peer = Device::of(**second);
  }

  static Ref<Buffer> make(Device& on, const Contents& contents) {
    Ref<Buffer> buffer = *Buffer::allocate(on, sizeof contents);
    EXPECT_TRUE(buffer->copy_in(contents.data(), sizeof contents));
    return buffer;
  }
  static Contents read(const Buffer& buffer) {
    Contents contents{};
    EXPECT_TRUE(buffer.copy_out(contents.data(), sizeof contents));
    return contents;
  }
  static GpuAddr address(Device& on, const Buffer& buffer) {
    auto address = on.address_of(buffer);
    EXPECT_TRUE(address) << address.error().message;
    return *address;
  }
};

constexpr Contents kCounting = {1, 2, 3, 4, 5, 6, 7, 8}, kZero = {};

TEST_F(QueueConformance, CommandsOfAQueueRunInOrder) {
  const Ref<Buffer> from = make(*device, kCounting), to = make(*device, kZero);
  HardwareQueue& queue = device->compute_queue();
  auto commands = queue.make_commands();
  commands->copy(address(*device, *to), address(*device, *from), sizeof(Contents));
  commands->memory_barrier();
  commands->write(address(*device, *to) + 8, u64{0x1234567890abcdef});
  commands->memory_barrier();
  commands->copy(address(*device, *to) + 16, address(*device, *to) + 8, 8);
  auto point = queue.submit(*commands);
  ASSERT_TRUE(point) << point.error().message;
  ASSERT_TRUE(queue.wait(point->position));
  EXPECT_EQ(read(*to), (Contents{1, 0x1234567890abcdef, 0x1234567890abcdef, 4, 5, 6, 7, 8}));
}

TEST_F(QueueConformance, QueuesFollowFences) {
  const Ref<Buffer> a = make(*device, kZero), b = make(*device, kZero);
  HardwareQueue* queues[] = {&device->compute_queue(), &device->copy_queue()};
  Fence last;
  // A value wanders between two buffers, each step on the other queue.
  for (u64 i = 0; i < 200; ++i) {
    HardwareQueue& queue = *queues[i % 2];
    const GpuAddr from = address(*device, i % 2 == 0 ? *a : *b);
    const GpuAddr to = address(*device, i % 2 == 0 ? *b : *a);
    auto commands = queue.make_commands();
    commands->write(from + 8 * (i % 8), i);
    commands->memory_barrier();
    commands->copy(to, from, sizeof(Contents));
    auto point = queue.submit(*commands, last);
    ASSERT_TRUE(point) << point.error().message;
    last = Fence(*point);
  }
  ASSERT_TRUE(last.wait());
  EXPECT_EQ(read(*a), (Contents{192, 193, 194, 195, 196, 197, 198, 199}));
}

TEST_F(QueueConformance, TimestampsGrow) {
  HardwareQueue& queue = device->compute_queue();
  const core::Allocation stamps = *queue.memory().allocate(16);
  auto commands = queue.make_commands();
  commands->timestamp(GpuAddr{stamps.address});
  commands->timestamp(GpuAddr{stamps.address + 8});
  auto point = queue.submit(*commands);
  ASSERT_TRUE(point);
  ASSERT_TRUE(queue.wait(point->position));
  const auto* ticks = static_cast<const u64*>(stamps.host);
  EXPECT_GT(queue.to_ns(ticks[0]), 0u);
  EXPECT_GE(queue.to_ns(ticks[1]), queue.to_ns(ticks[0]));
  EXPECT_LT(queue.to_ns(ticks[1]) - queue.to_ns(ticks[0]), 10'000'000'000u);
  queue.memory().release(stamps);
}

TEST_F(QueueConformance, MoreSubmissionsThanAnyRingHolds) {
  const Ref<Buffer> to = make(*device, kZero);
  HardwareQueue& queue = device->copy_queue();
  auto commands = queue.make_commands();
  for (u64 i = 1; i <= 20'000; ++i) {
    commands->clear();
    commands->write(address(*device, *to), i);
    auto point = queue.submit(*commands);
    ASSERT_TRUE(point) << point.error().message;
  }
  ASSERT_TRUE(queue.synchronize());
  EXPECT_EQ(read(*to), (Contents{20'000}));
}

TEST_F(QueueConformance, AGraphIsReplayedWithOtherAddresses) {
  const Ref<Buffer> inputs[] = {make(*device, kCounting), make(*device, {9, 9, 9, 9, 9, 9, 9, 9})};
  const Ref<Buffer> middle = make(*device, kZero), out = make(*device, kZero);
  Graph graph;
  const u32 x = graph.memory(graph.storage(), 0, sizeof(Contents), graph.slot());
  const u32 m = graph.memory(graph.storage(), 0, sizeof(Contents), address(*device, *middle));
  const u32 y = graph.memory(graph.storage(), 0, sizeof(Contents), address(*device, *out));
  graph.copy(device->copy_queue(), m, x, sizeof(Contents));
  graph.copy(device->compute_queue(), y, m, sizeof(Contents));
  ASSERT_TRUE(graph.bind());
  for (usize i = 0; i < 50; ++i) {
    const u64 values[] = {address(*device, *inputs[i % 2]).value};
    auto done = graph.replay(values);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_TRUE(done->wait());
    ASSERT_EQ(read(*out)[7], i % 2 == 0 ? 8u : 9u) << i;
  }
}

TEST_F(QueueConformance, DevicesCopyToEachOther) {
  if (peer == nullptr) GTEST_SKIP() << "there is one device of the kind " << device->name();
  const Ref<Buffer> here = make(*device, kCounting), there = make(*peer, kZero);
  const Ref<Buffer> back = make(*device, kZero);
  auto reachable = peer->address_of(*here);
  if (!reachable) GTEST_SKIP() << reachable.error().message;
  Graph graph;
  const u32 h = graph.memory(graph.storage(), 0, sizeof(Contents), *reachable);
  const u32 t = graph.memory(graph.storage(), 0, sizeof(Contents), address(*peer, *there));
  graph.copy(peer->copy_queue(), t, h, sizeof(Contents));
  const u32 b = graph.memory(graph.storage(), 0, sizeof(Contents), address(*device, *back));
  graph.copy(device->copy_queue(), b, t, sizeof(Contents));
  ASSERT_TRUE(graph.bind());
  Fence last;
  for (int i = 0; i < 50; ++i) {
    auto done = graph.replay();
    ASSERT_TRUE(done) << done.error().message;
    last = *done;
  }
  ASSERT_TRUE(last.wait());
  EXPECT_EQ(read(*back), kCounting);
}

}  // namespace
}  // namespace doorbell::hcq
