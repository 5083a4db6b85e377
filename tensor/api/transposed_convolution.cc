// The transposed convolution: the gradient of a convolution's input. With a stride s, its output is
// s * s images that interleave, one for each phase (place modulo s), and each tap of the kernel
// adds to one of them. A convolution per phase therefore multiplies no zeros.
//
// Where the phases have about as many taps each, as 4 taps of stride 2 have, they are channels of
// one convolution instead.
#include <algorithm>
#include <numeric>

#include "core/rules/interval.h"
#include "tensor/api/axes.h"
#include "tensor/api/convolution.h"
#include "tensor/api/phases.h"
#include "tensor/api/windows.h"

namespace doorbell {

namespace {

using detail::Amounts;

constexpr i64 kMostPhases = 16;        // that are convolutions of their own
constexpr f64 kWorthOneKernel = 1.25;  // taps computed, as a multiple of those there are

// The numbers of a spatial axis: taps add to the output.
struct SpatialAxis : detail::TapAxis {
  i64 after, extra;

  i64 taps_of_phase() const { return (reach() + stride - 1) / stride; }  // without dilation
};

class TransposedConvolution {
 public:
  TransposedConvolution(const Tensor& x, const Tensor& weight, i64 groups,
                        std::vector<SpatialAxis> axes)
      : x_(x), weight_(weight), groups_(groups), axes_(std::move(axes)) {}
  Tensor run() const;

 private:
  usize spatial() const { return axes_.size(); }
  i64 phases() const;
  bool is_one_kernel() const;
  Tensor convolve(const Tensor& x, const Tensor& weight, const std::vector<i64>& dilation) const;
  Tensor phase(const std::vector<i64>& numbers, const std::vector<i64>& outputs) const;
  Tensor phase_by_phase() const;
  Tensor all_at_once() const;

