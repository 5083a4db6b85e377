// The cost of a repeated expression besides its kernels: building it, finding its schedule,
// launching and making the result, on the NULL device; and a launch on the CPU.
#include <benchmark/benchmark.h>

#include <vector>

#include "core/device/program.h"
#include "core/schedule/graph_key.h"
#include "drivers/cpu/device.h"
#include "runtime/doorbell.h"
#include "tensor/engine/realize.h"

namespace doorbell {
namespace {

const TensorOptions kOnNull{.device = "NULL"};

void eager_add(benchmark::State& state) {
  const Tensor a = Tensor::empty({8, 8}, kOnNull), b = Tensor::empty({8, 8}, kOnNull);
  for (auto _ : state) {
    const Tensor c = a + b;
    c.realize();
  }
}
BENCHMARK(eager_add);

void eager_add_two_threads(benchmark::State& state) {
  const Tensor a = Tensor::empty({8, 8}, kOnNull), b = Tensor::empty({8, 8}, kOnNull);
  for (auto _ : state) {
    const Tensor c = a + b;
    c.realize();
  }
}
BENCHMARK(eager_add_two_threads)->Threads(2)->UseRealTime();

// A chain of operations that fuse: the time per realisation grows with the nodes walked.
void eager_chain(benchmark::State& state) {
  const Tensor a = Tensor::empty({8, 8}, kOnNull), b = Tensor::empty({8, 8}, kOnNull);
  for (auto _ : state) {
    Tensor c = a;
    for (i64 i = 0; i < state.range(0); ++i) c = c * b + a;
    c.realize();
  }
}
BENCHMARK(eager_chain)->Arg(1)->Arg(10)->Arg(50);

// Only the walk over an existing graph.
void graph_key(benchmark::State& state) {
  const Tensor a = Tensor::empty({8, 8}, kOnNull), b = Tensor::empty({8, 8}, kOnNull);
  Tensor c = a;
  for (i64 i = 0; i < state.range(0); ++i) c = c * b + a;
  const core::UOpRef root = c.uop();
  core::GraphKey key;
  for (auto _ : state) {
    const core::UOp roots[] = {*root};
    key.walk(roots);
    benchmark::DoNotOptimize(key.hash);
  }
}
BENCHMARK(graph_key)->Arg(1)->Arg(10)->Arg(100);

void nothing(void* const*, const i64*, i64) {}

// An empty kernel on 1 thread (called in place) and on 2 (a worker is woken or spinning).
void cpu_launch(benchmark::State& state) {
  core::DeviceSpec spec;
  spec.name = "CPU";
  cpu::CpuDevice device(spec, {.threads = 2});
  core::Binary binary;
  binary.name = "nothing";
  binary.code.entry = reinterpret_cast<void*>(&nothing);
  binary.param_count = 3;
  binary.threads = state.range(0);
  const auto program = *device.load(binary);
  const core::Ref<core::Buffer> buffer = *core::Buffer::allocate(device, 64);
  const core::BufferView views[3] = {{buffer.get(), 0}, {buffer.get(), 0}, {buffer.get(), 0}};
  for (auto _ : state) (void)program->launch(views, {});
}
BENCHMARK(cpu_launch)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace doorbell

BENCHMARK_MAIN();
