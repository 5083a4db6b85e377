// Draws, or zeros in their place.
#include "tensor/nn/initial.h"

#include <cmath>
#include <utility>

namespace doorbell::nn {

namespace {

thread_local bool skips = false;

}  // namespace

Tensor initial_uniform(const Shape& shape, f64 bound, const std::string& device) {
  const TensorOptions options{.device = device, .requires_grad = true};
  return skips ? Tensor::zeros(shape, options) : Tensor::uniform(shape, -bound, bound, options);
}

Tensor initial_weight(const Shape& shape, i64 inputs, const std::string& device) {
  return initial_uniform(shape, 1.0 / std::sqrt(static_cast<f64>(inputs)), device);
}

Tensor initial_normal(const Shape& shape, const std::string& device) {
  const TensorOptions options{.device = device, .requires_grad = true};
  return skips ? Tensor::zeros(shape, options) : Tensor::randn(shape, options);
}

SkipInitialScope::SkipInitialScope() : before_(std::exchange(skips, true)) {}
SkipInitialScope::~SkipInitialScope() { skips = before_; }

}  // namespace doorbell::nn
