// Replays as graphs of hardware queues: what is ordered behind them, and what happens to memory and
// errors while they run. Kernels that wait or throw stand in for compiled ones. Tests have CPU
// devices of their own, since some of them die.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

#include "core/device/registry.h"
#include "core/util/config.h"
#include "drivers/cpu/device.h"
#include "hcq/device.h"
#include "hcq/trace/trace.h"
#include "runtime/doorbell.h"
#include "tensor/jit/jit.h"
#include "tests/tensor/engine/entry_scope.h"

namespace doorbell::engine {
namespace {

using Floats = std::vector<float>;

Tensor numbers(Floats values, const std::string& device) {
  const i64 count = static_cast<i64>(values.size());
  return Tensor::from_data(values, {count}, {.device = device}).realize();
}

// Not engine::synchronize(): it would report a device that died in another test again.
void wait_for(const std::string& device) {
  const Result<void> done = engine::device(device).synchronize();
  ASSERT_TRUE(done) << done.error().message;
}

// Opened by the test; a kernel that waits for it gives up after some seconds, so that a mistake is
// a failure and not a hang.
struct Gate {
  std::atomic<bool> open{true};
  std::atomic<bool> gave_up{false};
  void pass() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!open) {
      if (std::chrono::steady_clock::now() > end) {
        gave_up = true;
        return;
      }
      std::this_thread::yield();
    }
  }
};

// Two elements: out = in + 1, once the gate is open.
constinit Gate gate;
void add_one_behind_gate(void* const* buffers, const i64*, i64) {
  gate.pass();
  for (int i = 0; i < 2; ++i)
    static_cast<float*>(buffers[0])[i] = static_cast<const float*>(buffers[1])[i] + 1;
}

// A jitted function of one kernel on `device`, which is the function above once it is captured.
auto gated(const std::string& device) {
  auto f = jit([](const Tensor& x) { return x + 1; });
  const Tensor x = numbers({1, 2}, device);
  f(x), f(x);
  return f;
}

TEST(QueueGraph, SeveralDevicesGiveWhatTheyWouldOneByOne) {
  auto f = jit([](const Tensor& a, const Tensor& b) {
    const Tensor there = (a * 2).to("CPU:11") + b;
    return std::pair(there.to("CPU:12") - 1, (there * there).to("CPU:10").sum());
  });
  for (float i = 0; i < 50; ++i) {
    const Tensor a = numbers({i, 1, 2}, "CPU:10"), b = numbers({5, i, 7}, "CPU:11");
    const auto [difference, total] = f(a, b);
    EXPECT_EQ(difference.to_vector<float>(), (Floats{2 * i + 4, i + 1, 10})) << i;
    const float x = 2 * i + 5, y = 2 + i, z = 11;
    EXPECT_EQ(total.item<float>(), x * x + y * y + z * z) << i;
  }
}

// With DEBUG=2 the same plan runs item by item.
TEST(QueueGraph, CallsMayBeTimedOneByOne) {
  auto f = jit([](const Tensor& a) { return ((a * 2).to("CPU:11") + 1).realize() * 3; });
  for (float i = 0; i < 6; ++i) {
    std::optional<core::Context> context;
    if (i == 3 || i == 4) context.emplace(core::Overrides{.debug = 2});
    EXPECT_EQ(f(numbers({i, 1}, "CPU:10")).to_vector<float>(), (Floats{6 * i + 3, 9})) << i;
  }
}

// A chain of calls, each reading the results of the one before while it still runs.
TEST(QueueGraph, CallsFollowEachOtherWithoutTheHost) {
  auto f = jit([](const Tensor& a, const Tensor& b) {
    return std::pair(b.to("CPU:10") + 1, (a * 2).to("CPU:11") + 1);
  });
  Tensor a = numbers({0}, "CPU:10"), b = numbers({0}, "CPU:11");
  double expected_a = 0, expected_b = 0;
  for (int i = 0; i < 24; ++i) {
    auto [next_a, next_b] = f(a, b);
    a = next_a, b = next_b;
    const double before = expected_a;
    expected_a = expected_b + 1;
    expected_b = 2 * before + 1;
  }
  EXPECT_EQ(a.item<float>(), static_cast<float>(expected_a));
  EXPECT_EQ(b.item<float>(), static_cast<float>(expected_b));
}

