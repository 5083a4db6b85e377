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
#include "tensor/api/windows.h"

namespace doorbell {

namespace {

using detail::Amounts;

constexpr i64 kMostPhases = 16;        // that are convolutions of their own
constexpr f64 kWorthOneKernel = 1.25;  // taps computed, as a multiple of those there are

// The numbers of a spatial axis. Output o is the sum of x[h] * w[t] for h * stride + t * dilation
// == o + before.
struct SpatialAxis {
  i64 kernel, stride, dilation, before, after, extra;

  i64 reach() const { return dilation * (kernel - 1) + 1; }
  i64 step() const { return stride / std::gcd(stride, dilation); }       // of taps of one phase
  i64 taps_of_phase() const { return (reach() + stride - 1) / stride; }  // without dilation
};

// Outputs phase, phase + stride, ...: y[q] = sum over u of x[q + shift - dilation * u] *
// w[first + step * u].
struct Phase {
  i64 first = 0, taps = 0, dilation = 1, shift = 0;
};

Phase phase_of(const SpatialAxis& axis, i64 number) {
  Phase phase{.dilation = axis.dilation * axis.step() / axis.stride};
  for (i64 t = 0; t < std::min(axis.step(), axis.kernel); ++t) {
    const i64 distance = number + axis.before - axis.dilation * t;
    if (distance % axis.stride != 0) continue;
    phase.first = t, phase.shift = distance / axis.stride;
    phase.taps = (axis.kernel - t + axis.step() - 1) / axis.step();
    break;
  }
  return phase;
}

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
  Tensor interleave(const Tensor& part) const;
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
    const Phase one = phase_of(axes_[i], numbers[i]);
    if (one.taps == 0) return Tensor();
    const i64 reach = one.dilation * (one.taps - 1), before = reach - one.shift;
    const i64 size = x_.size(static_cast<i64>(i) + 2).value();
    around.emplace_back(before, outputs[i] + reach - size - before);
    taps.emplace_back(Slice(one.first, None, axes_[i].step()));
    dilation.push_back(one.dilation);
  }
  return convolve(x_.pad(around), weight_.at(taps), dilation);
}

// (batch, channels, phases, places) with the phases of all axes to (batch, channels, ...).
Tensor TransposedConvolution::interleave(const Tensor& part) const {
  std::vector<i64> order{0, 1};
  for (usize i = 0; i < spatial(); ++i) {
    order.push_back(static_cast<i64>(2 + spatial() + i));
    order.push_back(static_cast<i64>(2 + i));
  }
  Tensor made = part.permute(order);
  for (usize i = 0; i < spatial(); ++i)
    made = made.flatten(static_cast<i64>(i) + 2, static_cast<i64>(i) + 3);
  return made;
}

Tensor TransposedConvolution::phase_by_phase() const {
  std::vector<i64> sizes, outputs;
  Amounts end(2, {0, 0});
  for (usize i = 0; i < spatial(); ++i) {
    const SpatialAxis& a = axes_[i];
    const i64 in = x_.size(static_cast<i64>(i) + 2).value();
    sizes.push_back((in - 1) * a.stride + a.reach() - a.before - a.after + a.extra);
    outputs.push_back((sizes[i] + a.stride - 1) / a.stride);
    end.emplace_back(0, sizes[i] - outputs[i] * a.stride);
  }
  Tensor all;
  for (i64 number = 0; number < phases(); ++number) {
    std::vector<i64> numbers(spatial());
    i64 rest = number;
    for (usize i = spatial(); i-- > 0; rest /= axes_[i].stride) numbers[i] = rest % axes_[i].stride;
    Tensor part = phase(numbers, outputs);
    if (!part.defined()) continue;
    Amounts among(2, {0, 0});
    for (usize i = 0; i < spatial(); ++i) {
      part = part.unsqueeze(2);
      among.emplace_back(numbers[i], axes_[i].stride - 1 - numbers[i]);
    }
    among.resize(static_cast<usize>(part.ndim()), {0, 0});
    part = part.pad(among);
    all = all.defined() ? all + part : part;
  }
  return interleave(all).pad(end);
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
  return interleave(made.unflatten(1, channels)).pad(window);
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
    axes.push_back({kernel, stride[i], dilation[i], padding[i].first, padding[i].second, extra[i]});
  }
  return TransposedConvolution(*this, weight, groups, std::move(axes)).run();
}

Tensor Tensor::conv_transpose2d(const Tensor& weight, const Tensor& bias,
                                const ConvTranspose2dOptions& options) const {
  const Tensor result = conv_transpose2d(weight, options);
  return bias.defined() ? detail::add_channel_bias(result, bias) : result;
}

}  // namespace doorbell
