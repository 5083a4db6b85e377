// How fast the interpreter of NVIDIA's machine code runs one warp's loop of FFMA, and the inner
// loop of a product by matrix instructions, on one core, with no rules (0), with the registers
// judged (1), and with all rules at error, those of shared memory too (2); and a loop of loads and
// stores of a grid, with races in memory judged and without. By Google Benchmark; items are
// warp-instructions.
#include <benchmark/benchmark.h>

#include <cstring>
#include <span>

#include "base/util/check.h"
#include "emulator/core/races/queue_races.h"
#include "emulator/nv/compute/block.h"
#include "emulator/nv/compute/rules.h"

namespace doorbell::emu::nvgpu {
namespace {

constexpr u64 kRounds = 1000, kProducts = 64;

// IADD3 Rn, RZ, 0x0, RZ of the registers that loops read before they write them.
constexpr u32 kWritten = 64;

// S2R R0, SR_TID.X; IMAD.SHL.U32 R2, R0, 0x10, RZ; STS.128 [R2], R4; BAR.SYNC 0x0
std::vector<Words> shared_stores() {
  return {{0x0000000000007919, 0x000e280000002100},
          {0x0000001000027824, 0x001fca00078e00ff},
          {0x0000000402007388, 0x000fe20000000c00},
          {0x0000000000007b1d, 0x000fec0000010000}};
}

// Words as nvdisasm prints them: these, what is executed once, the body; IADD3 R31, R31, 0x1, RZ;
// ISETP.NE.AND P0, PT, R31, kRounds, PT; @P0 BRA to the body; EXIT.
std::vector<u8> make_loop(std::vector<Words> words, std::span<const Words> once = {}) {
  const u64 length = words.size();
  words.insert(words.begin(), once.begin(), once.end());
  for (u64 n = 0; n < kWritten; ++n)
    words.insert(words.begin(), {0x00000000ff007810 | n << 16, 0x000fc80007ffe0ff});
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
// [R2]; 8 times HMMA.16816.F32 R32 + 4 n, R4 or R8, R12 to R18, and the same, of which the first
// waits for the loads' scoreboard.
std::vector<Words> matrix_products() {
  std::vector<Words> words;
  for (const u64 to : {4, 8, 12, 16})
    words.push_back(
        {0x000000000200783b | to << 16, u64{to < 12 ? 0x000e220000000200u : 0x000e220000004200u}});
  for (u64 n = 0; n < 8; ++n) {
    const u64 sum = 32 + 4 * n, left = n < 4 ? 4 : 8, right = 12 + 2 * (n % 4);
    const u64 control = n == 0 ? 0x001ff60000001800 : 0x000ff60000001800;
    words.push_back({0x000000000000723c | sum << 16 | left << 24 | right << 32, control | sum});
  }
  return words;
}

void run_loop(benchmark::State& state, std::vector<Words> body) {
  CubinKernel kernel;
  kernel.name = "loop";
  kernel.entry = Cubin::kCodeStart;
  kernel.shared_bytes = 512;
  const Launch launch{.block = {32, 1, 1}};
  AddressSpace memory;
  Checks checks(state.range(0) == 2 ? Level::Error : Level::Off);
  const Program program =
      decode(make_loop(std::move(body), shared_stores()), Cubin::kCodeStart, 86);
  const std::vector<RegisterUses> uses = register_uses(program);
  Grid grid{.kernel = kernel, .launch = launch, .memory = memory, .checks = checks};
  grid.set_program(program);
  if (state.range(0) != 0) grid.uses = uses;
  u64 instructions = 0;
  for (auto _ : state) {
    Block block(grid, {0, 0, 0});
    CHECK(block.run(), "{}", to_string(block.fault()));
    instructions += block.instructions();
  }
  state.SetItemsProcessed(static_cast<i64>(instructions));
}
// S2R R0, SR_TID.X; IMAD.SHL.U32 R2, R0, 0x4, RZ; 4 times LDG.E R4, [R2.64+n]; FFMA R4, -R5, R5,
// R4; STG.E [R2.64+m], R4: the address's upper half, R3, is zero.
constexpr u64 kFrom = 0x10000, kTo = 0x20000;
std::vector<Words> loads_and_stores() {
  std::vector<Words> words{{0x0000000000007919, 0x000e280000002100},
                           {0x0000000400027824, 0x001fca00078e00ff}};
  for (u64 i = 0; i < 4; ++i) {
    const u64 offset = i * 0x1000;
    words.push_back({0x0000000402047981 | (kFrom + offset) << 40, 0x000ea8000c1e1900});
    words.push_back({0x0000000505047223, 0x000fc80000000104});
    words.push_back({0x0000000402007986 | (kTo + offset) << 40, 0x000fe2000c101904});
  }
  return words;
}

// A block of two warps.
void memory_loop(benchmark::State& state) {
  CubinKernel kernel;
  kernel.name = "loop";
  kernel.entry = Cubin::kCodeStart;
  const Launch launch{.block = {64, 1, 1}};
  AddressSpace memory;
  std::vector<u8> bytes(kTo);
  CHECK(memory.map(kFrom, bytes.size(), bytes.data(), true, false, {}, memory.add_buffer({})), "");
  Checks checks(Level::Off);
  const Check* const rules[] = {&kGlobalRace};
  CHECK(checks.configure(state.range(0) == 1 ? "off,NV-RACE-002=error" : "off", rules), "");
  const Program program = decode(make_loop(loads_and_stores()), Cubin::kCodeStart, 86);
  Grid grid{.kernel = kernel, .launch = launch, .memory = memory, .checks = checks};
  grid.set_program(program);
  AgentRaces agents;
  QueueRaces queue(agents);
  u64 instructions = 0;
  for (auto _ : state) {
    std::shared_ptr<RaceTask> task;
    if (state.range(0) == 2) task = queue.launch("the loop", 1);
    grid.task = task.get();
    const auto fault = run_blocks(grid, &instructions);
    CHECK(!fault, "{}", to_string(*fault));
    if (task) task->end_part();
    queue.join_grids();
  }
  state.SetItemsProcessed(static_cast<i64>(instructions));
}
BENCHMARK(memory_loop)->Arg(0)->Arg(1)->Arg(2)->ArgName("races")->Unit(benchmark::kMillisecond);

void ffma_loop(benchmark::State& state) { run_loop(state, products()); }
void hmma_loop(benchmark::State& state) { run_loop(state, matrix_products()); }
BENCHMARK(ffma_loop)->DenseRange(0, 2)->ArgName("judged")->Unit(benchmark::kMillisecond);
BENCHMARK(hmma_loop)->DenseRange(0, 2)->ArgName("judged")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doorbell::emu::nvgpu

BENCHMARK_MAIN();