TEST(QueueGraph, CallsReturnBeforeTheWorkIsDone) {
  EntryScope scope;
  scope.replace("CPU:13", add_one_behind_gate);
  auto f = gated("CPU:13");
  auto& device = *hcq::Device::of(engine::device("CPU:13"));
  gate.open = false;
  Tensor result = f(numbers({10, 20}, "CPU:13"));  // the argument is gone before it is read
  EXPECT_FALSE(device.compute_queue().idle());
  // Memory that was given up meanwhile is not given to others.
  const Tensor other = numbers({70, 80}, "CPU:13");
  result = f(result);  // nor is a result's that only the next call reads
  const Tensor more = numbers({90, 95}, "CPU:13");
  gate.open = true;
  EXPECT_EQ(result.to_vector<float>(), (Floats{12, 22}));
  EXPECT_EQ(other.to_vector<float>(), (Floats{70, 80}));
  EXPECT_EQ(more.to_vector<float>(), (Floats{90, 95}));
  EXPECT_FALSE(gate.gave_up);
}

TEST(QueueGraph, EagerWorkFollowsAReplay) {
  EntryScope scope;
  scope.replace("CPU:13", add_one_behind_gate);
  auto f = gated("CPU:13");
  gate.open = false;
  const Tensor result = f(numbers({10, 20}, "CPU:13"));
  std::thread opens([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate.open = true;
  });
  const Tensor there = result.to("CPU:14") * 3;
  EXPECT_EQ(there.to_vector<float>(), (Floats{33, 63}));
  opens.join();
}

TEST(QueueGraph, AFunctionMayGoWhileItRuns) {
  EntryScope scope;
  scope.replace("CPU:13", add_one_behind_gate);
  Tensor result;
  {
    auto f = gated("CPU:13");
    gate.open = false;
    result = f(numbers({10, 20}, "CPU:13"));
  }
  clear_schedule_cache();
  gate.open = true;
  EXPECT_EQ(result.to_vector<float>(), (Floats{11, 21}));
}

// ---- errors -------------------------------------------------------------------------------------

constinit std::atomic<bool> throws{false};
void add_one_or_throw(void* const* buffers, const i64* variables, i64 thread) {
  if (throws) throw std::runtime_error("the worker is tired");
  add_one_behind_gate(buffers, variables, thread);
}

TEST(QueueGraph, AWorkerThatDiesIsReportedWhenItsDeviceIsSynchronised) {
  EntryScope scope;
  static int last = 30;  // a repeated test needs a device that lives
  const std::string doomed = "CPU:" + std::to_string(++last);
  scope.replace(doomed, add_one_or_throw);
  auto f = jit([](const Tensor& a, const Tensor& b) { return std::pair(a + 1, b + 1); });
  const Tensor a = numbers({1, 2}, doomed), b = numbers({3, 4}, "CPU:16");
  f(a, b), f(a, b);
  throws = true;
  const auto [lost, kept] = f(a, b);
  // The other device's part is whole.
  EXPECT_EQ(kept.to_vector<float>(), (Floats{4, 5}));
  try {
    (void)lost.to_vector<float>();
    ADD_FAILURE() << "the value of a kernel that died";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::DeviceLost);
    EXPECT_EQ(error.device, doomed);
    EXPECT_NE(error.message.find("the worker is tired"), std::string::npos) << error.message;
  }
  // It stays dead, and says so at the call; the others live.
  EXPECT_THROW(f(a, b), Error);
  throws = false;
  EXPECT_EQ((b * 2).to_vector<float>(), (Floats{6, 8}));
}

// A device with memory for four blocks, which releases at once what it is given back.
constexpr i64 kBlock = i64{256} << 10;
void add_limited_device() {
  core::Registry& registry = core::Registry::instance();
  registry.add("LIMITED", [](core::DeviceSpec spec) -> Result<std::unique_ptr<core::Device>> {
    spec.renderer = engine::device("CPU").spec().renderer;
    return std::make_unique<cpu::CpuDevice>(
        std::move(spec),
        cpu::Options{.threads = 1, .max_cached = 0, .max_bytes = 4 * kBlock + 1000});
  });
}

