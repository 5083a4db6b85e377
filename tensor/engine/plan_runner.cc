// Running: parts of a plan to their executors. With DEBUG=2 each item is waited for and timed.
#include "tensor/engine/plan_runner.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "core/device/counters.h"
#include "hcq/queue/queue.h"
#include "tensor/engine/in_flight.h"
#include "tensor/engine/must.h"
#include "tensor/engine/plan.h"
#include "tensor/engine/timed.h"

namespace doorbell::engine {
namespace {

using core::Buffer;
using core::Ref;

// Nodes of one graph at most, unless one item has more: its words must fit into one indirect buffer.
constexpr usize kMaxNodes = 4096;

std::unique_ptr<PlanExecutor> make_executor(const PlanPart& part, bool on_queues) {
  return on_queues ? make_queue_graph(part) : make_launch_list(part);
}

bool copies_wrapped(const ExecutionPlan& plan, std::span<Buffer* const> memory) {
  if (plan.copies == 0) [[likely]]
    return false;
  return std::ranges::any_of(memory.first(plan.input_count),
                             [](const Buffer* buffer) { return buffer->is_wrapped(); });
}

}  // namespace

void PlanRunner::make_parts() {
  const ExecutionPlan& plan = *plan_;
  trace_ = hcq::Trace::of_process();
  parts_.clear();
  std::vector<usize> nodes;
  for (const ExecutionPlan::Item& item : plan.items) nodes.push_back(queue_nodes(plan, item));
  for (usize first = 0; first < plan.items.size();) {
    const bool queues = nodes[first] != 0;
    usize end = first + 1, count = nodes[first];
    while (end < plan.items.size() && (nodes[end] != 0) == queues &&
           count + nodes[end] <= kMaxNodes)
      count += nodes[end++];
    is_graph_ = queues && first == 0 && end == plan.items.size();
    parts_.push_back(make_executor({plan_, first, end}, queues));
    first = end;
  }
}

bool PlanRunner::is_graph() {
  if (parts_.empty()) make_parts();
  return is_graph_;
}

void PlanRunner::run_one_by_one(std::span<Buffer* const> memory, std::span<const i64> variables,
                                hcq::Fence* started) {
  const ExecutionPlan& plan = *plan_;
  while (single_.size() < plan.items.size()) {
    const usize i = single_.size();
    single_.push_back(make_executor({plan_, i, i + 1}, queue_nodes(plan, plan.items[i]) != 0));
  }
  for (usize i = 0; i < plan.items.size(); ++i)
    timed(plan.items[i], false, [&] { single_[i]->run(memory, variables, started); });
}

hcq::Fence PlanRunner::run(std::span<Buffer* const> memory, std::span<const i64> variables) {
  hcq::Fence started;
  try {
    if (shows_times()) [[unlikely]] {
      run_one_by_one(memory, variables, &started);
    } else {
      if (parts_.empty() || trace_ != hcq::Trace::of_process()) make_parts();
      for (const std::unique_ptr<PlanExecutor>& part : parts_)
        part->run(memory, variables, &started);
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

absl::InlinedVector<core::UOpRef, 4> run_plan(const Plan& plan, const core::GraphKey& key) {
  const ExecutionPlan& work = *plan.work;
  absl::InlinedVector<Ref<Buffer>, 4> fresh(work.fresh.size());
  absl::InlinedVector<Buffer*, 12> memory;
  absl::InlinedVector<i64, 4> variables;
  for (const core::UOp input : key.inputs) {
    // Every Buffer node of a lazy graph has a Buffer behind it: make_buffer_node sees to that.
    memory.push_back(static_cast<Buffer*>(input.payload()));
    refuse_poisoned(*memory.back());
  }
  for (const core::BoundVariable& variable : key.variables) variables.push_back(variable.value);
  take_fresh(work, {fresh.data(), fresh.size()});
  for (const Ref<Buffer>& one : fresh) memory.push_back(one.get());
  std::unique_ptr<PlanRunner> runner = plan.runners.take(plan.work);
  const hcq::Fence until =
      runner->run({memory.data(), memory.size()}, {variables.data(), variables.size()});
  plan.runners.give(std::move(runner));
  if (plan.waits || copies_wrapped(work, {memory.data(), memory.size()})) {
    for (const hcq::Point& point : until) {
      must(point.queue->wait_or_stop(point.position));
      must(point.queue->wait(point.position));
    }
    in_flight().sweep();
    for (const Ref<Buffer>& one : fresh)
      refuse_poisoned(*one);  // another thread may have stopped it
  }
  absl::InlinedVector<core::UOpRef, 4> results;
  for (const PlanResult& result : plan.results) {
    absl::InlinedVector<i64, 8> args(result.args.begin(), result.args.end());
    args[0] = next_buffer_id();
    results.push_back(core::TensorGraph::make(core::Op::Buffer, result.dtype, {}, args,
                                              fresh[result.fresh].get()));
  }
  return results;
}

}  // namespace doorbell::engine
