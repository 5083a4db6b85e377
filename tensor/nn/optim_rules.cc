// The update rules: PyTorch's, and for LAMB and LARS those of their papers. What all optimisers
// share is optim.cc's.
#include <algorithm>
#include <cmath>

#include "tensor/nn/optim.h"

namespace doorbell::nn {

namespace {

void check_momentum(f64 momentum, bool nesterov) {
  if (momentum < 0) throw fail(ErrorKind::Invalid, "a momentum of {}", momentum);
  if (nesterov && momentum == 0) {
    throw fail(ErrorKind::Invalid, "nesterov with a momentum of {}", momentum);
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

SGD::SGD(std::span<const Tensor> parameters, f64 rate, const SGDOptions& options)
    : Optimizer(parameters, rate), options_(options) {
  check_momentum(options.momentum, options.nesterov);
  if (options.momentum != 0) velocity_ = zeros_like_parameters();
}

Tensor SGD::updated(usize i, const Tensor& value, const Tensor& gradient) {
  Tensor slope = gradient;
  if (options_.weight_decay != 0) slope = slope + options_.weight_decay * value;
  if (options_.classic) slope = rate() * slope;
  slope = with_momentum(velocity_, i, slope, options_.momentum, options_.nesterov);
  return options_.classic ? value - slope : value - rate() * slope;
}

LARS::LARS(std::span<const Tensor> parameters, f64 rate, const LARSOptions& options)
    : Optimizer(parameters, rate), options_(options) {
  check_momentum(options.momentum, options.nesterov);
  if (options.momentum != 0) velocity_ = zeros_like_parameters();
}

Tensor LARS::updated(usize i, const Tensor& value, const Tensor& gradient) {
  const Tensor size = norm_of(value), change = norm_of(gradient);
  const Tensor ratio = trusted(
      size, change, options_.trust_coefficient * size / (change + options_.weight_decay * size));
  const Tensor scale = ratio * rate();
  Tensor slope = gradient;
  if (options_.weight_decay != 0) slope = slope + options_.weight_decay * value;
  if (options_.classic) slope = scale * slope;
  slope = with_momentum(velocity_, i, slope, options_.momentum, options_.nesterov);
  return options_.classic ? value - slope : value - scale * slope;
}

Moments::Moments(const Tensor& first, std::vector<Tensor> zeros, std::vector<Tensor> more_zeros,
                 const std::array<f64, 2>& betas)
    : betas_(betas),
      mean_(std::move(zeros)),
      variance_(std::move(more_zeros)),
      power1_(Tensor::of(1.0, {.device = first.device()})),
      power2_(Tensor::of(1.0, {.device = first.device()})) {
  for (f64 beta : betas) {
    if (!(beta >= 0 && beta < 1)) throw fail(ErrorKind::Invalid, "a beta of {}", beta);
  }
}

void Moments::advance() {
  power1_.assign(power1_ * betas_[0]);
  power2_.assign(power2_ * betas_[1]);
}

Tensor Moments::direction(usize i, const Tensor& gradient, f64 eps) {
  const Tensor mean = betas_[0] * mean_[i] + (1 - betas_[0]) * gradient;
  const Tensor variance = betas_[1] * variance_[i] + (1 - betas_[1]) * gradient.square();
  mean_[i].assign(mean.cast(mean_[i].dtype()));
  variance_[i].assign(variance.cast(variance_[i].dtype()));
  const Tensor unbiased_mean = mean_[i] / (1 - power1_);
  const Tensor unbiased_variance = variance_[i] / (1 - power2_);
  return unbiased_mean / (unbiased_variance.sqrt() + eps);
}

std::vector<Tensor> Moments::state() const {
  std::vector<Tensor> all{power1_, power2_};
  all.insert(all.end(), mean_.begin(), mean_.end());
  all.insert(all.end(), variance_.begin(), variance_.end());
  return all;
}

Adam::Adam(std::span<const Tensor> parameters, f64 rate, const AdamOptions& options, bool decoupled)
    : Optimizer(parameters, rate),
      options_(options),
      decoupled_(decoupled),
      moments_(parameters[0], zeros_like_parameters(), zeros_like_parameters(), options.betas) {}

Tensor Adam::updated(usize i, const Tensor& value, const Tensor& gradient) {
  const f64 decay = options_.weight_decay;
  const Tensor slope = decay != 0 && !decoupled_ ? gradient + decay * value : gradient;
  const Tensor change = rate() * moments_.direction(i, slope, options_.eps);
  const Tensor shrunk = decay != 0 && decoupled_ ? value - rate() * decay * value : value;
  return shrunk - change;
}

LAMB::LAMB(std::span<const Tensor> parameters, f64 rate, const LAMBOptions& options)
    : Optimizer(parameters, rate),
      options_(options),
      moments_(parameters[0], zeros_like_parameters(), zeros_like_parameters(), options.betas) {}

Tensor LAMB::updated(usize i, const Tensor& value, const Tensor& gradient) {
  Tensor change = moments_.direction(i, gradient, options_.eps);
  if (options_.weight_decay != 0) change = change + options_.weight_decay * value;
  const Tensor size = norm_of(value), length = norm_of(change);
  return value - rate() * trusted(size, length, size / length) * change;
}

Muon::Muon(std::span<const Tensor> parameters, f64 rate, const MuonOptions& options)
    : Optimizer(parameters, rate), options_(options), velocity_(zeros_like_parameters()) {
  check_momentum(options.momentum, options.nesterov);
  for (const Tensor& parameter : parameters) {
    if (parameter.ndim() < 2) {
      throw fail(ErrorKind::Invalid, "Muon for a parameter of shape {}, expected a matrix",
                 parameter.shape().str());
    }
  }
}

Tensor Muon::updated(usize i, const Tensor& value, const Tensor& gradient) {
  const f64 keep = options_.momentum;
  velocity_[i].assign((keep * velocity_[i] + (1 - keep) * gradient).cast(value.dtype()));
  const Tensor slope =
      options_.nesterov ? keep * velocity_[i] + (1 - keep) * gradient : velocity_[i];
  const Tensor matrix = slope.flatten(1);
  const Tensor change =
      matrix.newton_schulz(options_.ns_steps, options_.ns_coefficients, options_.eps)
          .reshape(value.shape());
  const f64 rows = static_cast<f64>(matrix.size(0).value());
  const f64 columns = static_cast<f64>(matrix.size(1).value());
  const f64 scale = std::sqrt(std::max(1.0, rows / columns));
  return value * (1 - options_.weight_decay * rate()) - scale * rate() * change;
}

}  // namespace doorbell::nn
