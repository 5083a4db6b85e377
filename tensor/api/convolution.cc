// Convolution over any number of spatial axes: windows (detail::pool), one multiplication and one
// sum over (channels, kernel). The transposed one, which gradients of inputs are, is in
// transposed_convolution.cc.
#include <algorithm>

#include "tensor/api/axes.h"
#include "tensor/api/convolution.h"
#include "tensor/api/gradient.h"
#include "tensor/api/windows.h"

namespace doorbell {

namespace detail {

std::string convolution_misfit(const Tensor& x, const Tensor& weight, i64 groups) {
  return fmt::format("input of shape {} does not match weights of shape {} in {} groups",
                     x.shape().str(), weight.shape().str(), groups);
}

Tensor add_channel_bias(const Tensor& x, const Tensor& bias) {
  if (bias.ndim() != 1 || !(bias.size(0) == x.size(1))) {
    throw fail(ErrorKind::Invalid, "bias of shape {} for an output of shape {}", bias.shape().str(),
               x.shape().str());
  }
  Shape channel(static_cast<usize>(x.ndim()), 1);
  channel[1] = x.size(1);
  return x + bias.reshape(channel);
}

}  // namespace detail

namespace {

using detail::Amounts;

void check_convolution(const Tensor& x, const Tensor& weight, i64 groups) {
  const bool ranks = x.ndim() >= 3 && weight.ndim() == x.ndim();
  if (!ranks || groups < 1 || !(weight.size(1) * groups == x.size(1)) ||
      weight.size(0).value() % groups != 0) {
    throw fail(ErrorKind::Invalid, "{}", detail::convolution_misfit(x, weight, groups));
  }
}

// The numbers of a convolution of one input shape.
struct Convolution {
  std::vector<i64> kernel, stride, dilation, padding;
  i64 groups = 1;

  Convolution(const Tensor& x, const Tensor& weight, const Conv2dOptions& options);
  usize spatial() const { return kernel.size(); }
  // (batch, channels, places, kernel)
  Tensor windows(const Tensor& x) const {
    Amounts around(2, {0, 0});
    for (i64 amount : padding) around.emplace_back(amount, amount);
    return detail::pool(x.pad(around), kernel, stride, dilation);
  }
  Tensor forward(const Tensor& x, const Tensor& weight) const;
  Tensor input_gradient(const Tensor& gradient, const Tensor& x, const Tensor& weight) const;
  Tensor weight_gradient(const Tensor& gradient, const Tensor& x, const Tensor& weight) const;
};

Convolution::Convolution(const Tensor& x, const Tensor& weight, const Conv2dOptions& options)
    : groups(options.groups) {
  check_convolution(x, weight, groups);
  const Shape weights = weight.shape();
  kernel = Shape(weights.begin() + 2, weights.end()).values();
  stride = detail::per_axis(options.stride, spatial(), "stride");
  dilation = detail::per_axis(options.dilation, spatial(), "dilation");
  padding = detail::per_axis(options.padding, spatial(), "padding");
}

Tensor Convolution::forward(const Tensor& x, const Tensor& weight) const {
  const Tensor view = windows(x);
  const Shape weights = weight.shape(), pooled = view.shape();
  const Size batch = x.size(0), in = weights[1], out = weights[0] / groups;
  const Shape places(pooled.begin() + 2, pooled.begin() + 2 + static_cast<i64>(spatial()));
  // (batch, groups, out / groups, places, in / groups, kernel) on both sides.
  Shape apart{batch, groups, in, 1}, spread{batch, groups, in, out}, filter{1, groups, out};
  std::vector<i64> order{0, 1, 3};
  for (usize i = 0; i < spatial(); ++i) order.push_back(static_cast<i64>(4 + i));
  order.push_back(2);
  for (usize i = 0; i < spatial(); ++i) order.push_back(static_cast<i64>(4 + spatial() + i));
  apart.insert(apart.end(), places.begin(), places.end());
  spread.insert(spread.end(), places.begin(), places.end());
  filter.insert(filter.end(), spatial(), Size(1));
  filter.push_back(in);
  for (i64 size : kernel) {
    apart.push_back(size);
    spread.push_back(size);
    filter.push_back(size);
  }
  std::vector<i64> reduced;
  for (usize i = 0; i <= spatial(); ++i) reduced.push_back(-1 - static_cast<i64>(i));
  Shape result{batch, weights[0]};
  result.insert(result.end(), places.begin(), places.end());
  const Tensor products =
      view.reshape(apart).expand(spread).permute(order) * weight.reshape(filter);
  return products.sum(reduced).reshape(result);
}

// The transposed convolution, with whatever the stride left over at the end.
Tensor Convolution::input_gradient(const Tensor& gradient, const Tensor& x,
                                   const Tensor& weight) const {
  std::vector<i64> rest;
  for (usize i = 0; i < spatial(); ++i) {
    const i64 axis = static_cast<i64>(i) + 2, reach = dilation[i] * (kernel[i] - 1) + 1;
    const i64 covered = (gradient.size(axis).value() - 1) * stride[i] + reach - 2 * padding[i];
    rest.push_back(x.size(axis).value() - covered);
  }
  return gradient.conv_transpose2d(weight, {.stride = stride,
                                            .padding = padding,
                                            .output_padding = rest,
                                            .groups = groups,
                                            .dilation = dilation});
}

// Every weight meets the inputs of its place in all windows: a sum over batch and places.
Tensor Convolution::weight_gradient(const Tensor& gradient, const Tensor& x,
                                    const Tensor& weight) const {
  const Tensor view = windows(x);
  const Shape weights = weight.shape(), pooled = view.shape();
  const Size batch = x.size(0), in = weights[1], out = weights[0] / groups;
  Shape inputs{batch, groups, 1, in}, outputs{batch, groups, out, 1};
  inputs.insert(inputs.end(), pooled.begin() + 2, pooled.end());
  const auto places = pooled.begin() + 2;
  outputs.insert(outputs.end(), places, places + static_cast<i64>(spatial()));
  outputs.insert(outputs.end(), spatial(), Size(1));
  std::vector<i64> reduced{0};
  for (usize i = 0; i < spatial(); ++i) reduced.push_back(static_cast<i64>(4 + i));
  return (view.reshape(inputs) * gradient.reshape(outputs)).sum(reduced).reshape(weights);
}

class ConvolutionGradient final : public detail::GradientRule {
 public:
  explicit ConvolutionGradient(Convolution convolution) : convolution_(std::move(convolution)) {}
  Tensor derivative(const Tensor& gradient, const std::vector<Tensor>& inputs,
                    usize input) const override {
    return input == 0 ? convolution_.input_gradient(gradient, inputs[0], inputs[1])
                      : convolution_.weight_gradient(gradient, inputs[0], inputs[1]);
  }

