// The cost of a replay of a graph besides its kernels: chains of empty kernels on NULL and on the
// CPU, with and without waiting for the end, over one queue and back and forth over two. By Google
// Benchmark; times are for a replay, `per_kernel` for one of its kernels.
#include <benchmark/benchmark.h>

#include <memory>

#include "drivers/cpu/device.h"
#include "drivers/null/device.h"
#include "hcq/graph/graph.h"

namespace doorbell::hcq {
namespace {

void nothing(void* const*, const i64*, i64) {}

// buffers {out, a, b}; four elements, as a compiled kernel would.
void add(void* const* buffers, const i64*, i64) {
  auto* out = static_cast<f32*>(buffers[0]);
  auto *a = static_cast<const f32*>(buffers[1]), *b = static_cast<const f32*>(buffers[2]);
  for (int i = 0; i < 4; ++i) out[i] = a[i] + b[i];
}

core::DeviceSpec spec_of(const char* name) {
  core::DeviceSpec spec;
  spec.name = name;
  return spec;
}

std::unique_ptr<core::Program> load(Device& device, cpu::KernelEntry entry) {
  core::Binary binary;
  binary.name = "kernel";
  binary.code.entry = reinterpret_cast<void*>(entry);
  binary.param_count = 3;
  return *device.load(binary);
}

// A chain where each kernel reads what the one before wrote; its input comes with the replay.
void record(Graph* graph, std::span<Queue* const> queues, std::span<core::Program* const> programs,
            i64 kernels, f32* memory) {
  u32 last = graph->memory(graph->storage(), 0, 16, graph->slot());
  for (i64 i = 0; i < kernels; ++i) {
    const u32 next =
        graph->memory(graph->storage(), 0, 16, reinterpret_cast<u64>(memory + 4 * (i + 2)));
    const usize on = static_cast<usize>(i) % queues.size();
    graph->exec(*queues[on], {programs[on],
                              "kernel",
                              {{next, Access::Write}, {last, Access::Read}, {last, Access::Read}}});
    last = next;
  }
}

void replay(benchmark::State& state, std::span<Device* const> devices, cpu::KernelEntry entry,
            bool waits) {
  const i64 kernels = state.range(0);
  std::vector<f32> memory(static_cast<usize>(4 * kernels + 8));
  std::vector<std::unique_ptr<core::Program>> programs;
  std::vector<core::Program*> borrowed;
  std::vector<Queue*> queues;
  for (Device* device : devices) {
    borrowed.push_back(programs.emplace_back(load(*device, entry)).get());
    queues.push_back(&device->compute_queue());
  }
  Graph graph;
  record(&graph, queues, borrowed, kernels, memory.data());
  *graph.bind();
  u64 turn = 0;
  for (auto _ : state) {
    // Another input each time, so that its address is patched.
    const u64 input = reinterpret_cast<u64>(memory.data() + 4 * (++turn % 2));
    const Fence done = *graph.replay({&input, 1});
    if (!waits) continue;
    for (const Point& point : done) *point.queue->wait(point.position);
  }
  for (Queue* queue : queues) *queue->synchronize();
  state.counters["per_kernel"] =
      benchmark::Counter(static_cast<f64>(kernels), benchmark::Counter::kIsIterationInvariantRate |
                                                        benchmark::Counter::kInvert);
}

void null_replay(benchmark::State& state) {
  null::NullDevice device(spec_of("NULL"));
  Device* devices[] = {&device};
  replay(state, devices, nothing, true);
}
BENCHMARK(null_replay)->Arg(1)->Arg(100)->Arg(1000)->UseRealTime();

void cpu_replay(benchmark::State& state) {
  cpu::CpuDevice device(spec_of("CPU"), {.threads = 1});
  Device* devices[] = {&device};
  replay(state, devices, nothing, true);
}
BENCHMARK(cpu_replay)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseRealTime();

void cpu_replay_add(benchmark::State& state) {
  cpu::CpuDevice device(spec_of("CPU"), {.threads = 1});
  Device* devices[] = {&device};
  replay(state, devices, add, true);
}
BENCHMARK(cpu_replay_add)->Arg(1)->Arg(100)->UseRealTime();

// Always through the queue's thread.
void cpu_handed_over(benchmark::State& state) {
  cpu::CpuDevice device(spec_of("CPU"), {.threads = 1, .inline_ns = 0});
  Device* devices[] = {&device};
  replay(state, devices, nothing, true);
}
BENCHMARK(cpu_handed_over)->Arg(1)->Arg(100)->UseRealTime();

// Without waiting: as fast as the thread takes submissions.
void cpu_streamed(benchmark::State& state) {
  cpu::CpuDevice device(spec_of("CPU"), {.threads = 1, .inline_ns = 0});
  Device* devices[] = {&device};
  replay(state, devices, nothing, false);
}
BENCHMARK(cpu_streamed)->Arg(1)->Arg(100)->UseRealTime();

// Each kernel on the other device than the one before: signals between two threads.
void two_devices(benchmark::State& state) {
  cpu::CpuDevice one(spec_of("CPU"), {.threads = 1}), two(spec_of("CPU:1"), {.threads = 1});
  Device* devices[] = {&one, &two};
  replay(state, devices, nothing, true);
}
BENCHMARK(two_devices)->Arg(2)->Arg(100)->UseRealTime();

}  // namespace
}  // namespace doorbell::hcq

BENCHMARK_MAIN();
