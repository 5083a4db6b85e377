// Streams as text and JSON. The words in data/*.hex are tinygrad's (runtime/ops_amd.py of August
// 2026; AMDComputeQueue, AMDCopyQueue and AMDComputeAQLQueue with registers of GC 9.4.3 or 11.0.0):
//
//   *_dispatch     wait(signal 0x7f1234560040, 7), memory_barrier, exec(code at 0x7f0000010000,
//                  arguments at 0x7f0000020000, grid 3x4x5, block 32x2), timestamp, signal(8) with
//                  an event (mailbox 0x7f0000030000, id 5)
//   gfx9_two_xcc   exec and signal on two XCCs
//   *_copy         wait, timestamp, copy of 0x400010 bytes, write of 64 bits, signal with the event
//   queue.aql      an indirect buffer of 0x21 words at 0x7f1122334440, a kernel dispatch
#include "drivers/amd/hw/stream/stream.h"

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/golden.h"

namespace doorbell::amd::hw {
namespace {

using testing::read_source;

const std::string kFolder = "tests/drivers/amd/hw/data/";

std::vector<u32> words_of(const std::string& name) {
  std::istringstream text(read_source(kFolder + name + ".hex"));
  std::vector<u32> words;
  u32 one;
  while (text >> std::hex >> one) words.push_back(one);
  return words;
}

void expect_text(StreamKind kind, Generation generation, const std::string& name) {
  EXPECT_GOLDEN(kFolder + name + ".txt", stream_text(kind, generation, words_of(name)));
}

TEST(Stream, TextOfPm4) {
  expect_text(StreamKind::Pm4, Generation::Gfx11, "gfx11_dispatch.pm4");
  expect_text(StreamKind::Pm4, Generation::Gfx9, "gfx9_dispatch.pm4");
  expect_text(StreamKind::Pm4, Generation::Gfx9, "gfx9_two_xcc.pm4");
}

TEST(Stream, TextOfSdma) {
  expect_text(StreamKind::Sdma, Generation::Gfx9, "sdma4_copy.sdma");
  expect_text(StreamKind::Sdma, Generation::Gfx11, "sdma6_copy.sdma");
}

TEST(Stream, TextOfAql) { expect_text(StreamKind::Aql, Generation::Gfx9, "queue.aql"); }

TEST(Stream, JsonHasAllFields) {
  const std::vector<u32> words{0xc0004600, 0x407};
  EXPECT_EQ(to_json(read_packet(StreamKind::Pm4, Generation::Gfx11, words)),
            R"({"packet":"EVENT_WRITE","at":0,"words":2,"fields":{"event":"CsPartialFlush",)"
            R"("index":"PartialFlush","offload_enable":false}})");
  for (const char* name : {"gfx11_dispatch.pm4", "queue.aql", "sdma6_copy.sdma"}) {
    const StreamKind kind = std::string(name).ends_with("pm4")    ? StreamKind::Pm4
                            : std::string(name).ends_with("sdma") ? StreamKind::Sdma
                                                                  : StreamKind::Aql;
    walk_stream(kind, Generation::Gfx11, words_of(name), {}, [](const StreamPacket& packet, int) {
      const auto json = nlohmann::json::parse(to_json(packet));
      EXPECT_EQ(json["packet"], packet.name);
      EXPECT_EQ(json["fields"].size(), packet.fields.size()) << to_text(packet);
    });
  }
}

std::string one_line(StreamKind kind, Generation generation, std::vector<u32> words) {
  return to_text(read_packet(kind, generation, words));
}

TEST(Stream, WhatCannotBeIsSaid) {
  const auto pm4 = [](std::vector<u32> words) {
    return one_line(StreamKind::Pm4, Generation::Gfx11, std::move(words));
  };
  EXPECT_EQ(pm4({0xc0053c00, 0x15, 0x1000}),
            "WAIT_REG_MEM 0x00000015 0x00001000 [cut short: 3 of 7 words; 3 words, expected 7]");
  EXPECT_EQ(pm4({0xc0010500, 0x15, 0x1000}), "opcode number=5 0x00000015 0x00001000 [unknown]");
  EXPECT_EQ(pm4({0x00001234}), "opcode word=0x1234 [a packet of type 0]");
  EXPECT_EQ(pm4({0x80000000}), "FILLER");
  EXPECT_EQ(pm4({0xffff1000, 1}), "NOP");
  EXPECT_EQ(pm4({0xc0004600, 0x1407}),
            "EVENT_WRITE event=CsPartialFlush index=PartialFlush [word 1 has stray bits 0x1000]");
  EXPECT_EQ(pm4({0xc0014600, 0x407, 9}),
            "EVENT_WRITE event=CsPartialFlush index=PartialFlush 0x00000009 [3 words, expected 2]");
  EXPECT_EQ(pm4({0xc0019800, 1, 2}), "INVALIDATE_TLBS 0x00000001 0x00000002");
  EXPECT_EQ(one_line(StreamKind::Sdma, Generation::Gfx11, {0x2a}),
            "opcode number=0x2a sub_op=0 word=0x2a [unknown, and with it its length]");
  EXPECT_EQ(one_line(StreamKind::Sdma, Generation::Gfx11, {0x5, 0x40}),
            "FENCE 0x00000040 [cut short: 2 of 4 words]");
  EXPECT_EQ(one_line(StreamKind::Aql, Generation::Gfx11, {0x1502}),
            "opcode 0x00001502 [cut short: 1 of 16 words]");
  EXPECT_EQ(one_line(StreamKind::Aql, Generation::Gfx11, std::vector<u32>(16, 9)).substr(0, 37),
            "opcode number=9 0x00000009 0x00000009");
}

TEST(Stream, FollowsIndirectBuffersAsFarAsMemoryGoes) {
  // At 0x1000 a jump to itself: depth ends it. At 0x2000 a flush.
  const auto memory = [](u64 addr, u32 words) -> std::optional<std::vector<u32>> {
    if (addr == 0x1000 && words == 4) return std::vector<u32>{0xc0023f00, 0x1000, 0, 0x800004};
    if (addr == 0x2000 && words == 2) return std::vector<u32>{0xc0004600, 0x407};
    return std::nullopt;
  };
  const std::vector<u32> words{0xc0023f00, 0x2000,   0,          0x800002, 0xc0023f00, 0x3000,
                               0,          0x800002, 0xc0023f00, 0x1000,   0,          0x800004};
  EXPECT_EQ(stream_text(StreamKind::Pm4, Generation::Gfx11, words, memory),
            "INDIRECT_BUFFER addr=0x2000 words=2 valid vmid=0 cache_policy=0\n"
            "  EVENT_WRITE event=CsPartialFlush index=PartialFlush\n"
            "INDIRECT_BUFFER addr=0x3000 words=2 valid vmid=0 cache_policy=0\n"
            "INDIRECT_BUFFER addr=0x1000 words=4 valid vmid=0 cache_policy=0\n"
            "  INDIRECT_BUFFER addr=0x1000 words=4 valid vmid=0 cache_policy=0\n"
            "    INDIRECT_BUFFER addr=0x1000 words=4 valid vmid=0 cache_policy=0\n"
            "      INDIRECT_BUFFER addr=0x1000 words=4 valid vmid=0 cache_policy=0\n"
            "        INDIRECT_BUFFER addr=0x1000 words=4 valid vmid=0 cache_policy=0\n");
}

TEST(Stream, GenerationsOfChips) {
  EXPECT_EQ(generation_of("gfx942"), Generation::Gfx9);
  EXPECT_EQ(generation_of("gfx90a"), Generation::Gfx9);
  EXPECT_EQ(generation_of("gfx1030"), Generation::Gfx10);
  EXPECT_EQ(generation_of("gfx1151"), Generation::Gfx11);
  EXPECT_EQ(generation_of("gfx1201"), Generation::Gfx12);
  EXPECT_EQ(generation_of("gfx700"), std::nullopt);
  EXPECT_EQ(generation_of("gfx9"), std::nullopt);
  EXPECT_EQ(generation_of("RTX"), std::nullopt);
  EXPECT_EQ(generation_of_version(90402), Generation::Gfx9);
  EXPECT_EQ(generation_of_version(100300), Generation::Gfx10);
  EXPECT_EQ(generation_of_version(110501), Generation::Gfx11);
  EXPECT_EQ(generation_of_version(120001), Generation::Gfx12);
  EXPECT_EQ(generation_of_version(80003), std::nullopt);
}

}  // namespace
}  // namespace doorbell::amd::hw
