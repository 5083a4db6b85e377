// A device with an AQL queue on a /dev/kfd of the test: what lies in its ring, what the firmware
// sees of its descriptor, and what it hears back.
#include "tests/drivers/amd/test_device.h"

namespace doorbell::amd {
namespace {

using AqlDeviceTest = DeviceTest;

// An AQL queue that does not go on with a packet stores why into its signal and raises the signal's
// event; the codes are those of ROCr's DynamicQueueEventsHandler that the firmware writes.
TEST_F(AqlDeviceTest, HearsOfWhatAnAqlQueueCannotDo) {
  AmdDevice& amd = open({.packets = Options::Packets::Aql});
  const hw::AmdQueue& descriptor = fake.queues.at(kCompute).connected.at(0);
  ASSERT_NE(descriptor.queue_inactive_signal, 0u);
  EXPECT_EQ(descriptor.queue_inactive_signal % 64, 0u);
  hw::AmdSignal signal;
  std::memcpy(&signal, fake.at(descriptor.queue_inactive_signal), sizeof signal);
  EXPECT_EQ(signal.kind, 1);
  EXPECT_EQ(signal.value, 0);
  EXPECT_EQ(signal.event_mailbox, fake.memory.at(1).arguments.va_addr + signal.event_id * u64{8});
  EXPECT_EQ(fake.event_types.at(signal.event_id), hw::kKfdEventSignal);
  auto commands = amd.compute_queue().make_commands();
  commands->memory_barrier();
  commands->timestamp(u64{signal.event_mailbox});
  ASSERT_TRUE(amd.compute_queue().submit(*commands));
  fake.cell(descriptor.queue_inactive_signal + 8) = 32;
  fake.events[signal.event_id] = {};
  Result<void> waited = amd.synchronize();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind, ErrorKind::DeviceLost);
  EXPECT_TRUE(waited.error().message.starts_with(
      "AMD: the compute queue stopped with error 0x20 (invalid packet format)"))
      << waited.error().message;
}

// The firmware reads a queue's descriptor when the queue is put on the hardware. [ROCr
// amd_aql_queue.cpp AsyncReclaimMainScratch: "CP FW only updates its copy ... on queue_connect"]
TEST_F(AqlDeviceTest, TakesAnAqlQueueOffToTellItsScratch) {
  AmdDevice& amd = open({.packets = Options::Packets::Aql});
  const FakeKfd::Queue& queue = fake.queues.at(kCompute);
  const auto* ring = reinterpret_cast<u32*>(fake.at(queue.arguments.ring_base_address));
  for (u32 i = 0; i < queue.arguments.ring_size / 4; i += 16) ASSERT_EQ(ring[i], 1u) << i;
  core::Binary binary = compiled_kernel("gfx1100", 3);
  constexpr usize kDescriptor = 0x300;  // .rodata; private_segment_fixed_size is its second word
  const auto with_private = [&](u32 bytes) {
    std::memcpy(&binary.image[kDescriptor + 4], &bytes, 4);
    EXPECT_TRUE(amd.load(binary));
    return queue.connected.size();
  };
  EXPECT_EQ(with_private(0), 1u);
  EXPECT_EQ(with_private(64), 2u);
  const hw::AmdQueue first = queue.connected.back();
  EXPECT_NE(first.scratch_backing_memory_location, 0u);
  EXPECT_NE(first.compute_tmpring_size, 0u);
  EXPECT_EQ(first.scratch_resource_descriptor[3], 0x20814facu);
  EXPECT_EQ(first.queue_inactive_signal, queue.connected[0].queue_inactive_signal);
  EXPECT_EQ(with_private(64), 2u);
  EXPECT_EQ(with_private(4096), 3u);
  EXPECT_NE(queue.connected.back().scratch_backing_memory_location,
            first.scratch_backing_memory_location);
  EXPECT_EQ(queue.connected.back().scratch_wave64_lane_byte_size, 4096u);
  EXPECT_EQ(fake.calls_of("UPDATE_QUEUE").size(), 4u);
}

// The queue describes scratch for one XCC: 64 waves of 8 KiB, from 2 compute units of 32 waves
// each.
// [Writes it so: ROCR-Runtime c7785a6 amd_aql_queue.cpp#1883; reads it so: ROCdbgapi 61dfa56
// queue.cpp#874]
TEST_F(AqlDeviceTest, TellsTheScratchOfOneXcc) {
  const std::pair<const char*, u64> kNode[] = {{"gfx_target_version", 90402},
                                               {"num_xcc", 8},
                                               {"simd_count", 64},
                                               {"simd_per_cu", 4},
                                               {"array_count", 8},
                                               {"simd_arrays_per_engine", 1}};
  for (const auto& [name, value] : kNode) fake.set_property(name, value);
  kfd = *Kfd::open(fake);
  ASSERT_TRUE(open().scratch(64));
  const hw::AmdQueue& told = fake.queues.at(kCompute).connected.back();
  EXPECT_EQ(told.scratch_backing_memory_byte_size, 524288u);
  EXPECT_EQ(told.scratch_resource_descriptor[2], 524288u);
  EXPECT_EQ(told.compute_tmpring_size, 64u | 8u << 12);
  u64 area = 0;
  for (const auto& [handle, memory] : fake.memory)
    if (memory.arguments.va_addr == told.scratch_backing_memory_location)
      area = memory.arguments.size;
  EXPECT_EQ(area, 8 * 524288u);
}

TEST_F(AqlDeviceTest, SpeaksAql) {
  AmdDevice& amd = open({.packets = Options::Packets::Aql});
  EXPECT_EQ(fake.queues.at(kCompute).arguments.queue_type, 2u);
  auto program = *amd.load(compiled_kernel("gfx1100", 3));
  core::Ref<Buffer> a = *Buffer::allocate(amd, 384), b = *Buffer::allocate(amd, 384);
  const core::BufferView views[] = {{a.get(), 0}, {b.get(), 0}};
  ASSERT_TRUE(program->launch(views, {}));
  const FakeKfd::Queue& queue = fake.queues.at(kCompute);
  // Fresh code, the kernel, its signal, the interrupt: four packets, the last of which is number 3.
  EXPECT_EQ(queue.doorbell, 3u);
  EXPECT_EQ(fake.cell(queue.arguments.write_pointer_address), 4u);
  const Words words = fake.take_words(kCompute);
  ASSERT_EQ(words.size(), 64u);
  // [HSA 2.9.6 kernel dispatch: type 2, barrier 8, acquire 10:9, release 12:11; tinygrad
  // ops_amd.py AQL_HDR]
  EXPECT_EQ(words[16] & 0xff, 2u);
  EXPECT_EQ(words[16] >> 8 & 1, 1u);
  EXPECT_EQ(words[16] >> 9 & 3, 2u);
  EXPECT_EQ(words[16] >> 16, 3u);
  EXPECT_EQ(words[17] & 0xffff, 32u);
  EXPECT_EQ(slice(words, 19, 3), (Words{96, 1, 1}));
  const u64 arguments = u64{words[27]} << 32 | words[26];
  EXPECT_EQ(fake.cell(arguments + 8), b->memory().address);
  // The vendor packet: type 0, AQL PM4 (1), INDIRECT_BUFFER of the signal's 8 words, 10 left.
  EXPECT_EQ(words[32] & 0xff, 0u);
  EXPECT_EQ(words[32] >> 16, 1u);
  EXPECT_EQ(words[33], 0xc0023f00u);
  EXPECT_EQ(words[36], 8u | 1u << 23);
  EXPECT_EQ(words[37], 10u);
  const u64 buffer = u64{words[35]} << 32 | words[34];
  EXPECT_EQ(low(fake.cell(buffer)), 0xc0064900u);
  finish(amd.compute_queue());
}

}  // namespace
}  // namespace doorbell::amd
