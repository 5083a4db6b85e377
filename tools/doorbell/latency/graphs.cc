// Figures of whole chains of kernels, recorded once: as an hcq::Graph, and as users get it, by jit.
// Each kernel reads what the one before wrote.
#include <fmt/format.h>

#include <memory>

#include "base/util/check.h"
#include "hcq/graph/graph.h"
#include "tensor/api/tensor.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"
#include "tensor/jit/jit.h"
#include "tools/doorbell/latency/kernel.h"
#include "tools/doorbell/latency/measured.h"

namespace doorbell::tools::latency {
namespace {

using engine::must;

constexpr i64 kNodes[] = {1, 10, 100, 1000};
// Replays that are launched without waiting, each with words of its own.
constexpr int kInstances = 16;

std::unique_ptr<hcq::Graph> record(hcq::Device& device, const TestKernel& kernel, i64 nodes) {
  hcq::Graph::Options options;
  options.instances = kInstances;
  auto graph = std::make_unique<hcq::Graph>(options);
  u32 memories[2];
  for (usize i = 0; i < 2; ++i)
    memories[i] = graph->memory(graph->storage(), 0, static_cast<u64>(kernel.bytes()),
                                kernel.address(device, i));
  for (i64 node = 0; node < nodes; ++node) {
    hcq::Graph::Exec exec;
    exec.program = &kernel.program();
    exec.name = kernel.name();
    for (usize slot = 0; slot < 2; ++slot) {
      const bool is_output = kernel.outputs()[slot];
      // Alternates between the two buffers.
      const bool second = is_output == (node % 2 == 0);
      exec.buffers.push_back(
          {memories[second ? 1 : 0], is_output ? hcq::Access::Write : hcq::Access::Read});
    }
    graph->exec(device.compute_queue(), std::move(exec));
  }
  must(graph->bind());
  return graph;
}

Distribution replay(hcq::Device& device, Sampling sampling, i64 nodes, bool waits) {
  const TestKernel kernel(device);
  const std::unique_ptr<hcq::Graph> graph = record(device, kernel, nodes);
  if (waits) return sample([&] { must(must(graph->replay()).wait()); }, sampling);
  sampling.max_calls = kInstances;
  return sample([&] { must(graph->replay()); }, sampling, [&] { must(device.synchronize()); });
}

Distribution call_jitted(core::Device& device, Sampling sampling, i64 nodes, bool waits) {
  const TensorOptions on{.device = device.name()};
  const Tensor step = Tensor::full({1}, 1.0, on).contiguous().realize();
  auto chain = jit([step, nodes](const Tensor& x) {
    Tensor result = x;
    for (i64 i = 0; i < nodes; ++i) result = (result + step).realize();
    return result;
  });
  const Tensor input = Tensor::full({1}, 1.0, on).contiguous().realize();
  for (int call = 0; call < 2; ++call) chain(input);  // the second is captured
  CHECK_EQ(chain.launches(), static_cast<usize>(nodes));
  if (waits)
    return sample(
        [&] {
          chain(input);
          must(device.synchronize());
        },
        sampling);
  sampling.max_calls = kInstances;
  return sample([&] { chain(input); }, sampling, [&] { must(device.synchronize()); });
}

std::string kernels(i64 count) { return fmt::format("{} kernel{}", count, count == 1 ? "" : "s"); }

// Launching and running of each size, by `measure(nodes, waits)`.
template <class Measure>
std::vector<Series> each_size(const Request& request, const char* group, const char* what,
                              const Measure& measure) {
  std::vector<Series> all;
  for (const bool waits : {false, true}) {
    for (const i64 nodes : kNodes) {
      Series series;
      series.id = fmt::format("{}.{}.{}", group, waits ? "run" : "launch", nodes);
      series.group = group;
      series.what =
          fmt::format("{} of {}, {}", what, kernels(nodes), waits ? "until it is done" : "launch");
      series.nodes = nodes;
      all.push_back(measured(request, std::move(series), [&] { return measure(nodes, waits); }));
    }
  }
  return all;
}

}  // namespace

std::vector<Series> measure_graph(const Request& request) {
  return each_size(request, "graph", "graph", [&](i64 nodes, bool waits) {
    return replay(request.device, request.sampling, nodes, waits);
  });
}

std::vector<Series> measure_jit(const Request& request) {
  return each_size(request, "jit", "jit", [&](i64 nodes, bool waits) {
    return call_jitted(request.device, request.sampling, nodes, waits);
  });
}

}  // namespace doorbell::tools::latency
