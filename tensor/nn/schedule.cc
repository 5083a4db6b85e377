// The formulas of the schedules. Steps beyond the end have the last rate.
#include "tensor/nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace doorbell::nn {

namespace {

f64 between(f64 from, f64 to, f64 share) {
  return from + (to - from) * std::min(std::max(share, 0.0), 1.0);
}

f64 share_of(i64 done, i64 all) {
  return all <= 0 ? 1.0 : static_cast<f64>(done) / static_cast<f64>(all);
}

}  // namespace

f64 MultiStep::operator()(i64 step) const {
  const auto passed = std::count_if(milestones.begin(), milestones.end(),
                                    [&](i64 milestone) { return milestone <= step; });
  return rate * std::pow(factor, static_cast<f64>(passed));
}

f64 CosineAnnealing::operator()(i64 step) const {
  if (step < warm_up) return rate * share_of(step + 1, warm_up);
  const f64 share = std::min(share_of(step - warm_up, steps - warm_up), 1.0);
  return least + (rate - least) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

f64 OneCycle::operator()(i64 step) const {
  const f64 start = peak / start_divisor, end = start / final_divisor;
  const i64 top = static_cast<i64>(rise * static_cast<f64>(steps));
  if (step < top) return between(start, peak, share_of(step, top));
  return between(peak, end, share_of(step - top, steps - 1 - top));
}

}  // namespace doorbell::nn
