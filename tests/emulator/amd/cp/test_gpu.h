// One emulated GPU in lockstep over a few megabytes of test memory, with a launcher that only notes
// what it was given: packets are written by hand as words, whose meaning is the documents' that the
// tests cite. Shared by the tests of emulator/amd/cp.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "emulator/amd/cp/gpu.h"
#include "emulator/amd/cp/launcher.h"
#include "emulator/amd/cp/packet_hook.h"
#include "emulator/core/address_space.h"
#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

// Retires after `slices` runs, and then has `effect`. While `look` returns true, it polls or
// sleeps.
class FakeGrid final : public RunningGrid {
 public:
  FakeGrid(int slices, std::function<void()> effect, std::function<GridState()> look)
      : slices_(slices), effect_(std::move(effect)), look_(std::move(look)) {}
  GridState run(u64) override {
    if (GridState state = look_ ? look_() : GridState::Running; state != GridState::Running)
      return state;
    if (slices_-- > 1) return GridState::Running;
    if (effect_) effect_();
    return GridState::Done;
  }

 private:
  int slices_;
  std::function<void()> effect_;
  std::function<GridState()> look_;
};

class FakeLauncher final : public Launcher {
 public:
  std::unique_ptr<RunningGrid> launch(const Dispatch& dispatch, Caches*) override {
    const usize index = dispatches.size();
    int runs = index < slices_of.size() ? slices_of[index] : slices;
    dispatches.push_back(dispatch);
    std::function<GridState()> looks;
    if (look) looks = [this, index] { return look(index); };
    return std::make_unique<FakeGrid>(runs, effect, std::move(looks));
  }
  int slices = 1;
  std::vector<int> slices_of;  // of the first dispatches
  std::function<void()> effect;
  std::function<GridState(usize dispatch)> look;  // or null
  std::vector<Dispatch> dispatches;
};

class TestInterrupts final : public Interrupts {
 public:
  void signal(u32 context_id, unsigned valid_bits) override {
    events.push_back({context_id, valid_bits});
  }
  void memory_fault(const MemoryFault& fault) override { faults.push_back(fault); }
  void hw_exception(const HwException& exception) override { exceptions.push_back(exception); }

  struct Event {
    u32 context_id;
    unsigned valid_bits;
  };
  std::vector<Event> events;
  std::vector<MemoryFault> faults;
  std::vector<HwException> exceptions;
};

class TestGpu : public testing::Test {
 protected:
  // Places in the memory, all mapped uncached unless a test maps more.
  static constexpr u64 kBase = 0x7f00'0000'0000, kBytes = 1 << 20;
  static constexpr u64 kRing = kBase, kRingBytes = 0x1000;
  static constexpr u64 kReadPointer = kBase + 0x2000, kWritePointer = kBase + 0x2008;
  static constexpr u64 kEop = kBase + 0x3000, kIb = kBase + 0x4000, kData = kBase + 0x8000;
  static constexpr u64 kUnmapped = 0x6000'0000'0000;

  // `level` of all checks.
  void open(GpuOptions options, QueueKind kind, Level level = Level::Error) {
    checks_ = std::make_unique<Checks>(level);
    options.memory = &space_;
    options.interrupts = &interrupts_;
    options.checks = checks_.get();
    options.launcher = &launcher_;
    options.lockstep = true;
    gpu_ = std::make_unique<Gpu>(options);
    description_ = {.kind = kind,
                    .ring = kRing,
                    .ring_bytes = kRingBytes,
                    .read_pointer = kReadPointer,
                    .write_pointer = kWritePointer,
                    .eop = kEop,
                    .eop_bytes = 4096};
    queue_ = gpu_->add_queue(description_).value();
  }
  void open_pm4(hw::Generation generation = hw::Generation::Gfx11, Level level = Level::Error) {
    open({.generation = generation}, QueueKind::Pm4, level);
  }

  u8* host(u64 va) { return memory_.data() + (va - kBase); }
  template <class T>
  T peek(u64 va) {
    T value;
    std::memcpy(&value, host(va), sizeof value);
    return value;
  }
  template <class T>
  void poke(u64 va, T value) {
    std::memcpy(host(va), &value, sizeof value);
  }
  void put_words(u64 va, const std::vector<u32>& words) {
    std::memcpy(host(va), words.data(), words.size() * 4);
  }

  // Writes words into the ring, announces them as the driver must, and lets the GPU run.
  void submit(const std::vector<u32>& words) {
    for (u32 word : words) {
      poke(kRing + put_ % (kRingBytes / 4) * 4, word);
      ++put_;
    }
    poke<u64>(kWritePointer, put_);
    gpu_->ring(queue_, put_);
    gpu_->run_until_idle();
  }

  u64 count(const char* id) const {
    u64 count = 0;
    for (const Report& report : checks_->reports())
      count += std::string_view(report.check->id) == id;
    return count;
  }
  // What stopped the queue, or "".
  std::string stopped() const {
    return interrupts_.exceptions.empty() ? "" : interrupts_.exceptions.back().what;
  }

  std::vector<u8> memory_ = std::vector<u8>(kBytes);
  AddressSpace space_;
  TestInterrupts interrupts_;
  FakeLauncher launcher_;
  std::unique_ptr<Checks> checks_;
  std::unique_ptr<Gpu> gpu_;
  QueueDescription description_;
  QueueId queue_ = 0;
  u64 put_ = 0;

  TestGpu() {
    u32 buffer =
        space_.add_buffer({.va = kBase, .bytes = kBytes, .kind = "GTT", .allocated_at = 1});
    space_.map(kBase, kBytes, memory_.data(), true, true, {Place::Host, Caching::Uncached}, buffer)
        .value();
  }
};

inline u32 lo(u64 value) { return static_cast<u32>(value); }
inline u32 hi(u64 value) { return static_cast<u32>(value >> 32); }

}  // namespace doorbell::emu::amdgpu
