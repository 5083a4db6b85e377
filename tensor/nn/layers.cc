// Initial values and forward passes of the layers.
#include "tensor/nn/layers.h"

#include <cmath>

#include "tensor/nn/deferred.h"

namespace doorbell::nn {

namespace {

// PyTorch's: uniform within 1 / sqrt(inputs per output), weights and biases.
Tensor initial(const Shape& shape, i64 inputs, const std::string& device) {
  const f64 bound = 1.0 / std::sqrt(static_cast<f64>(inputs));
  return Tensor::uniform(shape, -bound, bound, {.device = device, .requires_grad = true});
}

TensorOptions parameter(const std::string& device) {
  return {.device = device, .requires_grad = true};
}

}  // namespace

Linear::Linear(i64 in, i64 out, const LayerOptions& options)
    : weight(initial({out, in}, in, options.device)) {
  if (options.bias) bias = initial({out}, in, options.device);
}

Tensor Linear::operator()(const Tensor& x) const {
  const Tensor turned = weight.transpose(0, 1);
  return bias.defined() ? x.linear(turned, bias) : x.linear(turned);
}

void Linear::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

Conv2d::Conv2d(i64 in, i64 out, const std::vector<i64>& kernel, const Conv2dOptions& options,
               const LayerOptions& layer)
    : options(options) {
  if (options.groups < 1 || in % options.groups != 0 || out % options.groups != 0) {
    throw fail(ErrorKind::Invalid, "{} to {} channels in {} groups", in, out, options.groups);
  }
  Shape shape{out, in / options.groups};
  i64 inputs = in / options.groups;
  for (i64 size : kernel) {
    shape.push_back(size);
    inputs *= size;
  }
  weight = initial(shape, inputs, layer.device);
  if (layer.bias) bias = initial({out}, inputs, layer.device);
}

Tensor Conv2d::operator()(const Tensor& x) const { return x.conv2d(weight, bias, options); }

void Conv2d::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

ConvTranspose2d::ConvTranspose2d(i64 in, i64 out, const std::vector<i64>& kernel,
                                 const ConvTranspose2dOptions& options, const LayerOptions& layer)
    : options(options) {
  if (options.groups < 1 || in % options.groups != 0 || out % options.groups != 0) {
    throw fail(ErrorKind::Invalid, "{} to {} channels in {} groups", in, out, options.groups);
  }
  Shape shape{in, out / options.groups};
  i64 inputs = out / options.groups;  // as PyTorch counts them here
  for (i64 size : kernel) {
    shape.push_back(size);
    inputs *= size;
  }
  weight = initial(shape, inputs, layer.device);
  if (layer.bias) bias = initial({out}, inputs, layer.device);
}

Tensor ConvTranspose2d::operator()(const Tensor& x) const {
  const Tensor result = x.conv_transpose2d(weight, options);
  if (!bias.defined()) return result;
  Shape channel(static_cast<usize>(result.ndim()), 1);
  channel[1] = result.size(1);
  return result + bias.reshape(channel);
}

void ConvTranspose2d::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

BatchNorm::BatchNorm(i64 features, const BatchNormOptions& options) : options(options) {
  if (options.affine) {
    weight = Tensor::ones({features}, parameter(options.device));
    bias = Tensor::zeros({features}, parameter(options.device));
  }
  if (options.track_running_stats) {
    running_mean = Tensor::zeros({features}, {.device = options.device});
    running_var = Tensor::ones({features}, {.device = options.device});
    num_batches_tracked = Tensor::zeros({}, {.dtype = dtypes::i64, .device = options.device});
  }
}

Tensor BatchNorm::operator()(const Tensor& x) {
  if (!TrainingScope::active() && options.track_running_stats) {
    return x.batchnorm(weight, bias, running_mean, (running_var + options.eps).rsqrt());
  }
  std::vector<i64> axes;
  Size count = 1;
  for (i64 axis = 0; axis < x.ndim(); ++axis) {
    if (axis == 1) continue;
    axes.push_back(axis);
    count = count * x.size(axis);
  }
  Shape channel(static_cast<usize>(x.ndim()), 1);
  channel[1] = x.size(1);
  const Tensor mean = x.mean(axes);
  const Tensor variance = (x - mean.reshape(channel)).square().mean(axes);
  if (options.track_running_stats) {
    NoGradScope no_grad;
    const f64 n = static_cast<f64>(count.value());
    const f64 unbiased = n > 1 ? n / (n - 1) : 1.0;
    const f64 keep = 1 - options.momentum;
    running_mean.assign(keep * running_mean + options.momentum * mean.detach());
    running_var.assign(keep * running_var + options.momentum * unbiased * variance.detach());
    num_batches_tracked.assign(num_batches_tracked + 1);
    for (const Tensor* state : {&running_mean, &running_var, &num_batches_tracked}) defer(*state);
  }
  return x.batchnorm(weight, bias, mean, (variance + options.eps).rsqrt());
}

void BatchNorm::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
  visitor("running_mean", running_mean);
  visitor("running_var", running_var);
  visitor("num_batches_tracked", num_batches_tracked);
}

