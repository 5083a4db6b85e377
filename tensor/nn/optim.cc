// The update rules, as in PyTorch's documentation of each.
#include "tensor/nn/optim.h"

#include "tensor/nn/deferred.h"

namespace doorbell::nn {

Optimizer::Optimizer(std::span<const Tensor> parameters, f64 rate)
    : parameters_(parameters.begin(), parameters.end()), rate_(rate) {
  if (parameters_.empty()) throw fail(ErrorKind::Invalid, "an optimiser of no parameters");
  for (const Tensor& parameter : parameters_) {
    if (!parameter.is_leaf()) {
      throw fail(ErrorKind::Invalid, "a parameter of shape {} is not marked requires_grad",
                 parameter.shape().str());
    }
  }
  set_learning_rate(rate);
}

void Optimizer::set_learning_rate(f64 rate) {
  if (!(rate >= 0)) throw fail(ErrorKind::Invalid, "a learning rate of {}", rate);
  rate_ = rate;
  const Tensor value = Tensor::of(rate, {.device = parameters_[0].device()});
  // Assigned, so that a jitted step, which knows this tensor, sees it.
  if (rate_tensor_.defined())
    rate_tensor_.assign(value);
  else
    rate_tensor_ = value;
}

void Optimizer::zero_grad() {
  for (Tensor& parameter : parameters_) parameter.zero_grad();
}

std::vector<Tensor> Optimizer::zeros_like_parameters() const {
  NoGradScope no_grad;
  std::vector<Tensor> zeros;
  // In storage of their own, so that the first step runs the kernels of all others.
  for (const Tensor& parameter : parameters_) zeros.push_back(parameter.zeros_like().clone());
  return zeros;
}

std::vector<Tensor> Optimizer::lazy_step() {
  NoGradScope no_grad;
  advance();
  std::vector<Tensor> changed = state();
  bool any = false;
  for (usize i = 0; i < parameters_.size(); ++i) {
    const Tensor gradient = parameters_[i].grad();
    if (!gradient.defined()) continue;
    any = true;
    parameters_[i].assign(updated(i, parameters_[i], gradient).cast(parameters_[i].dtype()));
    changed.push_back(parameters_[i]);
  }
  if (!any) throw fail(ErrorKind::Invalid, "step without gradients; call backward first");
  for (Tensor& state : take_deferred()) changed.push_back(std::move(state));
  return changed;
}

void Optimizer::step(std::span<const Tensor> also) {
  std::vector<Tensor> changed = lazy_step();
  changed.insert(changed.end(), also.begin(), also.end());
  Tensor::realize(changed);
}

SGD::SGD(std::span<const Tensor> parameters, f64 rate, const SGDOptions& options)
    : Optimizer(parameters, rate), options_(options) {
  if (options.nesterov && options.momentum <= 0) {
    throw fail(ErrorKind::Invalid, "nesterov with a momentum of {}", options.momentum);
  }
  if (options.momentum != 0) velocity_ = zeros_like_parameters();
}

Tensor SGD::updated(usize i, const Tensor& value, const Tensor& gradient) {
  Tensor slope = gradient;
  if (options_.weight_decay != 0) slope = slope + options_.weight_decay * value;
  if (options_.momentum != 0) {
    velocity_[i].assign((options_.momentum * velocity_[i] + slope).cast(value.dtype()));
    slope = options_.nesterov ? slope + options_.momentum * velocity_[i] : velocity_[i];
  }
  return value - rate() * slope;
}

Adam::Adam(std::span<const Tensor> parameters, f64 rate, const AdamOptions& options, bool decoupled)
    : Optimizer(parameters, rate),
      options_(options),
      decoupled_(decoupled),
      mean_(zeros_like_parameters()),
      variance_(zeros_like_parameters()),
      power1_(Tensor::of(1.0, {.device = parameters[0].device()})),
      power2_(Tensor::of(1.0, {.device = parameters[0].device()})) {
  for (f64 beta : {options.beta1, options.beta2}) {
    if (!(beta >= 0 && beta < 1)) throw fail(ErrorKind::Invalid, "a beta of {}", beta);
  }
}

void Adam::advance() {
  power1_.assign(power1_ * options_.beta1);
  power2_.assign(power2_ * options_.beta2);
}

Tensor Adam::updated(usize i, const Tensor& value, const Tensor& gradient) {
  const f64 decay = options_.weight_decay;
  const Tensor slope = decay != 0 && !decoupled_ ? gradient + decay * value : gradient;
  const Tensor mean = options_.beta1 * mean_[i] + (1 - options_.beta1) * slope;
  const Tensor variance = options_.beta2 * variance_[i] + (1 - options_.beta2) * slope.square();
  mean_[i].assign(mean.cast(value.dtype()));
  variance_[i].assign(variance.cast(value.dtype()));
  const Tensor unbiased_mean = mean_[i] / (1 - power1_);
  const Tensor unbiased_variance = variance_[i] / (1 - power2_);
  const Tensor change = rate() * (unbiased_mean / (unbiased_variance.sqrt() + options_.eps));
  const Tensor shrunk = decay != 0 && decoupled_ ? value - rate() * decay * value : value;
  return shrunk - change;
}

std::vector<Tensor> Adam::state() const {
  std::vector<Tensor> all{power1_, power2_};
  all.insert(all.end(), mean_.begin(), mean_.end());
  all.insert(all.end(), variance_.begin(), variance_.end());
  return all;
}

}  // namespace doorbell::nn
