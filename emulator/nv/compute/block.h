// Block: the threads of one block of a grid, their shared and local memory, and its barriers. It
// runs its warps in turn; isa/ executes their instructions and calls back for memory and barriers.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "emulator/core/instruction_counter.h"
#include "emulator/nv/compute/access_judge.h"
#include "emulator/nv/compute/data_cache.h"
#include "emulator/nv/compute/launch.h"
#include "emulator/nv/compute/shared_notes.h"
#include "emulator/nv/isa/register_rules.h"
#include "emulator/nv/isa/warp.h"

namespace doorbell::emu::nvgpu {

// Generic addresses: a window of each space, in which an offset is its own; all other addresses are
// global. Unless a driver chooses them, beyond the 48 bits of an address space, so that no mapping
// lies there.
constexpr u64 kSharedWindow = u64{1} << 48, kLocalWindow = kSharedWindow + (u64{1} << 32);
constexpr u64 kWindowBytes = u64{1} << 32;
// Where generic addresses of parameters begin, if no driver places constant bank 0 in memory.
constexpr u64 kParameterWindow = kLocalWindow + kWindowBytes;
// Local addresses have 24 bits; a second part of a thread's local memory ends there.
// [clc7c0qmd.h SHADER_LOCAL_MEMORY_HIGH_SIZE; NVRTC's code takes the start of its stack, which
// grows down, from constants]
constexpr u64 kLocalEnd = u64{1} << 24;

// What all blocks of a launch share.
struct Grid {
  const CubinKernel& kernel;
  const Launch& launch;
  AddressSpace& memory;
  Checks& checks;
  u64 start = 0;                          // address of the first operation
  std::span<const Operation> operations;  // borrowed from the cubin, or changed_operations
  std::vector<Operation> changed_operations;
  std::vector<Row> constants;  // of the operations
  Banks banks;
  u32 barriers = 16;         // of a block
  u32 local_bytes = 0;       // of a thread, from local address 0
  u32 local_high_bytes = 0;  // of a thread, up to kLocalEnd
  u64 shared_window = kSharedWindow, local_window = kLocalWindow;
  std::span<const RegisterUses> uses;  // of the operations; empty: registers are not judged
  DataCaches* data_caches = nullptr;   // null: memory is always read
  // What it is among others that run (core/races), and what judges its accesses of global memory;
  // borrowed; null: they are not judged.
  RaceTask* task = nullptr;
  AccessJudge* judge = nullptr;

  // `program` lives longer; the banks are complete.
  void set_program(const Program& program);
  // Operations that use more registers of a thread stop their warp; of the program that was set.
  void limit_registers(std::span<const RegisterUses> uses, u32 count);
};

// All blocks, one after the other, until one stops; `instructions` counts them unless it is null.
std::optional<Fault> run_blocks(Grid& grid, u64* instructions);

class Block {
 public:
  static constexpr u32 kBarriers = 16;

  // `counter` is borrowed; null: nothing is counted. `number`: of the block in its grid.
  Block(const Grid& grid, std::array<u32, 3> index, InstructionCounter* counter = nullptr,
        u64 number = 0);

  // True when all threads ended; false: fault() is set.
  bool run();
  const Fault& fault() const { return fault_; }
  u64 instructions() const;

  // Whether each lane's access is counted.
  bool counts() const { return counter_ != nullptr; }

  const Grid& grid() const { return grid_; }
  const std::array<u32, 3>& index() const { return index_; }

