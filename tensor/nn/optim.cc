// What all optimisers share, and groups of them. The update rules are optim_rules.cc's.
#include "tensor/nn/optim.h"

#include "tensor/api/build.h"
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
  for (const Tensor& parameter : parameters_)
    zeros.push_back(detail::stored_at(parameter.zeros_like(), detail::place_of(parameter)));
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

OptimizerGroup::OptimizerGroup(std::vector<Optimizer*> optimizers)
    : optimizers_(std::move(optimizers)) {
  if (optimizers_.empty()) throw fail(ErrorKind::Invalid, "a group of no optimisers");
}

void OptimizerGroup::zero_grad() {
  for (Optimizer* optimizer : optimizers_) optimizer->zero_grad();
}

std::vector<Tensor> OptimizerGroup::lazy_step() {
  std::vector<Tensor> changed;
  for (Optimizer* optimizer : optimizers_) {
    const std::vector<Tensor> part = optimizer->lazy_step();
    changed.insert(changed.end(), part.begin(), part.end());
  }
  return changed;
}

void OptimizerGroup::step(std::span<const Tensor> also) {
  std::vector<Tensor> changed = lazy_step();
  changed.insert(changed.end(), also.begin(), also.end());
  Tensor::realize(changed);
}

}  // namespace doorbell::nn
