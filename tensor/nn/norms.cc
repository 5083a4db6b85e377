// The norms: initial values and forward passes.
#include <cmath>

#include "tensor/nn/deferred.h"
#include "tensor/nn/layers.h"

namespace doorbell::nn {

namespace {

TensorOptions parameter(const std::string& device) {
  return {.device = device, .requires_grad = true};
}

// The last axes of x, which must have this shape.
std::vector<i64> last_axes(const Tensor& x, const Shape& shape, const char* what) {
  std::vector<i64> axes;
  const i64 rank = static_cast<i64>(shape.size());
  for (i64 axis = -rank; axis < 0; ++axis) {
    if (x.ndim() < rank || !(x.size(axis) == shape[static_cast<usize>(axis + rank)])) {
      throw fail(ErrorKind::Invalid, "{} over {} of a tensor of shape {}", what, shape.str(),
                 x.shape().str());
    }
    axes.push_back(axis);
  }
  return axes;
}

// From 1 to the next number, as 2 to the number of digits behind the point.
f64 epsilon(DType dtype) {
  if (dtype == dtypes::f64) return std::ldexp(1.0, -52);
  if (dtype == dtypes::f16) return std::ldexp(1.0, -10);
  if (dtype == dtypes::bf16) return std::ldexp(1.0, -7);
  return std::ldexp(1.0, -23);
}

}  // namespace

BatchNorm::BatchNorm(i64 features, const BatchNormOptions& options)
    : features(features), options(options) {
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
    const auto follow = [&](Tensor& running, const Tensor& batch) {
      const Tensor next = (1 - options.momentum) * running + options.momentum * batch.detach();
      running.assign(next.cast(running.dtype()));
    };
    follow(running_mean, mean);
    follow(running_var, unbiased * variance);
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

LayerNorm::LayerNorm(const Shape& shape, const LayerNormOptions& options)
    : shape(shape), options(options) {
  if (!options.elementwise_affine) return;
  weight = Tensor::ones(shape, parameter(options.device));
  if (options.bias) bias = Tensor::zeros(shape, parameter(options.device));
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  Tensor normal = x.layernorm(last_axes(x, shape, "layer norm"), options.eps);
  if (weight.defined()) normal = normal * weight;
  return bias.defined() ? normal + bias : normal;
}

Tensor LayerNorm2d::operator()(const Tensor& x) const {
  if (x.ndim() != 4) {
    throw fail(ErrorKind::Invalid, "layer norm of the channels of shape {}, expected 4 axes",
               x.shape().str());
  }
  return LayerNorm::operator()(x.permute({0, 2, 3, 1})).permute({0, 3, 1, 2});
}

void LayerNorm::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

GroupNorm::GroupNorm(i64 groups, i64 channels, const GroupNormOptions& options)
    : groups(groups), channels(channels), options(options) {
  if (groups < 1 || channels % groups != 0) {
    throw fail(ErrorKind::Invalid,
               "{} channels in {} groups, expected channels that the groups divide", channels,
               groups);
  }
  if (!options.affine) return;
  weight = Tensor::ones({channels}, parameter(options.device));
  bias = Tensor::zeros({channels}, parameter(options.device));
}

Tensor GroupNorm::operator()(const Tensor& x) const {
  const Tensor normal = x.unflatten(1, {groups, x.size(1) / groups})
                            .flatten(2)
                            .layernorm(-1, options.eps)
                            .reshape(x.shape());
  if (!weight.defined()) return normal;
  Shape channel(static_cast<usize>(x.ndim()), 1);
  channel[1] = x.size(1);
  return normal * weight.reshape(channel) + bias.reshape(channel);
}

void GroupNorm::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

InstanceNorm::InstanceNorm(i64 channels, const InstanceNormOptions& options)
    : norm(channels, channels,
           {.eps = options.eps, .affine = options.affine, .device = options.device}) {}

RMSNorm::RMSNorm(const Shape& shape, const RMSNormOptions& options)
    : shape(shape), options(options) {
  if (options.elementwise_affine) weight = Tensor::ones(shape, parameter(options.device));
}

Tensor RMSNorm::operator()(const Tensor& x) const {
  const std::vector<i64> axes = last_axes(x, shape, "RMS norm");
  const Tensor wide = x.cast(x.dtype().bytes() < 4 ? dtypes::f32 : x.dtype());
  const f64 eps = options.eps ? *options.eps : epsilon(x.dtype());
  const Tensor scale = (wide.square().mean(axes, {.keepdim = true}) + eps).rsqrt();
  const Tensor normal = (wide * scale).cast(x.dtype());
  return weight.defined() ? normal * weight : normal;
}

void RMSNorm::visit(Visitor& visitor) { visitor("weight", weight); }

}  // namespace doorbell::nn
