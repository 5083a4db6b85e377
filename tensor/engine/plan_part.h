// PlanPart: some items of an execution plan, which go to the queues of their devices together, as
// one graph (queue_graph.h).
#pragma once

#include <memory>
#include <span>

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

}  // namespace doorbell::engine
