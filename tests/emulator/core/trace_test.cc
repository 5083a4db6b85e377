// Lines of the emulator's trace.
#include "emulator/core/trace.h"

#include <gtest/gtest.h>

namespace doorbell::emulator {
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

}  // namespace
}  // namespace doorbell::emulator
