// Inside the tensor API: reverse differentiation over the tensor graph.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/uop/uop.h"
#include "tensor/api/tensor.h"

namespace doorbell::detail {

struct NodeGradient {
  core::UOp node;
  Tensor gradient;  // of the node's shape and dtype
};

// The gradients of `root` for every node below it that is `wanted`, in a fixed order. Nothing flows
// through Detach; a wanted node that only a zero derivative reaches has a gradient of zeros. With
// `differentiable` the results remember how they were computed.
std::vector<NodeGradient> differentiate(const core::UOpRef& root, const Tensor& upstream,
                                        const std::function<bool(core::UOp)>& wanted,
                                        bool differentiable);

// The derivative of `value` (the node) for its source `source`, times `gradient`. Undefined: zero
// everywhere, or not differentiable. Shapes may still be those before broadcasting back.
struct DerivativeStep {
  core::UOp node;
  const Tensor& gradient;
  bool differentiable;

  Tensor value() const;
  Tensor src(usize i) const;
};
// A rule in place of the derivatives of the ops that a value is made of, where composing those
// gives a poor graph: a convolution's gradient is a convolution. Kept by the CustomGradient node.
class GradientRule : public core::Payload {
 public:
  // The gradient for inputs[input], of its shape, made differentiably if they are.
  virtual Tensor derivative(const Tensor& gradient, const std::vector<Tensor>& inputs,
                            usize input) const = 0;
};
// `value`, whose gradient the rule passes to `inputs`.
Tensor with_gradient(const Tensor& value, const std::vector<Tensor>& inputs,
                     std::unique_ptr<const GradientRule> rule);
// A rule that is one expression: the gradient for inputs[input]; undefined where it is zero.
using DerivativeOf =
    std::function<Tensor(const Tensor& gradient, const std::vector<Tensor>& inputs, usize input)>;
Tensor with_derivative(const Tensor& value, const std::vector<Tensor>& inputs, DerivativeOf rule);
// `value`, a function of `inputs` that is flat everywhere: their gradients are zeros, rather than
// missing.
Tensor flat_in(const Tensor& value, const std::vector<Tensor>& inputs);
// The square root of a sum of squares: its gradient at 0 is 0, as PyTorch has for deviations and
// norms, not infinite.
Tensor root_of_squares(const Tensor& x);

using Derivative = Tensor (*)(const DerivativeStep& step, usize source);
// Null where the op stops gradients.
Derivative derivative_of(core::Op op);

}  // namespace doorbell::detail
