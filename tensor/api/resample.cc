// Padding from inside, windows, grids and resampling: movement and gathers put together.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "tensor/api/axes.h"
#include "tensor/api/promotion.h"
#include "tensor/api/windows.h"

namespace doorbell {

namespace {

// The elements start, start + step, ... of an axis.
Tensor slice_of(const Tensor& x, i64 axis, const Slice& slice) {
  std::vector<Index> indices(static_cast<usize>(axis), Index(Slice()));
  indices.emplace_back(slice);
  return x.at(indices);
}

Slice backwards(i64 first, i64 count) {
  const i64 stop = first - count;
  return stop < 0 ? Slice(first, None, -1) : Slice(first, stop, -1);
}

Tensor pad_axis(const Tensor& x, i64 axis, i64 before, i64 after, PadMode mode) {
  const i64 n = x.size(axis).value();
  const i64 most = mode == PadMode::Reflect ? n - 1 : n;
  if (mode != PadMode::Replicate && (before > most || after > most)) {
    throw fail(ErrorKind::Invalid, "padding of {} and {} from inside axis {} of shape {}", before,
               after, axis, x.shape().str());
  }
  if (n == 0) throw fail(ErrorKind::Invalid, "padding from inside an empty axis {}", axis);
  const auto repeated = [&](i64 place, i64 count) {
    const Tensor one = slice_of(x, axis, Slice(place, place + 1));
    Shape shape = one.shape();
    shape[static_cast<usize>(axis)] = count;
    return one.expand(shape);
  };
  std::vector<Tensor> parts;
  if (before > 0) {
    parts.push_back(mode == PadMode::Reflect    ? slice_of(x, axis, backwards(before, before))
                    : mode == PadMode::Circular ? slice_of(x, axis, Slice(n - before, n))
                                                : repeated(0, before));
  }
  parts.push_back(x);
  if (after > 0) {
    parts.push_back(mode == PadMode::Reflect    ? slice_of(x, axis, backwards(n - 2, after))
                    : mode == PadMode::Circular ? slice_of(x, axis, Slice(0, after))
                                                : repeated(n - 1, after));
  }
  return Tensor::cat(parts, axis);
}

}  // namespace

Tensor detail::pad_from_inside(const Tensor& x, const std::vector<std::pair<i64, i64>>& amounts,
                               PadMode mode) {
  if (static_cast<i64>(amounts.size()) != x.ndim()) {
    throw fail(ErrorKind::Invalid, "pad names {} axes of a tensor of shape {}", amounts.size(),
               x.shape().str());
  }
  // Negative amounts cut: what is wrapped around has been cut, what is mirrored or repeated has
  // not.
  Amounts cuts;
  for (const auto& [before, after] : amounts)
    cuts.emplace_back(std::min<i64>(before, 0), std::min<i64>(after, 0));
  Tensor result = mode == PadMode::Circular ? x.pad(cuts) : x;
  for (usize i = 0; i < amounts.size(); ++i) {
    const i64 before = std::max<i64>(amounts[i].first, 0),
              after = std::max<i64>(amounts[i].second, 0);
    if (before == 0 && after == 0) continue;
    result = pad_axis(result, static_cast<i64>(i), before, after, mode);
  }
  return mode == PadMode::Circular ? result : result.pad(cuts);
}

Tensor Tensor::unfold(i64 axis, i64 size, i64 step) const {
  const i64 at = detail::resolve_axis(axis, ndim());
  if (size == 0 && step > 0) {  // a window of nothing before each step, and after the last element
    Shape windows = shape();
    windows[static_cast<usize>(at)] = this->size(at).value() / step + 1;
    windows.push_back(0);
    return zeros(windows, {.dtype = dtype()});
  }
  std::vector<i64> order, back;
  for (i64 i = 0; i < ndim(); ++i) {
    if (i != at) order.push_back(i);
  }
  order.push_back(at);
  const i64 kernel[] = {size}, stride[] = {step}, one[] = {1};
  const Tensor windows = detail::pool(permute(order), kernel, stride, one);
  for (i64 i = 0; i < ndim() - 1; ++i) back.push_back(i);
  back.insert(back.begin() + at, ndim() - 1);
  back.push_back(ndim());
  return windows.permute(back);
}

namespace {

// Where the elements of the result stand among those of x: the low one and the way to the next, for
// each. Exact in integers up to the last division.
struct Places {
  Tensor low, weight;  // i32; f32 or f64 as x is, 0 <= weight < 1
};

// How the places of a result are found among the elements: by the sizes, or by a factor between
// them where it is given.
struct Way {
  i64 from, to;
  std::optional<f64> factor;
};

// Within the elements (Linear), or as far out as the centres reach (cubic).
Places places(const Way& way, DType dtype, bool align_corners, bool within) {
  const auto [from, to, factor] = way;
  const Tensor place = Tensor::arange(to);
  if (factor && !align_corners && !(within && from == to)) {
    Tensor centre = (place.cast(dtype) + 0.5) * (1 / *factor) - 0.5;
    if (within) centre = centre.maximum(0);
    const Tensor low = centre.floor().minimum(static_cast<f64>(from - 1));
    return {low.cast(dtypes::i32), (centre - low).clamp({.min = 0, .max = 1})};
  }
  i64 denominator = align_corners ? to - 1 : to * 2;
  Tensor numerator = align_corners ? place * (from - 1) : (place * 2 + 1) * from - to;
  if (denominator == 0) {  // one element, corners aligned: the first
    numerator = place * 0;
    denominator = 1;
  }
  if (within) numerator = numerator.clamp({.min = 0, .max = (from - 1) * denominator});
  const Tensor low = numerator.div(denominator, Rounding::Floor);
  return {low, (numerator % denominator).cast(dtype) / static_cast<f64>(denominator)};
}

Tensor nearest(const Way& way, DType dtype, bool exact) {
  const auto [from, to, factor] = way;
  const Tensor place = Tensor::arange(to);
  const bool is_even = !exact && (to == from || to == 2 * from);  // PyTorch goes by the sizes there
  if (factor && !is_even) {
    const Tensor wide = place.cast(dtype == dtypes::f64 ? dtype : dtypes::f32);
    return ((exact ? wide + 0.5 : wide) * (1 / *factor)).floor().cast(dtypes::i32);
  }
  const Tensor numerator = exact ? (place * 2 + 1) * from : place * from;
  return numerator.div(exact ? 2 * to : to, Rounding::Floor);
}

// x[..., index, ...] along an axis; indices beyond the ends mean the end.
Tensor pick(const Tensor& x, i64 axis, const Tensor& index) {
  std::vector<Index> indices(static_cast<usize>(axis), Index(Slice()));
  indices.emplace_back(index.clamp({.min = 0, .max = x.size(axis).value() - 1}));
  return x.at(indices);
}

// A weight per element of an axis.
Tensor laid_along(const Tensor& weight, const Tensor& x, i64 axis) {
  Shape shape(static_cast<usize>(x.ndim() - axis), 1);
  shape[0] = weight.size(0);
  return weight.reshape(shape);
}

// The cubic convolution of four elements, by Keys; a = -0.75, as in PyTorch.
Tensor cubic(const Tensor& x, i64 axis, const Way& way, bool align_corners) {
  constexpr f64 a = -0.75;
  const Places p = places(way, x.dtype(), align_corners, false);
  const auto near = [&](const Tensor& d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [&](const Tensor& d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  const Tensor t = p.weight;
  const Tensor weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  Tensor sum;
  for (i64 i = 0; i < 4; ++i) {
    const Tensor part =
        pick(x, axis, p.low + (i - 1)) * laid_along(weights[static_cast<usize>(i)], x, axis);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

// The mean of the elements that a result overlaps.
Tensor area(const Tensor& x, i64 axis, i64 to) {
  const i64 from = x.size(axis).value();
  const Tensor place = Tensor::arange(to).unsqueeze(-1), element = Tensor::arange(from);
  const Tensor begin = (place * from).div(to, Rounding::Floor);
  const Tensor end = ((place + 1) * from + (to - 1)).div(to, Rounding::Floor);
  const Tensor inside = (element >= begin) & (element < end);  // (to, from)
  const Tensor rows = x.transpose(axis, -1).unsqueeze(-2);
  return (doorbell::where(inside, rows, 0).sum(-1) / (end - begin).squeeze(-1)).transpose(axis, -1);
}

Tensor resampled(const Tensor& x, i64 axis, const Way& way, const InterpolateOptions& options) {
  switch (options.mode) {
    case Resample::Nearest: return pick(x, axis, nearest(way, x.dtype(), false));
    case Resample::NearestExact: return pick(x, axis, nearest(way, x.dtype(), true));
    case Resample::Linear: {
      const Places p = places(way, x.dtype(), options.align_corners, true);
      return pick(x, axis, p.low).lerp(pick(x, axis, p.low + 1), laid_along(p.weight, x, axis));
    }
    case Resample::Bicubic: return cubic(x, axis, way, options.align_corners);
    case Resample::Area: return area(x, axis, way.to);
  }
  throw fail(ErrorKind::Invalid, "interpolation mode {}", static_cast<int>(options.mode));
}

// Rounded, halves up; what leaves the range of the dtype stops at its end.
Tensor to_integers(const Tensor& x, DType dtype) { return (x + 0.5).floor().cast(dtype); }

// The last axes, one for each way.
Tensor interpolated(const Tensor& from, std::span<const Way> ways,
                    const InterpolateOptions& options) {
  const bool smooth = options.mode == Resample::Linear || options.mode == Resample::Bicubic;
  if (options.align_corners && !smooth) {
    throw fail(ErrorKind::Invalid,
               "interpolation of shape {} with corners aligned, expected "
               "linear or bicubic",
               from.shape().str());
  }
  const bool moves = options.mode == Resample::Nearest || options.mode == Resample::NearestExact;
  const DType dtype = from.dtype();
  Tensor x = moves ? from : detail::widened(from);
  // The last axis first: where integers are rounded after each, that is PyTorch's order.
  for (usize i = ways.size(); i-- > 0;) {
    if (ways[i].from < 1 || ways[i].to < 1) {
      throw fail(ErrorKind::Invalid,
                 "interpolation from {} to {} elements, expected 1 or more of both", ways[i].from,
                 ways[i].to);
    }
    x = resampled(x, x.ndim() - static_cast<i64>(ways.size() - i), ways[i], options);
    if (smooth && !dtype.is_float()) x = to_integers(x, dtype).cast(x.dtype());
  }
  if (options.mode == Resample::Area && !dtype.is_float()) return to_integers(x, dtype);
  return x.cast(dtype);
}

// The sizes of the last axes.
std::vector<i64> last_sizes(const Tensor& x, usize count) {
  if (static_cast<i64>(count) > x.ndim()) {
    throw fail(ErrorKind::Invalid, "interpolation of {} axes of shape {}", count, x.shape().str());
  }
  const Shape shape = x.shape();
  return Shape(shape.end() - static_cast<std::ptrdiff_t>(count), shape.end()).values();
}

}  // namespace

Tensor Tensor::interpolate(const std::vector<i64>& sizes, const InterpolateOptions& options) const {
  const std::vector<i64> from = last_sizes(*this, sizes.size());
  std::vector<Way> ways;
  for (usize i = 0; i < sizes.size(); ++i) ways.push_back({from[i], sizes[i], {}});
  return interpolated(*this, ways, options);
}

Tensor Tensor::interpolate_by(const std::vector<f64>& factors,
                              const InterpolateOptions& options) const {
  const std::vector<i64> from = last_sizes(*this, factors.size());
  std::vector<Way> ways;
  for (usize i = 0; i < factors.size(); ++i) {
    const f64 size = std::floor(static_cast<f64>(from[i]) * factors[i]);
    if (!(factors[i] > 0) || !(size < static_cast<f64>(detail::kMaxElements)))
      throw fail(ErrorKind::Invalid, "interpolation of {} elements by {}", from[i], factors[i]);
    ways.push_back({from[i], static_cast<i64>(size), factors[i]});
    if (options.recompute_scale_factor) ways.back().factor.reset();
  }
  return interpolated(*this, ways, options);
}

}  // namespace doorbell
