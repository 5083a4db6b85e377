// WorkGroup: the waves of one group on one compute unit, their LDS and their barriers. See
// wave_start.h for a wave's first registers, emulator/amd/isa for instructions, grid.h for which
// group runs when.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/util/types.h"
#include "emulator/amd/compute/dispatch.h"
#include "emulator/amd/compute/wave_start.h"
#include "emulator/amd/compute/wave_sync.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/shadow/twin.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

// Where a group stands in its grid.
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
    std::unique_ptr<Twin> twin;  // null unless what is undefined is tracked
    State state = State::Ended;
    bool barrier_complete = false;  // split barriers: signalled by all, not yet waited for
    u64 barrier_pc = 0;             // of the barrier where it waits
    u64 slept_at = 0;               // the wave's clock at its last s_sleep; 0: none
    u64 told_at = ~u64{0};          // the wave's clock when it was last told of a breakpoint
    bool polls = false;             // when last seen it waited for what others write
    GlobalWaveSync::Wait sync_wait;
  };

  WorkGroup(const Chip& chip, u32 lanes) : chip_(&chip), lanes_(lanes) {}

  // Takes the place of what ran here before. `poison` is a seed: what the launch leaves undefined
  // is filled from it; 0: it keeps what it had. `twins`: the waves have twins.
  void start(const Dispatch& dispatch, const Resources& resources, const GroupPlace& place,
             Memory& memory, u64 poison, bool twins = false);

  const GroupPlace& place() const { return place_; }
  usize waves() const { return count_; }
  Member& member(usize i) { return members_[i]; }
  const Member& member(usize i) const { return members_[i]; }
  bool ended() const { return live_ == 0; }

  // What the waves' instructions do to the group.
  void wait_at_barrier(usize i, u64 pc);   // s_barrier
  bool signal_barrier(usize i);            // s_barrier_signal: whether it was the first
  void wait_for_barrier(usize i, u64 pc);  // s_barrier_wait
  u32 barrier_state() const;               // s_get_barrier_state
  void wait_for_sync(usize i, const GlobalWaveSync::Wait& wait);
  // Those whose waits for global wave sync are over go on.
  void wake(GlobalWaveSync& sync);
  void end(usize i);
  // Where waves wait, when none of those that live can go on, whatever other groups do; else empty.
  std::string deadlock() const;

 private:
  void release();
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
};

}  // namespace doorbell::emu::amdgpu
