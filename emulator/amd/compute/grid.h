// Grid: the work groups of one dispatch, from the first to the last, on one thread of the host.
// What a dispatch says comes from the command processor (emulator/amd/cp), which also decides how
// far a grid runs before something else does; what instructions do is isa's.
//
// Plain, a group runs to its end before the next starts, and waves change only where they wait.
// With a seed, several groups are under way, and the seed chooses which wave runs how many
// instructions: the same seed gives the same order and the same result.
//
// Groups that the hardware holds at a time (occupancy.h) all get on, whatever the others do: a wave
// that runs long gives way, and groups that only wait let more of them start, up to that number. A
// barrier of the whole grid ends if its groups fit, and never if they do not.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/util/types.h"
#include "emulator/amd/compute/dispatch.h"
#include "emulator/amd/compute/occupancy.h"
#include "emulator/amd/compute/random.h"
#include "emulator/amd/compute/saved_context.h"
#include "emulator/amd/compute/work_group.h"
#include "emulator/amd/isa/decode/code_cache.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/shadow/twin.h"

namespace doorbell::emu::amdgpu {

struct GridStop;

// Finds where undefined values decide something (isa/shadow/twin.h).
struct UndefinedTracking {
  UndefinedMemory* memory = nullptr;    // all borrowed
  const AddressSpace* space = nullptr;  // of the grid's memory
  // Of each place in the code once per kind; true: the grid stops there.
  std::function<bool(Use, const std::string&)> report;
};

struct GridOptions {
  u64 seed = 0;         // 0: plain
  bool poison = false;  // registers and LDS that the launch leaves undefined hold noise (check 11)
  u32 cache_units = 8;  // that have caches of their own
  ComputeUnits compute_units;              // where groups are resident
  UndefinedTracking* undefined = nullptr;  // null: not asked, and of no cost
  // Told of the first Bounds of each limit, and of a Deadlock. True: the grid stops; else waves go
  // on as hardware does, where it does. Empty: it stops.
  std::function<bool(const GridStop&)> broken;
  // Addresses of instructions before which `at_break` is told of a wave, which then goes on. False:
  // that address is of no more interest.
  std::vector<u64> breaks;
  std::function<bool(const WorkGroup&, usize wave)> at_break;
};

// Why a grid stopped, or paused.
struct GridStop {
  enum class Kind : u8 {
    Running,  // the budget is used up: run again
    Done,
    Fault,      // wave.address, wave.write; `fault` says which kind
    Bounds,     // LDS, scratch or registers that the kernel was not given
    Illegal,    // wave.name
    Trap,       // wave.value
    Deadlock,   // all waves wait at barriers that none will signal
    Scratch,    // no slots for a group's waves: it never starts
    Size,       // a group that the chip cannot hold
    Undefined,  // an undefined value decides something, and UndefinedTracking::report says stop
  };
  Kind kind = Kind::Running;
  bool waiting = false;        // Running: all waves wait, or for long have only polled with s_sleep
  bool spinning = false;       // Running: all that can be resident is, and polls
  std::array<u32, 3> group{};  // where it happened, and what else is of the wave
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

  // Goes on until the end, a stop, or about `instructions` more of all waves together.
  GridStop run(u64 instructions = ~u64{0});

  // What a preemption saves of the waves that are under way, which go on from where they are. A
  // wave that stopped the grid is among them.
  void save_waves(const SaveOptions& options, SavedContext& to) const;
  // The same waves with their registers, for people. In wave_text.cc.
  std::string describe_waves() const;

  const Dispatch& dispatch() const { return dispatch_; }
  u64 instructions() const { return instructions_; }  // executed so far
  // What ran where, as one number: equal for equal interleavings.
  u64 order_hash() const { return order_hash_; }

 private:
  // Starts the next group, if there is one and room for it.
  bool admit();
  GridStop step(WorkGroup& group, usize wave, u64 budget);
  // What a wave's exit means for it and its group; true: it may go on at once. Else `result` says
  // whether the grid stops.
  bool obey(const Exit& exit, WorkGroup& group, usize wave, GridStop& result);
  GridStop illegal(const Exit& exit, WorkGroup& group, usize wave, std::string_view what);
  GridStop run_plain(u64 instructions);
  GridStop run_seeded(u64 instructions);
  void retire_ended();
  bool has_room() const;
  // As many groups again as there are, as far as there is room.
  void admit_more();
  // Whether a wave that is ready only polls, which is found by running it on; the answer is its
  // member's.
  GridStop look_at(WorkGroup& group, usize wave);
  // Plain: until the wave waits, stops, polls, or others are to have their turn.
  GridStop take_turn(WorkGroup& group, usize wave);
  // Plain: all have had their turn.
  void end_round();
  // With a seed: lets more groups start when those under way only poll.
  GridStop look_around();
  GridStop stop(GridStop::Kind kind, const WorkGroup& group, usize wave, const Exit& exit,
                std::string_view what) const;
  GridStop refuse(GridStop::Kind kind, std::string what) const;
  bool fits(GridStop& why) const;
  void undefine_scratch(const GroupPlace& place);
  // Whether it is to stop.
  bool stops_at(const GridStop& bounds);
  // A wave that is at a breakpoint is told of, once.
  void tell_break(WorkGroup& group, usize wave);
  bool report_undefined(const UndefinedUse& use, const GridStop& stop);
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
  usize turn_ = 0;  // plain: of which group it is
  struct Round {
    bool all_long = false;  // no wave ended or came to a barrier of its group
    bool all_poll = false;
    bool none_ready = false;
  };
  Round round_;                          // plain: those who had their turn
  bool spinning_ = false;                // plain: the last round was of nothing else
  bool stuck_ = false;                   // every wave waits for another group's
  u64 under_way_;                        // with a seed: so many groups at once
  u64 look_at_ = 0, look_after_ = 0;     // with a seed: when to look around
  GridStop stopped_;                     // the last run's, unless it may go on
  std::unique_ptr<TwinMemories> twins_;  // null unless undefined values are asked for
  std::set<std::pair<u64, Use>> reported_;
  std::vector<u64> breaks_;
  u8 unjudged_ = 0;   // the waves': Wave::unjudged
  u64 awake_at_ = 0;  // instructions_, when a wave last stopped for anything but s_sleep
};

}  // namespace doorbell::emu::amdgpu
