// The host's cost of submitting kernels to a queue without a GPU behind the doorbell: single
// launches, and graphs of kernels in which each run changes three words of every kernel. For the
// sinks of support/: open() opens a device, finish() makes its work done.
#pragma once

#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "hcq/device.h"
#include "hcq/graph/graph.h"

namespace doorbell::bench {

// The image of a kernel in the corpus of the fuzzers.
inline std::vector<u8> read_image(const std::string& name) {
  std::ifstream file(DOORBELL_SOURCE_ROOT "/tests/fuzz/corpus/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The kernel takes its parameters and variables as operands of one size.
template <class Sink>
void measure_launch(benchmark::State& state, const core::Binary& binary) {
  Sink sink;
  hcq::Device& device = sink.open();
  const std::unique_ptr<core::Program> program = *device.load(binary);
  core::Ref<core::Buffer> buffer = *core::Buffer::allocate(device, 4096);
  std::vector<core::BufferView> views;
  for (i64 i = 0; i < binary.param_count; ++i) views.push_back({buffer.get(), i * 64});
  const std::vector<i64> variables(static_cast<usize>(binary.variable_count), 7);
  sink.finish();
  for (auto _ : state)
    if (!program->launch(views, variables)) state.SkipWithError("a launch failed");
}

template <class Sink>
void measure_replay(benchmark::State& state, const core::Binary& binary) {
  Sink sink;
  hcq::Device& device = sink.open();
  const std::unique_ptr<core::Program> program = *device.load(binary);
  const i64 kernels = state.range(0);
  const i64 patches = binary.param_count + binary.variable_count;
  hcq::Graph graph;
  for (i64 i = 0; i < kernels; ++i) {
    hcq::Graph::Exec exec;
    exec.program = program.get();
    exec.name = "kernel";
    for (i64 k = 0; k < binary.param_count; ++k)
      exec.buffers.push_back({graph.memory(graph.storage(), 0, 64, graph.slot()),
                              k == 0 ? hcq::Access::Write : hcq::Access::Read});
    for (i64 k = 0; k < binary.variable_count; ++k) exec.variables.push_back(graph.slot());
    graph.exec(device.compute_queue(), std::move(exec));
  }
  if (!graph.bind()) state.SkipWithError("the graph cannot be bound");
  std::vector<u64> values(static_cast<usize>(kernels * patches));
  u64 change = 0;
  for (auto _ : state) {
    // Each value differs from that of the run before last, which the same words had.
    change += 64;
    for (usize i = 0; i < values.size(); ++i) values[i] = change + i * 4096;
    if (!graph.replay(values)) state.SkipWithError("a replay failed");
    sink.finish();
  }
  state.SetItemsProcessed(state.iterations() * kernels);
}

}  // namespace doorbell::bench
