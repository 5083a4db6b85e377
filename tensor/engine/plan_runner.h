// PlanRunner: one execution plan on its way to the queues: recorded at the first run, then replayed
// with other memory. A realisation and a replay of a jitted function are both runs of one.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "hcq/trace/trace.h"
#include "tensor/engine/launch_list.h"
#include "tensor/engine/queue_graph.h"

namespace doorbell::engine {

// Thread safety: one run() at a time each.
class PlanRunner {
 public:
  explicit PlanRunner(std::shared_ptr<const ExecutionPlan> plan) : plan_(std::move(plan)) {}

  // Starts everything, after all that was launched on its devices before. `memory` by source, of
  // inputs and fresh memory; an input that is not read may be null. Memory may be let go of as soon
  // as this returns or throws; the work may still run, until what is returned is done. Throws
  // Error.
  hcq::Fence run(std::span<core::Buffer* const> memory, std::span<const i64> variables);
  // All of it is one graph of hardware queues.
  bool is_graph();

 private:
  struct Part {
    std::unique_ptr<QueueGraph> graph;  // or
    std::unique_ptr<LaunchList> launches;
  };
  Part make_part(usize first, usize end, bool on_queues) const;
  void make_parts();
  void run_part(const Part& part, std::span<core::Buffer* const> memory,
                std::span<const i64> variables, hcq::Fence* started);
  void run_one_by_one(std::span<core::Buffer* const> memory, std::span<const i64> variables,
                      hcq::Fence* started);

  const std::shared_ptr<const ExecutionPlan> plan_;
  hcq::Trace* trace_ = nullptr;  // that the parts were made for
  std::vector<Part> parts_;      // one after the other; empty: not made yet
  std::vector<Part> single_;     // an item each; made when first needed
  bool is_graph_ = false;
};

// The runners of one plan that nobody uses now, so that several threads may run it at once.
// Thread safety: all functions may be called from any thread.
class RunnerPool {
 public:
  RunnerPool() = default;
  RunnerPool(RunnerPool&& other) noexcept : spare_(other.spare_.exchange(nullptr)) {}
  ~RunnerPool() { delete spare_.load(std::memory_order_relaxed); }

  std::unique_ptr<PlanRunner> take(const std::shared_ptr<const ExecutionPlan>& plan) {
    if (PlanRunner* spare = spare_.exchange(nullptr, std::memory_order_acquire)) [[likely]]
      return std::unique_ptr<PlanRunner>(spare);
    return std::make_unique<PlanRunner>(plan);
  }
  // Keeps one; others go.
  void give(std::unique_ptr<PlanRunner> runner) {
    delete spare_.exchange(runner.release(), std::memory_order_acq_rel);
  }

 private:
  std::atomic<PlanRunner*> spare_{nullptr};
};

// Fresh memory for a run of the plan. Throws Error.
void take_fresh(const ExecutionPlan& plan, std::span<core::Ref<core::Buffer>> fresh);
// Adds the work of a run to the process's counters.
void count_run(const ExecutionPlan& plan);

}  // namespace doorbell::engine
