// Losses as objects, with PyTorch's names, options and defaults: loss(input, target) is the Tensor
// method of that name.
#pragma once

#include "tensor/nn/module.h"

namespace doorbell::nn {

// Has no tensors that are learnt.
struct Loss {
  Reduction reduction = Reduction::Mean;

  explicit Loss(Reduction reduction = Reduction::Mean) : reduction(reduction) {}
  void visit(Visitor&) {}
};

// Squares of the differences.
struct MSELoss : Loss {
  using Loss::Loss;
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.mse_loss(target, reduction);
  }
};

// Sizes of the differences.
struct L1Loss : Loss {
  using Loss::Loss;
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.l1_loss(target, reduction);
  }
};

// Squares up to beta, lines beyond.
struct SmoothL1Loss : Loss {
  f64 beta;
  explicit SmoothL1Loss(f64 beta = 1.0, Reduction reduction = Reduction::Mean)
      : Loss(reduction), beta(beta) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.smooth_l1_loss(target, beta, reduction);
  }
};

// Squares up to delta, lines beyond.
struct HuberLoss : Loss {
  f64 delta;
  explicit HuberLoss(f64 delta = 1.0, Reduction reduction = Reduction::Mean)
      : Loss(reduction), delta(delta) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.huber_loss(target, delta, reduction);
  }
};

// Of log probabilities, and of targets that are probabilities, or with log_target their logarithms.
struct KLDivLoss : Loss {
  bool log_target;
  explicit KLDivLoss(Reduction reduction = Reduction::Mean, bool log_target = false)
      : Loss(reduction), log_target(log_target) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.kl_div(target, reduction, log_target);
  }
};

// Of classes; weight: (classes) or undefined.
struct ClassLoss {
  LossOptions options;
  Tensor weight;

  explicit ClassLoss(const LossOptions& options = {}, Tensor weight = {})
      : options(options), weight(std::move(weight)) {}
  void visit(Visitor&) {}
};

// Of logits, and of class numbers or probabilities.
struct CrossEntropyLoss : ClassLoss {
  using ClassLoss::ClassLoss;
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.cross_entropy(target, weight, options);
  }
};

// Of log probabilities and class numbers.
struct NLLLoss : ClassLoss {
  using ClassLoss::ClassLoss;
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.nll_loss(target, weight, options);
  }
};

// Of probabilities; weight: of any shape that fits, or undefined.
struct BCELoss : Loss {
  Tensor weight;

  explicit BCELoss(Reduction reduction = Reduction::Mean, Tensor weight = {})
      : Loss(reduction), weight(std::move(weight)) {}
  Tensor operator()(const Tensor& x, const Tensor& target) const {
    return x.binary_crossentropy(target, weight, {.reduction = reduction});
  }
};

// Of logits; weight and pos_weight: of any shape that fits, or undefined.
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
