// Learning rates over time, with PyTorch's names, arguments and defaults: a schedule sets its
// optimiser's rate when it is made and at every step() after that.
//
//   nn::SGD optimizer(parameters, 0.1);
//   nn::CosineAnnealingLR schedule(optimizer, {.T_max = 1000});
//   for (int i = 0; i < 1000; ++i) {
//     ...
//     optimizer.step();
//     schedule.step();
//   }
// Inside a jitted function step() would be done only once: call it outside. Momentum stays as it
// is: OneCycleLR does not cycle it.
#pragma once

#include <limits>
#include <vector>

#include "tensor/nn/optim.h"

namespace doorbell::nn {

// The base of schedules that count steps. Each group of the optimiser has its own rate, and all
// follow the same course.
class LRScheduler {
 public:
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  void step();
  f64 get_last_lr(usize group = 0) const { return optimizer_->learning_rate(group); }
  // The optimiser's groups, each with its own rate.
  usize group_count() const { return base_.size(); }
  i64 last_epoch() const { return count_; }  // the steps done
  // The rates that the optimiser was made with.
  const std::vector<f64>& base_lrs() const { return base_; }
  // Continues as a schedule that has done `last_epoch` steps. Does not change the optimiser's rate,
  // which is part of the optimiser's state.
  void load(i64 last_epoch, const std::vector<f64>& base_lrs);

 protected:
  explicit LRScheduler(Optimizer& optimizer);
  // The rate after `count` steps of a group whose rate was `base` at first.
  virtual f64 rate_at(i64 count, f64 base) const = 0;
  void start() { set_rates(0); }

 private:
  void set_rates(i64 count);

  Optimizer* optimizer_;  // the caller's
  std::vector<f64> base_;
  i64 count_ = 0;
};

// Several schedules that step together. Borrows them.
class LRSchedulerGroup {
 public:
  explicit LRSchedulerGroup(std::vector<LRScheduler*> schedulers)
      : schedulers_(std::move(schedulers)) {}
  void step() {
    for (LRScheduler* scheduler : schedulers_) scheduler->step();
  }

 private:
  std::vector<LRScheduler*> schedulers_;  // the caller's
};

struct MultiStepOptions {
  std::vector<i64> milestones{};
  f64 gamma = 0.1;
};

// Multiplies the rate by gamma at each milestone; a milestone given twice counts twice.
class MultiStepLR final : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, const MultiStepOptions& options);

 private:
  f64 rate_at(i64 count, f64 base) const override;
  MultiStepOptions options_;
};

struct CosineAnnealingOptions {
  i64 T_max = 1;
  f64 eta_min = 0.0;
  // Not in PyTorch: for this many steps the rate is (step + 1) / warmup_steps of its first value;
  // T_max counts from there.
  i64 warmup_steps = 0;
};

// Follows half a cosine from the optimiser's rate to eta_min in T_max steps, then back.
class CosineAnnealingLR final : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, const CosineAnnealingOptions& options);

 private:
  f64 rate_at(i64 count, f64 base) const override;
  CosineAnnealingOptions options_;
};

enum class Anneal : u8 { Cos, Linear };

struct OneCycleOptions {
  f64 max_lr = 0.1;
  i64 total_steps = 1;
  f64 pct_start = 0.3;  // the share of steps on the way up
  Anneal anneal_strategy = Anneal::Cos;
  f64 div_factor = 25.0;       // begins at max_lr / div_factor
  f64 final_div_factor = 1e4;  // ends at that divided by this
  bool three_phase = false;    // down as long as up, then to the end
};

// Rises to max_lr, then falls to nearly 0. A step beyond total_steps is an error.
class OneCycleLR final : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, const OneCycleOptions& options);

 private:
  f64 rate_at(i64 count, f64 base) const override;
  OneCycleOptions options_;
};

enum class PlateauMode : u8 { Min, Max };
enum class Threshold : u8 { Relative, Absolute };

struct ReduceLROnPlateauOptions {
  PlateauMode mode = PlateauMode::Min;  // which metric is better
  f64 factor = 0.1;
  i64 patience = 10;
  f64 threshold = 1e-4;  // a smaller improvement does not count
  Threshold threshold_mode = Threshold::Relative;
  i64 cooldown = 0;
  f64 min_lr = 0.0;
  f64 eps = 1e-8;  // a smaller change of the rate is not made
};

// Multiplies the rate by `factor` when a metric has not improved for more than `patience` steps.
class ReduceLROnPlateau {
 public:
  explicit ReduceLROnPlateau(Optimizer& optimizer, const ReduceLROnPlateauOptions& options = {});
  void step(f64 metric);
  f64 get_last_lr(usize group = 0) const { return optimizer_->learning_rate(group); }
  // The optimiser's groups, each with its own rate.
  usize group_count() const { return optimizer_->group_count(); }

  // The state between steps, by PyTorch's names.
  struct State {
    f64 best = 0.0;
    i64 num_bad_epochs = 0;
    i64 cooldown_counter = 0;
    i64 last_epoch = 0;
  };
  // What load() takes.
  const State& state() const { return state_; }
  // Continues from a saved state.
  void load(const State& state) { state_ = state; }

 private:
  bool is_better(f64 metric) const;

  Optimizer* optimizer_;  // the caller's
  ReduceLROnPlateauOptions options_;
  State state_;
};

}  // namespace doorbell::nn
