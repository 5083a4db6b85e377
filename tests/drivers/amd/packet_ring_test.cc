// Room in a ring of packets, its end, and what a writer that breaks the contract gets.
#include "drivers/amd/packet_ring.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hcq/memory/host_memory.h"

namespace doorbell::amd {
namespace {

struct PacketRingTest : ::testing::Test {
  hcq::HostMemory memory;
  hcq::SignalPool pool{memory};
  hcq::Timeline timeline = *hcq::Timeline::make(pool);
  std::vector<u32> words = std::vector<u32>(256, 0xabababab);

  // A submission of `count` words that are its position; the pointer that it announces.
  u64 submit(PacketRing& ring, u32 count) {
    EXPECT_TRUE(ring.reserve(count, timeline));
    timeline.reserve(1);
    const u32 position = static_cast<u32>(timeline.last());
    std::ranges::fill(ring.reserved(), position);
    ring.written(count);
    return ring.commit(timeline.last());
  }
  void finish(hcq::Position position) {
    const hcq::Timeline::SignalValue target = timeline.signal_at(position);
    target.signal.store(target.value);
  }
};

// 0xffff1000 is amdgpu's one-word NOP, PACKET3(PACKET3_NOP, 0x3FFF) [Linux gfx_v11_0.c]; a copy
// engine's NOP is 0.
TEST_F(PacketRingTest, SkipsTheEndThatIsTooShort) {
  for (const auto& [type, filler, unit] :
       {std::tuple{QueueType::Pm4, 0xffff1000u, 1u}, std::tuple{QueueType::Sdma, 0u, 4u}}) {
    timeline = *hcq::Timeline::make(pool);
    std::ranges::fill(words, 0xabababab);
    PacketRing ring(words, format_of(type));
    for (u32 i = 1; i <= 4; ++i) {
      EXPECT_EQ(submit(ring, 60), i * 60 * unit);
      finish(i);
    }
    EXPECT_EQ(submit(ring, 20), (256 + 20) * unit);
    for (u32 i = 240; i < 256; ++i) EXPECT_EQ(words[i], filler) << i;
    EXPECT_EQ(words[0], 5u);
    EXPECT_EQ(words[20], 1u);
    EXPECT_EQ(ring.submission().size(), 0u);
  }
}

// What was before a submission is read when it is done, it itself not for sure.
TEST_F(PacketRingTest, HasNoRoomBeforeItsOldestIsDone) {
  PacketRing ring(words, format_of(QueueType::Pm4));
  for (int i = 0; i < 3; ++i) submit(ring, 64);
  EXPECT_FALSE(ring.reserve(64, timeline));
  EXPECT_EQ(ring.oldest(), 1u);
  finish(1);
  EXPECT_FALSE(ring.reserve(64, timeline));
  EXPECT_EQ(ring.oldest(), 2u);
  finish(2);
  EXPECT_TRUE(ring.reserve(64, timeline));
}

TEST_F(PacketRingTest, ForgetsWhatWasNotCommitted) {
  PacketRing ring(words, format_of(QueueType::Pm4));
  ASSERT_TRUE(ring.reserve(10, timeline));
  ring.reserved()[0] = 7;
  ring.written(1);
  EXPECT_EQ(ring.submission(), std::vector<u32>{7});
  EXPECT_EQ(submit(ring, 5), 5u);
  EXPECT_EQ(words[0], 1u);
}

TEST_F(PacketRingTest, WritesAqlPacketsRoundTheEnd) {
  PacketRing ring(words, format_of(QueueType::Aql));
  const auto packets = [](u32 count, u32 header) {
    std::vector<u32> all(count * 16, 9);
    for (u32 i = 0; i < count; ++i) all[i * 16] = header + i;
    return all;
  };
  for (u32 i = 0; i < 5; ++i) {
    ASSERT_TRUE(ring.reserve(3 * 16, timeline));
    ring.write_packets(packets(3, i * 3));
    timeline.reserve(1);
    EXPECT_EQ(ring.commit(timeline.last()), i * 3 + 3);
    finish(timeline.last());
  }
  ASSERT_TRUE(ring.reserve(2 * 16, timeline));
  ring.write_packets(packets(2, 15));
  EXPECT_EQ(ring.submission(), packets(2, 15));
  EXPECT_EQ(words[15 * 16], 15u);
  EXPECT_EQ(words[0], 16u);
  EXPECT_EQ(words[1], 9u);
}

TEST_F(PacketRingTest, RefusesMoreThanWasReserved) {
  PacketRing ring(words, format_of(QueueType::Pm4));
  EXPECT_THROW((void)ring.reserve(ring.most() + 1, timeline), InternalError);
  ASSERT_TRUE(ring.reserve(3, timeline));
  EXPECT_THROW(ring.written(4), InternalError);
  PacketRing packets(words, format_of(QueueType::Aql));
  ASSERT_TRUE(packets.reserve(16, timeline));
  EXPECT_THROW(packets.write_packets(std::vector<u32>(32)), InternalError);
}

}  // namespace
}  // namespace doorbell::amd
