// Layers. Weights are laid out, named and initialised as PyTorch does it, so that its checkpoints
// load; options have its names and defaults. They compute with the methods of Tensor, which
// refuse inputs that do not fit. Every tensor is f32 when made; assign or load others.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensor/nn/module.h"

namespace doorbell::nn {

struct LayerOptions {
  bool bias = true;
  std::string device{};
};

// (..., in) to (..., out): x @ weight.T + bias.
struct Linear {
  Linear(i64 in, i64 out, const LayerOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor);

  Tensor weight, bias;  // (out, in), (out)
};

// (n, in, ...) to (n, out, ...). The kernel has one size per spatial axis.
struct Conv2d {
  Conv2d(i64 in, i64 out, const std::vector<i64>& kernel, const Conv2dOptions& options = {},
         const LayerOptions& layer = {});
  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor);

  Conv2dOptions options;
  Tensor weight, bias;  // (out, in / groups, kernel...), (out)
};

struct Conv1d : Conv2d {
  Conv1d(i64 in, i64 out, i64 kernel, const Conv2dOptions& options = {},
         const LayerOptions& layer = {})
      : Conv2d(in, out, {kernel}, options, layer) {}
};

// (n, in, ...) to (n, out, ...): the gradient of Conv2d with respect to its input.
struct ConvTranspose2d {
  ConvTranspose2d(i64 in, i64 out, const std::vector<i64>& kernel,
                  const ConvTranspose2dOptions& options = {}, const LayerOptions& layer = {});
  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor);

  ConvTranspose2dOptions options;
  Tensor weight, bias;  // (in, out / groups, kernel...), (out)
};

struct ConvTranspose1d : ConvTranspose2d {
  ConvTranspose1d(i64 in, i64 out, i64 kernel, const ConvTranspose2dOptions& options = {},
                  const LayerOptions& layer = {})
      : ConvTranspose2d(in, out, {kernel}, options, layer) {}
};

struct BatchNormOptions {
  f64 eps = 1e-5;
  f64 momentum = 0.1;
  bool affine = true;
  bool track_running_stats = true;
  std::string device{};
};

// Normalizes each channel (axis 1); the shape stays, as in all norms. In a TrainingScope it uses
// the batch's statistics and updates the running ones, else the running ones if they are tracked.
struct BatchNorm {
  explicit BatchNorm(i64 features, const BatchNormOptions& options = {});
  Tensor operator()(const Tensor& x);
  void visit(Visitor& visitor);

  i64 features;
  BatchNormOptions options;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;
};
using BatchNorm2d = BatchNorm;
using BatchNorm3d = BatchNorm;

struct LayerNormOptions {
  f64 eps = 1e-5;
  bool elementwise_affine = true;  // has a weight, and a bias if `bias` is set
  bool bias = true;
  std::string device{};
};

// Normalizes over the last axes of x, whose sizes must be `shape`.
struct LayerNorm {
  explicit LayerNorm(const Shape& shape, const LayerNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor);

  Shape shape;
  LayerNormOptions options;
  Tensor weight, bias;
};

// Normalizes over the channels (axis 1) of images, each pixel separately.
struct LayerNorm2d : LayerNorm {
  explicit LayerNorm2d(i64 channels, const LayerNormOptions& options = {})
      : LayerNorm({channels}, options) {}
  Tensor operator()(const Tensor& x) const;
};

struct GroupNormOptions {
  f64 eps = 1e-5;
  bool affine = true;
  std::string device{};
};

// Normalizes over groups of channels (axis 1).
struct GroupNorm {
  GroupNorm(i64 groups, i64 channels, const GroupNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor);

  i64 groups, channels;
  GroupNormOptions options;
  Tensor weight, bias;
};

struct InstanceNormOptions {
  f64 eps = 1e-5;
  bool affine = false;
  std::string device{};
};

// Normalizes each channel (axis 1) of each batch element separately.
struct InstanceNorm {
  explicit InstanceNorm(i64 channels, const InstanceNormOptions& options = {});
  Tensor operator()(const Tensor& x) const { return norm(x); }
  void visit(Visitor& visitor) { norm.visit(visitor); }

  GroupNorm norm;
};

struct RMSNormOptions {
  std::optional<f64> eps{};  // default: the machine epsilon of x's dtype
  bool elementwise_affine = true;
  std::string device{};
};

// Divides x by the root mean square over its last axes, whose sizes must be `shape`.
struct RMSNorm {
  explicit RMSNorm(const Shape& shape, const RMSNormOptions& options = {});
  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor);

  Shape shape;
  RMSNormOptions options;
  Tensor weight;
};

// Looks up rows of a table by index: integers of shape (...) to (..., features).
struct Embedding {
  Embedding(i64 count, i64 features, const std::string& device = {});
  Tensor operator()(const Tensor& indices) const;
  void visit(Visitor& visitor);

  Tensor weight;  // (count, features)
};

// One step of a long short-term memory: (hidden, cell) of shape (batch, hidden size).
struct LSTMCell {
  LSTMCell(i64 in, i64 hidden, const LayerOptions& options = {});
  // A state that is undefined counts as zeros.
  std::pair<Tensor, Tensor> operator()(const Tensor& x, const Tensor& hidden = {},
                                       const Tensor& cell = {}) const;
  void visit(Visitor& visitor);

  i64 size;
  // (4 hidden, in) and (4 hidden, hidden), gates in the order i, f, g, o; biases (4 hidden).
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;
};

// Tensor::dropout: in a TrainingScope only.
struct Dropout {
  explicit Dropout(f64 probability = 0.5) : probability(probability) {}
  Tensor operator()(const Tensor& x) const { return x.dropout(probability); }
  void visit(Visitor&) {}

  f64 probability;
};

}  // namespace doorbell::nn
