// How fast the interpreter of NVIDIA's machine code runs one warp's loop of FFMA, and the inner
// loop of a product by matrix instructions, on one core, with the registers judged and without. By
// Google Benchmark; items are warp-instructions.
#include <benchmark/benchmark.h>

#include <cstring>

#include "base/util/check.h"
#include "emulator/nv/compute/block.h"

namespace doorbell::emu::nvgpu {
namespace {

constexpr u64 kRounds = 1000, kProducts = 64;

// Words as nvdisasm prints them: the body; IADD3 R31, R31, 0x1, RZ; ISETP.NE.AND P0, PT, R31,
// kRounds, PT; @P0 BRA to the first; EXIT.
std::vector<u8> make_loop(std::vector<Words> words) {
  const u64 length = words.size();
  words.push_back({0x000000011f1f7810, 0x000fc80007ffe0ff});
  words.push_back({kRounds << 32 | 0x1f00780c, 0x000fe40003f05270});
  const u64 back = ~u64{0} - (length + 3) * 16 + 1;  // from behind the branch
  words.push_back({back << 32 | 0x00000947, 0x000fea000383ffff});
  words.push_back({0x000000000000794d, 0x000fea0003800000});
  std::vector<u8> code(words.size() * sizeof(Words));
  std::memcpy(code.data(), words.data(), code.size());
  return code;
}

// FFMA R0, -R5, R5, R0
std::vector<Words> products() {
  return std::vector<Words>(kProducts, Words{0x0000000505007223, 0x000fc80000000100});
}

// A warp's 32 x 32 of a tile, 16 deep: LDSM.16.M88.4 R4 and R8, LDSM.16.MT88.4 R12 and R16, of
// [RZ]; 8 times HMMA.16816.F32 R32 + 4 n, R4 or R8, R12 to R18, and the same.
std::vector<Words> matrix_products() {
  std::vector<Words> words;
  for (const u64 to : {4, 8, 12, 16})
    words.push_back(
        {0x00000000ff00783b | to << 16, u64{to < 12 ? 0x000fe20000000200u : 0x000fe20000004200u}});
  for (u64 n = 0; n < 8; ++n) {
    const u64 sum = 32 + 4 * n, left = n < 4 ? 4 : 8, right = 12 + 2 * (n % 4);
    words.push_back(
        {0x000000000000723c | sum << 16 | left << 24 | right << 32, 0x000ff60000001800 | sum});
  }
  return words;
}

void run_loop(benchmark::State& state, std::vector<Words> body) {
  const bool judged = state.range(0) != 0;
  CubinKernel kernel;
  kernel.name = "loop";
  kernel.entry = Cubin::kCodeStart;
  kernel.shared_bytes = 512;
  const Launch launch{.block = {32, 1, 1}};
  AddressSpace memory;
  Checks checks(Level::Off);
  const Program program = decode(make_loop(std::move(body)), Cubin::kCodeStart, 86);
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
void ffma_loop(benchmark::State& state) { run_loop(state, products()); }
void hmma_loop(benchmark::State& state) { run_loop(state, matrix_products()); }
BENCHMARK(ffma_loop)->Arg(0)->Arg(1)->ArgName("judged")->Unit(benchmark::kMillisecond);
BENCHMARK(hmma_loop)->Arg(0)->Arg(1)->ArgName("judged")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doorbell::emu::nvgpu

BENCHMARK_MAIN();
