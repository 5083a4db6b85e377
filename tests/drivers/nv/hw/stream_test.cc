// Streams of channels as text, from the words that tinygrad emits; see words.h.
#include "drivers/nv/hw/stream/stream.h"

#include <gtest/gtest.h>

#include "tests/drivers/nv/hw/words.h"

namespace doorbell::nv::hw {
namespace {

using testing::kFolder;
using testing::kKernargs;
using testing::words_of;

// Memory as the channels of tinygrad's see it.
ReadWords memory_of(const std::string& chip) {
  struct Region {
    u64 addr;
    std::vector<u32> words;
  };
  return [regions = std::vector<Region>{{0x1040000000, words_of(chip + "_compute.pushbuffer")},
                                        {0x1040010000, words_of(chip + "_copy.pushbuffer")},
                                        {kKernargs, words_of(chip + ".kernargs")}}](
             u64 addr, u32 words) -> std::optional<std::vector<u32>> {
    for (const Region& region : regions) {
      if (addr < region.addr) continue;
      const u64 first = (addr - region.addr) / 4;
      if (first + words > region.words.size()) continue;
      const auto begin = region.words.begin() + static_cast<i64>(first);
      return std::vector<u32>(begin, begin + words);
    }
    return std::nullopt;
  };
}

TEST(NvStream, TextFromTheRing) {
  for (const std::string name : {"ga10x_compute", "ga10x_copy", "gb20x_compute", "gb20x_copy"})
    EXPECT_GOLDEN(kFolder + name + ".txt",
                  stream_text(StreamKind::Gpfifo, {}, words_of(name + ".gpfifo"),
                              memory_of(name.substr(0, name.find('_')))));
}

std::string one_line(std::vector<u32> words, Subchannels bound = {}) {
  return to_text(StreamReader(bound).read(StreamKind::Pushbuffer, words));
}

TEST(NvStream, Methods) {
  const Subchannels hopper = usual_subchannels(*find_classes("sm_90"));
  EXPECT_EQ(one_line({0}), "NOP");
  EXPECT_EQ(one_line({0x20010008, 5}), "NON_STALL_INTERRUPT subchannel=0 handle=5");
  // IMMD_DATA_METHOD: the count is the data.
  EXPECT_EQ(one_line({0x90112000 | 0x1698 / 4}, hopper),
            "INVALIDATE_SHADER_CACHES_NO_WFI subchannel=1 instruction global_data constant");
  EXPECT_EQ(one_line({0x60022000 | 0x1b4 / 4, 7, 8}, hopper),
            "LOAD_INLINE_DATA subchannel=1 op=NON_INC_METHOD 0x00000007 0x00000008");
  EXPECT_EQ(one_line({0x20022000 | 0x1234 / 4, 7, 8}, hopper),
            "INC_METHOD method=0x1234 subchannel=1 method_0x1234=7 method_0x1238=8 [unknown "
            "method; unknown method]");
  // Without a class bound a method of an engine is but a number.
  EXPECT_EQ(one_line({0x20012000 | 0x2b4 / 4, 7}),
            "INC_METHOD method=0x2b4 subchannel=1 method_0x02b4=7");
  EXPECT_EQ(one_line({0x20012000 | 0x2c0 / 4, 0x80000002}, hopper),
            "SEND_SIGNALING_PCAS2_B subchannel=1 action=Schedule select=0 offset_minus_one=0 "
            "[word 0 has stray bits 0x80000000]");
}

TEST(NvStream, WhatCannotBeIsSaid) {
  EXPECT_EQ(one_line({0x20050017, 1, 2}),
            "SEM_ADDR_LO subchannel=0 SEM_ADDR_LO=1 SEM_ADDR_HI=2 [cut short: 2 of 5 words]");
  EXPECT_EQ(one_line({0x12345678}), "GRP0_USE_TERT word=0x12345678 [unknown]");
  EXPECT_EQ(one_line({0xe0000000, 1, 2}), "END_PB_SEGMENT 0x00000001 0x00000002");
  const auto read = [](StreamKind kind, std::vector<u32> words) {
    return to_text(StreamReader().read(kind, words));
  };
  EXPECT_EQ(read(StreamKind::Gpfifo, {0x1000}), "GP_ENTRY 0x00001000 [cut short: 1 of 2 words]");
  EXPECT_EQ(read(StreamKind::Gpfifo, {0x1000, 3}),
            "GP_CONTROL operand=0x1000 opcode=PbCrc length=0");
  EXPECT_EQ(read(StreamKind::Qmd, {1, 2}),
            "QMD 0x00000001 0x00000002 [no compute class is bound, so that its version is not "
            "known]");
}

}  // namespace
}  // namespace doorbell::nv::hw
