// Running: parts of a plan to their queues. With DEBUG=2 each item is waited for and timed.
#include "tensor/engine/plan_runner.h"

#include "core/device/counters.h"
#include "hcq/queue/queue.h"
#include "tensor/engine/in_flight.h"
#include "tensor/engine/must.h"
#include "tensor/engine/timed.h"

namespace doorbell::engine {
namespace {

using core::Buffer;
using core::Ref;

// Nodes of one graph at most, unless one item has more: its words must fit into one indirect
// buffer.
constexpr usize kMaxNodes = 4096;

}  // namespace

bool PlanRunner::is_traced_alike(usize one, usize other) const {
  const auto is_by_driver = [&](usize item) {
    return QueueGraph::is_traced_by_driver(*plan_, plan_->items[item]);
  };
  return trace_ == nullptr || is_by_driver(one) == is_by_driver(other);
}

void PlanRunner::make_parts() {
  trace_ = hcq::Trace::of_process();
  std::vector<std::unique_ptr<QueueGraph>> parts;
  std::vector<usize> nodes;
  for (const ExecutionPlan::Item& item : plan_->items)
    nodes.push_back(QueueGraph::queue_nodes(*plan_, item));
  for (usize first = 0; first < nodes.size();) {
    usize end = first + 1, count = nodes[first];
    while (end < nodes.size() && count + nodes[end] <= kMaxNodes && is_traced_alike(first, end))
      count += nodes[end++];
    parts.push_back(std::make_unique<QueueGraph>(PlanPart{plan_, first, end}));
    first = end;
  }
  parts_ = std::move(parts);
}

bool PlanRunner::is_graph() {
  if (parts_.empty()) make_parts();
  return parts_.size() == 1;
}

void PlanRunner::run_part(QueueGraph& part, std::span<Buffer* const> memory,
                          std::span<const i64> variables, hcq::Fence* started) {
  const hcq::Fence after = part.prepare(memory, variables);
  part.finish(part.graph().replay(part.values(), after), started);
}

void PlanRunner::run_one_by_one(std::span<Buffer* const> memory, std::span<const i64> variables,
                                hcq::Fence* started) {
  const ExecutionPlan& plan = *plan_;
  while (single_.size() < plan.items.size())
    single_.push_back(
        std::make_unique<QueueGraph>(PlanPart{plan_, single_.size(), single_.size() + 1}));
  for (usize i = 0; i < plan.items.size(); ++i)
    timed(plan.items[i], [&] { run_part(*single_[i], memory, variables, started); });
}

hcq::Fence PlanRunner::run(std::span<Buffer* const> memory, std::span<const i64> variables) {
  hcq::Fence started;
  try {
    if (shows_times()) [[unlikely]] {
      run_one_by_one(memory, variables, &started);
    } else {
      if (parts_.empty() || trace_ != hcq::Trace::of_process()) make_parts();
      for (const std::unique_ptr<QueueGraph>& part : parts_)
        run_part(*part, memory, variables, &started);
    }
  } catch (...) {
    keep_run(*plan_, started, memory);  // what has started runs on
    throw;
  }
  keep_run(*plan_, started, memory);
  count_run(*plan_);
  return started;
}

void take_fresh(const ExecutionPlan& plan, std::span<Ref<Buffer>> fresh) {
  for (usize i = 0; i < fresh.size(); ++i)
    fresh[i] = take_memory(*plan.fresh[i].device, plan.fresh[i].bytes);
}

void count_run(const ExecutionPlan& plan) {
  core::counters.kernels.add(plan.kernels);
  core::counters.copies.add(plan.copies);
  core::counters.flops.add(static_cast<i64>(plan.flops));
  core::counters.bytes_accessed.add(static_cast<i64>(plan.bytes));
}

}  // namespace doorbell::engine
