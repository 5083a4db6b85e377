// The recorder, with queues in this process's memory that nothing runs. Words are tinygrad's, as in
// tests/drivers/amd/hw.
#include "tools/trace/recorder.h"

#include <sys/mman.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "drivers/amd/hw/kfd.h"

namespace doorbell::tools {
namespace {

using namespace amd::hw;

class RecorderTest : public testing::Test {
 protected:
  u64 address(const void* at) { return reinterpret_cast<u64>(at); }

  void create(u32 type, usize words = 64) {
    ring_.assign(words, 0);
    KfdCreateQueue create{.ring_base_address = address(ring_.data()),
                          .write_pointer_address = address(&write_pointer_),
                          .read_pointer_address = address(&read_pointer_),
                          .ring_size = static_cast<u32>(words * 4),
                          .gpu_id = 0xd00d,
                          .queue_type = type,
                          .queue_id = 3};
    EXPECT_TRUE(recorder_.ioctl(5, kRequest<KfdCreateQueue>, &create, 0));
    text_.clear();
  }
  // Writes into the ring; the pointer stays.
  void put(std::initializer_list<u32> words) {
    for (u32 word : words) ring_[put_++ % ring_.size()] = word;
  }

  std::string text_;
  emu::Trace trace_{[this](std::string_view line) { text_ += line; }, emu::Trace::Format::Text};
  Recorder recorder_{&trace_, [this](u32 gpu_id) {
                       asked_ = gpu_id;
                       return std::optional(Generation::Gfx9);
                     }};
  std::vector<u32> ring_;
  u64 write_pointer_ = 0, read_pointer_ = 0, put_ = 0;
  u32 asked_ = 0;
};

TEST_F(RecorderTest, RecordsKnownCallsOnly) {
  KfdGetVersion version{.major_version = 1, .minor_version = 14};
  EXPECT_TRUE(recorder_.ioctl(5, kRequest<KfdGetVersion>, &version, 0));
  EXPECT_NE(text_.find(" GET_VERSION major_version=1 minor_version=0xe -> 0\n"), std::string::npos)
      << text_;
  text_.clear();
  EXPECT_FALSE(recorder_.ioctl(0, 0x5413, nullptr, 0));
  EXPECT_EQ(text_, "");
  EXPECT_TRUE(recorder_.ioctl(5, kRequest<KfdGetVersion>, nullptr, EFAULT));
  EXPECT_NE(text_.find("-> -14 (Bad address)"), std::string::npos) << text_;
}

TEST_F(RecorderTest, MappingsOfDescriptorsThatCallsWereSeenOf) {
  recorder_.mapped(5, 0x7f00'0000'0000, 0x2000, 0x10000);
  EXPECT_EQ(text_, "");
  KfdGetVersion version;
  recorder_.ioctl(5, kRequest<KfdGetVersion>, &version, 0);
  text_.clear();
  recorder_.mapped(5, 0x7f00'0000'0000, 0x2000, 0x10000);
  EXPECT_NE(text_.find("map"), std::string::npos);
  EXPECT_NE(text_.find("offset=0x10000 bytes=0x2000 -> 0x7f0000000000\n"), std::string::npos);
  KfdAcquireVm render{.drm_fd = 6};
  recorder_.ioctl(5, kRequest<KfdAcquireVm>, &render, 0);
  text_.clear();
  recorder_.mapped(6, 0x7f00'0000'0000, 0x2000, 0x10000);
  EXPECT_NE(text_, "");
}

TEST_F(RecorderTest, PacketsUpToTheWritePointer) {
  create(kKfdQueueCompute);
  EXPECT_EQ(asked_, 0xd00du);
  put({0xc0004600, 0x407, 0xc0053c00, 0x15, 0x34560040, 0x7f12, 7, 0xffffffff, 4});
  EXPECT_TRUE(recorder_.poll());
  EXPECT_EQ(text_, "");
  write_pointer_ = 2;
  recorder_.poll();
  EXPECT_NE(text_.find("q3  EVENT_WRITE event=CsPartialFlush index=PartialFlush\n"),
            std::string::npos)
      << text_;
  EXPECT_EQ(text_.find("WAIT_REG_MEM"), std::string::npos);
  write_pointer_ = 9;
  recorder_.poll();
  EXPECT_NE(text_.find("WAIT_REG_MEM function=GreaterEqual"), std::string::npos) << text_;
}

TEST_F(RecorderTest, FollowsIndirectBuffersThatCanBeRead) {
  create(kKfdQueueCompute);
  alignas(4) const u32 buffer[] = {0xc0004600, 0x407};
  const u64 at = address(buffer);
  put({0xc0023f00, static_cast<u32>(at), static_cast<u32>(at >> 32), 0x800002});
  put({0xc0023f00, 0x1000, 0, 0x800002});  // nothing is mapped there
  write_pointer_ = 8;
  recorder_.poll();
  EXPECT_NE(text_.find("  EVENT_WRITE event=CsPartialFlush"), std::string::npos) << text_;
  EXPECT_NE(text_.find("INDIRECT_BUFFER addr=0x1000"), std::string::npos) << text_;
}

TEST_F(RecorderTest, SdmaCountsBytesAndRingsWrap) {
  create(kKfdQueueSdma, 16);
  put({0x5, 0x34560040, 0x7f12, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  write_pointer_ = 14 * 4;
  recorder_.poll();
  EXPECT_NE(text_.find("FENCE mtype=0 l2_policy=0 addr=0x7f1234560040 data=9\n"),
            std::string::npos);
  EXPECT_NE(text_.find("NOP, 10 of one word\n"), std::string::npos) << text_;
  text_.clear();
  put({0x5, 0x34560040, 0x7f12, 10});  // its last two words at the ring's beginning
  write_pointer_ = 18 * 4;
  recorder_.poll();
  EXPECT_NE(text_.find("data=0xa\n"), std::string::npos) << text_;
}

TEST_F(RecorderTest, WhatWasOverwrittenIsLost) {
  create(kKfdQueueCompute, 16);
  for (int i = 0; i < 16; ++i) put({0xffff1000});
  write_pointer_ = 40;
  recorder_.poll();
  EXPECT_NE(text_.find("24 words were overwritten before they were seen"), std::string::npos)
      << text_;
  EXPECT_NE(text_.find("NOP, 16 of one word"), std::string::npos) << text_;
}

TEST_F(RecorderTest, AqlWaitsForHeaders) {
  create(kKfdQueueComputeAql, 64);
  ring_[0] = 1;  // reserved, not handed over
  write_pointer_ = 1;
  recorder_.poll();
  EXPECT_EQ(text_, "");
  ring_[0] = 0x1503;
  recorder_.poll();
  EXPECT_NE(text_.find("BARRIER_AND type=BarrierAnd barrier"), std::string::npos) << text_;
  text_.clear();
  ring_[16] = 1;  // already read: the header is invalid again
  write_pointer_ = read_pointer_ = 2;
  recorder_.poll();
  EXPECT_NE(text_.find("INVALID"), std::string::npos) << text_;
}

TEST_F(RecorderTest, DestroyedQueuesAreReadToTheirEnd) {
  create(kKfdQueueCompute);
  put({0xc0004600, 0x407});
  write_pointer_ = 2;
  KfdDestroyQueue destroy{.queue_id = 3};
  recorder_.ioctl(5, kRequest<KfdDestroyQueue>, &destroy, 0);
  EXPECT_NE(text_.find("EVENT_WRITE"), std::string::npos) << text_;
  EXPECT_FALSE(recorder_.poll());
}

TEST_F(RecorderTest, UnreadableMemoryIsNoCrash) {
  u32 word = 0;
  EXPECT_FALSE(read_own_memory(0x1000, {reinterpret_cast<u8*>(&word), sizeof word}));
  void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_FALSE(read_own_memory(address(page), {reinterpret_cast<u8*>(&word), sizeof word}));
  munmap(page, 4096);
}

}  // namespace
}  // namespace doorbell::tools
