// PyTorch's torch.nn.utils.clip_grad: the same constant beside the norm.
#include "tensor/nn/clip.h"

#include <cmath>

namespace doorbell::nn {

Tensor clip_grad_norm(std::span<const Tensor> parameters, f64 max_norm, f64 norm_type) {
  if (!(max_norm >= 0))
    throw fail(ErrorKind::Invalid, "clip gradients to a norm of {}, expected 0 or more", max_norm);
  if (!(norm_type > 0)) throw fail(ErrorKind::Invalid, "the {}-norm of gradients", norm_type);
  NoGradScope no_grad;
  const bool is_largest = std::isinf(norm_type);
  Tensor total;
  for (const Tensor& parameter : parameters) {
    const Tensor gradient = parameter.grad();
    if (!gradient.defined() || gradient.numel() == 0) continue;
    const Tensor sizes = gradient.abs();
    Tensor own = is_largest         ? sizes.max()
                 : norm_type == 2.0 ? gradient.square().sum()
                                    : sizes.pow(norm_type).sum();
    if (!total.defined()) {
      total = own;
      continue;
    }
    own = own.to(total.device());
    total = is_largest ? total.maximum(own) : total + own;
  }
  if (!total.defined()) return Tensor::of(0.0);
  if (!is_largest) total = norm_type == 2.0 ? total.sqrt() : total.pow(1 / norm_type);
  total = total.contiguous();
  const Tensor scale = (max_norm / (total + 1e-6)).minimum(1.0).contiguous();
  for (Tensor parameter : parameters) {
    const Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    parameter.set_grad(gradient * scale.to(gradient.device()).cast(gradient.dtype()));
  }
  return total;
}

void clip_grad_value(std::span<const Tensor> parameters, f64 value) {
  if (!(value >= 0))
    throw fail(ErrorKind::Invalid, "clip gradients to {}, expected 0 or more", value);
  NoGradScope no_grad;
  for (Tensor parameter : parameters) {
    const Tensor gradient = parameter.grad();
    if (gradient.defined()) parameter.set_grad(gradient.clamp({.min = -value, .max = value}));
  }
}

}  // namespace doorbell::nn
