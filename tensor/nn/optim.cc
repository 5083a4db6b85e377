// What all optimisers share: parameters in groups, the step, the state as a value. For the update
// rules see optim_rules.cc.
#include "tensor/nn/optim.h"

#include <algorithm>

#include <absl/container/flat_hash_set.h>

#include "tensor/api/cell.h"
#include "tensor/api/sharding.h"
#include "tensor/api/view.h"
#include "tensor/nn/deferred.h"

namespace doorbell::nn {

namespace {

void check_rate(f64 rate) {
  if (!(rate >= 0))
    throw fail(ErrorKind::Invalid, "a learning rate of {}, expected 0 or more", rate);
}

}  // namespace

void Optimizer::add_parameters(std::span<const Tensor> parameters, f64 rate) {
  if (parameters.empty())
    throw fail(ErrorKind::Invalid, "an optimiser without parameters, expected one or more");
  check_rate(rate);
  absl::flat_hash_set<const detail::Cell*> known;
  for (const Tensor& parameter : parameters_)
    known.insert(detail::Access::cell_untraced(parameter));
  for (const Tensor& parameter : parameters) {
    if (!parameter.is_leaf()) {
      throw fail(ErrorKind::Invalid, "a parameter of shape {} is not marked requires_grad",
                 parameter.shape().str());
    }
    if (!known.insert(detail::Access::cell_untraced(parameter)).second) {
      throw fail(ErrorKind::Invalid, "a parameter of shape {} is given to an optimiser twice",
                 parameter.shape().str());
    }
  }
  groups_.push_back({.first = parameters_.size()});
  parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
  group_of_.resize(parameters_.size(), groups_.size() - 1);
  set_learning_rate(rate, groups_.size() - 1);
}

usize Optimizer::count_of(usize group) const {
  const usize end = group + 1 < groups_.size() ? groups_[group + 1].first : parameters_.size();
  return end - groups_[group].first;
}

std::vector<Tensor> Optimizer::group_parameters(usize group) const {
  const auto first = parameters_.begin() + static_cast<i64>(groups_.at(group).first);
  return {first, first + static_cast<i64>(count_of(group))};
}

void Optimizer::set_learning_rate(f64 rate, usize number) {
  check_rate(rate);
  Group& group = groups_.at(number);
  group.rate = rate;
  const Tensor value = Tensor::of(rate, {.device = parameters_[group.first].device()});
  // Assigned, so that a jitted step, which knows this tensor, sees it.
  if (group.rate_tensor.defined())
    group.rate_tensor.assign(value);
  else
    group.rate_tensor = value;
}

void Optimizer::set_learning_rate(f64 rate) {
  check_rate(rate);
  for (usize group = 0; group < groups_.size(); ++group) set_learning_rate(rate, group);
}

NamedOptions Optimizer::options(usize group) const {
  NamedOptions all{{"lr", groups_.at(group).rate}};
  // Only to look at the places.
  for (const OptionField& field : const_cast<Optimizer*>(this)->fields(group))
    all.emplace_back(field.name, field.value());
  return all;
}

void Optimizer::take(usize group, const NamedOptions& given, bool foreign) {
  f64 rate = learning_rate(group);
  std::vector<OptionField> all = fields(group);
  all.push_back({"lr", &rate});
  const NamedOptions before = options(group);
  try {
    for (const auto& [option, value] : given) {
      const auto field =
          std::find_if(all.begin(), all.end(),
                       [&, &option = option](const auto& one) { return one.name == option; });
      if (field != all.end())
        field->set(value);
      else if (foreign)
        check_foreign_option(name(), option, value);
      else
        throw fail(ErrorKind::Invalid, "{} has no option {}", name(), option);
    }
    check_rate(rate);
    take_options(group);
  } catch (const Error&) {
    for (usize i = 0; i + 1 < all.size(); ++i) all[i].set(before[i + 1].second);
    throw;
  }
  if (rate != learning_rate(group)) set_learning_rate(rate, group);
}

void Optimizer::zero_grad() {
  for (Tensor& parameter : parameters_) parameter.zero_grad();
}

Tensor Optimizer::zeros_like_parameter(usize i) const {
  NoGradScope no_grad;
  return detail::stored_at(parameters_[i].zeros_like(), detail::device_number_of(parameters_[i]));
}

std::vector<Tensor> Optimizer::zeros_like_group(usize group) const {
  std::vector<Tensor> zeros;
  for (usize i = 0; i < count_of(group); ++i)
    zeros.push_back(zeros_like_parameter(first_of(group) + i));
  return zeros;
}

std::vector<Tensor> Optimizer::lazy_step() {
  NoGradScope no_grad;
  std::vector<usize> active;
  std::vector<Tensor> gradients(parameters_.size());
  for (usize i = 0; i < parameters_.size(); ++i) {
    gradients[i] = parameters_[i].grad();
    if (gradients[i].defined()) active.push_back(i);
  }
  if (active.empty()) throw fail(ErrorKind::Invalid, "step without gradients; call backward first");
  advance(active);
  std::vector<Tensor> changed = shared_state();
  for (const usize i : active) {
    const Tensor value = updated(i, parameters_[i], gradients[i]);
    parameters_[i].assign(value.cast(parameters_[i].dtype()));
    for (auto& [slot, tensor] : slots(i))
      if (tensor.defined()) changed.push_back(std::move(tensor));
    changed.push_back(parameters_[i]);
  }
  for (Tensor& state : take_deferred()) changed.push_back(std::move(state));
  return changed;
}

void Optimizer::step(std::span<const Tensor> also) {
  std::vector<Tensor> changed = lazy_step();
  changed.insert(changed.end(), also.begin(), also.end());
  Tensor::realize(changed);
}

OptimizerState Optimizer::state_dict() const {
  OptimizerState all;
  for (usize group = 0; group < groups_.size(); ++group) {
    OptimizerState::Group given{.options = options(group)};
    for (usize i = 0; i < count_of(group); ++i)
      given.params.push_back(static_cast<i64>(groups_[group].first + i));
    all.param_groups.push_back(std::move(given));
  }
  for (usize i = 0; i < parameters_.size(); ++i) {
    NamedTensors own;
    if (Tensor count = steps(i); count.defined())
      own.emplace_back("step", detail::unshared(count.detach()));
    for (const auto& [slot, tensor] : slots(i))
      if (tensor.defined()) own.emplace_back(slot, detail::unshared(tensor.detach()));
    if (!own.empty()) all.state.emplace(static_cast<i64>(i), std::move(own));
  }
  return all;
}

// Each parameter's state by its place, whatever number the file gives it.
Optimizer::Assignments Optimizer::assignments(const OptimizerState& state,
                                              std::vector<f64>* counts) const {
  Assignments all;
  usize i = 0;
  for (const OptimizerState::Group& group : state.param_groups) {
    for (const i64 number : group.params) {
      NamedTensors own = slots(i);
      const auto found = state.state.find(number);
      const NamedTensors none, &given = found == state.state.end() ? none : found->second;
      for (const auto& [key, tensor] : given) {
        if (key == "step" && steps(i).defined()) {
          (*counts)[i] = tensor.item<f64>();
          continue;
        }
        const auto slot =
            std::find_if(own.begin(), own.end(), [&](const auto& one) { return one.first == key; });
        if (slot == own.end() || !slot->second.defined())
          throw fail(ErrorKind::Invalid, "the state has {} of parameter {}, which {} has not", key,
                     number, name());
        const Tensor& place = slot->second;
        if (tensor.shape() != place.shape())
          throw fail(ErrorKind::Invalid, "{} of parameter {} has shape {}, expected {}", key,
                     number, tensor.shape().str(), place.shape().str());
        all.emplace_back(place, tensor.detach().cast(place.dtype()).shard_like(place));
        own.erase(slot);
      }
      for (const auto& [key, place] : own)
        if (place.defined()) all.emplace_back(place, place.zeros_like());
      ++i;
    }
  }
  return all;
}

void Optimizer::load_state_dict(const OptimizerState& state) {
  NoGradScope no_grad;
  if (state.param_groups.size() != groups_.size())
    throw fail(ErrorKind::Invalid, "the state has {} groups of parameters, the optimiser {}",
               state.param_groups.size(), groups_.size());
  std::vector<NamedOptions> before;
  for (usize group = 0; group < groups_.size(); ++group) {
    if (state.param_groups[group].params.size() != count_of(group))
      throw fail(ErrorKind::Invalid, "group {} of the state has {} parameters, the optimiser's {}",
                 group, state.param_groups[group].params.size(), count_of(group));
    before.push_back(options(group));
  }
  std::vector<f64> counts(parameters_.size(), 0.0);
  Assignments all;
  try {
    for (usize group = 0; group < groups_.size(); ++group)
      take(group, state.param_groups[group].options, true);
    all = assignments(state, &counts);
  } catch (const Error&) {
    for (usize group = 0; group < groups_.size(); ++group) set_options(group, before[group]);
    throw;
  }
  std::vector<Tensor> changed;
  for (auto& [place, value] : all) {
    place.assign(detail::stored_at(value, detail::device_number_of(place)));
    changed.push_back(place);
  }
  set_steps(counts);
  for (Tensor& shared : shared_state()) changed.push_back(std::move(shared));
  if (!changed.empty()) Tensor::realize(changed);
}

OptimizerGroup::OptimizerGroup(std::vector<Optimizer*> optimizers)
    : optimizers_(std::move(optimizers)) {
  if (optimizers_.empty())
    throw fail(ErrorKind::Invalid, "a group without optimisers, expected one or more");
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
