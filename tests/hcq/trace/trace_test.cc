// The JSON, letter by letter where it matters.
#include "hcq/trace/trace.h"

#include <gtest/gtest.h>

namespace doorbell::hcq {
namespace {

TEST(Trace, IsOneEventALine) {
  Trace trace;
  trace.add({"CPU", "copy", "copy", "copy", 3500, 4000});
  trace.add({"CPU", "compute", "r_\"4", "kernel", 1000, 3500});
  EXPECT_EQ(trace.json(),
            "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
            R"({"args":{"name":"CPU"},"name":"process_name","ph":"M","pid":1,"tid":0},)"
            "\n"
            R"({"args":{"name":"compute"},"name":"thread_name","ph":"M","pid":1,"tid":1},)"
            "\n"
            R"({"cat":"kernel","dur":2.5,"name":"r_\"4","ph":"X","pid":1,"tid":1,"ts":0.0},)"
            "\n"
            R"({"args":{"name":"copy"},"name":"thread_name","ph":"M","pid":1,"tid":2},)"
            "\n"
            R"({"cat":"copy","dur":0.5,"name":"copy","ph":"X","pid":1,"tid":2,"ts":2.5})"
            "\n"
            "]}\n");
}

TEST(Trace, MayBeEmpty) {
  EXPECT_EQ(Trace().json(), "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n");
}

}  // namespace
}  // namespace doorbell::hcq
