// Plan: a finished schedule, ready to run with other inputs: kernels loaded, memory laid out. See
// plan_cache.h for finding the plan of a graph.
//
// Thread safety: several threads may run a plan at once.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "core/schedule/graph_key.h"
#include "core/schedule/shard.h"
#include "tensor/engine/execution_plan.h"
#include "tensor/engine/graph_log.h"
#include "tensor/engine/plan_runner.h"

namespace doorbell::engine {

// A Buffer node to make for a root.
struct PlanResult {
  u32 fresh;  // in ExecutionPlan::fresh
  core::DType dtype;
  std::vector<i64> args;  // of the node; the buffer id is filled in at each run
  bool is_last = true;    // no later result is in the same memory
};

struct Plan {
  // Its inputs and variables are those of GraphKey. shared_ptr: runners outlive a plan that is
  // evicted while it runs.
  std::shared_ptr<const ExecutionPlan> work;
  mutable KeptRunner runner;
  std::vector<u64> key;                  // GraphKey::words, where a cache has it
  std::vector<PlanResult> results;       // of each root in order one, or one per device
  std::vector<core::ShardedRoot> roots;  // which of them; empty: of each root its own
  bool waits = false;                    // has kernels that are done when realize() returns
  // What making it took, and how many kernels are not equal to one before.
  i64 distinct_kernels = 0;
  f64 schedule_seconds = 0, compile_seconds = 0;
};

// Schedules, compiles and lays out the graph of `key`, which was walked with its order. Throws.
// `log` (null: none) is told what was planned.
Plan make_plan(const core::GraphKey& key, std::span<const core::UOp> roots, KernelCache& kernels,
               GraphLog* log = nullptr);

// What holds a root: its Buffer, or the Multi of its Buffers.
core::UOpRef holder_of(const core::ShardedRoot& root, std::span<const core::UOpRef> buffers);

// A buffer id that no node has yet.
i64 next_buffer_id();

}  // namespace doorbell::engine
