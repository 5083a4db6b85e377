// PlanExecutor: gets some items of an execution plan to their devices. As a graph of hardware
// queues where all their devices have these and reach the memory (queue_graph.cc), else launch by
// launch through core::Program (launch_list.cc).
//
// Thread safety: one run() at a time each.
#pragma once

#include <memory>
#include <span>

#include "hcq/signal/fence.h"
#include "tensor/engine/execution_plan.h"

namespace doorbell::engine {

// Items `first` to `end` of a plan. shared_ptr: work in flight needs programs and fixed memory.
struct PlanPart {
  std::shared_ptr<const ExecutionPlan> plan;
  usize first, end;

  std::span<const ExecutionPlan::Item> items() const {
    return std::span(plan->items).subspan(first, end - first);
  }
};

class PlanExecutor {
 public:
  virtual ~PlanExecutor() = default;
  // Starts the items, after everything that their devices were given before. `memory` by source, of
  // inputs and fresh memory; an input that no item reads may be null. Work may still run until the
  // fence is done. Throws Error; then `started` has what runs none the less.
  virtual void run(std::span<core::Buffer* const> memory, std::span<const i64> variables,
                   hcq::Fence* started) = 0;
};

// How many nodes of a graph an item becomes; 0: queues cannot run it.
usize queue_nodes(const ExecutionPlan& plan, const ExecutionPlan::Item& item);
// Of items that do.
std::unique_ptr<PlanExecutor> make_queue_graph(PlanPart part);
std::unique_ptr<PlanExecutor> make_launch_list(PlanPart part);

}  // namespace doorbell::engine
