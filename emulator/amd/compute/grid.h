// Grid: the work groups of one dispatch, from the first to the last, on one thread of the host.
// The dispatch comes from the command processor (emulator/amd/cp), which also decides how far a
// grid runs before it runs something else; isa/ executes instructions.
//
// Without a seed, a group runs to its end before the next starts, and another wave runs only when
// one waits. With a seed, several groups run at once, and the seed chooses which wave runs how many
// instructions: the same seed gives the same order and the same result.
//
// All groups that the hardware holds at a time (occupancy.h) make progress: a wave that runs long
// yields to others, and while all running groups wait, more start, up to that number. A barrier of
// the whole grid ends if all groups fit, and never if they do not.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/util/types.h"
#include "emulator/amd/compute/dispatch.h"
#include "emulator/amd/compute/occupancy.h"
#include "emulator/amd/compute/random.h"
#include "emulator/amd/compute/saved_context.h"
#include "emulator/amd/compute/work_group.h"
#include "emulator/amd/isa/count/wave_counter.h"
#include "emulator/amd/isa/decode/code_cache.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/shadow/twin.h"
#include "emulator/core/counts.h"

namespace doorbell::emu::amdgpu {

struct GridStop;

// Finds uses of undefined values (isa/shadow/twin.h).
struct UndefinedTracking {
  UndefinedMemory* memory = nullptr;    // all borrowed
  const AddressSpace* space = nullptr;  // of the grid's memory
  // Called once per address in the code and kind of use; true: the grid stops there.
  std::function<bool(Use, const std::string&)> report;
};

struct GridOptions {
  u64 seed = 0;         // 0: without a seed
  bool poison = false;  // registers and LDS that the launch leaves undefined get random values
  u32 cache_units = 8;  // units with their own caches
  ComputeUnits compute_units;              // determine how many groups are resident
  UndefinedTracking* undefined = nullptr;  // null: off, at no cost
  // Called once per address in the code where a load is used before it was waited for; true: the
  // grid stops there. Null: waits are not judged, at no cost.
  std::function<bool(const std::string&)> missing_wait;
  // Called once per pair of instructions that access the same bytes of a group's LDS without an
  // order (isa/races); true: the grid stops there. Null: not judged, at no cost.
  std::function<bool(const std::string&)> race;
  // The same of memory, by two waves of the dispatch, whose XCCs share `races`.
  std::shared_ptr<GlobalRaces> races;
  std::function<bool(const std::string&)> memory_race;
  // The same of memory, with other grids, queues and copy engines, if the dispatch has a task.
  std::function<bool(const std::string&)> agent_race;
  const AddressSpace* space = nullptr;  // where the grid's memory is, for `agent_race`; borrowed
  // Gets what waves execute, under this name; borrowed. Null: off, at no cost. Undefined values are
  // not tracked, waits and races not judged meanwhile.
  Counts* counts = nullptr;
  std::string counted_as;
  // Called for the first Bounds of each limit, and for a Deadlock. True: the grid stops; otherwise
  // waves continue as on hardware, if it continues. Empty: the grid stops.
  std::function<bool(const GridStop&)> broken;
  // No client installed a trap handler: a wave goes on behind s_trap. Else the grid stops there.
  bool returns_from_traps = false;
  // Addresses of instructions before which `at_break` is called with a wave, which then continues.
  // False: the breakpoint is removed.
  std::vector<u64> breaks;
  std::function<bool(const WorkGroup&, usize wave)> at_break;
};

// Why a grid stopped, or paused.
struct GridStop {
  enum class Kind : u8 {
    Running,  // the budget is used up: run again
    Done,
    Fault,      // wave.address, wave.write; `fault` has the kind
    Bounds,     // LDS, scratch or registers beyond the kernel's allocation
    Illegal,    // wave.name
    Trap,       // wave.value
    Deadlock,   // all waves wait at barriers that none will signal
    Scratch,    // too few slots for a group's waves: it never starts
    Size,       // a group that the chip cannot hold
    Undefined,  // an undefined value is used, and UndefinedTracking::report returned true
    Wait,       // a load is used before it was waited for, and missing_wait returned true
    Race,       // accesses of LDS or memory without an order, and `race`, `memory_race` or
                // `agent_race` of GridOptions returned true
  };
  Kind kind = Kind::Running;
  bool waiting = false;        // Running: all waves wait, or have only polled with s_sleep for long
  bool spinning = false;       // Running: as many groups as possible are resident, and all poll
  std::array<u32, 3> group{};  // the group and the wave that stopped it
  u32 wave = 0;
  Exit exit;
  AccessFault fault;
  std::string what;  // one sentence: kernel, group, wave, pc, lane
};

// Thread safety: one thread at a time.
class Grid {
 public:
  // All are borrowed; the code cache is the thread's.
  Grid(const Chip& chip, CodeCache& code, Memory& memory, Dispatch dispatch,
       const GridOptions& options = {});

