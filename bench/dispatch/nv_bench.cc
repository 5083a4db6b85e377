// The host's cost of submitting kernels to an NVIDIA queue: two addresses and a variable a kernel.
#include "bench/dispatch/sink_launches.h"
#include "bench/support/nvk_sink.h"

namespace doorbell::bench {
namespace {

core::Binary kernel() {
  core::Binary binary;
  binary.name = "scale";
  binary.image = read_image("nv_cubin/tinygrad_sm_86");
  binary.param_count = 2;
  binary.variable_count = 1;
  binary.grid_groups[0] = 64;
  binary.group_items[0] = 64;
  return binary;
}

void launch(benchmark::State& state) { measure_launch<NvkSink>(state, kernel()); }
BENCHMARK(launch);

void replay(benchmark::State& state) { measure_replay<NvkSink>(state, kernel()); }
BENCHMARK(replay)->Arg(10)->Arg(1000);

}  // namespace
}  // namespace doorbell::bench

BENCHMARK_MAIN();
