// Gradients kept within bounds, between backward() and an optimiser's step.
#pragma once

#include <limits>
#include <span>

#include "tensor/api/tensor.h"

namespace doorbell::nn {

// Scales the gradients of all parameters alike, so that the norm of all of them together is at most
// `max_norm`. Gives the norm from before, lazily. `norm_type`: 2 is the root of the sum of squares,
// infinity the largest size. Parameters without a gradient are passed over.
Tensor clip_grad_norm(std::span<const Tensor> parameters, f64 max_norm, f64 norm_type = 2.0);

// Each element of each gradient becomes at least -value and at most value.
//
//   nn::clip_grad_value(parameters, 0.5);
void clip_grad_value(std::span<const Tensor> parameters, f64 value);

}  // namespace doorbell::nn
