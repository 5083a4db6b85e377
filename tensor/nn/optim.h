// Optimisers. step() builds all new values lazily and realizes parameters and state together. What
// changes from step to step (the learning rate, the number of steps) is in tensors, so that the
// kernels of a step are found again. For rates over time see schedule.h, for files of
// states tensor/io/optim_file.h.
//
// Options bear PyTorch's names and defaults. LAMB and LARS, which it lacks, are those of their
// papers (arxiv.org/abs/1904.00962, arxiv.org/abs/1708.03888) with tinygrad's names and defaults.
// A negative rate, decay or momentum, and one tensor given twice, are errors.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/api/tensor.h"
#include "tensor/nn/optim_state.h"

namespace doorbell::nn {

// Parameters that share options: `nn::SGD({{weights, 0.1}, {biases, 0.2, {.momentum = 0.9}}})`.
template <class Options>
struct ParamGroup {
  std::vector<Tensor> parameters;
  f64 rate = 1e-3;
  Options options{};
};

// The base of all optimisers: groups of parameters, their learning rates, and the state as a value.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates every parameter that has a gradient; throws if none has one. Also realizes what forward
  // passes changed on this thread (running statistics of norms) and `also` (the loss, say), so that
  // all of it shares work.
  void step(std::span<const Tensor> also = {});
  void step(std::initializer_list<Tensor> also) { step(std::span(also.begin(), also.size())); }
  // Builds the update lazily and returns the tensors that have to be realized for it.
  std::vector<Tensor> lazy_step();
  void zero_grad();
  const std::vector<Tensor>& parameters() const { return parameters_; }  // of all groups

  // Groups of parameters with options of their own.
  usize group_count() const { return groups_.size(); }
  // The parameters of one group, in order.
  std::vector<Tensor> group_parameters(usize group) const;
  f64 learning_rate(usize group = 0) const { return groups_.at(group).rate; }
  void set_learning_rate(f64 rate);  // of all groups
  void set_learning_rate(f64 rate, usize group);
  // By name, "lr" first. A jitted step follows later changes of the rate only.
  NamedOptions options(usize group = 0) const;
  void set_option(usize group, const std::string& option, const OptionValue& value) {
    set_options(group, {{option, value}});
  }
  void set_options(usize group, const NamedOptions& given) {
    take(group, given, false);
  }  // or none

  // Parameters are numbered through all groups. The result is a copy: later steps do not change it.
  OptimizerState state_dict() const;
  // Takes a state of this class or of PyTorch's class of the same name, with its options. A
  // parameter that has no state there begins anew. Throws, and changes nothing, if groups or shapes
  // differ or this optimiser lacks an option that is set (amsgrad). Computes.
  void load_state_dict(const OptimizerState& state);

 protected:
  Optimizer() = default;

  // Checks them, and adds a group. The class adds its options and its state.
  void add_parameters(std::span<const Tensor> parameters, f64 rate);
  usize group_of(usize i) const { return group_of_[i]; }
  usize first_of(usize group) const { return groups_[group].first; }
  usize count_of(usize group) const;
  const Tensor& rate(usize i) const { return groups_[group_of_[i]].rate_tensor; }
  // In storage of its own, so that the first step runs the kernels of all others.
  Tensor zeros_like_parameter(usize i) const;
  std::vector<Tensor> zeros_like_group(usize group) const;

  virtual std::string_view name() const = 0;
  // The options but for the rate.
  virtual std::vector<OptionField> fields(usize group) = 0;
  // Throws for options that cannot be meant, else makes what state they need.
  virtual void take_options(usize group) = 0;
  // Once per step, before the parameters: state shared by them, assigned. `active` have gradients.
  virtual void advance(std::span<const usize> active) { (void)active; }
  // The new value of parameter i; assigns state of its own.
  virtual Tensor updated(usize i, const Tensor& value, const Tensor& gradient) = 0;
  // Handles of the state of parameter i, by PyTorch's names.
  virtual NamedTensors slots(usize i) const = 0;
  // State shared by parameters, for realizing.
  virtual std::vector<Tensor> shared_state() const { return {}; }
  // How often a parameter was changed, where that counts: PyTorch's state "step".
  virtual Tensor steps(usize i) const { return (void)i, Tensor(); }
  virtual void set_steps(std::span<const f64> steps) { (void)steps; }

 private:
  struct Group {
    usize first = 0;  // of its parameters
    f64 rate = 0;
    Tensor rate_tensor;
  };
  using Assignments = std::vector<std::pair<Tensor, Tensor>>;

