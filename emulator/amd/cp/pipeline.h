// What a compute queue has in flight: grids whose waves are still running, and the end-of-pipe
// events behind them. The command processor launches and goes on; a grid retires when it does, and
// an event acts when all before it has retired, or, as AQL has it, when its own grid has. [Mesa
// src/amd/common/sid.h RELEASE_MEM; AMD, "PM4 packets", EVENT_WRITE_EOP]
//
// In adversarial mode any grid in flight may be next, so that a missing wait shows: slices of grids
// that nothing orders interleave, and the command processor runs ahead of them all. Else a grid has
// its turn until it is done, or only polls: then others have theirs, for XCCs of a dispatch wait
// for each other at a barrier of the whole grid, and then the command processor.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "emulator/amd/cp/gpu_context.h"
#include "emulator/amd/cp/launcher.h"

namespace doorbell::emu::amdgpu {

// Bytes that a dispatch uses until it retires: kernel arguments, its AQL packet. Whoever changes
// them meanwhile has broken a rule.
struct Snapshot {
  const char* what = "";
  u64 va = 0;
  std::vector<u8> bytes;
  bool of_slot = false;  // which its queue has given back
};

// Memory that a dispatch is known to use until it retires; what its pointers lead to is not.
struct Use {
  const char* what = "";
  u64 va = 0, bytes = 0;
};

class Pipeline {
 public:
  using Failure = std::variant<MemoryFault, HwException>;
  using EndOfPipe = std::function<std::optional<MemoryFault>()>;

  explicit Pipeline(GpuContext& gpu) : gpu_(gpu) {}

  // `task`: what ends with it, of races; or null.
  void launch(std::unique_ptr<RunningGrid> grid, std::vector<Snapshot> snapshots,
              std::vector<Use> uses, std::shared_ptr<RaceTask> task = nullptr);
  // Acts when the `grids` that were launched last, and are all in flight, have retired; what was
  // launched before them may still run.
  void when_done(usize grids, EndOfPipe event);
  // Acts when all that was launched before has retired.
  void at_end(EndOfPipe event) { items_.push_back({.event = std::move(event)}); }

  bool empty() const { return items_.empty(); }
  usize grids() const { return grids_; }
  bool has_grids() const { return grids_ > 0; }
  // What a grid in flight is known to have in [start, end), or null.
  const Use* find_use(u64 start, u64 end) const;
  // What is in flight, as a preemption saves it; it stays in flight.
  void save_waves(const SaveOptions& options, std::span<SavedContext> xccs) const;

  // Polling: grids have run, but none does anything else; Waiting: they all sleep meanwhile.
  // Endless: a grid has run longer than anybody waits; it stays in flight.
  enum class State : u8 { Empty, Moved, Polling, Waiting, Failed, Endless };
  // One slice of one grid, or the events whose turn has come.
  State step();
  const Failure& failure() const { return *failure_; }
  // A snapshot that no longer matches, found when its grid retired; asked once.
  std::optional<Snapshot> take_changed();

 private:
  struct Completion {
    usize left = 0;
    EndOfPipe event;
  };
  struct Item {
    std::unique_ptr<RunningGrid> grid;  // or null: an event
    std::vector<Snapshot> snapshots;
    EndOfPipe event;
    std::vector<Use> uses;
    u64 spent = 0;                           // wave instructions, about
    bool gives_way = false;                  // it polls: others first
    std::shared_ptr<RaceTask> task;          // or null
    std::shared_ptr<Completion> completion;  // of all grids of a dispatch, one on each XCC; or null
  };

  // Acts; false: it met a fault.
  bool run(const EndOfPipe& event);
  usize choose() const;
  // Of a grid that polls, or says itself that it waits.
  State give_way(Item& item, bool sleeps);
  void all_their_turn();
  bool still_same(const Snapshot& snapshot) const;

  GpuContext& gpu_;
  std::deque<Item> items_;
  usize grids_ = 0;
  usize giving_way_ = 0, asleep_ = 0;  // of the grids
  std::optional<Failure> failure_;
  std::optional<Snapshot> changed_;
};

}  // namespace doorbell::emu::amdgpu
