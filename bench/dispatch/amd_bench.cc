// The host's cost of submitting kernels to an AMD queue without a GPU behind the doorbell: single
// launches, and graphs of a thousand kernels in which each run changes three addresses of every
// kernel.
#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>

#include "bench/support/kfd_sink.h"
#include "hcq/graph/graph.h"

namespace doorbell {
namespace {

core::Binary kernel() {
  std::ifstream file(DOORBELL_SOURCE_ROOT
                     "/tests/fuzz/corpus/amd_code_object/gfx1100_three_buffers",
                     std::ios::binary);
  core::Binary binary;
  binary.name = "r_r129_a6025479";
  binary.image.assign(std::istreambuf_iterator<char>(file), {});
  binary.param_count = 3;
  binary.grid_groups[0] = 64;
  binary.group_items[0] = 64;  // what it is compiled for
  return binary;
}

void launch(benchmark::State& state) {
  bench::KfdSink sink;
  amd::AmdDevice& device = sink.open();
  const std::unique_ptr<core::Program> program = *device.load(kernel());
  core::Ref<core::Buffer> buffer = *core::Buffer::allocate(device, 4096);
  const core::BufferView views[] = {{buffer.get(), 0}, {buffer.get(), 64}, {buffer.get(), 128}};
  sink.finish();
  for (auto _ : state)
    if (!program->launch(views, {})) state.SkipWithError("a launch failed");
}
BENCHMARK(launch);

void replay(benchmark::State& state) {
  bench::KfdSink sink;
  amd::AmdDevice& device = sink.open();
  const std::unique_ptr<core::Program> program = *device.load(kernel());
  const i64 kernels = state.range(0);
  hcq::Graph graph;
  for (i64 i = 0; i < kernels; ++i) {
    hcq::Graph::Exec exec;
    exec.program = program.get();
    exec.name = "kernel";
    for (int k = 0; k < 3; ++k)
      exec.buffers.push_back({graph.memory(graph.storage(), 0, 64, graph.slot()),
                              k == 0 ? hcq::Access::Write : hcq::Access::Read});
    graph.exec(device.compute_queue(), std::move(exec));
  }
  if (!graph.bind()) state.SkipWithError("the graph cannot be bound");
  std::vector<u64> values(static_cast<usize>(kernels) * 3);
  u64 change = 0;
  for (auto _ : state) {
    // Each address differs from that of the run before last, which the same words had.
    change += 64;
    for (usize i = 0; i < values.size(); ++i) values[i] = change + i * 4096;
    if (!graph.replay(values)) state.SkipWithError("a replay failed");
    sink.finish();
  }
  state.SetItemsProcessed(state.iterations() * kernels);
}
BENCHMARK(replay)->Arg(10)->Arg(1000);

}  // namespace
}  // namespace doorbell

BENCHMARK_MAIN();
