// Layers without weights: activations, pooling, reshaping. Each calls the Tensor method of its
// name; options have PyTorch's names and defaults.
#pragma once

#include <vector>

#include "tensor/nn/module.h"

namespace doorbell::nn {

// The base of layers without tensors.
struct Stateless {
  void visit(Visitor&) {}
};

struct Identity : Stateless {
  Tensor operator()(const Tensor& x) const { return x; }
};
struct ReLU : Stateless {
  Tensor operator()(const Tensor& x) const { return x.relu(); }
};
struct ReLU6 : Stateless {
  Tensor operator()(const Tensor& x) const { return x.relu6(); }
};
// Tensor::gelu, exact or by the tanh approximation.
struct GELU : Stateless {
  Gelu approximate = Gelu::Exact;
  explicit GELU(Gelu approximate = Gelu::Exact) : approximate(approximate) {}
  Tensor operator()(const Tensor& x) const { return x.gelu(approximate); }
};
struct SiLU : Stateless {
  Tensor operator()(const Tensor& x) const { return x.silu(); }
};
struct Mish : Stateless {
  Tensor operator()(const Tensor& x) const { return x.mish(); }
};
struct Tanh : Stateless {
  Tensor operator()(const Tensor& x) const { return x.tanh(); }
};
struct Sigmoid : Stateless {
  Tensor operator()(const Tensor& x) const { return x.sigmoid(); }
};
struct LogSigmoid : Stateless {
  Tensor operator()(const Tensor& x) const { return x.logsigmoid(); }
};
struct Hardsigmoid : Stateless {
  Tensor operator()(const Tensor& x) const { return x.hardsigmoid(); }
};
struct Hardswish : Stateless {
  Tensor operator()(const Tensor& x) const { return x.hardswish(); }
};
struct SELU : Stateless {
  Tensor operator()(const Tensor& x) const { return x.selu(); }
};
struct Softsign : Stateless {
  Tensor operator()(const Tensor& x) const { return x.softsign(); }
};
// Calls Tensor::leaky_relu with this slope.
struct LeakyReLU : Stateless {
  f64 negative_slope;
  explicit LeakyReLU(f64 negative_slope = 0.01) : negative_slope(negative_slope) {}
  Tensor operator()(const Tensor& x) const { return x.leaky_relu(negative_slope); }
};
// Calls Tensor::elu with this alpha.
struct ELU : Stateless {
  f64 alpha;
  explicit ELU(f64 alpha = 1.0) : alpha(alpha) {}
  Tensor operator()(const Tensor& x) const { return x.elu(alpha); }
};
// Calls Tensor::celu with this alpha.
struct CELU : Stateless {
  f64 alpha;
  explicit CELU(f64 alpha = 1.0) : alpha(alpha) {}
  Tensor operator()(const Tensor& x) const { return x.celu(alpha); }
};
// Calls Tensor::softplus with this beta.
struct Softplus : Stateless {
  f64 beta;
  explicit Softplus(f64 beta = 1.0) : beta(beta) {}
  Tensor operator()(const Tensor& x) const { return x.softplus(beta); }
};
// Calls Tensor::hardtanh with these bounds.
struct Hardtanh : Stateless {
  f64 min_val, max_val;
  explicit Hardtanh(f64 min_val = -1.0, f64 max_val = 1.0) : min_val(min_val), max_val(max_val) {}
  Tensor operator()(const Tensor& x) const { return x.hardtanh(min_val, max_val); }
};
// Tensor::softmax along an axis.
struct Softmax : Stateless {
  i64 dim;
  explicit Softmax(i64 dim = -1) : dim(dim) {}
  Tensor operator()(const Tensor& x) const { return x.softmax(dim); }
};
// Tensor::log_softmax along an axis.
struct LogSoftmax : Stateless {
  i64 dim;
  explicit LogSoftmax(i64 dim = -1) : dim(dim) {}
  Tensor operator()(const Tensor& x) const { return x.log_softmax(dim); }
};
// Merges the axes from start_dim to end_dim.
struct Flatten : Stateless {
  i64 start_dim, end_dim;
  explicit Flatten(i64 start_dim = 1, i64 end_dim = -1) : start_dim(start_dim), end_dim(end_dim) {}
  Tensor operator()(const Tensor& x) const { return x.flatten(start_dim, end_dim); }
};
// Pools over the last axes, one per size of the kernel.
struct MaxPool2d : Stateless {
  std::vector<i64> kernel_size;
  PoolOptions options;
  explicit MaxPool2d(std::vector<i64> kernel_size, PoolOptions options = {})
      : kernel_size(std::move(kernel_size)), options(std::move(options)) {}
  Tensor operator()(const Tensor& x) const { return x.max_pool2d(kernel_size, options); }
};
// Calls Tensor::avg_pool2d with these options.
struct AvgPool2d : Stateless {
  std::vector<i64> kernel_size;
  PoolOptions options;
  explicit AvgPool2d(std::vector<i64> kernel_size, PoolOptions options = {})
      : kernel_size(std::move(kernel_size)), options(std::move(options)) {}
  Tensor operator()(const Tensor& x) const { return x.avg_pool2d(kernel_size, options); }
};

}  // namespace doorbell::nn
