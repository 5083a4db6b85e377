// What DEBUG=7 prints of a submission. Words are tinygrad's, as in hw/pm4_test.cc.
#include "drivers/amd/packet_log.h"

#include <gtest/gtest.h>

namespace doorbell::amd {
namespace {

TEST(PacketLog, FollowsJumpsIntoBoundWords) {
  const u32 bound_words[] = {0, 0, 0xc0004600, 0x407, 99};
  hcq::ResidentWords bound;
  bound.memory.host = const_cast<u32*>(bound_words);
  bound.memory.address = 0x1000;
  bound.count = 4;
  bound.total = 5;
  const hcq::Segment segments[] = {{.resident = &bound}};
  // The second jump leads beyond the words, the third to none of them.
  const u32 words[] = {0xc0023f00, 0x1008,   0,          0x800002, 0xc0023f00, 0x1010,
                       0,          0x800002, 0xc0023f00, 0x800,    0,          0x800002};
  EXPECT_EQ(packets_text(hw::StreamKind::Pm4, hw::Generation::Gfx11, words, segments),
            "INDIRECT_BUFFER addr=0x1008 words=2 valid vmid=0 cache_policy=0\n"
            "  EVENT_WRITE event=CsPartialFlush index=PartialFlush\n"
            "INDIRECT_BUFFER addr=0x1010 words=2 valid vmid=0 cache_policy=0\n"
            "INDIRECT_BUFFER addr=0x800 words=2 valid vmid=0 cache_policy=0\n");
}

TEST(PacketLog, ReadsEachKindOfQueue) {
  const u32 fence[] = {0x30005, 0x34560040, 0x7f12, 9};
  EXPECT_EQ(packets_text(hw::StreamKind::Sdma, hw::Generation::Gfx11, fence, {}),
            "FENCE mtype=3 l2_policy=0 addr=0x7f1234560040 data=9\n");
  const u32 barrier[16] = {0x1503};
  EXPECT_EQ(packets_text(hw::StreamKind::Aql, hw::Generation::Gfx9, barrier, {}).substr(0, 40),
            "BARRIER_AND type=BarrierAnd barrier acqu");
}

}  // namespace
}  // namespace doorbell::amd
