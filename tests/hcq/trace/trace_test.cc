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

// Reported on request, and released once it is finished and has no other owner.
TEST(Trace, AsksItsSources) {
  struct Later final : Trace::Source {
    int left = 2;
    bool collect(Trace& trace) override {
      trace.add({"CPU", "compute", "k", "kernel", 1, 2});
      return --left == 0;
    }
  };
  Trace trace;
  auto source = std::make_shared<Later>();
  const std::weak_ptr<Later> watched = source;
  trace.add_source(source);
  EXPECT_EQ(trace.spans().size(), 1u);
  source.reset();
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(trace.spans().size(), 2u);
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(trace.spans().size(), 2u);
}

TEST(Trace, TheHostTellsWhatItsThreadsDo) {
  Trace trace;
  {
    const HostSpan nobody_asked("a", "schedule");
  }
  Trace::set_of_process(&trace);
  {
    HostSpan span("b", "compile");
    span.rename("c");
  }
  Trace::set_of_process(nullptr);
  ASSERT_EQ(trace.spans().size(), 1u);
  const Trace::Span span = trace.spans()[0];
  EXPECT_EQ(span.device + " " + span.name + " " + span.category, "host c compile");
  EXPECT_LE(span.begin_ns, span.end_ns);
}

}  // namespace
}  // namespace doorbell::hcq
