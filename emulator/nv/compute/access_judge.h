// AccessJudge: tells the detectors of races (emulator/core/races) what the warps of a grid access
// in global memory: GlobalRaces, which judges them against each other, and GridAccesses, which
// judges the grid against what else runs. block.h calls it. Shared memory has rules of its own
// (shared_notes.h).
//
// Bits 77 to 80 say how strong an access is and how far it goes, and MEMBAR has its scope in bits
// 76 to 78. [Mesa's NAK, sm70_encode.rs set_mem_order(), OpMemBar] What a warp hands over by an
// atomic operation or a strong store is what it accessed before its last MEMBAR of the GPU's scope
// or wider. [PTX ISA, "Memory Consistency Model", "Release and Acquire Patterns"]
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "emulator/core/address_space.h"
#include "emulator/core/races/global_races.h"
#include "emulator/core/races/grid_accesses.h"
#include "emulator/nv/isa/operation.h"

namespace doorbell::emu::nvgpu {

// Of one grid. Thread safety: one thread at a time.
class AccessJudge {
 public:
  // `warps` judges the warps against each other; `task`, which is borrowed, the grid against what
  // else runs; null: not. Instructions are reported by their distance from `entry`.
  AccessJudge(const AddressSpace& space, u64 entry, std::unique_ptr<GlobalRaces> warps,
              RaceTask* task);
  static std::unique_ptr<GlobalRaces> between_warps(u32 warps_of_block);

  // What the block tells of its warps' order; null: nobody asks.
  GroupOrder* start(u64 block, const std::array<u32, 3>& index);
  // What the warp executes next, at this address.
  void begin(u64 block, u32 warp, const Operation& op, u64 pc);
  // It accesses these bytes.
  void access(u64 address, const u8* host, u32 bytes, bool write, bool atomic);
  // An atomic operation, or a store, is about to write these.
  void hand_over(const u8* host, const void* bytes, u32 count, bool atomic);

  // What was found since the last call: between warps, and with others.
  bool has_found() const { return !found_.empty() || !found_with_others_.empty(); }
  std::vector<Race> take() { return std::exchange(found_, {}); }
  std::vector<Race> take_with_others() { return std::exchange(found_with_others_, {}); }

 private:
  const u64 entry_;
  const std::unique_ptr<GlobalRaces> warps_;
  std::optional<GridAccesses> others_;
  // Of the operation.
  const Operation* op_ = nullptr;
  bool strong_ = false, wide_ = false;
  std::vector<Race> found_, found_with_others_;
};

}  // namespace doorbell::emu::nvgpu
