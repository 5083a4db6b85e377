// Lines of the emulator's trace.
#include "emulator/core/trace.h"

#include <gtest/gtest.h>

namespace doorbell::emu {
namespace {

TEST(Trace, SaysNothingUnlessSomebodyListens) {
  Trace trace;
  EXPECT_FALSE(trace.enabled());
  trace.write({.kind = "ioctl", .text = "GET_VERSION"});
}

TEST(Trace, WritesTextAndJson) {
  std::string text;
  Trace lines([&](std::string_view line) { text += line; }, Trace::Format::Text);
  EXPECT_TRUE(lines.enabled());
  lines.write({.kind = "ioctl", .text = "GET_VERSION"});
  lines.write({.kind = "packet", .gpu = 0, .queue = 1, .text = "NOP"});
  EXPECT_EQ(text,
            "      0 ioctl              GET_VERSION\n"
            "      1 packet    gpu0 q1  NOP\n");

  std::string json;
  Trace objects([&](std::string_view line) { json += line; }, Trace::Format::Json);
  objects.write({.kind = "packet", .gpu = 0, .queue = 1, .text = "a \"b\"\n", .fields = "{}"});
  EXPECT_EQ(json,
            "{\"n\": 0, \"kind\": \"packet\", \"gpu\": 0, \"queue\": 1, "
            "\"text\": \"a \\\"b\\\"\\u000a\", \"fields\": {}}\n");
}

// The "Trace Event Format": times in microseconds, a name for each track once.
TEST(Trace, WritesEventsWithTimesAndTracks) {
  std::string text;
  u64 now = 1'000'500;
  Trace events([&](std::string_view line) { text += line; }, Trace::Format::Perfetto, {},
               [&] { return now; });
  events.write({.kind = "packet", .gpu = 0, .queue = 1, .text = "NOP count=0", .fields = "{}"});
  now = 2'001'000;
  events.write({.kind = "ioctl", .text = "GET_VERSION -> 0", .began_ns = 1'990'750});
  events.write({.kind = "fault", .gpu = 0, .queue = 1, .text = "no"});
  EXPECT_EQ(
      text,
      R"({"name":"thread_name","ph":"M","pid":1,"tid":1073741825,"args":{"name":"queue 1"}})"
      "\n"
      R"({"name":"NOP","cat":"packet","pid":1,"tid":1073741825,"ts":1000.500,"ph":"i","s":"t",)"
      R"("args":{"text":"NOP count=0","fields":{}}})"
      "\n"
      R"({"name":"thread_name","ph":"M","pid":1,"tid":0,"args":{"name":"calls"}})"
      "\n"
      R"({"name":"GET_VERSION","cat":"ioctl","pid":1,"tid":0,"ts":1990.750,"ph":"X","dur":10.250,)"
      R"("args":{"text":"GET_VERSION -> 0"}})"
      "\n"
      R"({"name":"fault","cat":"fault","pid":1,"tid":1073741825,"ts":2001.000,"ph":"i","s":"t",)"
      R"("args":{"text":"no"}})"
      "\n");
}

TEST(TraceFilter, TakesKindsNamesAndQueues) {
  const TraceLine alloc{.kind = "ioctl", .text = "ALLOC_MEMORY_OF_GPU va=0"},
      nop{.kind = "packet", .queue = 0, .text = "  NOP, 3 of one word"},
      copy{.kind = "packet", .queue = 2, .text = "COPY src=0"};
  struct Case {
    const char* text;
    bool alloc, nop, copy;
  };
  for (const Case& test : {Case{"", true, true, true},
                           {"ioctl", true, false, false},
                           {"packet", false, true, true},
                           {"packet:nop", false, true, false},
                           {"packet:NO", false, false, false},
                           {"packet:C*", false, false, true},
                           {"packet:*", false, true, true},
                           {"queue:2", true, false, true},
                           {"packet,queue:2,queue:5", false, false, true},
                           {"ioctl:alloc*,packet:COPY", true, false, true}}) {
    const Result<TraceFilter> filter = TraceFilter::parse(test.text);
    ASSERT_TRUE(filter) << test.text;
    EXPECT_EQ(filter->takes(alloc), test.alloc) << test.text;
    EXPECT_EQ(filter->takes(nop), test.nop) << test.text;
    EXPECT_EQ(filter->takes(copy), test.copy) << test.text;
  }
  EXPECT_EQ(TraceFilter::parse("packets").error().message,
            "no line of a trace is of kind \"packets\"; did you mean packet?; there are check, "
            "dispatch, fault, interrupt, ioctl, lost, map, packet, queue, skipped, slot");
  EXPECT_EQ(TraceFilter::parse("queue:-1").error().message,
            "\"-1\" is not the number of a queue, as in queue:0");
}

}  // namespace
}  // namespace doorbell::emu
