// The time of a grid on one core, from the first group to the last: a tiled product of two 256 x
// 256 matrices of f32 on gfx1100, plain, with a seed, with undefined values tracked, with waits for
// loads judged, and with races in LDS, in memory, or between grids. By Google Benchmark; items are
// wave-instructions.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/util/check.h"
#include "bench/emulator/matmul_words.h"
#include "emulator/amd/compute/grid.h"
#include "emulator/amd/isa/handlers.h"
#include "emulator/core/races/queue_races.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr u64 kCode = 0x10000, kArguments = 0x20000, kFirst = 0x100000;
constexpr u32 kElements = 256 * 256, kBytes = kElements * 4;

struct Machine {
  Machine() : code(4096), arguments(4096) {
    std::memcpy(code.data(), bench::kMatmulWords, sizeof bench::kMatmulWords);
    map(kCode, code.data(), code.size(), false, true);
    for (u32 i = 0; i < 3; ++i) {
      const u64 va = kFirst + u64{i} * 2 * kBytes;
      matrices[i].assign(kElements, 1.0f);
      map(va, reinterpret_cast<u8*>(matrices[i].data()), kBytes, true, false);
      std::memcpy(&arguments[i * 8], &va, 8);
    }
    map(kArguments, arguments.data(), arguments.size(), false, false);
  }
  void map(u64 va, u8* host, u64 bytes, bool writable, bool executable) {
    auto mapped = space.map(va, bytes, host, writable, executable, {}, 0);
    CHECK(mapped, "{}", mapped.error().message);
  }
  AddressSpace space;
  std::vector<u8> code, arguments;
  std::vector<f32> matrices[3];
};

void matmul(benchmark::State& state) {
  Machine machine;
  const Chip& chip = *find_chip("gfx1100");
  auto cache = CodeCache::create(chip, handler_set());
  if (!cache) {
    state.SkipWithError(cache.error().message.c_str());
    return;
  }
  DirectMemory memory(machine.space);
  Dispatch dispatch{.code = kCode,
                    .rsrc1 = bench::kMatmulRsrc1,
                    .rsrc2 = bench::kMatmulRsrc2,
                    .rsrc3 = bench::kMatmulRsrc3,
                    .wave32 = true,
                    .user_sgprs = {static_cast<u32>(kArguments), 0},
                    .groups = {8, 8, 1},
                    .group_size = {64, 1, 1},
                    .lds_bytes = bench::kMatmulLdsBytes};
  UndefinedMemory undefined;
  UndefinedTracking tracking{&undefined, &machine.space,
                             [](Use, const std::string&) { return true; }};
  GridOptions options{.seed = static_cast<u64>(state.range(0)),
                      .undefined = state.range(1) != 0 ? &tracking : nullptr};
  if (state.range(2) != 0) options.missing_wait = [](const std::string&) { return true; };
  if (state.range(3) == 1) options.race = [](const std::string&) { return true; };
  AgentRaces agents;
  QueueRaces queue(agents);
  options.space = &machine.space;
  options.agent_race = [](const std::string&) { return true; };
  u64 executed = 0;
  for (auto _ : state) {
    std::fill(machine.matrices[0].begin(), machine.matrices[0].end(), 0.0f);
    if (state.range(3) == 2) {
      options.races = std::make_shared<GlobalRaces>(race_rules(chip), waves_per_group(dispatch));
      options.memory_race = [](const std::string&) { return true; };
    }
    if (state.range(3) == 3) dispatch.task = queue.launch("the product", 1);
    Grid grid(chip, **cache, memory, dispatch, options);
    const GridStop stop = grid.run();
    if (stop.kind != GridStop::Kind::Done) state.SkipWithError(stop.what.c_str());
    executed += grid.instructions();
    if (!dispatch.task) continue;
    dispatch.task->end_part();
    queue.join_grids();
  }
  if (machine.matrices[0][kElements - 1] != 256.0f) state.SkipWithError("a wrong product");
  state.SetItemsProcessed(static_cast<i64>(executed));
}

BENCHMARK(matmul)
    ->ArgNames({"seed", "undefined", "waits", "races"})
    ->Args({0, 0, 0, 0})
    ->Args({1, 0, 0, 0})
    ->Args({0, 1, 0, 0})
    ->Args({0, 0, 1, 0})
    ->Args({0, 0, 0, 1})
    ->Args({0, 0, 0, 2})
    ->Args({0, 0, 0, 3})
    ->Args({0, 0, 1, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doorbell::emu::amdgpu

BENCHMARK_MAIN();
