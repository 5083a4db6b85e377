// Joining, cutting and repeating tensors, triangles, and the pooling of windows that convolutions
// and scans are made of. All compositions of movement ops.
#include <numeric>

#include "base/util/check.h"
#include "tensor/api/build.h"

namespace doorbell {

using core::Op;

namespace {

std::vector<std::pair<Size, Size>> whole_windows(const Shape& shape) {
  std::vector<std::pair<Size, Size>> windows;
  for (const Size& size : shape) windows.emplace_back(0, size);
  return windows;
}

// The first `sizes[i]` elements of each axis.
Tensor keep_first(const Tensor& x, const Shape& sizes) {
  std::vector<std::pair<Size, Size>> windows;
  for (const Size& size : sizes) windows.emplace_back(0, size);
  return x.shrink(windows);
}

std::vector<i64> iota(i64 count) {
  std::vector<i64> values(static_cast<usize>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

}  // namespace

Tensor Tensor::repeat(const std::vector<i64>& counts) const {
  const Shape from = shape();
  if (counts.size() < from.size()) {
    throw fail(ErrorKind::Invalid, "repeat names {} axes of a tensor of shape {}", counts.size(),
               from.str());
  }
  const usize added = counts.size() - from.size();
  Shape apart, expanded, to;  // each size split into (1, size), expanded to (count, size)
  for (usize i = 0; i < counts.size(); ++i) {
    if (counts[i] < 0) throw fail(ErrorKind::Invalid, "repeat {} times", counts[i]);
    const Size size = i < added ? Size(1) : from[i - added];
    if (counts[i] != 1) {
      apart.push_back(1);
      expanded.push_back(counts[i]);
    }
    apart.push_back(size);
    expanded.push_back(size);
    to.push_back(size * counts[i]);
  }
  return reshape(apart).expand(expanded).reshape(to);
}

Tensor Tensor::repeat_interleave(i64 count, i64 axis) const {
  const i64 at = detail::resolve_axis(axis, ndim());
  if (count < 0) throw fail(ErrorKind::Invalid, "repeat {} times", count);
  Shape to = unsqueeze(at + 1).shape();
  to[static_cast<usize>(at) + 1] = count;
  return unsqueeze(at + 1).expand(to).flatten(at, at + 1);
}

Tensor Tensor::roll(i64 shift, i64 axis) const {
  const i64 at = detail::resolve_axis(axis, ndim());
  const i64 length = size(at).value();
  if (length == 0) return *this;
  const i64 moved = ((shift % length) + length) % length;
  if (moved == 0) return *this;
  std::vector<Tensor> parts = split({length - moved, moved}, at);
  return cat({parts[1], parts[0]}, at);
}

Tensor Tensor::cat(std::span<const Tensor> tensors, i64 axis) {
  if (tensors.empty()) throw fail(ErrorKind::Invalid, "cat of no tensors");
  const i64 at = detail::resolve_axis(axis, tensors[0].ndim());
  DType common = tensors[0].dtype();
  Shape to = tensors[0].shape();
  Size total = 0;
  for (const Tensor& tensor : tensors) {
    const Shape shape = tensor.shape();
    Shape expected = to;
    if (shape.size() == to.size()) expected[static_cast<usize>(at)] = shape[static_cast<usize>(at)];
    if (shape != expected) {
      throw fail(ErrorKind::Invalid, "cannot join shapes {} and {} along axis {}", to.str(),
                 shape.str(), axis);
    }
    total = total + shape[static_cast<usize>(at)];
    common = core::promote(common, tensor.dtype());
  }
  // Each part in zeros of the whole; the sum is the join, as no two parts overlap.
  to[static_cast<usize>(at)] = total;
  Tensor joined;
  Shape before(to.size(), 0);
  for (const Tensor& tensor : tensors) {
    const Tensor part = detail::pad_into(tensor.cast(common), before, to);
    before[static_cast<usize>(at)] = before[static_cast<usize>(at)] + tensor.size(at);
    if (!joined.defined())
      joined = part;
    else
      joined = detail::binary(common.is_bool() ? Op::Or : Op::Add, joined, part);
  }
  return joined;
}

Tensor Tensor::stack(std::span<const Tensor> tensors, i64 axis) {
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(tensor.unsqueeze(axis));
  return cat(parts, axis);
}

std::vector<Tensor> Tensor::split(const std::vector<i64>& sizes, i64 axis) const {
  const i64 at = detail::resolve_axis(axis, ndim());
  const i64 total = std::accumulate(sizes.begin(), sizes.end(), i64{0});
  if (total != size(at).value()) {
    throw fail(ErrorKind::Invalid, "split sizes sum to {}, axis {} of shape {} has {}", total, axis,
               shape().str(), size(at).str());
  }
  std::vector<Tensor> parts;
  i64 start = 0;
  for (i64 length : sizes) {
    auto windows = whole_windows(shape());
    windows[static_cast<usize>(at)] = {start, start + length};
    parts.push_back(shrink(windows));
    start += length;
  }
  return parts;
}

std::vector<Tensor> Tensor::split(i64 size, i64 axis) const {
  if (size <= 0) throw fail(ErrorKind::Invalid, "split into pieces of {}", size);
  const i64 length = this->size(axis).value();
  std::vector<i64> sizes;
  for (i64 start = 0; start < length; start += size)
    sizes.push_back(std::min(size, length - start));
  if (sizes.empty()) sizes.push_back(0);
  return split(sizes, axis);
}

std::vector<Tensor> Tensor::chunk(i64 count, i64 axis) const {
  if (count <= 0) throw fail(ErrorKind::Invalid, "{} chunks", count);
  const i64 length = size(axis).value();
  return split(std::max<i64>((length + count - 1) / count, 1), axis);
}

namespace {

// Bool (rows, columns): column - row >= diagonal.
Tensor at_or_above(i64 rows, i64 columns, i64 diagonal) {
  const Tensor row = Tensor::arange(rows).unsqueeze(1);
  const Tensor column = Tensor::arange(columns);
  return detail::binary(Op::CmpLt, row + (diagonal - 1), column);
}

Tensor triangle(const Tensor& x, i64 diagonal, bool upper) {
  if (x.ndim() < 2) {
    throw fail(ErrorKind::Invalid, "triangle of shape {}, expected two axes or more",
               x.shape().str());
  }
  const Tensor mask =
      at_or_above(x.size(-2).value(), x.size(-1).value(), upper ? diagonal : diagonal + 1);
  const Tensor zero = detail::constant(0, x.dtype());
  return upper ? detail::select(mask, x, zero) : detail::select(mask, zero, x);
}

}  // namespace

Tensor Tensor::triu(i64 diagonal) const { return triangle(*this, diagonal, true); }
Tensor Tensor::tril(i64 diagonal) const { return triangle(*this, diagonal, false); }

Tensor Tensor::diagonal() const {
  if (ndim() < 2 || !(size(-1) == size(-2))) {
    throw fail(ErrorKind::Invalid, "diagonal of shape {}, expected square matrices", shape().str());
  }
  // Rows of n + 1: the diagonal is the first column.
  const i64 n = size(-1).value();
  std::vector<std::pair<i64, i64>> amounts(static_cast<usize>(ndim()) - 1, {0, 0});
  amounts.back().second = n;
  Tensor skewed = flatten(-2, -1).pad(amounts).unflatten(-1, {n, n + 1});
  Shape first = skewed.shape();
  first.back() = 1;
  return keep_first(skewed, first).squeeze(-1);
}


namespace {

// Windows that do not overlap: every axis is cut into strides, of which the kernel's part is kept.
Tensor windows_apart(const Tensor& x, std::span<const i64> kernel, std::span<const i64> stride,
                     std::span<const i64> out) {
  const usize axes = kernel.size(), first = static_cast<usize>(x.ndim()) - axes;
  const Shape from = x.shape();
  const Shape batch(from.begin(), from.begin() + static_cast<i64>(first));
  Shape whole = batch, split = batch, kept = batch;
  std::vector<std::pair<i64, i64>> after(first, {0, 0});
  std::vector<i64> order = iota(static_cast<i64>(first));
  for (usize i = 0; i < axes; ++i) {
    const i64 in = from[first + i].value(), length = out[i] * stride[i];
    after.push_back({0, std::max<i64>(length - in, 0)});
    whole.push_back(length);
    split.insert(split.end(), {out[i], stride[i]});
    kept.insert(kept.end(), {out[i], kernel[i]});
  }
  for (usize i = 0; i < axes; ++i) order.push_back(static_cast<i64>(first + 2 * i));
  for (usize i = 0; i < axes; ++i) order.push_back(static_cast<i64>(first + 2 * i + 1));
  const Tensor strides = keep_first(x.pad(after), whole).reshape(split);
  return keep_first(strides, kept).permute(order);
}

}  // namespace

// Windows without overlap in memory: repeated rows cut one element off phase. The steps are chosen
// so that every reshape folds into plain index arithmetic.
Tensor detail::pool(const Tensor& x, std::span<const i64> kernel, std::span<const i64> stride,
                    std::span<const i64> dilation) {
  const usize axes = kernel.size();
  const usize first = static_cast<usize>(x.ndim()) - axes;
  const Shape from = x.shape();
  std::vector<i64> out(axes), row(axes), repeats(first, 1);
  bool apart = true;  // no two windows overlap
  for (usize i = 0; i < axes; ++i) {
    const i64 in = from[first + i].value(), k = kernel[i], s = stride[i], d = dilation[i];
    if (k < 1 || s < 1 || d < 1 || d * (k - 1) + 1 > in) {
      throw fail(ErrorKind::Invalid,
                 "kernel size {} (stride {}, dilation {}) on an axis of {} (padding included)", k,
                 s, d, in);
    }
    out[i] = (in - d * (k - 1) + s - 1) / s;
    // The row must hold all strides of an output, also those past its last element.
    const i64 factor = std::max<i64>(1, (out[i] * s - d + in - 1) / in);
    row[i] = in * factor + d;
    repeats.push_back((k * row[i] + in - 1) / in);
    apart &= d == 1 && s >= k;
  }
  if (apart) return windows_apart(x, kernel, stride, out);
  const Shape batch(from.begin(), from.begin() + static_cast<i64>(first));
  Shape flat = batch, rows = batch, strided = batch, split = batch, one = batch, pairs = batch;
  std::vector<i64> order = iota(static_cast<i64>(first));
  for (usize i = 0; i < axes; ++i) {
    flat.push_back(kernel[i] * row[i]);
    rows.insert(rows.end(), {kernel[i], row[i]});
    strided.insert(strided.end(), {kernel[i], out[i] * stride[i]});
    split.insert(split.end(), {kernel[i], out[i], stride[i]});
    one.insert(one.end(), {kernel[i], out[i], 1});
    pairs.insert(pairs.end(), {kernel[i], out[i]});
  }
  for (usize i = 0; i < axes; ++i) order.push_back(static_cast<i64>(first + 2 * i + 1));
  for (usize i = 0; i < axes; ++i) order.push_back(static_cast<i64>(first + 2 * i));
  Tensor windows = keep_first(x.repeat(repeats), flat).reshape(rows);
  windows = keep_first(windows, strided).reshape(split);
  return keep_first(windows, one).reshape(pairs).permute(order);
}

}  // namespace doorbell
