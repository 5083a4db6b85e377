// Channels: rings, pushbuffers, semaphores, copies, and the rules that they break.
#include "drivers/nv/hw/copy/methods.h"
#include "drivers/nv/hw/rm/control.h"
#include "tests/emulator/nv/machine_client.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

constexpr u8 kCopySubchannel = 4;

class ChannelTest : public ::testing::Test {
 protected:
  explicit ChannelTest(const ClientOptions& options = {}) : client_(options) {
    client_.make_channel({hw::ClassId::AmpereComputeB, hw::ClassId::AmpereDmaCopyB});
  }
  void semaphore(hw::SemOperation operation, u64 offset, u64 payload, bool is_64bit = true,
                 bool has_time = false) {
    client_.push(0, hw::Semaphore{.addr = client_.data.address + offset,
                                  .payload = payload,
                                  .operation = operation,
                                  .payload_64bit = is_64bit,
                                  .release_timestamp = has_time});
  }
  void bind_copy() { client_.push(kCopySubchannel, hw::SetObject{hw::ClassId::AmpereDmaCopyB}); }
  void extent(u64 from, u64 to, u32 bytes) {
    client_.push(kCopySubchannel, hw::CopyExtent{.in_upper = static_cast<u32>(from >> 32),
                                                 .in_lower = static_cast<u32>(from),
                                                 .out_upper = static_cast<u32>(to >> 32),
                                                 .out_lower = static_cast<u32>(to),
                                                 .line_length = bytes});
  }
  // The group's error is in force: nothing runs any more.
  bool has_stopped() {
    const u64 before = client_.data.longs()[100];
    semaphore(hw::SemOperation::Release, 800, before + 1);
    client_.submit();
    return client_.data.longs()[100] == before;
  }

  Client client_;
};

