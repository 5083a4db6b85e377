// Padding from inside, windows, grids and resampling: movement and gathers put together.
#include <algorithm>
#include <numeric>

#include "tensor/api/build.h"

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
  Tensor result = x;
  for (usize i = 0; i < amounts.size(); ++i) {
    const auto [before, after] = amounts[i];
    if (before < 0 || after < 0) {
      throw fail(ErrorKind::Unsupported, "padding of {} and {} from inside", before, after);
    }
    if (before == 0 && after == 0) continue;
    result = pad_axis(result, static_cast<i64>(i), before, after, mode);
  }
  return result;
}

Tensor Tensor::unfold(i64 axis, i64 size, i64 step) const {
  const i64 at = detail::resolve_axis(axis, ndim());
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

std::vector<Tensor> meshgrid(std::initializer_list<Tensor> axes) {
  Shape whole;
  for (const Tensor& axis : axes) {
    if (axis.ndim() != 1) {
      throw fail(ErrorKind::Invalid, "grid along a tensor of shape {}, expected one axis",
                 axis.shape().str());
    }
    whole.push_back(axis.size(0));
  }
  std::vector<Tensor> grid;
  for (const Tensor& axis : axes) {
    Shape along(whole.size(), 1);
    along[grid.size()] = axis.size(0);
    grid.push_back(axis.reshape(along).expand(whole));
  }
  return grid;
}

namespace {

struct Neighbours {
  Tensor low, high, weight;  // of the high one
};

// Exact in integers up to the last division.
Neighbours linear_neighbours(i64 from, i64 to, bool align_corners) {
  const Tensor place = Tensor::arange(to);
  i64 denominator = align_corners ? to - 1 : to * 2;
  Tensor numerator = align_corners ? place * (from - 1) : (place * 2 + 1) * from - to;
  if (denominator == 0) {  // one element, corners aligned: the first
    numerator = place * 0;
    denominator = 1;
  }
  numerator = numerator.clamp({.min = 0, .max = (from - 1) * denominator});
  const Tensor low = numerator.div(denominator, Rounding::Floor);
  const Tensor high = (numerator + (denominator - 1)).div(denominator, Rounding::Floor);
  const Tensor weight = (numerator % denominator).cast(dtypes::f32) / static_cast<f64>(denominator);
  return {low, high, weight};
}

Tensor nearest(i64 from, i64 to, bool exact) {
  const Tensor place = Tensor::arange(to);
  const Tensor numerator = exact ? (place * 2 + 1) * from : place * from;
  return numerator.div(exact ? 2 * to : to, Rounding::Floor);
}

// x[..., index, ...] along an axis.
Tensor pick(const Tensor& x, i64 axis, const Tensor& index) {
  std::vector<Index> indices(static_cast<usize>(axis), Index(Slice()));
  indices.emplace_back(index);
  return x.at(indices);
}

}  // namespace

Tensor Tensor::interpolate(const std::vector<i64>& sizes, const InterpolateOptions& options) const {
  if (static_cast<i64>(sizes.size()) > ndim() ||
      (options.align_corners && options.mode != Resample::Linear)) {
    throw fail(ErrorKind::Invalid, "interpolation to {} axes of shape {}{}", sizes.size(),
               shape().str(), options.align_corners ? " with corners aligned" : "");
  }
  Tensor x = *this;
  for (usize i = 0; i < sizes.size(); ++i) {
    const i64 axis = ndim() - static_cast<i64>(sizes.size() - i);
    const i64 from = size(axis).value(), to = sizes[i];
    if (from < 1 || to < 1) {
      throw fail(ErrorKind::Invalid, "interpolation from {} to {} elements", from, to);
    }
    if (options.mode != Resample::Linear) {
      x = pick(x, axis, nearest(from, to, options.mode == Resample::NearestExact));
      continue;
    }
    const Neighbours n = linear_neighbours(from, to, options.align_corners);
    Shape along(static_cast<usize>(ndim() - axis), 1);
    along[0] = to;
    const Tensor wide = detail::as_float(x);
    x = pick(wide, axis, n.low).lerp(pick(wide, axis, n.high), n.weight.reshape(along));
  }
  return x.cast(dtype());
}

}  // namespace doorbell