  // Continues until the end, a stop, or about `instructions` more of all waves together.
  GridStop run(u64 instructions = ~u64{0});

  // What a preemption saves of the running waves, which continue afterwards. A wave that stopped
  // the grid is among them.
  void save_waves(const SaveOptions& options, SavedContext& to) const;
  // The same waves with their registers, as text. In wave_text.cc.
  std::string describe_waves() const;

  const Dispatch& dispatch() const { return dispatch_; }
  u64 instructions() const { return instructions_; }  // executed so far
  // A hash of which wave ran when: equal for equal interleavings.
  u64 order_hash() const { return order_hash_; }

 private:
  // Starts the next group, if there is one and room for it.
  bool admit();
  GridStop step(WorkGroup& group, usize wave, u64 budget);
  // A wave, by the loop that the options ask for.
  Exit run_wave(WorkGroup::Member& member, u64 budget, std::optional<UndefinedUse>& use);
  // Handles a wave's exit; true: the wave may continue at once. Otherwise `result` says whether the
  // grid stops.
  bool obey(const Exit& exit, WorkGroup& group, usize wave, GridStop& result);
  GridStop illegal(const Exit& exit, WorkGroup& group, usize wave, std::string_view what);
  GridStop run_plain(u64 instructions);
  GridStop run_seeded(u64 instructions);
  void retire_ended();
  bool has_room() const;
  // Doubles the number of groups, as far as there is room.
  void admit_more();
  // Finds out whether a ready wave only polls, by running it; the result is in its member.
  GridStop look_at(WorkGroup& group, usize wave);
  // Without a seed: runs the wave until it waits, stops, polls, or its turn ends.
  GridStop take_turn(WorkGroup& group, usize wave);
  // Without a seed: called after all waves had their turn.
  void end_round();
  // With a seed: starts more groups when the running ones only poll.
  GridStop look_around();
  GridStop stop(GridStop::Kind kind, const WorkGroup& group, usize wave, const Exit& exit,
                std::string_view what) const;
  GridStop refuse(GridStop::Kind kind, std::string what) const;
  bool fits(GridStop& why) const;
  void undefine_scratch(const GroupPlace& place);
  // Whether the grid is to stop.
  bool stops_at(const GridStop& bounds);
  // Reports a wave that is at a breakpoint, once.
  void tell_break(WorkGroup& group, usize wave);
  bool report_undefined(const UndefinedUse& use, const GridStop& stop);
  // The stop of a wave that used a load too early, if the grid is to stop.
  std::optional<GridStop> missing_wait(const WorkGroup& group, usize wave);
  // The stop of a wave that raced, if the grid is to stop.
  std::optional<GridStop> race(WorkGroup& group, usize wave);
  std::optional<GridStop> report_races(const std::vector<Race>& found,
                                       const std::function<bool(const std::string&)>& report,
                                       const WorkGroup& group, usize wave);
  GridStop deadlock(const WorkGroup& group, const std::string& where) const;

  const Chip& chip_;
  CodeCache& code_;
  Memory& memory_;
  const Dispatch dispatch_;
  const GridOptions options_;
  const Resources resources_;
  const u32 lanes_;
  Random random_;
  u64 next_group_ = 0, groups_ = 0;  // numbers in the whole grid
  u64 instructions_ = 0, order_hash_ = 0;
  std::vector<std::unique_ptr<WorkGroup>> resident_, spare_;
  std::vector<u32> free_slots_;  // starts of runs of scratch slots
  u32 waves_per_group_ = 0;
  const u64 max_resident_;
  usize turn_ = 0;  // without a seed: the group whose turn it is
  struct Round {
    bool all_long = false;  // no wave ended or reached a barrier of its group
    bool all_poll = false;
    bool none_ready = false;
  };
  Round round_;                             // without a seed: waves that had their turn
  bool spinning_ = false;                   // without a seed: in the last round all waves polled
  bool stuck_ = false;                      // every wave waits for another group's
  u64 under_way_;                           // with a seed: groups that run at once
  u64 look_at_ = 0, look_after_ = 0;        // with a seed: when to check for polling
  GridStop stopped_;                        // of the last run, unless it can continue
  std::unique_ptr<GridAccesses> accesses_;  // null unless races with other agents are judged
  std::unique_ptr<RaceMemory> races_;       // null unless races in memory are judged
  std::unique_ptr<TwinMemories> twins_;     // null unless undefined values are tracked
  std::unique_ptr<WaveCounter> counter_;    // null unless instructions are counted
  std::set<std::pair<u64, Use>> reported_;
  std::set<u64> reported_waits_;
  std::set<std::pair<u64, u64>> reported_races_;
  std::vector<u64> breaks_;
  u8 unjudged_ = 0;   // the waves': Wave::unjudged
  u64 awake_at_ = 0;  // instructions_, when a wave last stopped for anything but s_sleep
};

}  // namespace doorbell::emu::amdgpu
