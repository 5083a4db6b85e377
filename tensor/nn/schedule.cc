// The formulas of the schedules, in closed form: the rate is a function of the step count.
#include "tensor/nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace doorbell::nn {

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(&optimizer) {
  for (usize group = 0; group < optimizer.group_count(); ++group)
    base_.push_back(optimizer.learning_rate(group));
}

void LRScheduler::set_rates(i64 count) {
  std::vector<f64> rates;
  for (const f64 base : base_) rates.push_back(rate_at(count, base));
  for (usize group = 0; group < rates.size(); ++group)
    optimizer_->set_learning_rate(rates[group], group);
}

void LRScheduler::step() {
  set_rates(count_ + 1);
  ++count_;
}

void LRScheduler::load(i64 last_epoch, const std::vector<f64>& base_lrs) {
  if (last_epoch < 0 || base_lrs.size() != base_.size()) {
    throw fail(ErrorKind::Invalid, "a schedule of {} groups after {} steps, expected {} groups",
               base_lrs.size(), last_epoch, base_.size());
  }
  count_ = last_epoch;
  base_ = base_lrs;
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, const MultiStepOptions& options)
    : LRScheduler(optimizer), options_(options) {
  start();
}

f64 MultiStepLR::rate_at(i64 count, f64 base) const {
  const auto passed = std::count_if(options_.milestones.begin(), options_.milestones.end(),
                                    [&](i64 milestone) { return milestone <= count; });
  return base * std::pow(options_.gamma, static_cast<f64>(passed));
}

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, const CosineAnnealingOptions& options)
    : LRScheduler(optimizer), options_(options) {
  if (options.T_max < 1 || options.warmup_steps < 0) {
    throw fail(ErrorKind::Invalid,
               "a cosine over {} steps after {} of warm-up, expected 1 or more after 0 or more",
               options.T_max, options.warmup_steps);
  }
  start();
}

f64 CosineAnnealingLR::rate_at(i64 count, f64 base) const {
  if (count < options_.warmup_steps) {
    return base * static_cast<f64>(count + 1) / static_cast<f64>(options_.warmup_steps);
  }
  const f64 share =
      static_cast<f64>(count - options_.warmup_steps) / static_cast<f64>(options_.T_max);
  return options_.eta_min +
         (base - options_.eta_min) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

OneCycleLR::OneCycleLR(Optimizer& optimizer, const OneCycleOptions& options)
    : LRScheduler(optimizer), options_(options) {
  if (options.total_steps < 1 || !(options.pct_start >= 0 && options.pct_start <= 1)) {
    throw fail(ErrorKind::Invalid,
               "a cycle of {} steps of which {} rise, expected 1 step or more and a part of 0 to 1",
               options.total_steps, options.pct_start);
  }
  start();
}

f64 OneCycleLR::rate_at(i64 count, f64) const {
  if (count > options_.total_steps) {
    throw fail(ErrorKind::Invalid, "step {} of a cycle of {} steps, which is over", count,
               options_.total_steps);
  }
  const f64 initial = options_.max_lr / options_.div_factor;
  const f64 last = initial / options_.final_div_factor;
  struct Phase {
    f64 end, from, to;
  };
  const f64 steps = static_cast<f64>(options_.total_steps), rise = options_.pct_start * steps - 1;
  std::vector<Phase> phases{{rise, initial, options_.max_lr}};
  if (options_.three_phase) {
    phases.push_back({2 * options_.pct_start * steps - 2, options_.max_lr, initial});
    phases.push_back({steps - 1, initial, last});
  } else {
    phases.push_back({steps - 1, options_.max_lr, last});
  }
  f64 begin = 0;
  const f64 at = static_cast<f64>(count);
  for (usize i = 0;; ++i) {
    const Phase& phase = phases[i];
    if (at > phase.end && i + 1 < phases.size()) {
      begin = phase.end;
      continue;
    }
    // The last step has no more way to go: PyTorch goes on, to below 0 on a line.
    const f64 share = std::min((at - begin) / (phase.end - begin), 1.0);
    const f64 weight = options_.anneal_strategy == Anneal::Linear
                           ? share
                           : (1 - std::cos(std::numbers::pi * share)) / 2;
    return phase.from + (phase.to - phase.from) * weight;
  }
}

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, const ReduceLROnPlateauOptions& options)
    : optimizer_(&optimizer),
      options_(options),
      state_{.best = options.mode == PlateauMode::Min ? std::numeric_limits<f64>::infinity()
                                                      : -std::numeric_limits<f64>::infinity()} {
  if (!(options.factor < 1)) {
    throw fail(ErrorKind::Invalid, "a factor of {}, expected less than 1", options.factor);
  }
}

bool ReduceLROnPlateau::is_better(f64 metric) const {
  const f64 sign = options_.mode == PlateauMode::Min ? -1.0 : 1.0;
  const f64 bound = options_.threshold_mode == Threshold::Relative
                        ? state_.best * (1 + sign * options_.threshold)
                        : state_.best + sign * options_.threshold;
  return options_.mode == PlateauMode::Min ? metric < bound : metric > bound;
}

void ReduceLROnPlateau::step(f64 metric) {
  ++state_.last_epoch;
  if (is_better(metric)) {
    state_.best = metric;
    state_.num_bad_epochs = 0;
  } else {
    ++state_.num_bad_epochs;
  }
  if (state_.cooldown_counter > 0) {
    --state_.cooldown_counter;
    state_.num_bad_epochs = 0;
  }
  if (state_.num_bad_epochs <= options_.patience) return;
  for (usize group = 0; group < group_count(); ++group) {
    const f64 rate = optimizer_->learning_rate(group);
    const f64 reduced = std::max(rate * options_.factor, options_.min_lr);
    if (rate - reduced > options_.eps) optimizer_->set_learning_rate(reduced, group);
  }
  state_.cooldown_counter = options_.cooldown;
  state_.num_bad_epochs = 0;
}

}  // namespace doorbell::nn
