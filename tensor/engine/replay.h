// Replay: recorded realisations as one execution plan (replay_plan.h), which runs again with other
// Buffers in its slots. No graph is built and no schedule looked up. The caller defines the slots.
//
// Thread safety: one run() at a time per Replay; different Replays at once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "tensor/engine/plan_runner.h"
#include "tensor/engine/replay_plan.h"

namespace doorbell::engine {

class Replay {
 public:
  // `slots`: the Buffer nodes that stand for what each run is given; `variables`: the names of
  // those whose value each run is given. `results`: Buffer nodes, each a slot, the result of a
  // recorded run, or anything else, which stays as it is. Throws Error for a variable that the runs
  // read and `variables` does not name.
  Replay(std::vector<RecordedRun> runs, std::span<const core::UOpRef> slots,
         std::span<const i64> variables, std::span<const core::UOpRef> results);

  // Whether a run reads this slot; other slots may be null.
  bool reads(usize slot) const { return plan_.reads[slot]; }
  usize launches() const { return plan_.work->items.size(); }
  const ReplayPlan& plan() const { return plan_; }
  // One graph of hardware queues runs it.
  bool is_graph() { return runner_.is_graph(); }
  i64 arena_bytes() const;
  // Describes the first difference from a recording of the same work; empty if there is none.
  std::string difference(const Replay& other) const;

  // Takes the memory of the results of the next run. Throws for want of it; all else is as before.
  void reserve();
  // Launches everything and appends the results' Buffer nodes, in the memory reserved. Work may
  // still be running, until what is returned is done; what goes wrong in it is reported when its
  // devices are synchronised. Where it is stopped first, the results have no value.
  using Results = absl::InlinedVector<core::UOpRef, 8>;
  hcq::Fence run(std::span<const core::UOp> slots, std::span<const i64> variables,
                 Results* results);

 private:
  const ReplayPlan plan_;
  PlanRunner runner_;
  std::vector<core::Ref<core::Buffer>> fresh_now_;
  std::vector<core::Buffer*> memory_;  // of this run, by source
  std::vector<std::vector<i64>> result_args_;
};

}  // namespace doorbell::engine
