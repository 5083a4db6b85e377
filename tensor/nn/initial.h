// First values of weights, which PyTorch's layers have too. Not for users.
#pragma once

#include <string>

#include "tensor/api/tensor.h"

namespace doorbell::nn {

// Marked tensors: uniform within 1 / sqrt(inputs); within `bound`; of a normal distribution.
Tensor initial_weight(const Shape& shape, i64 inputs, const std::string& device);
Tensor initial_uniform(const Shape& shape, f64 bound, const std::string& device);
Tensor initial_normal(const Shape& shape, const std::string& device);

// Within its life, on this thread, they are zeros, and nothing is drawn: for layers that are given
// other values at once.
class SkipInitialScope {
 public:
  SkipInitialScope();
  ~SkipInitialScope();
  SkipInitialScope(const SkipInitialScope&) = delete;
  SkipInitialScope& operator=(const SkipInitialScope&) = delete;

 private:
  const bool before_;
};

}  // namespace doorbell::nn
