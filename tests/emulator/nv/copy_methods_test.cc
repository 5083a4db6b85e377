// Copies of lines, remapped components, inline data, and reductions of semaphores. Expected values
// follow NVIDIA/open-gpu-doc: classes/dma-copy/clc7b5.h, classes/compute/clc7c0.h,
// manuals/ampere/ga100/dev_pbdma.ref.txt ("pbdma").
#include <algorithm>
#include <vector>

#include "drivers/nv/hw/compute/methods.h"
#include "drivers/nv/hw/copy/methods.h"
#include "tests/emulator/nv/machine_client.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

constexpr u8 kCompute = 1, kCopy = 4;
// Offsets in Client::data.
constexpr u64 kFrom = 0x1000, kTo = 0x8000;
constexpr u8 kUntouched = 0xee;

class CopyMethodsTest : public ::testing::Test {
 protected:
  CopyMethodsTest() {
    client_.make_channel({hw::ClassId::AmpereComputeB, hw::ClassId::AmpereDmaCopyB});
    client_.push(kCompute, hw::SetObject{hw::ClassId::AmpereComputeB});
    client_.push(kCopy, hw::SetObject{hw::ClassId::AmpereDmaCopyB});
    for (u32 i = 0; i < 0x1000; ++i) bytes()[kFrom + i] = static_cast<u8>(i);
    std::fill_n(bytes() + kTo, 0x1000, kUntouched);
  }
  u8* bytes() { return client_.data.mapping.data(); }
  std::vector<u8> copied(usize count) { return {bytes() + kTo, bytes() + kTo + count}; }
  void extent(u32 length, u32 lines, u32 pitch_in, u32 pitch_out) {
    const u64 from = client_.data.address + kFrom, to = client_.data.address + kTo;
    client_.push(kCopy, hw::CopyExtent{.in_upper = static_cast<u32>(from >> 32),
                                       .in_lower = static_cast<u32>(from),
                                       .out_upper = static_cast<u32>(to >> 32),
                                       .out_lower = static_cast<u32>(to),
                                       .pitch_in = pitch_in,
                                       .pitch_out = pitch_out,
                                       .line_length = length,
                                       .line_count = lines});
  }
  void method(u8 subchannel, u32 offset, std::initializer_list<u32> values) {
    std::vector<u32> words = {encode(hw::MethodHeader{.method = offset,
                                                      .subchannel = subchannel,
                                                      .count = static_cast<u16>(values.size()),
                                                      .op = hw::MethodOp::NonInc})[0]};
    words.insert(words.end(), values);
    client_.push(words);
  }
  // The components of elements of `bytes` each, from the lowest.
  void remap(u32 components, u32 bytes, u32 sources, u32 targets, u32 length) {
    method(kCopy, 0x700, {0xaabb'ccdd});
    method(kCopy, 0x704, {0x1122'3344});
    method(kCopy, 0x708,
           {components | (bytes - 1) << 16 | (sources - 1) << 20 | (targets - 1) << 24});
    extent(length, 1, 0, 0);
    client_.push(kCopy, hw::CopyLaunch{.transfer = hw::CopyTransfer::NonPipelined, .remap = true});
    client_.submit();
  }
  void semaphore(const hw::Semaphore& record) {
    hw::Semaphore placed = record;
    placed.addr = client_.data.address;
    client_.push(0, placed);
    client_.submit();
  }

  Client client_;
};

TEST_F(CopyMethodsTest, LinesLieTheirPitchesApart) {
  extent(5, 3, 64, 16);
  client_.push(kCopy, hw::CopyLaunch{.transfer = hw::CopyTransfer::Pipelined, .multi_line = true});
  client_.submit();
  std::vector<u8> wanted(48, kUntouched);
  for (usize line = 0; line < 3; ++line)
    for (usize i = 0; i < 5; ++i) wanted[line * 16 + i] = static_cast<u8>(line * 64 + i);
  EXPECT_EQ(copied(48), wanted);
  EXPECT_EQ(client_.reports(), "");
}

// DST_X CONST_A: a fill. LINE_LENGTH_IN counts elements.
TEST_F(CopyMethodsTest, ConstantsFill) {
  remap(4, 4, 1, 1, 3);
  EXPECT_EQ(copied(13), (std::vector<u8>{0xdd, 0xcc, 0xbb, 0xaa, 0xdd, 0xcc, 0xbb, 0xaa, 0xdd, 0xcc,
                                         0xbb, 0xaa, kUntouched}));
  EXPECT_EQ(client_.reports(), "");
}

// DST_X SRC_Y, DST_Y CONST_B, DST_Z NO_WRITE, DST_W SRC_X; two bytes each, two read, four written.
TEST_F(CopyMethodsTest, ComponentsAreChosen) {
  remap(1 | 5 << 4 | 6 << 8 | 0 << 12, 2, 2, 4, 2);
  const u8 no = kUntouched;
  EXPECT_EQ(copied(17),
            (std::vector<u8>{2, 3, 0x44, 0x33, no, no, 0, 1, 6, 7, 0x44, 0x33, no, no, 4, 5, no}));
  EXPECT_EQ(client_.reports(), "");
}

TEST_F(CopyMethodsTest, InlineDataEndsWithTheLine) {
  const u64 to = client_.data.address + kTo;
  client_.push(kCompute, hw::InlineTarget{.line_length = 6,
                                          .line_count = 1,
                                          .offset_out_upper = static_cast<u32>(to >> 32),
                                          .offset_out = static_cast<u32>(to)});
  client_.push(kCompute, hw::InlineLaunch{});
  method(kCompute, hw::InlineData::kMethod, {0x0403'0201, 0x0807'0605});
  client_.submit();
  EXPECT_EQ(copied(7), (std::vector<u8>{1, 2, 3, 4, 5, 6, kUntouched}));
  EXPECT_EQ(client_.reports(), "");
}

// What it does not do, it says.
TEST_F(CopyMethodsTest, InlineDataIsOneLineWithoutASemaphore) {
  client_.push(kCompute, hw::InlineTarget{.line_length = 4, .line_count = 2});
  client_.push(kCompute, hw::InlineLaunch{});
  client_.push(kCompute, hw::InlineTarget{.line_length = 4, .line_count = 1});
  client_.push(kCompute, hw::InlineLaunch{.completion = hw::InlineCompletion::ReleaseSemaphore});
  client_.push(kCompute, hw::InlineLaunch{.reduction_enable = true});
  client_.submit();
  EXPECT_EQ(client_.count("NV-HOST-007"), 3u) << client_.reports();
}

// A two-word payload is GA102's, too: clc7b5.h SEMAPHORE_PAYLOAD_SIZE.
TEST_F(CopyMethodsTest, CopiesReleaseTwoWords) {
  client_.push(kCopy, hw::CopySemaphore{.addr_upper = static_cast<u32>(client_.data.address >> 32),
                                        .addr_lower = static_cast<u32>(client_.data.address),
                                        .payload = 5,
                                        .payload_upper = 7});
  client_.push(kCopy,
               hw::CopyLaunch{.semaphore = hw::CopySemaphoreType::Release, .payload_64bit = true});
  client_.submit();
  EXPECT_EQ(client_.data.longs()[0], u64{7} << 32 | 5);
  EXPECT_EQ(client_.reports(), "");
}

TEST_F(CopyMethodsTest, LaunchesSayWhatTheClassTakes) {
  client_.push(kCopy, hw::CopyLaunch{.reserved_err_code = 1});
  extent(4, 1, 0, 0);
  client_.push(kCopy, hw::CopyLaunch{.transfer = hw::CopyTransfer::NonPipelined, .remap = true});
  client_.push(kCopy, hw::CopyLaunch{.semaphore_reduction = 1});
  client_.submit();
  EXPECT_EQ(client_.count("NV-DMA-001"), 3u) << client_.reports();
}

// FLUSH_ENABLE of the copy or of the semaphore behind it.
TEST_F(CopyMethodsTest, WhatWasCopiedIsFlushedBeforeASemaphore) {
  extent(4, 1, 0, 0);
  client_.push(kCopy, hw::CopySemaphore{.addr_upper = static_cast<u32>(client_.data.address >> 32),
                                        .addr_lower = static_cast<u32>(client_.data.address)});
  client_.push(kCopy, hw::CopyLaunch{.transfer = hw::CopyTransfer::NonPipelined});
  client_.push(kCopy,
               hw::CopyLaunch{.flush_enable = true, .semaphore = hw::CopySemaphoreType::Release});
  client_.submit();
  EXPECT_EQ(client_.reports(), "");
  client_.push(kCopy, hw::CopyLaunch{.transfer = hw::CopyTransfer::NonPipelined});
  client_.push(kCopy, hw::CopyLaunch{.semaphore = hw::CopySemaphoreType::Release});
  client_.submit();
  EXPECT_EQ(client_.count("NV-DMA-001"), 1u) << client_.reports();
}

// Addresses have 49 bits before Hopper: clc7b5.h OFFSET_IN_UPPER is 16:0.
TEST_F(CopyMethodsTest, AddressesHaveTheBitsOfTheClass) {
  client_.push(kCopy, hw::CopyExtent{.in_upper = 1u << 17, .line_length = 4});
  client_.push(kCopy, hw::CopyLaunch{.transfer = hw::CopyTransfer::NonPipelined});
  client_.submit();
  EXPECT_EQ(client_.count("NV-DMA-001"), 1u) << client_.reports();
}

// "Below is the little endian format of 16-byte semaphores": bytes 4 to 7 are 0.
TEST_F(CopyMethodsTest, TimesFollowAPayloadOfEightBytes) {
  client_.data.longs()[0] = ~u64{0};
  semaphore({.payload = 9, .operation = hw::SemOperation::Release, .release_timestamp = true});
  EXPECT_EQ(client_.data.longs()[0], 9u);
  EXPECT_NE(client_.data.longs()[1], 0u);
  EXPECT_EQ(client_.reports(), "");
}

// The table of "Semaphore signedness option".
TEST_F(CopyMethodsTest, ReductionsAreThoseOfTheTable) {
  struct Case {
    u8 reduction;
    bool is_unsigned, is_64bit;
    u64 value, payload, result;
  };
  constexpr u64 kMinusOne = ~u64{0}, kLow = 0xffff'ffff, kKept = u64{0xabcd} << 32;
  constexpr u8 kMin = 0, kMax = 1, kXor = 2, kAnd = 3, kOr = 4, kAdd = 5, kInc = 6, kDec = 7;
  for (const Case& one :
       {Case{kMin, true, true, 5, kMinusOne, 5}, Case{kMin, false, true, 5, kMinusOne, kMinusOne},
        Case{kMin, false, false, kKept | 5, kLow, kKept | kLow},
        Case{kMin, true, false, kKept | 5, kLow, kKept | 5},
        Case{kMax, true, true, 5, kMinusOne, kMinusOne}, Case{kMax, false, true, 5, kMinusOne, 5},
        Case{kXor, false, true, 6, 3, 5}, Case{kAnd, true, true, 6, 3, 2},
        Case{kOr, false, true, 6, 3, 7}, Case{kAdd, true, true, kLow, 1, kLow + 1},
        Case{kAdd, true, false, kKept | kLow, 2, kKept | 1},
        Case{kAdd, false, false, kKept | 4, 2, kKept | 6},
        Case{kInc, true, false, kKept | 4, 5, kKept | 5},
        Case{kInc, true, false, kKept | 5, 5, kKept},
        Case{kDec, true, false, kKept | 4, 5, kKept | 3},
        Case{kDec, true, false, kKept | 0, 5, kKept | 5},
        Case{kDec, true, false, kKept | 9, 5, kKept | 5}}) {
    client_.data.longs()[0] = one.value;
    semaphore({.payload = one.payload,
               .operation = hw::SemOperation::Reduction,
               .payload_64bit = one.is_64bit,
               .reduction = one.reduction,
               .reduction_unsigned = one.is_unsigned});
    EXPECT_EQ(client_.data.longs()[0], one.result)
        << int{one.reduction} << " of " << one.value << " and " << one.payload;
  }
  EXPECT_EQ(client_.reports(), "");
}

class ReductionTest : public CopyMethodsTest,
                      public ::testing::WithParamInterface<std::tuple<u8, bool, bool>> {};

// "inv" and "U" in the same table: Host raises an interrupt.
TEST_P(ReductionTest, SomeDoNotExist) {
  const auto& [reduction, is_unsigned, is_64bit] = GetParam();
  semaphore({.payload = 1,
             .operation = hw::SemOperation::Reduction,
             .payload_64bit = is_64bit,
             .reduction = reduction,
             .reduction_unsigned = is_unsigned});
  EXPECT_EQ(client_.count("NV-HOST-008"), 1u) << client_.reports();
}
INSTANTIATE_TEST_SUITE_P(Table, ReductionTest,
                         ::testing::Values(std::tuple(5, false, true), std::tuple(6, true, true),
                                           std::tuple(6, false, false), std::tuple(7, true, true),
                                           std::tuple(7, false, false),
                                           std::tuple(8, true, false)));

// "Undefined bits".
TEST_F(CopyMethodsTest, BitsThatAnOperationDoesNotUseAreZero) {
  semaphore({.operation = hw::SemOperation::Release, .acquire_switch_tsg = true});
  semaphore({.operation = hw::SemOperation::Release, .reduction_unsigned = true});
  semaphore({.operation = hw::SemOperation::AcqStrictGeq, .release_wfi = true});
  EXPECT_EQ(client_.count("NV-HOST-010"), 3u) << client_.reports();
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
