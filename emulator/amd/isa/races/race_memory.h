// RaceMemory: a Memory between the handlers and the real one, which tells GlobalRaces of each
// access, and GridAccesses, for races with other grids, queues and copy engines. A wave's scratch
// is its own, and not told of. Not direct: handlers ask for each lane's bytes.
#pragma once

#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/races/global_races.h"
#include "emulator/amd/isa/wave.h"
#include "emulator/amd/races/grid_accesses.h"

namespace doorbell::emu::amdgpu {

class RaceMemory final : public Memory {
 public:
  // All are borrowed; null: those are not judged.
  RaceMemory(Memory& memory, GlobalRaces* races, GridAccesses* accesses)
      : memory_(memory), races_(races), accesses_(accesses) {}

  // Whose accesses follow; and of which operation.
  void begin(u64 group, const Wave& wave) {
    wave_ = &wave;
    if (races_ != nullptr) races_->begin(group, wave.wave_in_group);
  }
  void begin(const Operation& op) {
    private_ = is_scratch(op);
    if (races_ != nullptr) races_->begin(op);
    if (accesses_ != nullptr) accesses_->begin(op);
  }

  bool load(u64 va, u32 bytes, void* out, CachePolicy policy) override;
  bool store(u64 va, u32 bytes, const void* in, CachePolicy policy) override;
  bool atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare, u64& before,
              CachePolicy policy) override;
  bool scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) override;
  bool fetch(u64 va, u32 bytes, void* out) override;
  void cache(CacheOperation operation, CachePolicy policy) override {
    memory_.cache(operation, policy);
  }
  void select(u32 compute_unit) override { memory_.select(compute_unit); }

 private:
  bool is_scratch(const Operation& op) const;
  bool is_shared(u64 va) const;
  void tell_load(u64 va, u32 bytes, CachePolicy policy);
  bool failed() {
    fault_ = memory_.fault();
    return false;
  }

  Memory& memory_;
  GlobalRaces* const races_;
  GridAccesses* const accesses_;
  const Wave* wave_ = nullptr;
  bool private_ = false;
};

}  // namespace doorbell::emu::amdgpu
