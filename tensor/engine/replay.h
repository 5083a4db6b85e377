// Replay: recorded realisations as one list of launches with everything laid out beforehand, which
// runs again with other Buffers in chosen places. No graph is built and no schedule looked up. All
// that need not outlive a run (temporaries, and results of one realisation that only later ones
// read) shares one block of memory per device. What the places mean is the caller's business.
//
// Thread safety: one run() at a time per Replay; different Replays at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tensor/engine/recorder.h"

namespace doorbell::engine {

class Replay {
 public:
  // `slots`: the Buffer nodes that stand for what each run is given; `variables`: the names of
  // those whose value each run is given. `results`: Buffer nodes, each a slot, the result of a
  // recorded run, or anything else, which stays as it is. Throws Error for a variable that the runs
  // read and `variables` does not name.
  Replay(std::vector<RecordedRun> runs, std::span<const core::UOpRef> slots,
         std::span<const i64> variables, std::span<const core::UOpRef> results);

  // Whether a run looks at this slot; other slots may be null.
  bool reads(usize slot) const { return reads_[slot]; }
  usize launches() const { return launches_.size(); }
  i64 arena_bytes() const;
  // In words, in what this is not a recording of the same work; empty where it is.
  std::string difference(const Replay& other) const;

  // Takes the memory of the results of the next run. Throws for want of it; all else is as before.
  void reserve();
  // Launches everything and appends the results' Buffer nodes, in the memory reserved.
  void run(std::span<const core::UOp> slots, std::span<const i64> variables,
           std::vector<core::UOpRef>* results);

 private:
  struct Launch {
    core::Program* program;  // null: a copy from view first + 1 to view first
    u32 first_view, view_count;
    u32 first_variable, variable_count;
    i64 copy_bytes;
  };
  // views_[view] gets the memory of a slot, or of fresh memory number source - slots.
  struct Patch {
    u32 view, source;
    bool operator==(const Patch&) const = default;
  };
  struct VariablePatch {
    u32 at, variable;
    bool operator==(const VariablePatch&) const = default;
  };
  struct Result {
    i32 slot = -1, fresh = -1;  // one of them, or `constant`
    core::UOpRef constant;
    core::DType dtype;
    std::vector<i64> args;
  };
  class Builder;

  void launch(const Launch& launch);
  void launch_timed();

  std::vector<Launch> launches_;
  std::vector<core::BufferView> views_;
  std::vector<i64> variables_;
  std::vector<Patch> patches_;
  std::vector<VariablePatch> variable_patches_;
  std::vector<PlanMemory> fresh_;  // allocated at each run
  std::vector<Result> results_;
  std::vector<bool> reads_;
  std::vector<core::Ref<core::Buffer>> arenas_, fresh_now_, constants_;
  std::vector<std::shared_ptr<const Plan>> plans_;  // keep the programs
  i64 kernels_ = 0, copies_ = 0;
  f64 flops_ = 0, bytes_ = 0;
};

}  // namespace doorbell::engine
