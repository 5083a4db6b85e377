// Clipping of gradients, between backward() and an optimiser's step.
#pragma once

#include <limits>
#include <span>

#include "tensor/api/tensor.h"

namespace doorbell::nn {

// Scales all gradients by one factor so that their common norm is at most `max_norm`. Returns the
// norm before scaling, lazily. `norm_type` 2 is the root of the sum of squares, infinity the
// largest absolute value. Skips parameters without a gradient.
Tensor clip_grad_norm(std::span<const Tensor> parameters, f64 max_norm, f64 norm_type = 2.0);

// Clamps each element of each gradient to [-value, value].
//
//   nn::clip_grad_value(parameters, 0.5);
void clip_grad_value(std::span<const Tensor> parameters, f64 value);

}  // namespace doorbell::nn
