// What queues write into the trace: each packet by name and fields, as `doorbell decode` has it.
#include <nlohmann/json.hpp>

#include "emulator/core/trace.h"
#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emulator::amd {
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

}  // namespace
}  // namespace doorbell::emulator::amd