  // Where an access of `lane` is; null after stop(): the rule was broken.
  u8* global(Warp& warp, u32 lane, u64 address, u32 bytes, bool write, bool atomic = false);
  u8* shared(Warp& warp, u32 lane, u64 address, u32 bytes, bool write, bool atomic = false) {
    const bool inside = address % bytes == 0 && address + bytes <= shared_.size();
    if (inside && counter_ == nullptr &&
        (!judges_shared_ || (!write && !atomic && is_copied(address, bytes) &&
                             notes_.note_read(address, bytes, static_cast<u16>(warp.index)))))
        [[likely]]
      return shared_.data() + address;
    return judged_shared(warp, lane, address, bytes, write, atomic);
  }
  u8* local(Warp& warp, u32 lane, u64 address, u32 bytes);
  // A store, or an atomic operation, is about to write these bytes where `to` points.
  void hand_over(const u8* to, const void* from, u32 bytes, bool atomic) {
    if (grid_.judge != nullptr) [[unlikely]]
      grid_.judge->hand_over(to, from, bytes, atomic);
  }
  // Where LDGSTS writes: nobody may access it until the warp waited for the group.
  u8* copy_target(Warp& warp, u32 lane, u64 address, u32 bytes);
  // The warp waited for its first `groups` groups of copies.
  void finish_copies(Warp& warp, u32 groups);

  // The next read of the bytes, or of any, sees memory.
  void drop_cached(u64 address) {
    if (cache_ != nullptr) cache_->drop(address);
  }
  void drop_all_cached() {
    if (cache_ != nullptr) cache_->drop_all();
  }

  // What threads accessed before is ordered with what they access from now on.
  void order_accesses();

  // The lanes arrive at a barrier and wait, unless they only `arrive`. `threads`: how many it waits
  // for, zero: all that have not ended.
  enum class Reduce : u8 { None, Count, And, Or };
  struct Arrival {
    u32 barrier = 0, threads = 0;
    bool waits = true;
    Reduce reduce = Reduce::None;
    u32 values = 0;  // a bit a lane
  };
  void arrive(Warp& warp, u32 lanes, const Arrival& arrival);
  // The number of a thread in its block.
  u32 thread_of(const Warp& warp, u32 lane) const { return warp.index * kLanes + lane; }

 private:
  struct BarrierState {
    u32 arrived = 0, threads = 0, count = 0;
    Reduce reduce = Reduce::None;
  };
  // A copy that its warp has not waited for.
  struct Copy {
    u32 warp = 0, group = 0;
    u64 address = 0;
    u32 bytes = 0;
  };
  void run_warp(Warp& warp);
  Flow run_operations(Warp& warp, const Operation*& op);
  Flow run_watched(Warp& warp, const Operation*& op);
  bool tell_races(Warp& warp);
  bool choose_lanes(Warp& warp, u32 except = 0);
  void end_turn(Warp& warp);
  void release_yielded(Warp& warp);
  bool release_missed_sync(Warp& warp);
  static bool meets(const Warp& warp, u32 lane, u32 other);
  void release_lanes(Warp& warp);
  void release_barriers();
  bool release_barrier(u32 number);
  u32 threads_alive() const;
  u8* judged_shared(Warp& warp, u32 lane, u64 address, u32 bytes, bool write, bool atomic);
  void note_shared(Warp& warp, u32 lane, u64 address, u32 bytes, bool write, bool atomic);
  bool check_copies(Warp& warp, u32 lane, u64 address, u32 bytes);
  // Whether no copy to these bytes is pending.
  bool is_copied(u64 address, u32 bytes) const {
    if (copies_.empty()) return true;
    u32 copiers = 0;
    for (u32 i = 0; i < bytes; ++i) copiers |= copiers_[address + i];
    return copiers == 0;
  }
  void set_fault(const Warp& warp);
  void set_deadlock(const Warp& warp, const Check& rule, std::string message);

  const Grid& grid_;
  std::array<u32, 3> index_;
  const u64 number_;
  GroupOrder* order_ = nullptr;  // null: races of warps are not judged
  std::vector<std::unique_ptr<Warp>> warps_;
  std::vector<RegisterRules> rules_;  // of each warp, if registers are judged
  std::vector<u8> shared_, local_;
  // Of shared memory, where it is judged.
  bool judges_shared_ = false;
  SharedNotes notes_;
  std::vector<u16> copiers_;  // of each byte: the warp whose copy is pending, from 1
  std::vector<Copy> copies_;
  std::array<BarrierState, kBarriers> barriers_;
  InstructionCounter* const counter_;
  const Range* last_range_ = nullptr;
  u64 generation_ = 0;
  DataCache* cache_ = nullptr;
  Fault fault_;
};

}  // namespace doorbell::emu::nvgpu
