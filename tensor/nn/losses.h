// Losses as objects, with PyTorch's names, options and defaults: loss(input, target) is the Tensor
// method of that name.
#pragma once

#include "tensor/nn/module.h"

namespace doorbell::nn {

// The base of losses that have a reduction and no parameters.
struct Loss {
  Reduction reduction = Reduction::Mean;

  explicit Loss(Reduction reduction = Reduction::Mean) : reduction(reduction) {}
  void visit(Visitor&) {}
};

// The squared differences of x and target.
struct MSELoss : Loss {
  using Loss::Loss;
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.mse_loss(target, reduction);
  }
};

// The absolute differences of x and target.
struct L1Loss : Loss {
  using Loss::Loss;
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.l1_loss(target, reduction);
  }
};

// Squared differences where they are below beta, absolute ones elsewhere.
struct SmoothL1Loss : Loss {
  f64 beta;
  explicit SmoothL1Loss(f64 beta = 1.0, Reduction reduction = Reduction::Mean)
      : Loss(reduction), beta(beta) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.smooth_l1_loss(target, beta, reduction);
  }
};

// Squared differences where they are at most delta, absolute ones times delta elsewhere.
struct HuberLoss : Loss {
  f64 delta;
  explicit HuberLoss(f64 delta = 1.0, Reduction reduction = Reduction::Mean)
      : Loss(reduction), delta(delta) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.huber_loss(target, delta, reduction);
  }
};

// The Kullback-Leibler divergence. x holds log probabilities; target holds probabilities, or log
// probabilities if log_target is set.
struct KLDivLoss : Loss {
  bool log_target;
  explicit KLDivLoss(Reduction reduction = Reduction::Mean, bool log_target = false)
      : Loss(reduction), log_target(log_target) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.kl_div(target, reduction, log_target);
  }
};

// The base of losses over classes. `weight`, if defined, has one weight per class: shape (classes).
struct ClassLoss {
  LossOptions options;
  Tensor weight;

  explicit ClassLoss(const LossOptions& options = {}, Tensor weight = {})
      : options(options), weight(std::move(weight)) {}
  void visit(Visitor&) {}
};

// x holds logits; target holds class indices, or probabilities in the shape of x.
struct CrossEntropyLoss : ClassLoss {
  using ClassLoss::ClassLoss;
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.cross_entropy(target, weight, options);
  }
};

// x holds log probabilities; target holds class indices.
struct NLLLoss : ClassLoss {
  using ClassLoss::ClassLoss;
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.nll_loss(target, weight, options);
  }
};

// x holds probabilities. `weight`, if defined, is broadcast to their shape.
struct BCELoss : Loss {
  Tensor weight;

  explicit BCELoss(Reduction reduction = Reduction::Mean, Tensor weight = {})
      : Loss(reduction), weight(std::move(weight)) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.binary_crossentropy(target, weight, {.reduction = reduction});
  }
};

// x holds logits. `weight` and `pos_weight`, if defined, are broadcast to their shape.
struct BCEWithLogitsLoss : Loss {
  Tensor weight, pos_weight;

  explicit BCEWithLogitsLoss(Reduction reduction = Reduction::Mean, Tensor weight = {},
                             Tensor pos_weight = {})
      : Loss(reduction), weight(std::move(weight)), pos_weight(std::move(pos_weight)) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.binary_crossentropy_logits(target, weight, pos_weight, {.reduction = reduction});
  }
};

}  // namespace doorbell::nn
