// Optimisers. step() builds all new values lazily and realizes parameters and state together. What
// changes from step to step (the learning rate, powers of beta) is in tensors, so that the kernels
// of a step are found again.
#pragma once

#include <span>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::nn {

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

struct SGDOptions {
  f64 momentum = 0.0;
  f64 weight_decay = 0.0;
  bool nesterov = false;
};

class SGD final : public Optimizer {
 public:
  SGD(std::span<const Tensor> parameters, f64 rate = 1e-3, const SGDOptions& options = {});

 private:
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  std::vector<Tensor> state() const override { return velocity_; }

  SGDOptions options_;
  std::vector<Tensor> velocity_;  // empty without momentum
};

struct AdamOptions {
  f64 beta1 = 0.9, beta2 = 0.999;
  f64 eps = 1e-8;
  f64 weight_decay = 0.0;
};

// Weight decay is added to the gradient.
class Adam : public Optimizer {
 public:
  Adam(std::span<const Tensor> parameters, f64 rate = 1e-3, const AdamOptions& options = {})
      : Adam(parameters, rate, options, false) {}

 protected:
  Adam(std::span<const Tensor> parameters, f64 rate, const AdamOptions& options, bool decoupled);

 private:
  void advance() override;
  Tensor updated(usize i, const Tensor& value, const Tensor& gradient) override;
  std::vector<Tensor> state() const override;

  AdamOptions options_;
  bool decoupled_;
  std::vector<Tensor> mean_, variance_;
  Tensor power1_, power2_;  // beta to the number of steps
};

// Weight decay shrinks the parameter itself.
class AdamW final : public Adam {
 public:
  AdamW(std::span<const Tensor> parameters, f64 rate = 1e-3,
        const AdamOptions& options = {.weight_decay = 1e-2})
      : Adam(parameters, rate, options, true) {}
};

}  // namespace doorbell::nn
