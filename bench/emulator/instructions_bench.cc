// The rate at which the emulator executes wave-instructions on one core: loops of vector
// instructions of gfx1100, on one wave of 32 or 64 lanes. Assembled with llvm-mc. By Google
// Benchmark; items are wave-instructions.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "emulator/amd/isa/handlers.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/run.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr u64 kCode = 0x10000;

// s_movk_i32 s5, 1000; sixteen of v_fma_f32 on five and more registers; the loop's end.
const std::vector<u32> kFma = {
    0xB00503E8, 0xD6130000, 0x04020501, 0xD6130003, 0x040E0901, 0xD6130005, 0x04160D01, 0xD6130007,
    0x041E1101, 0xD6130009, 0x04261501, 0xD613000B, 0x042E1901, 0xD613000D, 0x04361D01, 0xD613000F,
    0x043E2101, 0xD6130000, 0x04020501, 0xD6130003, 0x040E0901, 0xD6130005, 0x04160D01, 0xD6130007,
    0x041E1101, 0xD6130009, 0x04261501, 0xD613000B, 0x042E1901, 0xD613000D, 0x04361D01, 0xD613000F,
    0x043E2101, 0x81858105, 0xBF078005, 0xBFA2FFDD, 0xBFB00000};

// s_movk_i32 s5, 1000; fma, add, mul by 0.5, fmac, max, integer add, shift, and with a literal,
// mul_lo, cvt, cmp, cndmask, a dual mov and mul; the loop's end.
const std::vector<u32> kMixed = {
    0xB00503E8, 0xD6130000, 0x04020501, 0xD6130003, 0x040E0901, 0x060A0700, 0x100C0AF0, 0x560E0306,
    0x20100107, 0x4A121281, 0x30141282, 0x361614FF, 0x000000FF, 0xD72C000C, 0x0002130B, 0x7E1A0D0C,
    0x7C220D0D, 0x021C0D0D, 0xCA06010E, 0x0F100501, 0x81858105, 0xBF078005, 0xBFA2FFEA, 0xBFB00000};

void run_loop(benchmark::State& state, const std::vector<u32>& words, u64 inactive) {
  const u32 lanes = static_cast<u32>(state.range(0));
  std::vector<u8> code(4096);
  std::memcpy(code.data(), words.data(), words.size() * 4);
  AddressSpace space;
  auto mapped = space.map(kCode, code.size(), code.data(), false, true, {}, 0);
  auto cache = CodeCache::create(*find_chip("gfx1100"), handler_set());
  if (!mapped || !cache) {
    state.SkipWithError(cache ? "no memory" : cache.error().message.c_str());
    return;
  }
  DirectMemory memory(space);
  Wave wave(*find_chip("gfx1100"), lanes);
  for (u32 i = 0; i < 32 * lanes; ++i) wave.v[i] = 0x3f000000 + i;
  u64 executed = 0;
  for (auto _ : state) {
    wave.pc = kCode;
    wave.set_mask(kExecLo, wave.all_lanes() & ~inactive);
    const u64 before = wave.clock;
    const Exit exit = run(wave, memory, **cache, u64{1} << 40);
    if (exit.kind != Exit::Kind::EndProgram) state.SkipWithError(exit.name.c_str());
    executed += wave.clock - before;
  }
  state.SetItemsProcessed(static_cast<i64>(executed));
}

void fma(benchmark::State& state) { run_loop(state, kFma, 0); }
void mixed(benchmark::State& state) { run_loop(state, kMixed, 0); }
void mixed_partial(benchmark::State& state) { run_loop(state, kMixed, 1); }

BENCHMARK(fma)->Arg(32)->Arg(64);
BENCHMARK(mixed)->Arg(32);  // waves of 64 have no dual instructions
BENCHMARK(mixed_partial)->Arg(32);

}  // namespace
}  // namespace doorbell::emu::amdgpu

BENCHMARK_MAIN();
