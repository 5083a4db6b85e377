// How fast the interpreter of NVIDIA's machine code runs one warp's loop of FFMA on one core, with
// the registers judged and without. By Google Benchmark; items are warp-instructions.
#include <benchmark/benchmark.h>

#include <cstring>

#include "base/util/check.h"
#include "emulator/nv/compute/block.h"

namespace doorbell::emu::nvgpu {
namespace {

constexpr u64 kRounds = 1000, kProducts = 64;

// Words as nvdisasm prints them: FFMA R0, -R5, R5, R0; IADD3 R31, R31, 0x1, RZ;
// ISETP.NE.AND P0, PT, R31, kRounds, PT; @P0 BRA to the first; EXIT.
std::vector<u8> make_code() {
  std::vector<Words> words(kProducts, Words{0x0000000505007223, 0x000fc80000000100});
  words.push_back({0x000000011f1f7810, 0x000fc80007ffe0ff});
  words.push_back({kRounds << 32 | 0x1f00780c, 0x000fe40003f05270});
  const u64 back = ~u64{0} - (kProducts + 3) * 16 + 1;  // from behind the branch
  words.push_back({back << 32 | 0x00000947, 0x000fea000383ffff});
  words.push_back({0x000000000000794d, 0x000fea0003800000});
  std::vector<u8> code(words.size() * sizeof(Words));
  std::memcpy(code.data(), words.data(), code.size());
  return code;
}

void ffma_loop(benchmark::State& state) {
  const bool judged = state.range(0) != 0;
  CubinKernel kernel;
  kernel.name = "ffma";
  kernel.entry = Cubin::kCodeStart;
  const Launch launch{.block = {32, 1, 1}};
  AddressSpace memory;
  Checks checks(Level::Off);
  const Program program = decode(make_code(), Cubin::kCodeStart);
  const std::vector<RegisterUses> uses = register_uses(program);
  Grid grid{.kernel = kernel, .launch = launch, .memory = memory, .checks = checks};
  grid.set_program(program);
  if (judged) grid.uses = uses;
  u64 instructions = 0;
  for (auto _ : state) {
    Block block(grid, {0, 0, 0});
    CHECK(block.run(), "{}", to_string(block.fault()));
    instructions += block.instructions();
  }
  state.SetItemsProcessed(static_cast<i64>(instructions));
}
BENCHMARK(ffma_loop)->Arg(0)->Arg(1)->ArgName("judged")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doorbell::emu::nvgpu

BENCHMARK_MAIN();
