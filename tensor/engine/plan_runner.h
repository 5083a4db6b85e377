// PlanRunner: one execution plan on its way to the queues: recorded at the first run, then replayed
// with other memory. A realisation and a replay of a jitted function are both runs of one.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "hcq/trace/trace.h"
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
  // All of it is one graph.
  bool is_graph();

 private:
  // Items of the plan: those of a graph, or one copy that no queue can make.
  struct Part {
    std::unique_ptr<QueueGraph> graph;  // null: such a copy
    usize copy = 0;                     // the item
  };
  void make_parts();
  Part make_part(usize first, usize end) const;
  bool is_traced_alike(usize one, usize other) const;
  void run_part(const Part& part, std::span<core::Buffer* const> memory,
                std::span<const i64> variables, hcq::Fence* started) const;
  void run_one_by_one(std::span<core::Buffer* const> memory, std::span<const i64> variables,
                      hcq::Fence* started);

  const std::shared_ptr<const ExecutionPlan> plan_;
  hcq::Trace* trace_ = nullptr;  // that the parts were made for
  // One after the other; empty: not made yet.
  std::vector<Part> parts_;
  std::vector<Part> single_;  // an item each; made when first needed
};

// A runner that is kept between the runs of a plan. Several threads may run a plan at once: one of
// them has the kept runner, the others have their own.
// Thread safety: all functions may be called from any thread.
class KeptRunner {
 public:
  // While it lives, nobody else has the runner.
  class Use {
   public:
    Use(KeptRunner& kept, const std::shared_ptr<const ExecutionPlan>& plan)
        : kept_(kept.is_used_.exchange(true, std::memory_order_acquire) ? nullptr : &kept) {
      std::unique_ptr<PlanRunner>& runner = kept_ != nullptr ? kept_->runner_ : own_;
      if (runner == nullptr) runner = std::make_unique<PlanRunner>(plan);
      runner_ = runner.get();
    }
    ~Use() {
      if (kept_ != nullptr) kept_->is_used_.store(false, std::memory_order_release);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    PlanRunner* operator->() const { return runner_; }

   private:
    KeptRunner* kept_;  // null: another thread has its runner
    std::unique_ptr<PlanRunner> own_;
    PlanRunner* runner_;
  };

  KeptRunner() = default;
  // Of one that nobody uses.
  KeptRunner(KeptRunner&& other) noexcept : runner_(std::move(other.runner_)) {}

 private:
  std::unique_ptr<PlanRunner> runner_;
  std::atomic<bool> is_used_{false};
};

// Fresh memory for a run of the plan. Throws Error.
void take_fresh(const ExecutionPlan& plan, std::span<core::Ref<core::Buffer>> fresh);
// Adds the work of a run to the process's counters.
void count_run(const ExecutionPlan& plan);

}  // namespace doorbell::engine
