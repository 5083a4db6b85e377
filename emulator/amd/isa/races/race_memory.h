// RaceMemory: a memory that tells what waves access, between their handlers and the memory that
// performs it: GlobalRaces, which judges the waves of a dispatch against each other, and
// GridAccesses, which judges the grid against other grids, queues and copy engines. A wave's
// scratch is its own, and not told of.
//
// An atomic load is a plain one with the cache bits of its scope, and so is an atomic store on
// chips whose stores have such bits; on gfx10 and gfx11 an atomic store is a plain one. [LLVM
// AMDGPUUsage, "Memory Model": the code sequences of the scopes]
#pragma once

#include "emulator/amd/isa/memory/passing_memory.h"
#include "emulator/amd/isa/operation.h"
#include "emulator/amd/isa/wave.h"
#include "emulator/core/races/global_races.h"
#include "emulator/core/races/grid_accesses.h"

namespace doorbell::emu::amdgpu {

// What GlobalRaces asks about a chip.
GlobalRaces::Rules race_rules(const Chip& chip);

class RaceMemory final : public PassingMemory {
 public:
  // All are borrowed; null: those are not judged.
  RaceMemory(Memory& memory, const Chip& chip, const AddressSpace& space, GlobalRaces* races,
             GridAccesses* accesses)
      : PassingMemory(memory),
        generation_(chip.generation),
        host_(space),
        races_(races),
        accesses_(accesses) {}

  // Whose accesses follow; and of which operation.
  void begin(u64 group, const Wave& wave) {
    wave_ = &wave;
    if (races_ != nullptr) races_->begin(group, wave.wave_in_group);
  }
  void begin(const Operation& op) {
    op_ = &op;
    private_ = is_scratch(op);
    if (races_ != nullptr) races_->begin(op.pc, op.name);
    if (accesses_ != nullptr) accesses_->begin(op.pc, op.name);
  }

  bool load(u64 va, u32 bytes, void* out, CachePolicy policy) override;
  bool store(u64 va, u32 bytes, const void* in, CachePolicy policy) override;
  bool atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare, u64& before,
              CachePolicy policy) override;
  bool scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) override;

 private:
  bool is_scratch(const Operation& op) const;
  bool is_shared(u64 va) const;
  bool is_wide(CachePolicy policy) const;
  bool returns_before() const;
  void tell_load(u64 va, u32 bytes, CachePolicy policy);
  void tell_agents_of_store(u64 va, u32 bytes, const void* in, CachePolicy policy);
  void tell_agents_of_atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare);

  const Generation generation_;
  DirectMemory host_;  // where bytes lie
  GlobalRaces* const races_;
  GridAccesses* const accesses_;
  const Wave* wave_ = nullptr;
  const Operation* op_ = nullptr;
  bool private_ = false;
};

}  // namespace doorbell::emu::amdgpu
