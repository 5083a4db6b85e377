// Joining, cutting and repeating tensors, triangles, and the pooling of windows that convolutions
// and scans are made of. All compositions of movement ops.
#include <numeric>

#include "base/os/physical_memory.h"
#include "base/util/check.h"
#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"
#include "tensor/api/view.h"
#include "tensor/api/windows.h"

namespace doorbell {

using core::Op;

namespace {

std::vector<std::pair<Size, Size>> whole_windows(const Shape& shape) {
  std::vector<std::pair<Size, Size>> windows;
  for (const Size& size : shape) windows.emplace_back(0, size);
  return windows;
}

// Each element is chosen by its place along the axis; a sum of the parts in zeros would lose -0.
Tensor placed_after_another(std::span<const Tensor> parts, i64 axis, const Shape& whole) {
  const usize at = static_cast<usize>(axis);
  Shape before(whole.size(), 0), along(whole.size(), 1), whole_along = along;
  whole_along[at] = whole[at];
  Tensor joined;
  for (const Tensor& part : parts) {
    const Tensor padded = detail::pad_into(part, before, whole);
    along[at] = part.shape()[at];
    const Tensor here = detail::constant(true, core::dtypes::bool_).expand(along);
    joined = joined.defined()
                 ? detail::select(detail::pad_into(here, before, whole_along), padded, joined)
                 : padded;
    before[at] = before[at] + along[at];
  }
  return joined;
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
    if (counts[i] < 0)
      throw fail(ErrorKind::Invalid, "repeat {} times, expected 0 or more", counts[i]);
    const Size size = i < added ? Size(1) : from[i - added];
    if (counts[i] != 1) {
      apart.push_back(1);
      expanded.push_back(counts[i]);
    }
    apart.push_back(size);
    expanded.push_back(size);
    to.push_back(size * counts[i]);
  }
  return detail::unshared(reshape(apart).expand(expanded).reshape(to));
}

Tensor Tensor::repeat_interleave(i64 count, i64 axis) const {
  const i64 at = detail::resolve_axis(axis, ndim());
  if (count < 0) throw fail(ErrorKind::Invalid, "repeat {} times, expected 0 or more", count);
  Shape to = unsqueeze(at + 1).shape();
  to[static_cast<usize>(at) + 1] = count;
  return detail::unshared(unsqueeze(at + 1).expand(to).flatten(at, at + 1));
}

Tensor Tensor::repeat_interleave(const std::vector<i64>& counts, i64 axis) const {
  const i64 at = detail::resolve_axis(axis, ndim());
  if (static_cast<i64>(counts.size()) != size(at).value()) {
    throw fail(ErrorKind::Invalid, "{} counts for axis {} of shape {}", counts.size(), axis,
               shape().str());
  }
  Size total = 0;
  for (i64 count : counts) {
    if (count < 0) throw fail(ErrorKind::Invalid, "repeat {} times, expected 0 or more", count);
    total = total + count;
  }
  if (static_cast<u64>(total.value()) > os::physical_memory_bytes() / sizeof(i32))
    throw fail(ErrorKind::OutOfMemory, "no memory for {} repeated places", total.str());
  std::vector<i32> rows;
  rows.reserve(static_cast<usize>(total.value()));
  for (usize i = 0; i < counts.size(); ++i) {
    rows.insert(rows.end(), static_cast<usize>(counts[i]), static_cast<i32>(i));
  }
  std::vector<Index> indices(static_cast<usize>(at), Slice());
  indices.push_back(from_data(rows, {static_cast<i64>(rows.size())}, {.device = device()}));
  return this->at(indices);
}

Tensor Tensor::roll(const std::vector<i64>& shifts, const std::vector<i64>& axes) const {
  if (shifts.size() != axes.size()) {
    throw fail(ErrorKind::Invalid,
               "roll by {} shifts along {} axes, expected one shift for each axis", shifts.size(),
               axes.size());
  }
  Tensor rolled = detail::unshared(*this);
  for (usize i = 0; i < axes.size(); ++i) {
    const i64 at = detail::resolve_axis(axes[i], ndim());
    const i64 length = size(at).value();
    const i64 moved = length == 0 ? 0 : ((shifts[i] % length) + length) % length;
    if (moved == 0) continue;
    std::vector<Tensor> parts = rolled.split({length - moved, moved}, at);
    rolled = cat({parts[1], parts[0]}, at);
  }
  return rolled;
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
  to[static_cast<usize>(at)] = total;
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(tensor.cast(common));
  if (parts.size() == 1) return detail::unshared(parts[0]);
  const Tensor joined = placed_after_another(parts, at, to);
  return detail::with_derivative(
      joined, parts, [at](const Tensor& gradient, const auto& inputs, usize input) {
        Size start = 0;
        for (usize i = 0; i < input; ++i) start = start + inputs[i].size(at);
        auto windows = whole_windows(inputs[input].shape());
        windows[static_cast<usize>(at)] = {start, start + inputs[input].size(at)};
        return gradient.shrink(windows);
      });
}

Tensor Tensor::stack(std::span<const Tensor> tensors, i64 axis) {
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(tensor.unsqueeze(axis));
  return cat(parts, axis);
}

std::vector<Tensor> meshgrid(std::initializer_list<Tensor> axes, Indexing indexing) {
  Shape whole;
  for (const Tensor& axis : axes) {
    if (axis.ndim() > 1) {
      throw fail(ErrorKind::Invalid, "grid along a tensor of shape {}, expected one axis",
                 axis.shape().str());
    }
    whole.push_back(axis.reshape({-1}).size(0));
  }
  const bool swapped = indexing == Indexing::Xy && whole.size() > 1;
  std::vector<Tensor> grid;
  for (const Tensor& axis : axes) {
    Shape along(whole.size(), 1);
    along[grid.size()] = whole[grid.size()];
    const Tensor filled = axis.reshape(along).expand(whole);
    grid.push_back(swapped ? filled.transpose(0, 1) : filled);
  }
  return grid;
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
  if (size <= 0)
    throw fail(ErrorKind::Invalid, "split into pieces of {}, expected 1 or more", size);
  const i64 length = this->size(axis).value();
  std::vector<i64> sizes;
  for (i64 start = 0; start < length; start += size)
    sizes.push_back(std::min(size, length - start));
  if (sizes.empty()) sizes.push_back(0);
  return split(sizes, axis);
}

std::vector<Tensor> Tensor::chunk(i64 count, i64 axis) const {
  if (count <= 0) throw fail(ErrorKind::Invalid, "chunk into {} parts, expected 1 or more", count);
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

// The window of the two axes that the diagonal runs through is square; its rows made one longer,
// the diagonal is the first column.
Tensor Tensor::diagonal(i64 offset, i64 axis1, i64 axis2) const {
  const i64 first = detail::resolve_axis(axis1, ndim()),
            second = detail::resolve_axis(axis2, ndim());
  if (first == second) {
    throw fail(ErrorKind::Invalid, "diagonal of axes {} and {} of shape {}", axis1, axis2,
               shape().str());
  }
  std::vector<i64> order;
  for (i64 axis = 0; axis < ndim(); ++axis) {
    if (axis != first && axis != second) order.push_back(axis);
  }
  order.insert(order.end(), {first, second});
  const Tensor last = permute(order);
  const i64 rows = last.size(-2).value(), columns = last.size(-1).value();
  const i64 row = std::min(std::max<i64>(-offset, 0), rows);
  const i64 column = std::min(std::max<i64>(offset, 0), columns);
  const i64 n = std::min(rows - row, columns - column);
  auto windows = whole_windows(last.shape());
  windows[order.size() - 2] = {row, row + n};
  windows[order.size() - 1] = {column, column + n};
  const Tensor square = last.shrink(windows);
  if (n == 0) return square.flatten(-2, -1);
  Shape joined = square.shape(), rows_longer = joined, column_only = joined;
  joined.pop_back();
  joined.back() = n * n;
  rows_longer.back() = n + 1;
  column_only.back() = 1;
  std::vector<i64> after(joined.size(), 0);
  after.back() = n;
  const Tensor flat = detail::pad_view(detail::reshape_view(square, joined), after);
  return detail::reshape_view(flat, rows_longer).shrink_to(column_only).squeeze(-1);
}

Tensor Tensor::diag(i64 diagonal) const {
  if (ndim() == 2) return detail::unshared(this->diagonal(diagonal));  // PyTorch's copies
  if (ndim() != 1) {
    throw fail(ErrorKind::Invalid, "diag of shape {}, expected one axis or two", shape().str());
  }
  const i64 n = size(0).value();
  const i64 before = std::max<i64>(diagonal, 0), above = std::max<i64>(-diagonal, 0);
  // Each element and n zeros: cut into rows of n, it moves on by one a row.
  const Tensor square =
      unsqueeze(1).pad({{0, 0}, {0, n}}).flatten().shrink({{0, n * n}}).reshape({n, n});
  return square.pad({{above, before}, {before, above}});
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
  const Tensor strides = x.pad(after).shrink_to(whole).reshape(split);
  return strides.shrink_to(kept).permute(order);
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
    if (k < 1 || s < 1 || d < 1 || in < 1 || k - 1 > (in - 1) / d) {
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
  Tensor windows = x.repeat(repeats).shrink_to(flat).reshape(rows);
  windows = windows.shrink_to(strided).reshape(split);
  return windows.shrink_to(one).reshape(pairs).permute(order);
}

}  // namespace doorbell
