// Norms and attention: compositions of reductions and products, and functions one after the other.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/api/axes.h"
#include "tensor/api/promotion.h"

namespace doorbell {

Tensor Tensor::layernorm(const Axes& axes, f64 eps) const {
  const Tensor x = detail::as_float(*this);
  const Tensor centred = x - x.mean(axes, {.keepdim = true});
  const Tensor variance = centred.square().mean(axes, {.keepdim = true});
  return centred * (variance + eps).rsqrt();
}

Tensor Tensor::batchnorm(const Tensor& weight, const Tensor& bias, const Tensor& mean,
                         const Tensor& invstd, const Axes& axes) const {
  const std::vector<bool> chosen = detail::resolve_axes(axes, ndim());
  const Shape own = shape();
  Shape channel;
  for (usize i = 0; i < own.size(); ++i) channel.push_back(chosen[i] ? own[i] : Size(1));
  Tensor x = *this - mean.reshape(channel);
  if (weight.defined()) x = x * weight.reshape(channel);
  const bool is_per_channel = invstd.ndim() == std::count(chosen.begin(), chosen.end(), true);
  x = x * (is_per_channel ? invstd.reshape(channel) : invstd);
  return bias.defined() ? x + bias.reshape(channel) : x;
}

Tensor Tensor::sequential(std::span<const std::function<Tensor(const Tensor&)>> functions) const {
  Tensor x = *this;
  for (const auto& function : functions) x = function(x);
  return x;
}

namespace {

// Each head of x serves as many heads of the queries as make up their number.
Tensor shared_heads(const Tensor& x, const Tensor& queries) {
  if (queries.ndim() < 3 || x.ndim() < 3 || !x.size(-3).is_const() || x.size(-3).is(0) ||
      queries.size(-3).value() % x.size(-3).value() != 0) {
    throw fail(ErrorKind::Invalid, "heads of shape {} do not divide those of queries of shape {}",
               x.shape().str(), queries.shape().str());
  }
  return x.repeat_interleave(queries.size(-3).value() / x.size(-3).value(), -3);
}

}  // namespace

Tensor Tensor::scaled_dot_product_attention(const Tensor& key, const Tensor& value,
                                            const AttentionOptions& options) const {
  return scaled_dot_product_attention(key, value, Tensor(), options);
}

Tensor Tensor::scaled_dot_product_attention(const Tensor& key, const Tensor& value,
                                            const Tensor& mask,
                                            const AttentionOptions& options) const {
  if (options.is_causal && mask.defined()) {
    throw fail(ErrorKind::Invalid,
               "attention with a mask and is_causal = true, expected one of them");
  }
  if (options.enable_gqa) {
    AttentionOptions plain = options;
    plain.enable_gqa = false;
    return scaled_dot_product_attention(shared_heads(key, *this), shared_heads(value, *this), mask,
                                        plain);
  }
  const f64 scale =
      options.scale ? *options.scale : 1.0 / std::sqrt(static_cast<f64>(size(-1).value()));
  const Tensor wide = detail::as_float(*this);
  const DType compute = wide.dtype().bytes() < 4 ? dtypes::f32 : wide.dtype();
  Tensor scores = wide.cast(compute).matmul(key.transpose(-2, -1).cast(compute)) * scale;
  constexpr f64 kNever = -std::numeric_limits<f64>::infinity();
  if (options.is_causal) {
    const Tensor allowed = Tensor::ones({size(-2), key.size(-2)}, {.dtype = dtypes::bool_}).tril();
    scores = doorbell::where(allowed, scores, kNever);
  } else if (mask.defined()) {
    scores = mask.dtype().is_bool() ? doorbell::where(mask, scores, kNever)
                                    : scores + mask.cast(compute);
  }
  Tensor shares;
  if (mask.defined() && scores.numel() != 0) {
    // A query that may look at nothing gets zeros, as PyTorch's gives it, and so do its gradients.
    const Tensor nothing = scores.max(-1, {.keepdim = true}) == kNever;
    shares = doorbell::where(nothing, 0.0, doorbell::where(nothing, 0.0, scores).softmax(-1));
  } else {
    shares = scores.softmax(-1);
  }
  return shares.cast(wide.dtype()).dropout(options.dropout_p).matmul(value);
}

}  // namespace doorbell
