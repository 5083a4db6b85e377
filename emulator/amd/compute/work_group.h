// WorkGroup: the waves of one group on one compute unit, their LDS and their barriers. See
// wave_start.h for a wave's first registers, emulator/amd/isa for instructions, grid.h for the
// order of groups.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/util/types.h"
#include "emulator/amd/compute/dispatch.h"
#include "emulator/amd/compute/wave_start.h"
#include "emulator/amd/compute/wave_sync.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/races/lds_races.h"
#include "emulator/amd/isa/shadow/twin.h"
#include "emulator/amd/isa/wave.h"
#include "emulator/core/races/global_races.h"

namespace doorbell::emu::amdgpu {

// The position of a group in its grid.
struct GroupPlace {
  u64 number = 0;             // x fastest
  std::array<u32, 3> id{};    // as the kernel reads it
  std::array<u32, 3> size{};  // work items in each dimension
  u32 compute_unit = 0;
  u32 scratch_slot = 0;  // of its first wave; the others follow
};

class WorkGroup {
 public:
  enum class State : u8 { Ready, AtBarrier, AtWaveSync, Ended };
  struct Member {
    std::unique_ptr<Wave> wave;
    std::unique_ptr<Twin> twin;           // null unless undefined values are tracked
    std::unique_ptr<PendingLoads> loads;  // null unless waits are judged, or races with copies
    State state = State::Ended;
    bool barrier_complete = false;  // split barrier: all have signalled, not yet waited for
    u64 barrier_pc = 0;             // of the barrier where it waits
    u64 slept_at = 0;               // the wave's clock at its last s_sleep; 0: none
    u64 told_at = ~u64{0};          // the wave's clock when a breakpoint last reported it
    bool polls = false;             // it was polling when last checked
    GlobalWaveSync::Wait sync_wait;
  };

  WorkGroup(const Chip& chip, u32 lanes) : chip_(&chip), lanes_(lanes) {}

  // Starts a group on this compute unit in place of the last one. `poison` is a seed from which
  // registers and LDS that the launch leaves undefined are filled; 0: they keep their contents.
  struct Judged {
    bool undefined = false;         // uses of undefined values: the waves have twins
    bool waits = false;             // uses of loads
    bool races = false;             // accesses of LDS that nothing orders
    GlobalRaces* global = nullptr;  // the same of memory; null: not judged; borrowed
  };
  void start(const Dispatch& dispatch, const Resources& resources, const GroupPlace& place,
             Memory& memory, u64 poison, Judged judged);

  const GroupPlace& place() const { return place_; }
  usize waves() const { return count_; }
  Member& member(usize i) { return members_[i]; }
  const Member& member(usize i) const { return members_[i]; }
  bool ended() const { return live_ == 0; }

  // Operations of the waves' instructions on the group.
  void wait_at_barrier(usize i, u64 pc);   // s_barrier
  bool signal_barrier(usize i);            // s_barrier_signal: whether it was the first
  void wait_for_barrier(usize i, u64 pc);  // s_barrier_wait
  u32 barrier_state() const;               // s_get_barrier_state
  void wait_for_sync(usize i, const GlobalWaveSync::Wait& wait);
  // Resumes waves whose waits for global wave sync are over.
  void wake(GlobalWaveSync& sync);
  // The wave performed an operation of global wave sync.
  void note_sync(usize i);
  void end(usize i);
  // Null unless races are judged.
  LdsRaces* races() { return races_.get(); }
  // If no live wave can continue, whatever other groups do: where they wait. Otherwise empty.
  std::string deadlock() const;

 private:
  void release();
  template <class... Wave>
  void tell(void (GroupOrder::*event)(Wave...), Wave... wave) {
    for (GroupOrder* order : orders_) (order->*event)(wave...);
  }
  void start_races();
  void poison(const Dispatch& dispatch, Memory& memory, u64 seed);

  const Chip* chip_;
  u32 lanes_;
  GroupPlace place_;
  std::vector<Member> members_;  // the first `count_` are this group's
  usize count_ = 0, live_ = 0, signalled_ = 0;
  bool split_ = false;  // the group uses the split barrier
  std::unique_ptr<u8[]> lds_;
  std::unique_ptr<u8[]> twin_lds_;
  u32 lds_capacity_ = 0, lds_bytes_ = 0;
  std::unique_ptr<LdsRaces> races_;
  std::vector<GroupOrder*> orders_;  // the detectors of races that judge this group
};

}  // namespace doorbell::emu::amdgpu
