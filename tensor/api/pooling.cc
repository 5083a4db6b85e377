// Pooling over any number of axes: reductions over the windows of detail::pool.
#include <algorithm>

#include "tensor/api/axes.h"
#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/phases.h"
#include "tensor/api/promotion.h"
#include "tensor/api/windows.h"

namespace doorbell {

using detail::Amounts;

namespace {

constexpr i64 kMostTaps = 25, kMostPhases = 9;

i64 count_of(const std::vector<i64>& sizes) {
  i64 count = 1;
  for (i64 size : sizes) count *= size;
  return count;
}

struct PoolPlan {
  std::vector<i64> kernel, stride, dilation;
  Amounts around;  // padding asked for
  Amounts beyond;  // further, for windows that end outside (ceil mode)
  std::vector<i64> axes;

  bool has_strides() const { return count_of(stride) > 1; }
  // And in few ways: taps and phases are counted out.
  bool is_overlapping() const {
    bool overlaps = false;
    for (usize i = 0; i < kernel.size(); ++i)
      overlaps |= dilation[i] * (kernel[i] - 1) >= stride[i];
    return overlaps && count_of(kernel) <= kMostTaps && count_of(stride) <= kMostPhases;
  }
};

PoolPlan plan_pool(const Tensor& x, const std::vector<i64>& kernel, const PoolOptions& options) {
  const usize spatial = kernel.size();
  if (spatial == 0 || static_cast<usize>(x.ndim()) < spatial) {
    throw fail(ErrorKind::Invalid, "pooling over {} axes of shape {}", spatial, x.shape().str());
  }
  PoolPlan plan{.kernel = kernel};
  plan.stride =
      options.stride.given() ? detail::per_axis(options.stride, spatial, "stride") : kernel;
  plan.dilation = detail::per_axis(options.dilation, spatial, "dilation");
  const Amounts padding = detail::both_sides(options.padding, spatial);
  plan.around.assign(static_cast<usize>(x.ndim()) - spatial, {0, 0});
  for (const auto& [before, after] : padding) {
    if (std::min(before, after) < 0)
      throw fail(ErrorKind::Invalid, "padding of {} and {}", before, after);
    plan.around.emplace_back(before, after);
  }
  plan.beyond.assign(static_cast<usize>(x.ndim()), {0, 0});
  for (usize i = 0; i < spatial; ++i) {
    plan.axes.push_back(static_cast<i64>(i) - static_cast<i64>(spatial));
    if (!options.ceil_mode || plan.stride[i] < 1) continue;
    const usize axis = static_cast<usize>(x.ndim()) - spatial + i;
    const auto [before, after] = padding[i];
    const i64 length = x.size(static_cast<i64>(axis)).value() + before + after;
    const i64 reach = plan.dilation[i] * (kernel[i] - 1) + 1;
    i64 out = (length - reach + plan.stride[i] - 1) / plan.stride[i] + 1;
    // A window that starts beyond the input and its left padding does not count.
    if ((out - 1) * plan.stride[i] >= length - after) --out;
    plan.beyond[axis].second = std::max<i64>((out - 1) * plan.stride[i] + reach - length, 0);
  }
  return plan;
}

Tensor windows_of(const PoolPlan& plan, const Tensor& x) {
  return detail::pool(x, plan.kernel, plan.stride, plan.dilation);
}

}  // namespace

namespace {

Amounts whole_padding(const PoolPlan& plan) {
  Amounts both = plan.around;
  for (usize i = 0; i < both.size(); ++i) both[i].second += plan.beyond[i].second;
  return both;
}

Tensor max_windows(const PoolPlan& plan, const Tensor& x) {
  return windows_of(plan, detail::pad_value(x, whole_padding(plan), detail::lowest(x.dtype())));
}

// The places of the elements in windows of x, counted down from `count` to 1; padding has 0.
struct Places {
  i64 count = 1;
  Tensor windows;
};

Places places_of(const PoolPlan& plan, const Shape& shape) {
  const usize spatial = plan.kernel.size();
  const Shape sizes(shape.end() - static_cast<i64>(spatial), shape.end());
  const Amounts both = whole_padding(plan);
  const Amounts inner(both.end() - static_cast<i64>(spatial), both.end());
  Places places;
  for (const Size& size : sizes) places.count *= size.value();
  Tensor numbers = Tensor::arange(places.count, 0, -1).reshape(sizes);
  // The sum of an arange collapses only where its index is known to be in bounds.
  const bool is_padded = std::any_of(inner.begin(), inner.end(),
                                     [](auto ends) { return ends.first > 0 || ends.second > 0; });
  if (is_padded) numbers = numbers.contiguous();
  places.windows = windows_of(plan, numbers.pad(inner));
  return places;
}

// By element, largest at the one that PyTorch takes for the maximum: the first of the largest has
// its place, the last NaN more than any place.
Tensor ranks_of(const Tensor& windows, const Tensor& largest, const Places& places) {
  const Tensor ranks = doorbell::where(windows == largest, places.windows, 0);
  if (!windows.dtype().is_float()) return ranks;
  return doorbell::where(windows.isnan(), 2 * places.count + 1 - places.windows, ranks);
}

// Which elements of windows of x are in x; undefined where all are.
Tensor inside_of(const PoolPlan& plan, const Shape& shape) {
  const usize spatial = plan.kernel.size();
  const Amounts both = whole_padding(plan);
  const Amounts inner(both.end() - static_cast<i64>(spatial), both.end());
  if (std::all_of(inner.begin(), inner.end(),
                  [](auto ends) { return ends == Amounts::value_type(0, 0); }))
    return {};
  const Shape sizes(shape.end() - static_cast<i64>(spatial), shape.end());
  return windows_of(plan, Tensor::ones(sizes, {.dtype = dtypes::bool_}).pad(inner));
}

// The number of each window's tap that PyTorch takes for the maximum: the first of the largest, the
// last NaN. The taps are compared one after the other, as a function of each window's elements, so
// that one kernel finds the largest and its number.
Tensor chosen_taps(const PoolPlan& plan, const Shape& shape, const Tensor& from) {
  const Tensor windows = detail::from_memory(from), inside = inside_of(plan, shape);
  const auto tap_of = [&](const Tensor& all, i64 tap) {
    const std::vector<i64> at = detail::numbers_of_phase(tap, plan.kernel);
    Shape outer = all.shape();
    outer.resize(outer.size() - at.size());
    std::vector<std::pair<Size, Size>> window;
    for (const Size& size : outer) window.emplace_back(0, size);
    for (const i64 number : at) window.emplace_back(number, number + 1);
    return all.shrink(window).reshape(outer);
  };
  Tensor largest, chosen;
  for (i64 tap = 0; tap < count_of(plan.kernel); ++tap) {
    const Tensor x = tap_of(windows, tap);
    if (tap == 0) {
      largest = x;
      // -1: none that is inside yet. Made of the windows, so that it is on their devices.
      const Tensor first = inside.defined() ? tap_of(inside, 0) : largest == largest;
      chosen = doorbell::where(first, 0, inside.defined() ? -1 : 0).cast(dtypes::i32);
      continue;
    }
    Tensor better = (x > largest) | x.isnan();
    if (inside.defined()) better = (better | (chosen < 0)) & tap_of(inside, tap);
    chosen = doorbell::where(better, tap, chosen);
    largest = doorbell::where(better, x, largest);
  }
  return chosen;
}

// Of each element: what the windows pass on that chose it.
Tensor gradient_of_max(const PoolPlan& plan, const Tensor& x, const Tensor& gradient) {
  const usize spatial = plan.kernel.size(), first = static_cast<usize>(x.ndim()) - spatial;
  const Tensor chosen = chosen_taps(plan, x.shape(), max_windows(plan, x)).contiguous();
  std::vector<i64> places;
  Amounts end(first, {0, 0});
  for (usize i = 0; i < spatial; ++i) {
    const i64 size = x.size(static_cast<i64>(first + i)).value();
    places.push_back((size + plan.stride[i] - 1) / plan.stride[i]);
    end.emplace_back(0, size - places[i] * plan.stride[i]);
  }
  std::vector<Tensor> phases;
  for (i64 number = 0; number < count_of(plan.stride); ++number) {
    const std::vector<i64> numbers = detail::numbers_of_phase(number, plan.stride);
    std::vector<detail::Phase> axes;
    std::vector<i64> taps;
    for (usize i = 0; i < spatial; ++i) {
      axes.push_back(detail::phase_of(
          {plan.kernel[i], plan.stride[i], plan.dilation[i], plan.around[first + i].first},
          numbers[i]));
      taps.push_back(axes[i].taps);
    }
    Tensor phase;
    for (i64 tap = 0; tap < count_of(taps); ++tap) {
      const std::vector<i64> at = detail::numbers_of_phase(tap, taps);
      i64 of_window = 0;
      Amounts around(first, {0, 0});
      for (usize i = 0; i < spatial; ++i) {
        const detail::Phase& axis = axes[i];
        of_window = of_window * plan.kernel[i] + axis.first + axis.step * at[i];
        // Window q + shift - dilation * n for place q.
        const i64 before = axis.dilation * at[i] - axis.shift;
        const i64 windows = gradient.size(static_cast<i64>(first + i)).value();
        around.emplace_back(before, places[i] - windows - before);
      }
      const Tensor passed = doorbell::where(chosen == of_window, gradient, 0).pad(around);
      phase = phase.defined() ? phase + passed : passed;
    }
    phases.push_back(phase.defined() && plan.has_strides() ? phase.contiguous() : phase);
  }
  return detail::interleave(phases, plan.stride).pad(end);
}

}  // namespace

// PyTorch's gradient goes to one of equals.
Tensor Tensor::max_pool2d(const std::vector<i64>& kernel, const PoolOptions& options) const {
  const PoolPlan plan = plan_pool(*this, kernel, options);
  const Tensor windows = max_windows(plan, *this), value = windows.max(plan.axes);
  if (!dtype().is_float()) return value;
  if (plan.is_overlapping()) {
    return detail::with_derivative(
        value, {*this}, [plan](const Tensor& gradient, const std::vector<Tensor>& inputs, usize) {
          return gradient_of_max(plan, inputs[0], gradient);
        });
  }
  return detail::with_derivative(
      value, {windows},
      [plan, whole = shape()](const Tensor& gradient, const std::vector<Tensor>& inputs, usize) {
        const auto of_windows = [&](Tensor x) {  // the same for all taps of each
          for (usize i = 0; i < plan.kernel.size(); ++i) x = x.unsqueeze(-1);
          return x;
        };
        if (count_of(plan.kernel) <= kMostTaps) {
          const Tensor taps = Tensor::arange(count_of(plan.kernel))
                                  .reshape(Shape(plan.kernel.begin(), plan.kernel.end()));
          const Tensor chosen = chosen_taps(plan, whole, inputs[0]).contiguous();
          return doorbell::where(of_windows(chosen) == taps, of_windows(gradient), 0);
        }
        const Tensor windows = detail::from_memory(inputs[0]);
        const Tensor largest = windows.max(plan.axes, {.keepdim = true});
        const Tensor ranks = ranks_of(windows, largest, places_of(plan, whole));
        const Tensor chosen = ranks == ranks.max(plan.axes, {.keepdim = true});
        return doorbell::where(chosen, of_windows(gradient), 0);
      });
}

Pooled Tensor::max_pool2d_with_indices(const std::vector<i64>& kernel,
                                       const PoolOptions& options) const {
  const PoolPlan plan = plan_pool(*this, kernel, options);
  const Tensor windows = detail::from_memory(max_windows(plan, *this));
  const Tensor largest = windows.max(plan.axes, {.keepdim = true});
  const Places places = places_of(plan, shape());
  const Tensor rank = ranks_of(windows, largest, places).max(plan.axes);
  return {max_pool2d(kernel, options),
          doorbell::where(rank > places.count, rank - (places.count + 1), places.count - rank)};
}

Tensor Tensor::max_unpool2d(const Tensor& indices, const std::vector<i64>& kernel,
                            const UnpoolOptions& options) const {
  const usize spatial = kernel.size();
  if (indices.shape() != shape() || static_cast<usize>(ndim()) < spatial) {
    throw fail(ErrorKind::Invalid, "indices of shape {} to unpool shape {} over {} axes",
               indices.shape().str(), shape().str(), spatial);
  }
  const auto stride =
      options.stride.given() ? detail::per_axis(options.stride, spatial, "stride") : kernel;
  const auto padding = detail::per_axis(options.padding, spatial, "padding");
  if (!options.output_size.empty() && options.output_size.size() != spatial) {
    throw fail(ErrorKind::Invalid, "{} output sizes for {} axes", options.output_size.size(),
               spatial);
  }
  const i64 first = ndim() - static_cast<i64>(spatial);
  const Shape from = shape();
  Shape to(from.begin(), from.begin() + first), flat = to;
  i64 count = 1;
  for (usize i = 0; i < spatial; ++i) {
    const i64 least =
        (from[static_cast<usize>(first) + i].value() - 1) * stride[i] - 2 * padding[i] + kernel[i];
    to.push_back(options.output_size.empty() ? least : options.output_size[i]);
    count *= to.back().value();
  }
  flat.push_back(count);
  return Tensor::zeros(flat, {.dtype = dtype(), .device = device()})
      .scatter(-1, indices.flatten(first), flatten(first))
      .reshape(to);
}

Tensor Tensor::avg_pool2d(const std::vector<i64>& kernel, const PoolOptions& options) const {
  const PoolPlan plan = plan_pool(*this, kernel, options);
  const Tensor x = detail::as_float(*this);
  const Tensor padded = x.pad(plan.around).pad(plan.beyond);
  if (options.divisor_override) {
    if (*options.divisor_override == 0)
      throw fail(ErrorKind::Invalid, "divisor_override is 0, expected another number");
    return windows_of(plan, padded).sum(plan.axes) / *options.divisor_override;
  }
  if (!options.ceil_mode && options.count_include_pad)
    return windows_of(plan, padded).mean(plan.axes);
  // What counts is 1, what does not is 0.
  const Tensor counted = options.count_include_pad
                             ? x.pad(plan.around).ones_like().pad(plan.beyond)
                             : x.ones_like().pad(plan.around).pad(plan.beyond);
  return windows_of(plan, padded).sum(plan.axes) / windows_of(plan, counted).sum(plan.axes);
}

}  // namespace doorbell
