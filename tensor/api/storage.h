// Inside the tensor API: the last step of every function that makes a tensor.
#pragma once

#include "tensor/api/tensor.h"

namespace doorbell::detail {

// Puts a tensor of no device where the options say, and marks it where they ask.
Tensor finish(Tensor tensor, const TensorOptions& options);

// The options with the dtype and device of x where they name none.
TensorOptions options_like(const Tensor& x, const TensorOptions& options);

}  // namespace doorbell::detail
