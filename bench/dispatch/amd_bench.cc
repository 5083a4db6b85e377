// The host's cost of submitting kernels to an AMD queue: three addresses a kernel.
#include "bench/dispatch/sink_launches.h"
#include "bench/support/kfd_sink.h"
#include "bench/support/pci_sink.h"

namespace doorbell::bench {
namespace {

core::Binary kernel() {
  core::Binary binary;
  binary.name = "r_r129_a6025479";
  binary.image = read_image("amd_code_object/gfx1100_three_buffers");
  binary.param_count = 3;
  binary.grid_groups[0] = 64;
  binary.group_items[0] = 64;  // what it is compiled for
  return binary;
}

void launch(benchmark::State& state) { measure_launch<KfdSink>(state, kernel()); }
BENCHMARK(launch);

void launch_over_pci(benchmark::State& state) { measure_launch<PciSink>(state, kernel()); }
BENCHMARK(launch_over_pci);

void replay(benchmark::State& state) { measure_replay<KfdSink>(state, kernel()); }
BENCHMARK(replay)->Arg(10)->Arg(1000);

void replay_over_pci(benchmark::State& state) { measure_replay<PciSink>(state, kernel()); }
BENCHMARK(replay_over_pci)->Arg(10)->Arg(1000);

}  // namespace
}  // namespace doorbell::bench

BENCHMARK_MAIN();
