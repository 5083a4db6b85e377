// The update rules: PyTorch's, and for LAMB and LARS those of their papers. For what all optimisers
// share see optim.cc.
#include <algorithm>
#include <cmath>

#include "tensor/nn/optim.h"

namespace doorbell::nn {

namespace {

void check_at_least_zero(f64 value, const char* what) {
  if (!(value >= 0)) throw fail(ErrorKind::Invalid, "{} of {}", what, value);
}

void check_momentum(f64 momentum, bool nesterov) {
  check_at_least_zero(momentum, "a momentum");
  if (nesterov && momentum == 0) {
    throw fail(ErrorKind::Invalid, "nesterov with a momentum of {}, expected another", momentum);
  }
}

// SGD's and LARS's.
void check_descent(const auto& options) {
  check_momentum(options.momentum, options.nesterov);
  check_at_least_zero(options.weight_decay, "a weight decay");
}

// Adam's and LAMB's.
void check_moments(const auto& options) {
  for (const f64 beta : options.betas) {
    if (!(beta >= 0 && beta < 1))
      throw fail(ErrorKind::Invalid, "a beta of {}, expected at least 0 and less than 1", beta);
  }
  check_at_least_zero(options.eps, "an eps");
  check_at_least_zero(options.weight_decay, "a weight decay");
}

void check_muon(const MuonOptions& options) {
  check_momentum(options.momentum, options.nesterov);
  check_at_least_zero(options.weight_decay, "a weight decay");
  check_at_least_zero(options.eps, "an eps");
  if (options.ns_coefficients.empty() || options.ns_steps < 0) {
    throw fail(ErrorKind::Invalid, "Muon with {} Newton-Schulz steps of {} coefficients",
               options.ns_steps, options.ns_coefficients.size());
  }
}

Tensor norm_of(const Tensor& x) { return x.cast(dtypes::f32).square().sum().sqrt(); }

// `ratio` where both sizes are positive, else 1: a parameter of zeros must be able to move.
Tensor trusted(const Tensor& size, const Tensor& change, const Tensor& ratio) {
  return doorbell::where((size > 0) & (change > 0), ratio, 1.0);
}

// Momentum, where there is any: the velocity is assigned, the slope to go along given back.
Tensor with_momentum(std::vector<Tensor>& velocities, usize i, const Tensor& slope, f64 momentum,
                     bool nesterov) {
  if (momentum == 0) return slope;
  Tensor& velocity = velocities[i];
  velocity.assign((momentum * velocity + slope).cast(velocity.dtype()));
  return nesterov ? slope + momentum * velocity : velocity;
}

}  // namespace

SGD::SGD(std::span<const Tensor> parameters, f64 rate, const SGDOptions& options) {
  add_param_group({{parameters.begin(), parameters.end()}, rate, options});
}

SGD::SGD(const std::vector<Group>& groups) {
  for (const Group& group : groups) add_param_group(group);
}

void SGD::add_param_group(const Group& group) {
  check_descent(group.options);
  add_parameters(group.parameters, group.rate);
  options_.push_back(group.options);
  velocity_.resize(parameters().size());
  take_options(options_.size() - 1);
}

std::vector<OptionField> SGD::fields(usize group) {
  SGDOptions& own = options_[group];
  return {{"momentum", &own.momentum},
          {"weight_decay", &own.weight_decay},
          {"nesterov", &own.nesterov},
          {"classic", &own.classic}};
}

void SGD::take_options(usize group) {
  check_descent(options_[group]);
  if (options_[group].momentum == 0) return;
  for (usize i = first_of(group); i < first_of(group) + count_of(group); ++i)
    if (!velocity_[i].defined()) velocity_[i] = zeros_like_parameter(i);
}

Tensor SGD::updated(usize i, const Tensor& value, const Tensor& gradient) {
  const SGDOptions& own = options_[group_of(i)];
  Tensor slope = gradient;
  if (own.weight_decay != 0) slope = slope + own.weight_decay * value;
  if (own.classic) slope = rate(i) * slope;
  slope = with_momentum(velocity_, i, slope, own.momentum, own.nesterov);
  return own.classic ? value - slope : value - rate(i) * slope;
}

LARS::LARS(std::span<const Tensor> parameters, f64 rate, const LARSOptions& options) {
  add_param_group({{parameters.begin(), parameters.end()}, rate, options});
}

LARS::LARS(const std::vector<Group>& groups) {
  for (const Group& group : groups) add_param_group(group);
}

void LARS::add_param_group(const Group& group) {
  check_descent(group.options);
  add_parameters(group.parameters, group.rate);
  options_.push_back(group.options);
  velocity_.resize(parameters().size());
  take_options(options_.size() - 1);
}

std::vector<OptionField> LARS::fields(usize group) {
  LARSOptions& own = options_[group];
  return {{"momentum", &own.momentum},
          {"weight_decay", &own.weight_decay},
          {"nesterov", &own.nesterov},
          {"classic", &own.classic},
          {"tcoef", &own.trust_coefficient}};
}

void LARS::take_options(usize group) {
  check_descent(options_[group]);
  if (options_[group].momentum == 0) return;
  for (usize i = first_of(group); i < first_of(group) + count_of(group); ++i)
    if (!velocity_[i].defined()) velocity_[i] = zeros_like_parameter(i);
}

Tensor LARS::updated(usize i, const Tensor& value, const Tensor& gradient) {
  const LARSOptions& own = options_[group_of(i)];
  const Tensor size = norm_of(value), change = norm_of(gradient);
  const Tensor ratio =
      trusted(size, change, own.trust_coefficient * size / (change + own.weight_decay * size));
  const Tensor scale = ratio * rate(i);
  Tensor slope = gradient;
  if (own.weight_decay != 0) slope = slope + own.weight_decay * value;
  if (own.classic) slope = scale * slope;
  slope = with_momentum(velocity_, i, slope, own.momentum, own.nesterov);
  return own.classic ? value - slope : value - scale * slope;
}

void Moments::add_group(std::span<const Tensor> zeros, std::span<const Tensor> more_zeros,
                        const std::array<f64, 2>& betas) {
  Group group{.first = mean_.size(), .count = zeros.size(), .betas = betas};
  mean_.insert(mean_.end(), zeros.begin(), zeros.end());
  variance_.insert(variance_.end(), more_zeros.begin(), more_zeros.end());
  group_of_.resize(mean_.size(), groups_.size());
  groups_.push_back(std::move(group));
  set_clock(groups_.back(), std::vector<f64>(zeros.size(), 0.0));
}

// Assigned, so that a jitted step, which knows these tensors, sees it.
void Moments::set_clock(Group& group, std::span<const f64> steps) {
  NoGradScope no_grad;
  const std::string device = mean_[group.first].device();
  const auto put = [&](Tensor& tensor, const std::vector<f64>& values) {
    const i64 columns = static_cast<i64>(values.size()) / 3;
    const std::vector<f32> rounded(values.begin(), values.end());  // some devices have no f64
    const Tensor given = Tensor::from_data(rounded, {3, columns}, {.device = device}).realize();
    if (tensor.defined())
      tensor.assign(given);
    else
      tensor = given;
  };
  const auto [beta1, beta2] = group.betas;
  put(group.factor, {1, beta1, beta2});
  put(group.addend, {1, 1 - beta1, 1 - beta2});
  std::vector<f64> rows(steps.begin(), steps.end());
  for (const f64 beta : group.betas)
    for (const f64 count : steps) rows.push_back(1 - std::pow(beta, count));
  put(group.clock, rows);
}

void Moments::set_betas(usize number, const std::array<f64, 2>& betas) {
  Group& group = groups_[number];
  if (group.betas == betas) return;
  group.betas = betas;
  std::vector<f64> steps = group.clock.to_vector<f64>();
  steps.resize(group.count);
  set_clock(group, steps);
}

void Moments::set_steps(std::span<const f64> steps) {
  for (Group& group : groups_) set_clock(group, steps.subspan(group.first, group.count));
}

void Moments::advance(std::span<const usize> active) {
  for (Group& group : groups_) {
    std::vector<i32> is_active(group.count, 0);
    usize count = 0;
    for (const usize i : active) {
      if (i < group.first || i >= group.first + group.count) continue;
      is_active[i - group.first] = 1;
      ++count;
    }
    if (count == 0) continue;
    Tensor next = group.clock * group.factor + group.addend;
    if (count < group.count) {
      const Tensor mask = Tensor::from_data(is_active, {static_cast<i64>(group.count)},
                                            {.device = group.clock.device()});
      next = doorbell::where(mask > 0, next, group.clock);
    }
    group.clock.assign(next);
  }
}

Tensor Moments::clock_row(usize i, i64 row) const {
  const Group& group = groups_[group_of_[i]];
  const i64 at = static_cast<i64>(i - group.first);
  return group.clock.shrink({{row, row + 1}, {at, at + 1}}).reshape({});
}

Tensor Moments::direction(usize i, const Tensor& gradient, f64 eps) {
  const auto& [beta1, beta2] = groups_[group_of_[i]].betas;
  const Tensor mean = beta1 * mean_[i] + (1 - beta1) * gradient;
  const Tensor variance = beta2 * variance_[i] + (1 - beta2) * gradient.square();
  mean_[i].assign(mean.cast(mean_[i].dtype()));
  variance_[i].assign(variance.cast(variance_[i].dtype()));
  const Tensor unbiased_mean = mean_[i] / clock_row(i, 1);
  const Tensor unbiased_variance = variance_[i] / clock_row(i, 2);
  return unbiased_mean / (unbiased_variance.sqrt() + eps);
}

std::vector<Tensor> Moments::clocks() const {
  std::vector<Tensor> all;
  for (const Group& group : groups_) all.push_back(group.clock);
  return all;
}

Adam::Adam(const std::vector<Group>& groups, bool decoupled) : decoupled_(decoupled) {
  for (const Group& group : groups) add_param_group(group);
}

void Adam::add_param_group(const Group& group) {
  check_moments(group.options);
  add_parameters(group.parameters, group.rate);
  options_.push_back(group.options);
  moments_.add_group(zeros_like_group(options_.size() - 1), zeros_like_group(options_.size() - 1),
                     group.options.betas);
}

std::vector<OptionField> Adam::fields(usize group) {
  AdamOptions& own = options_[group];
  return {{"betas", &own.betas},
          {"eps", &own.eps},
          {"weight_decay", &own.weight_decay},
          {"decoupled_weight_decay", &decoupled_, true}};
}

void Adam::take_options(usize group) {
  check_moments(options_[group]);
  moments_.set_betas(group, options_[group].betas);
}

Tensor Adam::updated(usize i, const Tensor& value, const Tensor& gradient) {
  const AdamOptions& own = options_[group_of(i)];
  const f64 decay = own.weight_decay;
  const Tensor slope = decay != 0 && !decoupled_ ? gradient + decay * value : gradient;
  const Tensor change = rate(i) * moments_.direction(i, slope, own.eps);
  const Tensor shrunk = decay != 0 && decoupled_ ? value - rate(i) * decay * value : value;
  return shrunk - change;
}

LAMB::LAMB(std::span<const Tensor> parameters, f64 rate, const LAMBOptions& options) {
  add_param_group({{parameters.begin(), parameters.end()}, rate, options});
}

LAMB::LAMB(const std::vector<Group>& groups) {
  for (const Group& group : groups) add_param_group(group);
}

void LAMB::add_param_group(const Group& group) {
  check_moments(group.options);
  add_parameters(group.parameters, group.rate);
  options_.push_back(group.options);
  moments_.add_group(zeros_like_group(options_.size() - 1), zeros_like_group(options_.size() - 1),
                     group.options.betas);
}

std::vector<OptionField> LAMB::fields(usize group) {
  LAMBOptions& own = options_[group];
  return {{"betas", &own.betas}, {"eps", &own.eps}, {"weight_decay", &own.weight_decay}};
}

void LAMB::take_options(usize group) {
  check_moments(options_[group]);
  moments_.set_betas(group, options_[group].betas);
}

Tensor LAMB::updated(usize i, const Tensor& value, const Tensor& gradient) {
  const LAMBOptions& own = options_[group_of(i)];
  Tensor change = moments_.direction(i, gradient, own.eps);
  if (own.weight_decay != 0) change = change + own.weight_decay * value;
  const Tensor size = norm_of(value), length = norm_of(change);
  return value - rate(i) * trusted(size, length, size / length) * change;
}

Muon::Muon(std::span<const Tensor> parameters, f64 rate, const MuonOptions& options) {
  add_param_group({{parameters.begin(), parameters.end()}, rate, options});
}

Muon::Muon(const std::vector<Group>& groups) {
  for (const Group& group : groups) add_param_group(group);
}

void Muon::add_param_group(const Group& group) {
  check_muon(group.options);
  for (const Tensor& parameter : group.parameters) {
    if (parameter.ndim() < 2) {
      throw fail(ErrorKind::Invalid, "Muon for a parameter of shape {}, expected a matrix",
                 parameter.shape().str());
    }
  }
  add_parameters(group.parameters, group.rate);
  options_.push_back(group.options);
  for (Tensor& zeros : zeros_like_group(options_.size() - 1)) velocity_.push_back(std::move(zeros));
}

std::vector<OptionField> Muon::fields(usize group) {
  MuonOptions& own = options_[group];
  return {{"weight_decay", &own.weight_decay},
          {"momentum", &own.momentum},
          {"nesterov", &own.nesterov},
          {"ns_coefficients", &own.ns_coefficients},
          {"eps", &own.eps},
          {"ns_steps", &own.ns_steps}};
}

void Muon::take_options(usize group) { check_muon(options_[group]); }

Tensor Muon::updated(usize i, const Tensor& value, const Tensor& gradient) {
  const MuonOptions& own = options_[group_of(i)];
  const f64 keep = own.momentum;
  velocity_[i].assign((keep * velocity_[i] + (1 - keep) * gradient).cast(value.dtype()));
  const Tensor slope = own.nesterov ? keep * velocity_[i] + (1 - keep) * gradient : velocity_[i];
  const Tensor matrix = slope.flatten(1);
  const Tensor change =
      matrix.newton_schulz(own.ns_steps, own.ns_coefficients, own.eps).reshape(value.shape());
  const f64 rows = static_cast<f64>(matrix.size(0).value());
  const f64 columns = static_cast<f64>(matrix.size(1).value());
  const f64 scale = std::sqrt(std::max(1.0, rows / columns));
  return value * (1 - own.weight_decay * rate(i)) - scale * rate(i) * change;
}

}  // namespace doorbell::nn
