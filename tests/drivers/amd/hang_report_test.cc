// What the report says that a hanging queue waits for, with packets that the driver's queues do not
// send.
#include "tests/drivers/amd/test_device.h"

namespace doorbell::amd {
namespace {

struct HangReportTest : DeviceTest {
  hcq::Signal signal, other;

  AmdDevice& start(Options::Packets packets) {
    AmdDevice& amd = open({.packets = packets, .timeout_ns = 1'000'000});
    signal = *kfd->signals().make();
    other = *kfd->signals().make();
    return amd;
  }
  // The message of a hang with these words where the ring is read next.
  std::string hang_at(AmdDevice& amd, const Words& words) {
    auto commands = amd.compute_queue().make_commands();
    commands->timestamp(signal.address());
    EXPECT_TRUE(amd.compute_queue().submit(*commands));
    const u64 ring = fake.queues.at(kCompute).arguments.ring_base_address;
    std::memcpy(fake.at(ring), words.data(), words.size() * sizeof(u32));
    const Result<void> done = amd.compute_queue().synchronize();
    EXPECT_FALSE(done);
    return done ? "" : done.error().message;
  }
};

// [nvd.h PACKET3_WAIT_REG_MEM64: 9 words; function 5 is >=, space 1 memory]
TEST_F(HangReportTest, A64BitWait) {
  AmdDevice& amd = start(Options::Packets::Pm4);
  signal.store(3);
  const u64 at = signal.address().value;
  const std::string message =
      hang_at(amd, {0xc0079300, 0x15, low(at), high(at), 5, 1, 0xffffffff, 0xffffffff, 4});
  EXPECT_NE(
      message.find(fmt::format("; it waits until {:#x} is 4294967301 or more, and that is 3", at)),
      std::string::npos)
      << message;
}

// [HSA Runtime 2.9.8, 2.9.9: type 3 and 5, dep_signal[5] from byte 8; amd_hsa_signal.h: the value
// is 8 bytes in]
TEST_F(HangReportTest, BarriersOfAqlQueues) {
  AmdDevice& amd = start(Options::Packets::Aql);
  const u64 at = signal.address().value, open_at = other.address().value;
  signal.cell().timestamp.store(1);
  const std::string waits =
      fmt::format("; it waits until the signal at {:#x} is 0, and that is 1", at);
  Words words(16);
  words[0] = 0x103;
  words[2] = low(at), words[3] = high(at);
  words[8] = low(open_at), words[9] = high(open_at);
  const std::string both = hang_at(amd, words);
  EXPECT_NE(both.find(waits), std::string::npos) << both;
  EXPECT_EQ(both.find(fmt::format("the signal at {:#x}", open_at)), std::string::npos) << both;
}

TEST_F(HangReportTest, ABarrierThatOneSignalOpens) {
  AmdDevice& amd = start(Options::Packets::Aql);
  const u64 at = signal.address().value, open_at = other.address().value;
  signal.cell().timestamp.store(1);
  Words words(16);
  words[0] = 0x105;
  words[2] = low(at), words[3] = high(at);
  words[4] = low(open_at), words[5] = high(open_at);
  const std::string message = hang_at(amd, words);
  EXPECT_EQ(message.find("it waits until the signal"), std::string::npos) << message;
}

}  // namespace
}  // namespace doorbell::amd