 private:
  Convolution convolution_;
};

// Whether the transposed convolution says it: floats of one dtype, sizes known, no padding that
// reaches further than the kernel.
bool has_transposed_form(const Convolution& c, const Tensor& x, const Tensor& weight) {
  bool plain = x.dtype().is_float() && x.dtype() == weight.dtype();
  for (usize i = 0; i < c.spatial(); ++i) {
    plain &= c.padding[i] <= c.dilation[i] * (c.kernel[i] - 1);
    plain &= x.size(static_cast<i64>(i) + 2).is_const();
  }
  return plain;
}

}  // namespace

namespace {

// The same on both sides, and nothing cut.
bool is_even_padding(const Amounts& amounts) {
  return std::all_of(amounts.begin(), amounts.end(), [](const auto& amount) {
    return amount.first == amount.second && amount.first >= 0;
  });
}

// As much padding as keeps the sizes; the odd element stands behind.
Tensor padded_to_same(const Tensor& x, const Tensor& weight, const Conv2dOptions& options) {
  const usize spatial = static_cast<usize>(std::max<i64>(weight.ndim() - 2, 0));
  const auto dilation = detail::per_axis(options.dilation, spatial, "dilation");
  Amounts amounts(static_cast<usize>(x.ndim()), {0, 0});
  for (usize i = 0; i < spatial && i + 2 < amounts.size(); ++i) {
    const i64 all = dilation[i] * (weight.size(static_cast<i64>(i) + 2).value() - 1);
    amounts[i + 2] = {all / 2, all - all / 2};
  }
  for (i64 stride : options.stride.values()) {
    if (stride != 1) {
      throw fail(ErrorKind::Invalid,
                 "a convolution to the same sizes with stride {}, expected stride 1", stride);
    }
  }
  return x.pad(amounts);
}

}  // namespace

Tensor Tensor::conv2d(const Tensor& weight, const Conv2dOptions& options) const {
  if (options.same) {
    return padded_to_same(*this, weight, options)
        .conv2d(weight, {.dilation = options.dilation, .groups = options.groups});
  }
  const usize spatial = static_cast<usize>(std::max<i64>(weight.ndim() - 2, 0));
  const Amounts amounts = detail::both_sides(options.padding, spatial);
  if (!is_even_padding(amounts) && weight.ndim() == ndim()) {
    Amounts around(2, {0, 0});
    around.insert(around.end(), amounts.begin(), amounts.end());
    return pad(around).conv2d(
        weight, {.stride = options.stride, .dilation = options.dilation, .groups = options.groups});
  }
  Conv2dOptions even = options;
  std::vector<i64> padding;
  for (const auto& [before, after] : amounts) padding.push_back(before);
  even.padding = padding;
  const Convolution convolution(*this, weight, even);
  const Tensor result = convolution.forward(*this, weight);
  if (!has_transposed_form(convolution, *this, weight)) return result;
  return detail::with_gradient(result, {*this, weight},
                               std::make_unique<ConvolutionGradient>(convolution));
}

Tensor Tensor::conv2d(const Tensor& weight, const Tensor& bias,
                      const Conv2dOptions& options) const {
  const Tensor result = conv2d(weight, options);
  return bias.defined() ? detail::add_channel_bias(result, bias) : result;
}

Tensor Tensor::conv1d(const Tensor& weight, const Conv2dOptions& options) const {
  return conv1d(weight, Tensor(), options);
}

Tensor Tensor::conv1d(const Tensor& weight, const Tensor& bias,
                      const Conv2dOptions& options) const {
  if (ndim() != 3 || weight.ndim() != 3) {
    throw fail(ErrorKind::Invalid, "{}", detail::convolution_misfit(*this, weight, options.groups));
  }
  return conv2d(weight, bias, options);
}

}  // namespace doorbell
