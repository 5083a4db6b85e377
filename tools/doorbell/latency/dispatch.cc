// Figures of single kernels: submitting one, waiting for one, and the gap between two.
#include <memory>

#include "base/os/host.h"
#include "tensor/engine/must.h"
#include "tools/doorbell/latency/kernel.h"
#include "tools/doorbell/latency/measured.h"

namespace doorbell::tools::latency {
namespace {

using engine::must;

// With more submissions at once a queue's ring may be full, and submitting waits.
constexpr usize kMaxSubmissions = 64;
// Kernels of one submission that the device timestamps.
constexpr usize kStamped = 64;

std::unique_ptr<hcq::CommandBuffer> one_launch(hcq::Device& device, const TestKernel& kernel) {
  std::unique_ptr<hcq::CommandBuffer> commands = device.compute_queue().make_commands();
  kernel.record(device, commands.get());
  return commands;
}

// Memory for the device's timestamps.
class Stamps {
 public:
  Stamps(hcq::Queue& queue, usize count)
      : queue_(queue),
        memory_(must(queue.memory().allocate(static_cast<i64>(count * queue.timestamp_bytes())))) {}
  ~Stamps() { queue_.memory().release(memory_); }
  Stamps(const Stamps&) = delete;
  Stamps& operator=(const Stamps&) = delete;

  hcq::GpuAddr address(usize i) const { return {memory_.address + i * queue_.timestamp_bytes()}; }
  f64 ns(usize i) const {
    const usize words = queue_.timestamp_bytes() / sizeof(u64);
    return static_cast<f64>(
        queue_.to_ns(static_cast<const u64*>(memory_.host)[(i + 1) * words - 1]));
  }
  f64 between(usize first, usize second) const { return ns(second) - ns(first); }

 private:
  hcq::Queue& queue_;
  core::Allocation memory_;
};

void submit_and_wait(hcq::Queue& queue, const hcq::CommandBuffer& commands) {
  const hcq::Point end = must(queue.submit(commands));
  must(queue.wait(end.position));
}

// Between the end of each kernel and the beginning of the next, of many submissions.
Distribution stamped_gaps(hcq::Device& device, const Sampling& sampling) {
  const TestKernel kernel(device);
  hcq::Queue& queue = device.compute_queue();
  const Stamps stamps(queue, 2 * kStamped);
  const std::unique_ptr<hcq::CommandBuffer> commands = queue.make_commands();
  for (usize i = 0; i < kStamped; ++i) {
    commands->timestamp(stamps.address(2 * i));
    kernel.record(device, commands.get(), i);
    commands->memory_barrier();
    commands->timestamp(stamps.address(2 * i + 1));
  }
  std::vector<f64> gaps;
  while (gaps.size() < sampling.runs) {
    submit_and_wait(queue, *commands);
    for (usize i = 1; i < kStamped && gaps.size() < sampling.runs; ++i)
      gaps.push_back(stamps.between(2 * i - 1, 2 * i));
  }
  return {std::move(gaps), 1};
}

// A kernel and its gap, as the mean of many in one submission.
Distribution kernel_periods(hcq::Device& device, const Sampling& sampling) {
  const TestKernel kernel(device);
  hcq::Queue& queue = device.compute_queue();
  const Stamps stamps(queue, 2);
  const std::unique_ptr<hcq::CommandBuffer> commands = queue.make_commands();
  commands->timestamp(stamps.address(0));
  for (usize i = 0; i < kStamped; ++i) {
    kernel.record(device, commands.get(), i);
    commands->memory_barrier();
  }
  commands->timestamp(stamps.address(1));
  std::vector<f64> periods;
  while (periods.size() < sampling.runs) {
    submit_and_wait(queue, *commands);
    periods.push_back(stamps.between(0, 1) / kStamped);
  }
  return {std::move(periods), kStamped};
}

Distribution round_trips(hcq::Device& device, Sampling sampling, u64 pause_ns) {
  const TestKernel kernel(device);
  hcq::Queue& queue = device.compute_queue();
  const std::unique_ptr<hcq::CommandBuffer> commands = one_launch(device, kernel);
  const auto body = [&] { submit_and_wait(queue, *commands); };
  if (pause_ns == 0) return sample(body, sampling);
  sampling.max_calls = 1;
  os::Clock& clock = os::host_clock();
  return sample(body, sampling, [&] { clock.sleep_until(clock.now_ns() + pause_ns); });
}

}  // namespace

std::vector<Series> measure_enqueue(const Request& request) {
  hcq::Device& device = request.device;
  Sampling sampling = request.sampling;
  sampling.max_calls = kMaxSubmissions;
  std::vector<Series> all;
  all.push_back(measured(request, {"enqueue.launch", "enqueue", "launch of a program"}, [&] {
    const TestKernel kernel(device);
    return sample([&] { kernel.launch(); }, sampling, [&] { must(device.synchronize()); });
  }));
  const Series record{"enqueue.record", "enqueue", "words of a launch, into a queue builder"};
  const Series submit{"enqueue.submit", "enqueue", "submit of these words"};
  all.push_back(measured(request, record, [&] {
    const TestKernel kernel(device);
    const std::unique_ptr<hcq::CommandBuffer> commands = device.compute_queue().make_commands();
    return sample(
        [&] {
          commands->clear();
          kernel.record(device, commands.get());
        },
        sampling);
  }));
  all.push_back(measured(request, submit, [&] {
    const TestKernel kernel(device);
    const std::unique_ptr<hcq::CommandBuffer> commands = one_launch(device, kernel);
    return sample([&] { must(device.compute_queue().submit(*commands)); }, sampling,
                  [&] { must(device.synchronize()); });
  }));
  return all;
}

std::vector<Series> measure_signal(const Request& request) {
  hcq::Device& device = request.device;
  std::vector<Series> all;
  all.push_back(measured(request, {"signal.launch", "signal", "launch, and synchronize"}, [&] {
    const TestKernel kernel(device);
    return sample(
        [&] {
          kernel.launch();
          must(device.synchronize());
        },
        request.sampling);
  }));
  const Series awake{"signal.submit", "signal", "submit, until its signal is seen"};
  const Series asleep{"signal.idle", "signal", "the same after 1 ms of nothing"};
  constexpr u64 kPause_ns = 1'000'000;
  all.push_back(measured(request, awake, [&] { return round_trips(device, request.sampling, 0); }));
  if (device.runs())
    all.push_back(measured(request, asleep,
                           [&] { return round_trips(device, request.sampling, kPause_ns); }));
  else
    all.push_back(unmeasured(request, asleep, "it has no queue thread that could sleep"));
  return all;
}

std::vector<Series> measure_gap(const Request& request) {
  const Series gap{"gap.stamped", "gap", "end of a kernel to the next one's begin"};
  const Series period{"gap.period", "gap", "kernel after kernel, each"};
  if (!request.device.runs()) {
    constexpr const char* kWhy = "it runs nothing, so its queue writes no timestamps";
    return {unmeasured(request, gap, kWhy), unmeasured(request, period, kWhy)};
  }
  return {
      measured(request, gap, [&] { return stamped_gaps(request.device, request.sampling); }),
      measured(request, period, [&] { return kernel_periods(request.device, request.sampling); })};
}

}  // namespace doorbell::tools::latency
