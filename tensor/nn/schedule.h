// Learning rates over time: functions of the step, for Optimizer::set_learning_rate.
//
//   nn::OneCycle rate{.peak = 0.1, .steps = 1000};
//   for (i64 step = 0; step < 1000; ++step) {
//     optimizer.set_learning_rate(rate(step));
//     ...
#pragma once

#include <vector>

#include "base/util/types.h"

namespace doorbell::nn {

// Times `factor` at each milestone.
struct MultiStep {
  f64 rate = 0.1;
  std::vector<i64> milestones{};
  f64 factor = 0.1;
  f64 operator()(i64 step) const;
};

// Half a cosine from `rate` to `least`, after a linear warm-up.
struct CosineAnnealing {
  f64 rate = 0.1;
  i64 steps = 1;  // warm-up included
  f64 least = 0.0;
  i64 warm_up = 0;
  f64 operator()(i64 step) const;
};

// Linear up to `peak`, then linear down to nearly nothing.
struct OneCycle {
  f64 peak = 0.1;
  i64 steps = 1;
  f64 rise = 0.3;            // the share of steps on the way up
  f64 start_divisor = 25.0;  // begins at peak / start_divisor
  f64 final_divisor = 1e4;   // ends at peak / start_divisor / final_divisor
  f64 operator()(i64 step) const;
};

}  // namespace doorbell::nn
