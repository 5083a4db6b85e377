// Optimisers. step() builds all new values lazily and realizes parameters and state together. What
// changes from step to step (the learning rate, powers of beta) is in tensors, so that the kernels
// of a step are found again. Rates over time are schedule.h's.
//
// Options bear PyTorch's names and defaults. LAMB and LARS, which it lacks, are those of their
// papers (arxiv.org/abs/1904.00962, arxiv.org/abs/1708.03888) with tinygrad's names and defaults.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::nn {

// What all have in common: the parameters and the rate.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Changes every parameter that has a gradient. None has one: an error. What forward
  // passes changed on this thread (running statistics of norms) and `also` (the loss, say) are
  // realized with them, which shares the work.
  void step(std::span<const Tensor> also = {});
  void step(std::initializer_list<Tensor> also) { step(std::span(also.begin(), also.size())); }
  // The change alone, lazily: what has to be realized for it.
  std::vector<Tensor> lazy_step();
  void zero_grad();
  f64 learning_rate() const { return rate_; }
  void set_learning_rate(f64 rate);
  const std::vector<Tensor>& parameters() const { return parameters_; }

 protected:
  Optimizer(std::span<const Tensor> parameters, f64 rate);

  // Once per step, before the parameters: state shared by them, assigned.
  virtual void advance() {}
  // The new value of parameter i; assigns state of its own.
  virtual Tensor updated(usize i, const Tensor& value, const Tensor& gradient) = 0;
  // All state, for realizing.
  virtual std::vector<Tensor> state() const { return {}; }
  const Tensor& rate() const { return rate_tensor_; }
  std::vector<Tensor> zeros_like_parameters() const;

 private:
  std::vector<Tensor> parameters_;
  f64 rate_;
  Tensor rate_tensor_;
};

// Several that step as one: `nn::OptimizerGroup both({&first, &second})`. Borrows them.
class OptimizerGroup {
 public:
  explicit OptimizerGroup(std::vector<Optimizer*> optimizers);
  // As Optimizer's: one realize for all.
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
  SGD(std::span<const Tensor> parameters, f64 rate = 1e-3, const SGDOptions& options = {});

 private:
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  std::vector<Tensor> state() const override { return velocity_; }

  SGDOptions options_;
  std::vector<Tensor> velocity_;  // empty without momentum
};

struct LARSOptions {
  f64 momentum = 0.9;
  f64 weight_decay = 1e-4;
  bool nesterov = false;
  bool classic = true;  // as in the paper; see SGDOptions
  f64 trust_coefficient = 1e-3;
};

// SGD whose rate is scaled, per parameter, by trust_coefficient * |w| / (|g| + weight_decay * |w|).
class LARS final : public Optimizer {
 public:
  LARS(std::span<const Tensor> parameters, f64 rate = 1e-3, const LARSOptions& options = {});

 private:
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  std::vector<Tensor> state() const override { return velocity_; }

  LARSOptions options_;
  std::vector<Tensor> velocity_;
};

struct AdamOptions {
  std::array<f64, 2> betas = {0.9, 0.999};
  f64 eps = 1e-8;
  f64 weight_decay = 0.0;
};

// The running means of gradients and of their squares: what Adam and LAMB share.
class Moments {
 public:
  Moments(const Tensor& first, std::vector<Tensor> zeros, std::vector<Tensor> more_zeros,
          const std::array<f64, 2>& betas);
  void advance();  // the powers of beta go on by a step
  // mean / (sqrt(variance) + eps), both without the bias of their start.
  Tensor direction(usize i, const Tensor& gradient, f64 eps);
  std::vector<Tensor> state() const;  // all of it, for realizing

 private:
  std::array<f64, 2> betas_;
  std::vector<Tensor> mean_, variance_;
  Tensor power1_, power2_;  // beta to the number of steps
};

// Weight decay is added to the gradient.
class Adam : public Optimizer {
 public:
  Adam(std::span<const Tensor> parameters, f64 rate = 1e-3, const AdamOptions& options = {})
      : Adam(parameters, rate, options, false) {}

 protected:
  Adam(std::span<const Tensor> parameters, f64 rate, const AdamOptions& options, bool decoupled);

 private:
  void advance() override { moments_.advance(); }
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  std::vector<Tensor> state() const override { return moments_.state(); }

  AdamOptions options_;
  bool decoupled_;
  Moments moments_;
};

// Weight decay shrinks the parameter itself.
class AdamW final : public Adam {
 public:
  AdamW(std::span<const Tensor> parameters, f64 rate = 1e-3,
        const AdamOptions& options = {.weight_decay = 1e-2})
      : Adam(parameters, rate, options, true) {}
};

struct LAMBOptions {
  std::array<f64, 2> betas = {0.9, 0.999};
  f64 eps = 1e-6;
  f64 weight_decay = 0.0;
};

// AdamW's direction, scaled per parameter to the size of the parameter.
class LAMB final : public Optimizer {
 public:
  LAMB(std::span<const Tensor> parameters, f64 rate = 1e-3, const LAMBOptions& options = {});

 private:
  void advance() override { moments_.advance(); }
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  std::vector<Tensor> state() const override { return moments_.state(); }

  LAMBOptions options_;
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
  Muon(std::span<const Tensor> parameters, f64 rate = 1e-3, const MuonOptions& options = {});

 private:
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  std::vector<Tensor> state() const override { return velocity_; }

  MuonOptions options_;
  std::vector<Tensor> velocity_;
};

}  // namespace doorbell::nn
