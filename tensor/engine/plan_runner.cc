// Running: parts of a plan to their queues. With DEBUG=2 each item is waited for and timed.
#include "tensor/engine/plan_runner.h"

#include "core/device/counters.h"
#include "hcq/queue/queue.h"
#include "tensor/engine/host_copy.h"
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

PlanRunner::Part PlanRunner::make_part(usize first, usize end) const {
  if (QueueGraph::queue_nodes(*plan_, plan_->items[first]) == 0) return {nullptr, first};
  return {std::make_unique<QueueGraph>(PlanPart{plan_, first, end})};
}

void PlanRunner::make_parts() {
  trace_ = hcq::Trace::of_process();
  std::vector<usize> nodes;
  for (const ExecutionPlan::Item& item : plan_->items)
    nodes.push_back(QueueGraph::queue_nodes(*plan_, item));
  std::vector<Part> parts;
  for (usize first = 0; first < nodes.size();) {
    std::vector<hcq::Device*> devices;
    QueueGraph::adds_to(&devices, *plan_, plan_->items[first]);
    usize end = first + 1, count = nodes[first];
    while (count != 0 && end < nodes.size() && nodes[end] != 0 && count + nodes[end] <= kMaxNodes &&
           is_traced_alike(first, end) && QueueGraph::adds_to(&devices, *plan_, plan_->items[end]))
      count += nodes[end++];
    parts.push_back(make_part(first, end));
    first = end;
  }
  parts_ = std::move(parts);
}

bool PlanRunner::is_graph() {
  if (parts_.empty()) make_parts();
  return parts_.size() == 1 && parts_[0].graph != nullptr;
}

void PlanRunner::run_part(const Part& part, std::span<Buffer* const> memory,
                          std::span<const i64> variables, hcq::Fence* started) const {
  if (part.graph == nullptr) return copy_by_host(*plan_, plan_->items[part.copy], memory);
  const hcq::Fence after = part.graph->prepare(memory, variables);
  part.graph->finish(part.graph->graph().replay(part.graph->values(), after), started);
}

void PlanRunner::run_one_by_one(std::span<Buffer* const> memory, std::span<const i64> variables,
                                hcq::Fence* started) {
  const ExecutionPlan& plan = *plan_;
  while (single_.size() < plan.items.size())
    single_.push_back(make_part(single_.size(), single_.size() + 1));
  for (usize i = 0; i < plan.items.size(); ++i)
    timed(plan.items[i], [&] { run_part(single_[i], memory, variables, started); });
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
