// What queues write into the trace: each packet by name and fields, as `doorbell decode` has it.
#include <nlohmann/json.hpp>

#include "emulator/core/trace.h"
#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

TEST_F(TestGpu, TracesPacketsByNameAndFields) {
  std::string text;
  Trace trace([&](std::string_view line) { text += line; }, Trace::Format::Text);
  open({.generation = hw::Generation::Gfx11, .trace = &trace}, QueueKind::Pm4);
  submit({0xc0004600, 0x407});
  EXPECT_NE(text.find("EVENT_WRITE event=CsPartialFlush index=PartialFlush\n"), std::string::npos)
      << text;
}

TEST_F(TestGpu, TracesPacketsAsJson) {
  std::string text;
  Trace trace([&](std::string_view line) { text += line; }, Trace::Format::Json);
  open({.generation = hw::Generation::Gfx11, .trace = &trace}, QueueKind::Pm4);
  submit({0xc0004600, 0x407});
  const auto line = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(line["kind"], "packet");
  EXPECT_EQ(line["fields"]["packet"], "EVENT_WRITE");
  EXPECT_EQ(line["fields"]["fields"]["event"], "CsPartialFlush");
}

// The words of a barrier packet with a completion signal, by hand from the HSA runtime 1.2, 2.9.8;
// the vendor's, as tinygrad's _pm4_pkt has it.
TEST_F(TestGpu, TracesAqlPacketsByTheirFields) {
  std::string text;
  Trace trace([&](std::string_view line) { text += line; }, Trace::Format::Text);
  poke<u32>(kReadPointer + 8, 0);
  open({.generation = hw::Generation::Gfx10, .trace = &trace}, QueueKind::Aql);
  std::vector<u32> words(32);
  words[0] = 3 | 1 << 8 | 2 << 11;
  words[14] = lo(kData), words[15] = hi(kData);
  const u32 kVendor[] = {0x1500 | 1 << 16, 0xc0023f00, lo(kIb), hi(kIb), 2 | 1 << 23, 10};
  std::copy(std::begin(kVendor), std::end(kVendor), words.begin() + 16);
  put_words(kIb, {0xc0004600, 0x407});
  put_words(kRing, words);
  poke<u64>(kWritePointer, 2);
  gpu_->ring(queue_, 1);
  gpu_->run_until_idle();
  EXPECT_EQ(stopped(), "");
  EXPECT_NE(text.find("BARRIER_AND type=BarrierAnd barrier acquire=None release=System"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("completion_signal=0x7f0000008000"), std::string::npos) << text;
  usize vendor = text.find("VENDOR_PM4_IB type=VendorSpecific barrier"),
        call = text.find("INDIRECT_BUFFER ");
  usize event = text.find("EVENT_WRITE event=CsPartialFlush");
  EXPECT_TRUE(vendor < call && call < event && event != text.npos) << text;
}

TEST_F(TestGpu, TracesSdmaPacketsByTheirFields) {
  std::string text;
  Trace trace([&](std::string_view line) { text += line; }, Trace::Format::Text);
  open({.generation = hw::Generation::Gfx11, .trace = &trace}, QueueKind::Sdma);
  // FENCE of 0x55 at kData. [sdma_v6_0_0_pkt_open.h]
  put_words(kRing, {5 | 3 << 16, lo(kData), hi(kData), 0x55});
  poke<u64>(kWritePointer, 16);
  gpu_->ring(queue_, 16);
  gpu_->run_until_idle();
  EXPECT_NE(text.find("FENCE"), std::string::npos) << text;
  EXPECT_NE(text.find("addr=0x7f0000008000 data=0x55"), std::string::npos) << text;
}

// Packets that PRED_EXEC excludes on every XCC are traced as skipped: they are read without effect.
TEST_F(TestGpu, TracesWhatPredicationSkips) {
  std::string text;
  Trace trace([&](std::string_view line) { text += line; }, Trace::Format::Text);
  open({.generation = hw::Generation::Gfx9, .xccs = 2, .trace = &trace}, QueueKind::Pm4);
  // PRED_EXEC 0x23 of XCC 2 over WRITE_DATA, which is of 5 words. [soc15d.h PACKET3_PRED_EXEC]
  put_words(kIb, {0xc0002300, 1u << 26 | 5, 0xc0033700, 5 << 8, lo(kData), hi(kData), 77});
  submit({0xc0023f00, lo(kIb), hi(kIb), 7 | 1 << 23});
  EXPECT_EQ(peek<u32>(kData), 0u);
  usize skipped = text.find("skipped"), write = text.find("WRITE_DATA");
  EXPECT_TRUE(skipped < write && write != text.npos) << text;
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