  // All of them or none. What PyTorch has beyond is looked at where `foreign` is set.
  void take(usize group, const NamedOptions& given, bool foreign);
  Assignments assignments(const OptimizerState& state, std::vector<f64>* steps) const;

  std::vector<Tensor> parameters_;
  std::vector<usize> group_of_;
  std::vector<Group> groups_;
};

// Several optimisers that step together: `nn::OptimizerGroup both({&first, &second})`. Borrows
// them.
class OptimizerGroup {
 public:
  explicit OptimizerGroup(std::vector<Optimizer*> optimizers);
  // As Optimizer::step, with one realization for all.
  void step(std::span<const Tensor> also = {});
  void step(std::initializer_list<Tensor> also) { step(std::span(also.begin(), also.size())); }
  std::vector<Tensor> lazy_step();
  void zero_grad();
  const std::vector<Optimizer*>& optimizers() const { return optimizers_; }

 private:
  std::vector<Optimizer*> optimizers_;  // the caller's
};

struct SGDOptions {
  f64 momentum = 0.0;
  f64 weight_decay = 0.0;
  bool nesterov = false;
  // The rate is part of the velocity, so that a change of it acts slowly. PyTorch has only false.
  bool classic = false;
};

// The gradient times the rate, or the momentum of gradients.
class SGD final : public Optimizer {
 public:
  using Group = ParamGroup<SGDOptions>;
  SGD(std::span<const Tensor> parameters, f64 rate = 1e-3, const SGDOptions& options = {});
  explicit SGD(const std::vector<Group>& groups);
  // Adds a group; options that it leaves out are the optimiser's. Throws if a tensor is in a group
  // already.
  void add_param_group(const Group& group);

 private:
  std::string_view name() const override { return "SGD"; }
  std::vector<OptionField> fields(usize group) override;
  void take_options(usize group) override;
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  NamedTensors slots(usize i) const override { return {{"momentum_buffer", velocity_[i]}}; }

  std::vector<SGDOptions> options_;  // by group
  std::vector<Tensor> velocity_;     // not defined without momentum
};

struct LARSOptions {
  f64 momentum = 0.9;
  f64 weight_decay = 1e-4;
  bool nesterov = false;
  bool classic = true;  // as in the paper; see SGDOptions
  f64 trust_coefficient = 1e-3;
};

// SGD with a rate that is scaled per parameter by
// trust_coefficient * |w| / (|g| + weight_decay * |w|).
class LARS final : public Optimizer {
 public:
  using Group = ParamGroup<LARSOptions>;
  LARS(std::span<const Tensor> parameters, f64 rate = 1e-3, const LARSOptions& options = {});
  explicit LARS(const std::vector<Group>& groups);
  // Adds a group; options that it leaves out are the optimiser's. Throws if a tensor is in a group
  // already.
  void add_param_group(const Group& group);

 private:
  std::string_view name() const override { return "LARS"; }
  std::vector<OptionField> fields(usize group) override;
  void take_options(usize group) override;
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  NamedTensors slots(usize i) const override { return {{"momentum_buffer", velocity_[i]}}; }

  std::vector<LARSOptions> options_;
  std::vector<Tensor> velocity_;
};

struct AdamOptions {
  std::array<f64, 2> betas = {0.9, 0.999};
  f64 eps = 1e-8;
  f64 weight_decay = 0.0;
};

// The base of Adam and LAMB: running means of gradients and of their squares. A parameter without a
// gradient does not count the step, as in PyTorch.
class Moments {
 public:
  // Adds a group; its parameters are numbered after those of earlier groups.
  void add_group(std::span<const Tensor> zeros, std::span<const Tensor> more_zeros,
                 const std::array<f64, 2>& betas);
  // New betas apply to all steps since the first, as in PyTorch. Reads the step counts.
  void set_betas(usize group, const std::array<f64, 2>& betas);
  void advance(std::span<const usize> active);
  // mean / (sqrt(variance) + eps), both corrected for their bias.
  Tensor direction(usize i, const Tensor& gradient, f64 eps);
  NamedTensors slots(usize i) const {
    return {{"exp_avg", mean_[i]}, {"exp_avg_sq", variance_[i]}};
  }
  std::vector<Tensor> clocks() const;
  Tensor steps(usize i) const { return clock_row(i, 0); }
  void set_steps(std::span<const f64> steps);

 private:
  struct Group {
    usize first = 0, count = 0;  // of its parameters
    std::array<f64, 2> betas{};
    // (3, count): steps n, 1 - beta1^n and 1 - beta2^n, each times `factor` plus `addend` of (3, 1)
    // at the next step. In f32 this keeps the digits that 1 - power would lose.
    Tensor clock, factor, addend;
  };
  void set_clock(Group& group, std::span<const f64> steps);
  Tensor clock_row(usize i, i64 row) const;

