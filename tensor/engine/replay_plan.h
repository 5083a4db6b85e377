// ReplayPlan: recorded realisations as one execution plan. Its inputs are the slots that each run
// is given; its fresh memory is for results; temporaries, and results that only later realisations
// read, share one arena a device. See plan_runner.h for running.
//
// Thread safety: it does not change once it is made.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/engine/recorder.h"

namespace doorbell::engine {

struct ReplayPlan {
  struct Result {
    i32 slot = -1, fresh = -1;  // one of them, or `constant`
    core::UOpRef constant;
    core::DType dtype;
    std::vector<i64> args;
  };

  // Constants come first in its fixed memory, then an arena a device. shared_ptr: with runners.
  std::shared_ptr<const ExecutionPlan> work;
  usize constant_count = 0;
  std::vector<Result> results;
  std::vector<bool> reads;  // by slot

  std::span<const core::Ref<core::Buffer>> constants() const {
    return std::span(work->fixed).first(constant_count);
  }
  std::span<const core::Ref<core::Buffer>> arenas() const {
    return std::span(work->fixed).subspan(constant_count);
  }
};

// As Replay's constructor, which says what the parts are. Throws Error.
ReplayPlan make_replay_plan(std::span<const RecordedRun> runs, std::span<const core::UOpRef> slots,
                            std::span<const i64> variables, std::span<const core::UOpRef> results);

}  // namespace doorbell::engine
