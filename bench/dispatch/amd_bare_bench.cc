// What starting a GPU without its kernel driver costs the host on the emulator, and mapping memory
// of it. Pauses that hardware wants are left out: a reset's 0.5 s, 20 ms at a handshake.
#include <benchmark/benchmark.h>

#include <string>

#include "bench/support/pci_sink.h"
#include "tensor/engine/must.h"

namespace doorbell::bench {
namespace {

using engine::must;

constexpr const char* kChips[] = {"gfx1100", "gfx1201", "gfx942"};

// Time that somebody waits passes at once.
class UnpausedClock final : public os::Clock {
 public:
  u64 now_ns() override { return os::host_clock().now_ns() + skipped_ns_; }
  void sleep_until(u64 time_ns) override {
    const u64 now = now_ns();
    if (time_ns > now) skipped_ns_ += time_ns - now;
  }
  void relax(u32) override { skipped_ns_ += kTurn_ns; }

 private:
  static constexpr u64 kTurn_ns = 1'000'000;
  u64 skipped_ns_ = 0;
};

struct Card {
  explicit Card(const std::string& chip)
      : machine(make_bare_machine(chip)), files(machine->files(os::host_files())) {}

  // Whether it was left alive.
  bool start() {
    gpu =
        must(amd::PciGpu::open(*files, clock, must(os::list_pci(*files, kVendor)).at(0), nullptr));
    must(gpu->boot());
    return gpu->was_warm();
  }

  static constexpr u16 kVendor = 0x1002;
  const std::unique_ptr<emu::amdgpu::Machine> machine;
  const std::unique_ptr<os::Files> files;
  UnpausedClock clock;
  std::unique_ptr<amd::PciGpu> gpu;  // goes before the machine
};

void name_chip(benchmark::State& state) {
  state.SetLabel(kChips[static_cast<usize>(state.range(0))]);
}

void cold_start(benchmark::State& state) {
  name_chip(state);
  for (auto _ : state) {
    state.PauseTiming();
    auto card = std::make_unique<Card>(kChips[static_cast<usize>(state.range(0))]);
    state.ResumeTiming();
    if (card->start()) state.SkipWithError("a new card was alive");
    state.PauseTiming();
    card.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(cold_start)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

void warm_start(benchmark::State& state) {
  name_chip(state);
  Card card(kChips[static_cast<usize>(state.range(0))]);
  (void)card.start();
  for (auto _ : state) {
    card.gpu.reset();
    if (!card.start()) state.SkipWithError("a card that was left alive was not");
  }
}
BENCHMARK(warm_start)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

// 16 GiB in one piece that begins at a multiple of `range(1)`, so that no larger pages fit, until
// the GPU sees them.
void map_16_gib(benchmark::State& state) {
  constexpr u64 kBytes = u64{16} << 30;
  name_chip(state);
  Card card(kChips[static_cast<usize>(state.range(0))]);
  (void)card.start();
  const u64 alignment = static_cast<u64>(state.range(1));
  const amd::PciGpu::Part part{.address = (u64{1} << 30) + alignment, .bytes = kBytes};
  amd::hw::PageEntry entry;
  entry.readable = entry.writable = true;
  for (auto _ : state) {
    must(card.gpu->map(amd::kFirstGpuAddress, {&part, 1}, entry));
    state.PauseTiming();
    must(card.gpu->unmap(amd::kFirstGpuAddress, kBytes));
    state.ResumeTiming();
  }
}
BENCHMARK(map_16_gib)
    ->ArgsProduct({{0, 1, 2}, {64 << 10, 2 << 20, 1 << 30}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doorbell::bench