  const Tensor& x_;
  const Tensor& weight_;  // (in, out / groups, kernel)
  const i64 groups_;
  const std::vector<SpatialAxis> axes_;
};

i64 TransposedConvolution::phases() const {
  i64 count = 1;
  for (const SpatialAxis& axis : axes_) count *= axis.stride;
  return count;
}

bool TransposedConvolution::is_one_kernel() const {
  f64 taps = 1, computed = 1;
  for (const SpatialAxis& axis : axes_) {
    taps *= static_cast<f64>(axis.kernel);
    computed *= static_cast<f64>(axis.taps_of_phase() * axis.stride);
  }
  return phases() > kMostPhases || computed <= kWorthOneKernel * taps;
}

// The kernel runs backwards, from (in, out / groups, ...) to (out, in / groups, ...).
Tensor TransposedConvolution::convolve(const Tensor& x, const Tensor& weight,
                                       const std::vector<i64>& dilation) const {
  std::vector<i64> flipped(spatial());
  std::iota(flipped.begin(), flipped.end(), 3);
  const Tensor kernel =
      weight.unflatten(0, {groups_, -1}).transpose(1, 2).flip(flipped).flatten(0, 1);
  return x.conv2d(kernel, {.dilation = dilation, .groups = groups_});
}

// So many outputs of one phase; undefined if no tap adds to it.
Tensor TransposedConvolution::phase(const std::vector<i64>& numbers,
                                    const std::vector<i64>& outputs) const {
  Amounts around(2, {0, 0});
  std::vector<Index> taps(2, Slice());
  std::vector<i64> dilation;
  for (usize i = 0; i < spatial(); ++i) {
    const detail::Phase one = detail::phase_of(axes_[i], numbers[i]);
    if (one.taps == 0) return Tensor();
    around.push_back(one.around(x_.size(static_cast<i64>(i) + 2).value(), outputs[i]));
    taps.emplace_back(Slice(one.first, None, one.step));
    dilation.push_back(one.dilation);
  }
  return convolve(x_.pad(around), weight_.at(taps), dilation);
}

Tensor TransposedConvolution::phase_by_phase() const {
  std::vector<i64> sizes, outputs, strides;
  Amounts end(2, {0, 0});
  for (usize i = 0; i < spatial(); ++i) {
    const SpatialAxis& a = axes_[i];
    const i64 in = x_.size(static_cast<i64>(i) + 2).value();
    sizes.push_back((in - 1) * a.stride + a.reach() - a.before - a.after + a.extra);
    outputs.push_back((sizes[i] + a.stride - 1) / a.stride);
    end.emplace_back(0, sizes[i] - outputs[i] * a.stride);
    strides.push_back(a.stride);
  }
  std::vector<Tensor> parts;
  for (i64 number = 0; number < phases(); ++number)
    parts.push_back(phase(detail::numbers_of_phase(number, strides), outputs));
  return detail::interleave(parts, strides).pad(end);
}

// Place o + before of the output is phase (o + before) % stride, a channel, at q = (o + before) /
// stride: the sum over u of x[q - u] * w[phase + stride * u].
Tensor TransposedConvolution::all_at_once() const {
  Tensor weight = weight_;
  Amounts around(2, {0, 0}), window(2, {0, 0}), filled(2, {0, 0});
  Shape apart{weight.size(0), weight.size(1)};
  std::vector<i64> order{0, 1}, strides;
  for (usize i = 0; i < spatial(); ++i) {
    const SpatialAxis& a = axes_[i];
    const i64 axis = static_cast<i64>(i) + 2, taps = a.taps_of_phase();
    if (a.dilation > 1) {
      Amounts gap(static_cast<usize>(weight.ndim()) + 1, {0, 0});
      gap[i + 3].second = a.dilation - 1;
      weight = weight.unsqueeze(axis + 1).pad(gap).flatten(axis, axis + 1);
    }
    filled.emplace_back(0, taps * a.stride - weight.size(axis).value());
    // Whole strides are left out by padding less.
    const i64 before = core::floor_div(a.before, a.stride);
    const i64 end = a.reach() + a.extra - a.after - taps * a.stride;
    const i64 after = -core::floor_div(-end, a.stride);
    around.emplace_back(taps - 1 - before, taps - 1 + after);
    window.emplace_back(before * a.stride - a.before, end - after * a.stride);
    apart.insert(apart.end(), {taps, a.stride});
    strides.push_back(a.stride);
  }
  for (i64 first : {1, 0})
    for (usize i = 0; i < spatial(); ++i) order.push_back(2 + 2 * static_cast<i64>(i) + first);
  weight = weight.pad(filled).reshape(apart).permute(order);
  weight = weight.flatten(1, 1 + static_cast<i64>(spatial()));
  std::vector<i64> channels{-1};
  channels.insert(channels.end(), strides.begin(), strides.end());
  const Tensor made = convolve(x_.pad(around), weight, std::vector<i64>(spatial(), 1));
  return detail::join_phases(made.unflatten(1, channels), spatial()).pad(window);
}

Tensor TransposedConvolution::run() const {
  return is_one_kernel() ? all_at_once() : phase_by_phase();
}

}  // namespace

Tensor Tensor::conv_transpose2d(const Tensor& weight, const ConvTranspose2dOptions& options) const {
  const i64 groups = options.groups;
  if (weight.ndim() != ndim() || ndim() < 3 || groups < 1 || !(weight.size(0) == size(1)) ||
      weight.size(0).value() % groups != 0) {
    throw fail(ErrorKind::Invalid, "{}", detail::convolution_misfit(*this, weight, groups));
  }
  const usize spatial = static_cast<usize>(ndim()) - 2;
  const auto stride = detail::per_axis(options.stride, spatial, "stride");
  const auto dilation = detail::per_axis(options.dilation, spatial, "dilation");
  const Amounts padding = detail::both_sides(options.padding, spatial);
  const auto extra = detail::per_axis(options.output_padding, spatial, "output padding");
  std::vector<SpatialAxis> axes;
  for (usize i = 0; i < spatial; ++i) {
    if (extra[i] >= std::max(stride[i], dilation[i])) {
      throw fail(
          ErrorKind::Invalid,
          "output padding of {} with stride {} and dilation {}, expected less than one of both",
          extra[i], stride[i], dilation[i]);
    }
    const i64 kernel = weight.size(static_cast<i64>(i) + 2).value();
    if (std::min({kernel, stride[i], dilation[i]}) < 1) {
      throw fail(ErrorKind::Invalid,
                 "kernel size {}, stride {} and dilation {}, expected 1 or more", kernel, stride[i],
                 dilation[i]);
    }
    axes.push_back(
        {{kernel, stride[i], dilation[i], padding[i].first}, padding[i].second, extra[i]});
  }
  return TransposedConvolution(*this, weight, groups, std::move(axes)).run();
}

Tensor Tensor::conv_transpose2d(const Tensor& weight, const Tensor& bias,
                                const ConvTranspose2dOptions& options) const {
  const Tensor result = conv_transpose2d(weight, options);
  return bias.defined() ? detail::add_channel_bias(result, bias) : result;
}

}  // namespace doorbell