TEST(QueueGraph, OutOfMemoryWaitsForWhatIsInFlightAndThenChangesNothing) {
  EntryScope scope;
  add_limited_device();
  scope.replace("LIMITED", add_one_behind_gate);
  const auto block = [](float first) {
    Floats values(kBlock / 4, first);
    return numbers(values, "LIMITED");
  };
  const auto first_of = [](const Tensor& tensor) { return tensor.to_vector<float>()[0]; };
  auto f = jit([](const Tensor& x) { return x + 1; });
  const Tensor x = block(1);
  f(x), f(x);
  gate.open = false;
  Tensor one = f(block(10)), two = f(x);
  // Two blocks have no owner, but are in use until the gate opens.
  one = Tensor();
  std::thread opens([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate.open = true;
  });
  const Tensor three = f(x);
  opens.join();
  EXPECT_FALSE(gate.gave_up);
  EXPECT_EQ(first_of(two), 2);
  EXPECT_EQ(first_of(three), 2);
  // The test holds four blocks: there is nothing to wait for.
  Tensor four = f(two);
  try {
    f(x);
    ADD_FAILURE() << "a fifth block";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::OutOfMemory);
  }
  EXPECT_EQ(first_of(four), 3);
  four = Tensor();
  EXPECT_EQ(first_of(f(three)), 3);
}

// ---- overlap ------------------------------------------------------------------------------------

class TraceScope {
 public:
  TraceScope() { hcq::Trace::set_of_process(&trace); }
  ~TraceScope() { hcq::Trace::set_of_process(nullptr); }
  hcq::Trace trace;
};

const hcq::Trace::Span* find(const std::vector<hcq::Trace::Span>& spans, const std::string& device,
                             const std::string& category) {
  for (usize i = spans.size(); i-- > 0;)
    if (spans[i].device == device && spans[i].category == category) return &spans[i];
  return nullptr;
}

// One kernel runs from before a copy begins until after it has ended: it tells the kernel that
// makes what is copied that it has begun, and waits for the kernel that reads the copy.
constinit Gate long_began, copy_read;
void run_long(void* const*, const i64*, i64) {
  long_began.open = true;
  copy_read.pass();
}
void make(void* const*, const i64*, i64) { long_began.pass(); }
void read(void* const*, const i64*, i64) { copy_read.open = true; }

TEST(QueueGraph, CopyAndComputeOverlapInTheTrace) {
  EntryScope scope;
  TraceScope traced;
  scope.replace("CPU:17", make);
  scope.replace("CPU:18", run_long);
  scope.replace("CPU:19", read);
  auto f = jit(
      [](const Tensor& a, const Tensor& b) { return std::pair(b + 1, (a + 1).to("CPU:19") + 1); });
  const Tensor a = numbers({1, 2}, "CPU:17"), b = numbers({3, 4}, "CPU:18");
  f(a, b), f(a, b);
  long_began.open = copy_read.open = false;
  f(a, b);
  for (const char* device : {"CPU:17", "CPU:18", "CPU:19"}) wait_for(device);
  EXPECT_FALSE(long_began.gave_up || copy_read.gave_up);
  const std::vector<hcq::Trace::Span> spans = traced.trace.spans();
  const auto *compute = find(spans, "CPU:18", "kernel"), *copy = find(spans, "CPU:19", "copy");
  ASSERT_TRUE(compute != nullptr && copy != nullptr);
  EXPECT_EQ(copy->queue, "copy");
  EXPECT_EQ(compute->queue, "compute");
  EXPECT_LT(compute->begin_ns, copy->begin_ns);
  EXPECT_LT(copy->end_ns, compute->end_ns);
}

TEST(QueueGraph, ATraceHoldsEagerWorkReplaysAndTheHost) {
  clear_schedule_cache();
  TraceScope traced;
  auto f = jit([](const Tensor& a) { return (a * 3 - 2).sum(); });
  const Tensor a = numbers({1, 2, 4}, "CPU:14");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(f(a).item<float>(), 15);
  usize kernels = 0, host = 0;
  u64 last = 0;
  for (const hcq::Trace::Span& span : traced.trace.spans()) {
    EXPECT_LE(span.begin_ns, span.end_ns);
    if (span.category == "kernel") {
      ++kernels;
      EXPECT_EQ(span.device, "CPU:14");
      EXPECT_GE(span.begin_ns, last);  // one after another
      last = span.end_ns;
    } else {
      EXPECT_EQ(span.device, "host");
      EXPECT_TRUE(span.category == "schedule" || span.category == "compile") << span.category;
      ++host;
    }
  }
  EXPECT_EQ(kernels, 5u);
  EXPECT_GE(host, 2u);
}

}  // namespace
}  // namespace doorbell::engine
