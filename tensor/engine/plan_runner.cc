// Running: parts of a plan to their executors. With DEBUG=2 each item is waited for and timed.
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

PlanRunner::Part PlanRunner::make_part(usize first, usize end, bool on_queues) const {
  const PlanPart items{plan_, first, end};
  if (on_queues) return {std::make_unique<QueueGraph>(items), nullptr};
  return {nullptr, std::make_unique<LaunchList>(items)};
}

void PlanRunner::make_parts() {
  const ExecutionPlan& plan = *plan_;
  trace_ = hcq::Trace::of_process();
  std::vector<Part> parts;
  std::vector<usize> nodes;
  for (const ExecutionPlan::Item& item : plan.items)
    nodes.push_back(QueueGraph::queue_nodes(plan, item));
  for (usize first = 0; first < plan.items.size();) {
    const bool queues = nodes[first] != 0;
    usize end = first + 1, count = nodes[first];
    while (end < plan.items.size() && (nodes[end] != 0) == queues &&
           count + nodes[end] <= kMaxNodes)
      count += nodes[end++];
    is_graph_ = queues && first == 0 && end == plan.items.size();
    parts.push_back(make_part(first, end, queues));
    first = end;
  }
  parts_ = std::move(parts);
}

bool PlanRunner::is_graph() {
  if (parts_.empty()) make_parts();
  return is_graph_;
}

void PlanRunner::run_part(const Part& part, std::span<Buffer* const> memory,
                          std::span<const i64> variables, hcq::Fence* started) {
  if (part.launches) return part.launches->run(memory, variables);
  QueueGraph& queues = *part.graph;
  const hcq::Fence after = queues.prepare(memory, variables);
  queues.finish(queues.graph().replay(queues.values(), after), started);
}

void PlanRunner::run_one_by_one(std::span<Buffer* const> memory, std::span<const i64> variables,
                                hcq::Fence* started) {
  const ExecutionPlan& plan = *plan_;
  while (single_.size() < plan.items.size()) {
    const usize i = single_.size();
    single_.push_back(make_part(i, i + 1, QueueGraph::queue_nodes(plan, plan.items[i]) != 0));
  }
  for (usize i = 0; i < plan.items.size(); ++i)
    timed(plan.items[i], false, [&] { run_part(single_[i], memory, variables, started); });
}

hcq::Fence PlanRunner::run(std::span<Buffer* const> memory, std::span<const i64> variables) {
  hcq::Fence started;
  try {
    if (shows_times()) [[unlikely]] {
      run_one_by_one(memory, variables, &started);
    } else {
      if (parts_.empty() || trace_ != hcq::Trace::of_process()) make_parts();
      for (const Part& part : parts_) run_part(part, memory, variables, &started);
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