LayerNorm::LayerNorm(const Shape& shape, const NormOptions& options)
    : shape(shape), options(options) {
  if (!options.affine) return;
  weight = Tensor::ones(shape, parameter(options.device));
  bias = Tensor::zeros(shape, parameter(options.device));
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  std::vector<i64> axes;
  const i64 rank = static_cast<i64>(shape.size());
  for (i64 axis = -rank; axis < 0; ++axis) {
    if (x.ndim() < rank || !(x.size(axis) == shape[static_cast<usize>(axis + rank)])) {
      throw fail(ErrorKind::Invalid, "layer norm over {} of a tensor of shape {}", shape.str(),
                 x.shape().str());
    }
    axes.push_back(axis);
  }
  const Tensor normal = x.layernorm(axes, options.eps);
  return weight.defined() ? normal * weight + bias : normal;
}

void LayerNorm::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

GroupNorm::GroupNorm(i64 groups, i64 channels, const NormOptions& options)
    : groups(groups), options(options) {
  if (groups < 1 || channels % groups != 0) {
    throw fail(ErrorKind::Invalid, "{} channels in {} groups", channels, groups);
  }
  if (!options.affine) return;
  weight = Tensor::ones({channels}, parameter(options.device));
  bias = Tensor::zeros({channels}, parameter(options.device));
}

Tensor GroupNorm::operator()(const Tensor& x) const {
  const Tensor normal =
      x.reshape({x.size(0), groups, -1}).layernorm(-1, options.eps).reshape(x.shape());
  if (!weight.defined()) return normal;
  Shape channel(static_cast<usize>(x.ndim()), 1);
  channel[1] = x.size(1);
  return normal * weight.reshape(channel) + bias.reshape(channel);
}

void GroupNorm::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

InstanceNorm::InstanceNorm(i64 channels, const NormOptions& options)
    : norm(channels, channels, options) {}

RMSNorm::RMSNorm(i64 features, f64 eps)
    : eps(eps), weight(Tensor::ones({features}, {.requires_grad = true})) {}

Tensor RMSNorm::operator()(const Tensor& x) const {
  const Tensor wide = x.cast(x.dtype().bytes() < 4 ? dtypes::f32 : x.dtype());
  const Tensor scale = (wide.square().mean(-1, {.keepdim = true}) + eps).rsqrt();
  return (wide * scale).cast(x.dtype()) * weight;
}

void RMSNorm::visit(Visitor& visitor) { visitor("weight", weight); }

Embedding::Embedding(i64 count, i64 features, const std::string& device)
    : weight(Tensor::randn({count, features}, parameter(device))) {}

Tensor Embedding::operator()(const Tensor& indices) const { return weight[indices]; }

void Embedding::visit(Visitor& visitor) { visitor("weight", weight); }

LSTMCell::LSTMCell(i64 in, i64 hidden, const LayerOptions& options)
    : size(hidden),
      weight_ih(initial({4 * hidden, in}, hidden, options.device)),
      weight_hh(initial({4 * hidden, hidden}, hidden, options.device)) {
  if (!options.bias) return;
  bias_ih = initial({4 * hidden}, hidden, options.device);
  bias_hh = initial({4 * hidden}, hidden, options.device);
}

std::pair<Tensor, Tensor> LSTMCell::operator()(const Tensor& x, const Tensor& hidden,
                                               const Tensor& cell) const {
  Tensor sums = x.linear(weight_ih.transpose(0, 1));
  if (bias_ih.defined()) sums = sums + bias_ih + bias_hh;
  if (hidden.defined()) sums = sums + hidden.linear(weight_hh.transpose(0, 1));
  const std::vector<Tensor> gates = sums.split(size, 1);
  Tensor next = gates[0].sigmoid() * gates[2].tanh();
  if (cell.defined()) next = next + gates[1].sigmoid() * cell;
  return {gates[3].sigmoid() * next.tanh(), next};
}

void LSTMCell::visit(Visitor& visitor) {
  visitor("weight_ih", weight_ih);
  visitor("weight_hh", weight_hh);
  visitor("bias_ih", bias_ih);
  visitor("bias_hh", bias_hh);
}

}  // namespace doorbell::nn
