// Recording and replaying on CPU and NULL devices.
#include "hcq/graph/graph.h"

#include <gtest/gtest.h>

#include "base/os/host.h"
#include "drivers/cpu/executor.h"
#include "drivers/null/device.h"
#include "tests/hcq/support/kernels.h"

namespace doorbell::hcq {
namespace {

using testing::add_variable;
using testing::address;
using testing::load;
using testing::make_cpu;

TEST(Graph, ReplaysWithOtherNumbers) {
  auto device = make_cpu(0, {.threads = 1});
  auto program = load(*device, "add", add_variable, 2, 1);
  i64 input[2] = {5, 7}, middle = 0, output = 0;
  Graph graph;
  const Operand in = graph.slot(), addend = graph.slot();
  const u32 x = graph.memory(graph.storage(), 0, 8, in);
  const u32 m = graph.memory(graph.storage(), 0, 8, address(&middle));
  const u32 y = graph.memory(graph.storage(), 0, 8, address(&output));
  Queue& queue = device->compute_queue();
  graph.exec(queue, {program.get(), "one", {{m, Access::Write}, {x, Access::Read}}, {addend}});
  graph.exec(queue, {program.get(), "two", {{y, Access::Write}, {m, Access::Read}}, {u64{1000}}});
  ASSERT_OK(graph.bind());
  for (i64 i = 0; i < 10; ++i) {
    const u64 values[] = {address(&input[i % 2]), static_cast<u64>(10 * i)};
    auto done = graph.replay(values);
    ASSERT_OK(done);
    ASSERT_EQ(done->size(), 1u);
    ASSERT_OK(queue.wait(done->begin()->position));
    EXPECT_EQ(output, (i % 2 == 0 ? 1005 : 1007) + 10 * i);
  }
}

TEST(Graph, DevicesWaitForEachOther) {
  for (u64 inline_ns : {u64{0}, u64{10'000}}) {
    auto one = make_cpu(0, {.threads = 1, .inline_ns = inline_ns});
    auto two = make_cpu(1, {.threads = 1, .inline_ns = inline_ns});
    auto on_one = load(*one, "add", add_variable, 2, 1);
    auto on_two = load(*two, "add", add_variable, 2, 1);
    i64 value = 0, there = 0, copied = 0;
    Graph graph;
    const u32 v = graph.memory(graph.storage(), 0, 8, address(&value));
    const u32 t = graph.memory(graph.storage(), 0, 8, address(&there));
    const u32 c = graph.memory(graph.storage(), 0, 8, address(&copied));
    graph.exec(one->compute_queue(),
               {on_one.get(), "up", {{v, Access::Write}, {v, Access::Read}}, {u64{1}}});
    graph.copy(one->copy_queue(), c, v, 8);
    graph.exec(two->compute_queue(),
               {on_two.get(), "over", {{t, Access::Write}, {c, Access::Read}}, {u64{100}}});
    graph.copy(two->copy_queue(), v, t, 8);
    ASSERT_OK(graph.bind());
    for (i64 i = 1; i <= 200; ++i) ASSERT_OK(graph.replay());
    ASSERT_OK(one->synchronize());
    ASSERT_OK(two->synchronize());
    EXPECT_EQ(value, 200 * 101);
    EXPECT_EQ(there, value);
  }
}

TEST(Graph, SaysWhoWaitsForWhom) {
  auto one = make_cpu(0, {.threads = 1}), two = make_cpu(1, {.threads = 1});
  auto on_one = load(*one, "k", testing::increment, 1, 0);
  auto on_two = load(*two, "k", testing::increment, 1, 0);
  i64 a = 0, b = 0;
  Graph graph;
  const u32 on_a = graph.memory(graph.storage(), 0, 8, address(&a));
  const u32 on_b = graph.memory(graph.storage(), 0, 8, address(&b));
  graph.exec(one->compute_queue(), {on_one.get(), "first", {{on_a, Access::Write}}});
  graph.exec(one->compute_queue(), {on_one.get(), "second", {{on_a, Access::Write}}});
  graph.copy(two->copy_queue(), on_b, on_a, 8);
  graph.exec(two->compute_queue(), {on_two.get(), "third", {{on_b, Access::Write}}});
  ASSERT_OK(graph.bind());
  EXPECT_EQ(graph.str(),
            "CPU compute: first\n"
            "CPU compute: | second -> 1\n"
            "CPU:1 copy: copy 8 bytes -> 1; after CPU compute 1\n"
            "CPU:1 compute: third -> 1; after CPU:1 copy 1\n");
}

TEST(Graph, RunsAfterAFence) {
  auto one = make_cpu(0, {.threads = 1, .inline_ns = 0});
  auto two = make_cpu(1, {.threads = 1, .inline_ns = 0});
  static std::atomic<bool> go;
  go = false;
  auto slow = load(
      *one, "slow",
      [](void* const* buffers, const i64*, i64) {
        while (!go) std::this_thread::yield();
        *static_cast<i64*>(buffers[0]) = 42;
      },
      1, 0);
  auto add = load(*two, "add", add_variable, 2, 1);
  i64 value = 0, result = 0;
  Graph first, second;
  first.exec(one->compute_queue(),
             {slow.get(),
              "slow",
              {{first.memory(first.storage(), 0, 8, address(&value)), Access::Write}}});
  const u32 v = second.memory(second.storage(), 0, 8, address(&value));
  const u32 r = second.memory(second.storage(), 0, 8, address(&result));
  second.exec(two->compute_queue(),
              {add.get(), "add", {{r, Access::Write}, {v, Access::Read}}, {u64{1}}});
  ASSERT_OK(first.bind());
  ASSERT_OK(second.bind());
  auto fence = first.replay();
  ASSERT_OK(fence);
  ASSERT_OK(second.replay({}, *fence));
  go = true;
  ASSERT_OK(two->synchronize());
  EXPECT_EQ(result, 43);
}

// Two devices whose parts need nothing of each other: joined, waiting for one waits for both.
TEST(Graph, JoinedPartsEndTogether) {
  auto fast = make_cpu(0, {.threads = 1}), slow = make_cpu(1, {.threads = 1});
  constexpr auto kSleep = [](void* const* buffers, const i64*, i64) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ++*static_cast<i64*>(buffers[0]);
  };
  auto on_fast = load(*fast, "increment", testing::increment, 1, 0);
  auto on_slow = load(*slow, "sleep", kSleep, 1, 0);
  i64 a = 0, b = 0;
  Graph graph({.join = true});
  const u32 on_a = graph.memory(graph.storage(), 0, 8, address(&a));
  const u32 on_b = graph.memory(graph.storage(), 0, 8, address(&b));
  graph.exec(fast->compute_queue(), {on_fast.get(), "increment", {{on_a, Access::Write}}});
  graph.exec(slow->compute_queue(), {on_slow.get(), "sleep", {{on_b, Access::Write}}});
  ASSERT_OK(graph.bind());
  for (i64 i = 1; i <= 5; ++i) {
    ASSERT_OK(graph.replay());
    ASSERT_OK(fast->synchronize());
    EXPECT_EQ(a, i);
    EXPECT_EQ(b, i);
  }
}

TEST(Graph, TwoGraphsOverTheSameQueuesFromTwoThreads) {
  auto one = make_cpu(0, {.threads = 1}), two = make_cpu(1, {.threads = 1});
  auto on_one = load(*one, "increment", testing::increment, 1, 0);
  auto on_two = load(*two, "increment", testing::increment, 1, 0);
  i64 values[2] = {0, 0};
  Graph graphs[2];
  for (int g = 0; g < 2; ++g) {
    const u32 v = graphs[g].memory(graphs[g].storage(), 0, 8, address(&values[g]));
    auto add = [&](cpu::CpuDevice& device, core::Program& program) {
      graphs[g].exec(device.compute_queue(), {&program, "increment", {{v, Access::Write}}});
    };
    for (int i = 0; i < 3; ++i) {
      if (i % 2 == g)
        add(*one, *on_one);
      else
        add(*two, *on_two);
    }
    ASSERT_OK(graphs[g].bind());
  }
  auto replay = [&](int g) {
    for (int i = 0; i < 1000; ++i) ASSERT_OK(graphs[g].replay());
  };
  std::thread other(replay, 1);
  replay(0);
  other.join();
  ASSERT_OK(one->synchronize());
  ASSERT_OK(two->synchronize());
  EXPECT_EQ(values[0], 3000);
  EXPECT_EQ(values[1], 3000);
}

TEST(Graph, OutOfMemoryInTheMiddleHoldsNothing) {
  // The second queue's words do not fit beside the first's.
  HostMemory little(6000);
  HostMemory memory;
  SignalPool signals(memory);
  Queue::Parts parts{"CPU", "compute", &little, &signals, &os::host_clock(), nullptr};
  auto device = make_cpu(0, {.threads = 1});
  auto program = load(*device, "increment", testing::increment, 1, 0);
  i64 value = 0;
  auto tight = *SoftwareQueue::make(
      parts, std::make_unique<cpu::CpuExecutor>(*device, os::host_clock()), 10'000, 1024);
  Graph graph;
  const u32 v = graph.memory(graph.storage(), 0, 8, address(&value));
  for (int i = 0; i < 100; ++i) {
    Queue& queue = i % 2 == 0 ? device->compute_queue() : *tight;
    graph.exec(queue, {program.get(), "increment", {{v, Access::Write}}});
  }
  const i64 before = little.stats().in_use, held = device->compute_queue().memory().stats().in_use;
  auto refused = graph.bind();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::OutOfMemory);
  EXPECT_EQ(little.stats().in_use, before);
  EXPECT_EQ(device->compute_queue().memory().stats().in_use, held);
  // Queues are as they were.
  auto commands = tight->make_commands();
  const Operand buffers[] = {address(&value)};
  commands->exec({program.get(), buffers});
  ASSERT_OK(tight->submit(*commands));
  ASSERT_OK(tight->synchronize());
  EXPECT_EQ(value, 1);
}

TEST(Graph, TracesKernelsAndCopiesOnTheirQueues) {
  auto device = make_cpu(0, {.threads = 1});
  auto program = load(*device, "increment", testing::increment, 1, 0);
  i64 value = 0, copy = 0;
  Trace trace;
  Graph graph({.trace = &trace});
  const u32 v = graph.memory(graph.storage(), 0, 8, address(&value));
  const u32 c = graph.memory(graph.storage(), 0, 8, address(&copy));
  graph.exec(device->compute_queue(), {program.get(), "r_1", {{v, Access::Write}}});
  graph.copy(device->copy_queue(), c, v, 8);
  ASSERT_OK(graph.bind());
  ASSERT_OK(graph.replay());
  ASSERT_OK(graph.replay());
  ASSERT_OK(device->synchronize());
  const std::vector<Trace::Span> spans = trace.spans();
  ASSERT_EQ(spans.size(), 4u);
  for (usize i = 0; i < 4; ++i) {
    EXPECT_EQ(spans[i].device, "CPU");
    EXPECT_EQ(spans[i].queue, i % 2 == 0 ? "compute" : "copy");
    EXPECT_EQ(spans[i].name, i % 2 == 0 ? "r_1" : "copy");
    EXPECT_LE(spans[i].begin_ns, spans[i].end_ns);
    // Each waits for the one before.
    if (i > 0) {
      EXPECT_GE(spans[i].begin_ns, spans[i - 1].end_ns);
    }
  }
}

// The kernel ends only when the copy queue has passed a copy: had they not run at once, it would
// hang.
TEST(Graph, CopyAndComputeOverlapInTheTrace) {
  auto device = make_cpu(0, {.threads = 1});
  static std::atomic<bool> copied;
  copied = false;
  auto waits = load(
      *device, "waits",
      [](void* const*, const i64*, i64) {
        while (!copied) std::this_thread::yield();
      },
      1, 0);
  auto tells = load(*device, "tells", [](void* const*, const i64*, i64) { copied = true; }, 1, 0);
  i64 a = 0, b = 7, c = 0;
  Trace trace;
  Graph graph({.trace = &trace});
  const u32 on_a = graph.memory(graph.storage(), 0, 8, address(&a));
  const u32 on_b = graph.memory(graph.storage(), 0, 8, address(&b));
  const u32 on_c = graph.memory(graph.storage(), 0, 8, address(&c));
  graph.exec(device->compute_queue(), {waits.get(), "waits", {{on_a, Access::Write}}});
  graph.copy(device->copy_queue(), on_c, on_b, 8);
  graph.exec(device->copy_queue(), {tells.get(), "tells", {{on_c, Access::Write}}});
  ASSERT_OK(graph.bind());
  ASSERT_OK(graph.replay());
  ASSERT_OK(device->synchronize());
  EXPECT_EQ(c, 7);
  const std::vector<Trace::Span> spans = trace.spans();
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_GE(spans[0].end_ns, spans[1].end_ns);    // the kernel outlasts the copy
  EXPECT_GE(spans[0].end_ns, spans[2].begin_ns);  // and the next kernel of the copy queue
}

// Words, and the queue's notes about them, outlive a graph that is destroyed while it runs.
TEST(Graph, MayGoWhileItRuns) {
  auto device = make_cpu(0, {.threads = 1, .inline_ns = 0});
  static std::atomic<bool> go;
  go = false;
  auto waits = load(
      *device, "waits",
      [](void* const* buffers, const i64*, i64) {
        while (!go) std::this_thread::yield();
        ++*static_cast<i64*>(buffers[0]);
      },
      1, 0);
  i64 value = 0;
  {
    Graph graph;
    const u32 v = graph.memory(graph.storage(), 0, 8, address(&value));
    for (int i = 0; i < 3; ++i)
      graph.exec(device->compute_queue(), {waits.get(), "waits", {{v, Access::Write}}});
    ASSERT_OK(graph.bind());
    ASSERT_OK(graph.replay());
    ASSERT_OK(graph.replay());
  }
  go = true;
  ASSERT_OK(device->synchronize());
  EXPECT_EQ(value, 6);
}

// The spans of its last run are reported when it is done.
TEST(Graph, MayGoWhileItIsTraced) {
  auto device = make_cpu(0, {.threads = 1, .inline_ns = 0});
  static std::atomic<bool> go;
  go = false;
  auto waits = load(
      *device, "waits",
      [](void* const*, const i64*, i64) {
        while (!go) std::this_thread::yield();
      },
      1, 0);
  i64 value = 0;
  Trace trace;
  {
    Graph graph({.trace = &trace});
    const u32 v = graph.memory(graph.storage(), 0, 8, address(&value));
    graph.exec(device->compute_queue(), {waits.get(), "waits", {{v, Access::Write}}});
    ASSERT_OK(graph.bind());
    ASSERT_OK(graph.replay());
  }
  EXPECT_EQ(trace.spans().size(), 0u);
  go = true;
  ASSERT_OK(device->synchronize());
  ASSERT_EQ(trace.spans().size(), 1u);
  EXPECT_EQ(trace.spans()[0].name, "waits");
}

// Kernels that do not depend on each other run at once: each waits for the other to begin.
TEST(Graph, IndependentQueuesOverlap) {
  auto device = make_cpu(0, {.threads = 1}), other = make_cpu(1, {.threads = 1});
  static std::atomic<int> arrived;
  arrived = 0;
  constexpr auto kMeet = [](void* const*, const i64*, i64) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  };
  auto here = load(*device, "meet", kMeet, 1, 0), there = load(*other, "meet", kMeet, 1, 0);
  i64 a = 0, b = 0;
  Graph graph;
  graph.exec(
      device->compute_queue(),
      {here.get(), "here", {{graph.memory(graph.storage(), 0, 8, address(&a)), Access::Write}}});
  graph.exec(
      other->compute_queue(),
      {there.get(), "there", {{graph.memory(graph.storage(), 0, 8, address(&b)), Access::Write}}});
  ASSERT_OK(graph.bind());
  ASSERT_OK(graph.replay());
  ASSERT_OK(device->synchronize());
  ASSERT_OK(other->synchronize());
  EXPECT_EQ(arrived, 2);
}

TEST(Graph, NullIsDoneAtOnce) {
  core::DeviceSpec spec;
  spec.name = "NULL";
  null::NullDevice device(spec);
  auto program = *device.load({});
  Graph graph;
  const u32 v = graph.memory(graph.storage(), 0, 8, graph.slot());
  for (int i = 0; i < 100; ++i)
    graph.exec(device.compute_queue(), {program.get(), "k", {{v, Access::Write}}});
  ASSERT_OK(graph.bind());
  for (u64 i = 0; i < 1000; ++i) ASSERT_OK(graph.replay({&i, 1}));
  EXPECT_TRUE(device.compute_queue().idle());
  ASSERT_OK(device.synchronize());
}

TEST(Graph, WrongUseIsRefused) {
  auto device = make_cpu(0, {.threads = 1}), other = make_cpu(1, {.threads = 1});
  auto program = load(*device, "increment", testing::increment, 1, 0);
  i64 value = 0;
  Graph graph;
  EXPECT_THROW((void)graph.replay(), InternalError);
  EXPECT_THROW(graph.memory(0, 0, 8, u64{0}), InternalError);
  const u32 v = graph.memory(graph.storage(), 0, 8, address(&value));
  EXPECT_THROW(graph.copy(device->copy_queue(), v, v, 9), InternalError);
  graph.exec(other->compute_queue(), {program.get(), "k", {{v, Access::Write}}});
  EXPECT_THROW((void)graph.bind(), InternalError);  // a program of another device
}

}  // namespace
}  // namespace doorbell::hcq