TEST_F(ChannelTest, ReleasesPayloadsAndTimes) {
  semaphore(hw::SemOperation::Release, 0, 0x1122'3344'5566'7788, true, true);
  client_.data.longs()[2] = ~u64{0};
  semaphore(hw::SemOperation::Release, 16, 5, false);
  client_.submit();
  EXPECT_EQ(client_.data.longs()[0], 0x1122'3344'5566'7788u);
  EXPECT_NE(client_.data.longs()[1], 0u);
  EXPECT_EQ(client_.data.longs()[2], 0xffff'ffff'0000'0005u);
  EXPECT_EQ(client_.ring_memory.words()[(64 * 8 + hw::kUserdGpGet) / 4], 1u);
  EXPECT_EQ(client_.reports(), "");
}

// The comparisons of dev_pbdma.ref.txt NV_UDMA_SEM_EXECUTE_OPERATION.
TEST_F(ChannelTest, AcquiresWaitForTheirCondition) {
  struct Case {
    hw::SemOperation operation;
    u64 payload, blocks, passes;
  };
  u64 done = 0;
  for (const Case& one :
       {Case{hw::SemOperation::Acquire, 7, 8, 7}, Case{hw::SemOperation::AcqStrictGeq, 7, 6, 9},
        Case{hw::SemOperation::AcqCircGeq, 7, 6, 8},
        Case{hw::SemOperation::AcqCircGeq, ~u64{0} - 1, ~u64{0} - 2, 3},
        Case{hw::SemOperation::AcqAnd, 6, 8, 2}, Case{hw::SemOperation::AcqNor, ~u64{4}, 4, 0}}) {
    client_.data.longs()[0] = one.blocks;
    semaphore(one.operation, 0, one.payload);
    semaphore(hw::SemOperation::Release, 64, ++done);
    client_.submit();
    EXPECT_EQ(client_.data.longs()[8], done - 1) << hw::name_of(one.operation);
    client_.data.longs()[0] = one.passes;
    client_.machine().run_until_idle();
    EXPECT_EQ(client_.data.longs()[8], done) << hw::name_of(one.operation);
  }
  EXPECT_EQ(client_.reports(), "");
}

TEST_F(ChannelTest, CopiesBytesAndReleases) {
  for (u32 i = 0; i < 1000; ++i) client_.data.words()[1024 + i] = i * 3;
  bind_copy();
  extent(client_.data.address + 4096, client_.data.address + 0x20000, 4000);
  client_.push(kCopySubchannel,
               hw::CopySemaphore{.addr_upper = static_cast<u32>(client_.data.address >> 32),
                                 .addr_lower = static_cast<u32>(client_.data.address),
                                 .payload = 9});
  client_.push(kCopySubchannel, hw::CopyLaunch{.transfer = hw::CopyTransfer::NonPipelined,
                                               .flush_enable = true,
                                               .semaphore = hw::CopySemaphoreType::WithTimestamp});
  client_.submit();
  EXPECT_TRUE(std::equal(client_.data.words() + 1024, client_.data.words() + 2024,
                         client_.data.words() + 0x8000));
  EXPECT_EQ(client_.data.words()[0x8000 + 1000], 0u);
  EXPECT_EQ(client_.data.longs()[0], 9u);
  EXPECT_NE(client_.data.longs()[1], 0u);
  EXPECT_EQ(client_.reports(), "");
}

TEST_F(ChannelTest, FaultsStopTheGroupAndTellWhere) {
  bind_copy();
  extent(client_.data.address, 0x77'0000'0000, 16);
  client_.push(kCopySubchannel, hw::CopyLaunch{.transfer = hw::CopyTransfer::Pipelined});
  client_.submit();
  EXPECT_EQ(client_.count("NV-DMA-002"), 1u) << client_.reports();
  EXPECT_NE(client_.machine().last_fault(0).find("0x7700000000"), std::string::npos)
      << client_.machine().last_fault(0);
  EXPECT_TRUE(has_stopped());
}

TEST_F(ChannelTest, TokensAreThoseOfChannels) {
  client_.ring(client_.token + 1);
  EXPECT_EQ(client_.count("NV-HOST-001"), 1u) << client_.reports();
}

TEST_F(ChannelTest, ADoorbellFollowsNewEntries) {
  client_.ring(client_.token);
  EXPECT_EQ(client_.count("NV-HOST-002"), 1u) << client_.reports();
}

TEST_F(ChannelTest, PutIsBelowTheEntries) {
  client_.ring_memory.words()[(64 * 8 + hw::kUserdGpPut) / 4] = 64;
  client_.ring(client_.token);
  EXPECT_EQ(client_.count("NV-HOST-002"), 1u) << client_.reports();
}

TEST_F(ChannelTest, EntriesHaveNoReservedBits) {
  const u32 words[] = {0, 0};
  client_.push(words);
  client_.ring_memory.words()[0] = 2;  // bit 1 of the address, and an opcode that is illegal
  client_.ring_memory.words()[1] = 1;
  client_.ring_memory.words()[(64 * 8 + hw::kUserdGpPut) / 4] = 1;
  client_.ring(client_.token);
  EXPECT_EQ(client_.count("NV-HOST-003"), 1u) << client_.reports();
}

TEST_F(ChannelTest, PushbuffersAreMapped) {
  const auto entry = encode(hw::GpEntry{.addr = 0x4000, .length = 3});
  std::copy(entry.begin(), entry.end(), client_.ring_memory.words());
  client_.ring_memory.words()[(64 * 8 + hw::kUserdGpPut) / 4] = 1;
  client_.ring(client_.token);
  EXPECT_EQ(client_.count("NV-HOST-004"), 1u) << client_.reports();
}

TEST_F(ChannelTest, HeadersHaveTheirDataInTheSegment) {
  const u32 header[] = {encode(hw::MethodHeader{.method = 0x5c, .count = 5})[0]};
  client_.push(header);
  client_.submit();
  EXPECT_EQ(client_.count("NV-HOST-005"), 1u) << client_.reports();
  EXPECT_TRUE(has_stopped());
}

// A multiprocessor stops for what it executes only.
TEST_F(ChannelTest, ErrorsOfAPushbufferAreNoneOfAMultiprocessor) {
  const u32 engine = client_.alloc(client_.channel, static_cast<u32>(hw::ClassId::AmpereComputeB));
  const u32 debugger =
      client_.alloc(client_.device, hw::DebuggerParameters::kClass,
                    hw::DebuggerParameters{.app_client = client_.root, .class3d_object = engine});
  ASSERT_NE(debugger, 0u);
  extent(0, 0, 0);
  client_.submit();
  EXPECT_TRUE(has_stopped());
  hw::ReadSmErrorStates states{.target_channel = client_.channel, .num_sms = 1};
  ASSERT_EQ(client_.control(debugger, states), 0u);
  EXPECT_EQ(states.states[0].warp_esr, 0u);
  EXPECT_FALSE(states.mmu_fault_valid);
}

TEST_F(ChannelTest, AChannelIsRungForItsLastEntry) {
  const u32 words[] = {0, 0};
  client_.push(words);
  client_.ring_memory.words()[(64 * 8 + hw::kUserdGpPut) / 4] = 1;
  client_.free(client_.channel);
  EXPECT_EQ(client_.count("NV-HOST-009"), 1u) << client_.reports();
}

TEST_F(ChannelTest, MethodsGoToBoundSubchannels) {
  extent(0, 0, 0);
  client_.submit();
  EXPECT_EQ(client_.count("NV-HOST-006"), 1u) << client_.reports();
}

TEST_F(ChannelTest, BoundClassesHaveObjects) {
  client_.push(1, hw::SetObject{hw::ClassId::AdaComputeA});
  client_.submit();
  EXPECT_EQ(client_.count("NV-HOST-006"), 1u) << client_.reports();
}

TEST_F(ChannelTest, MethodsAreOnesOfTheClass) {
  bind_copy();
  const u32 words[] = {
      encode(hw::MethodHeader{.method = 0xf00, .subchannel = kCopySubchannel, .count = 1})[0], 1};
  client_.push(words);
  client_.submit();
  EXPECT_EQ(client_.count("NV-HOST-007"), 1u) << client_.reports();
  EXPECT_FALSE(has_stopped());
}

// [clc7b5.h: the fields of each method]
TEST_F(ChannelTest, MethodsHaveNoBitsBesideTheirFields) {
  const u32 words[] = {
      encode(hw::MethodHeader{
          .method = hw::CopyExtent::kMethod, .subchannel = kCopySubchannel, .count = 1})[0],
      1u << 25};  // OFFSET_IN_UPPER is 24:0 at most
  bind_copy();
  client_.push(words);
  client_.submit();
  EXPECT_EQ(client_.count("NV-HOST-007"), 1u) << client_.reports();
}

TEST_F(ChannelTest, SemaphoresAreAligned) {
  semaphore(hw::SemOperation::Release, 8, 1, true, true);  // 16 bytes
  client_.submit();
  EXPECT_EQ(client_.count("NV-HOST-008"), 1u) << client_.reports();
  EXPECT_TRUE(has_stopped());
}

// SEM_ADDR_HI has 8 bits before Hopper. [clc56f.h]
TEST_F(ChannelTest, SemaphoresHaveTheAddressBitsOfTheChip) {
  client_.push(0, hw::Semaphore{.addr = u64{1} << 40, .operation = hw::SemOperation::Release});
  client_.submit();
  EXPECT_EQ(client_.count("NV-HOST-008"), 1u) << client_.reports();
}

TEST_F(ChannelTest, CopiesFlushBeforeTheirSemaphore) {
  bind_copy();
  extent(client_.data.address, client_.data.address + 4096, 16);
  client_.push(kCopySubchannel,
               hw::CopySemaphore{.addr_upper = static_cast<u32>(client_.data.address >> 32),
                                 .addr_lower = static_cast<u32>(client_.data.address)});
  client_.push(kCopySubchannel, hw::CopyLaunch{.transfer = hw::CopyTransfer::NonPipelined,
                                               .semaphore = hw::CopySemaphoreType::Release});
  client_.submit();
  EXPECT_EQ(client_.count("NV-DMA-001"), 1u) << client_.reports();
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