  std::vector<Group> groups_;
  std::vector<usize> group_of_;
  std::vector<Tensor> mean_, variance_;
};

// Weight decay is added to the gradient.
class Adam : public Optimizer {
 public:
  using Group = ParamGroup<AdamOptions>;
  Adam(std::span<const Tensor> parameters, f64 rate = 1e-3, const AdamOptions& options = {})
      : Adam({{{parameters.begin(), parameters.end()}, rate, options}}, false) {}
  explicit Adam(const std::vector<Group>& groups) : Adam(groups, false) {}
  // Adds a group; options that it leaves out are the optimiser's. Throws if a tensor is in a group
  // already.
  void add_param_group(const Group& group);

 protected:
  Adam(const std::vector<Group>& groups, bool decoupled);

 private:
  std::string_view name() const override { return decoupled_ ? "AdamW" : "Adam"; }
  std::vector<OptionField> fields(usize group) override;
  void take_options(usize group) override;
  void advance(std::span<const usize> active) override { moments_.advance(active); }
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  NamedTensors slots(usize i) const override { return moments_.slots(i); }
  std::vector<Tensor> shared_state() const override { return moments_.clocks(); }
  Tensor steps(usize i) const override { return moments_.steps(i); }
  void set_steps(std::span<const f64> steps) override { moments_.set_steps(steps); }

  std::vector<AdamOptions> options_;
  bool decoupled_;
  Moments moments_;
};

// Weight decay shrinks the parameter itself.
class AdamW final : public Adam {
 public:
  AdamW(std::span<const Tensor> parameters, f64 rate = 1e-3,
        const AdamOptions& options = {.weight_decay = 1e-2})
      : Adam({{{parameters.begin(), parameters.end()}, rate, options}}, true) {}
  explicit AdamW(const std::vector<Group>& groups) : Adam(groups, true) {}
};

struct LAMBOptions {
  std::array<f64, 2> betas = {0.9, 0.999};
  f64 eps = 1e-6;
  f64 weight_decay = 0.0;
};

// AdamW's direction, scaled per parameter to the size of the parameter.
class LAMB final : public Optimizer {
 public:
  using Group = ParamGroup<LAMBOptions>;
  LAMB(std::span<const Tensor> parameters, f64 rate = 1e-3, const LAMBOptions& options = {});
  explicit LAMB(const std::vector<Group>& groups);
  // Adds a group; options that it leaves out are the optimiser's. Throws if a tensor is in a group
  // already.
  void add_param_group(const Group& group);

 private:
  std::string_view name() const override { return "LAMB"; }
  std::vector<OptionField> fields(usize group) override;
  void take_options(usize group) override;
  void advance(std::span<const usize> active) override { moments_.advance(active); }
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  NamedTensors slots(usize i) const override { return moments_.slots(i); }
  std::vector<Tensor> shared_state() const override { return moments_.clocks(); }
  Tensor steps(usize i) const override { return moments_.steps(i); }
  void set_steps(std::span<const f64> steps) override { moments_.set_steps(steps); }

  std::vector<LAMBOptions> options_;
  Moments moments_;
};

struct MuonOptions {
  f64 weight_decay = 0.1;
  f64 momentum = 0.95;
  bool nesterov = true;
  std::vector<f64> ns_coefficients = {3.4445, -4.7750, 2.0315};
  f64 eps = 1e-7;
  i64 ns_steps = 5;
};

// Momentum made orthogonal (Tensor::newton_schulz), for parameters that are matrices; axes beyond
// the second are taken together with it. torch.optim.Muon, but computed in the parameters' dtype
// where that one uses bf16. The rate of an (a, b) matrix is scaled by sqrt(max(1, a / b)).
class Muon final : public Optimizer {
 public:
  using Group = ParamGroup<MuonOptions>;
  Muon(std::span<const Tensor> parameters, f64 rate = 1e-3, const MuonOptions& options = {});
  explicit Muon(const std::vector<Group>& groups);
  // Adds a group; options that it leaves out are the optimiser's. Throws if a tensor is in a group
  // already.
  void add_param_group(const Group& group);

 private:
  std::string_view name() const override { return "Muon"; }
  std::vector<OptionField> fields(usize group) override;
  void take_options(usize group) override;
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  NamedTensors slots(usize i) const override { return {{"momentum_buffer", velocity_[i]}}; }

  std::vector<MuonOptions> options_;
  std::vector<Tensor> velocity_;
};

}  // namespace doorbell::nn
