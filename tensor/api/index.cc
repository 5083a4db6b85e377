// Indexing: x[{...}] as movement ops and, for tensors of integers, as a masked sum that the
// scheduler turns into a gather. Writing x[{...}] = v is a select between v, spread, and x.
#include <algorithm>
#include <numeric>

#include "tensor/api/build.h"

namespace doorbell {

using core::Op;
using detail::constant;
using detail::select;

namespace {

// How one axis of x is read.
struct AxisView {
  Size start = 0, stop = 0;  // window before flip and stride
  i64 stride = 1;
  bool flipped = false;
  bool dropped = false;  // an int: the axis goes
  const Tensor* index = nullptr;
};

struct View {
  std::vector<AxisView> axes;  // one per axis of x
  std::vector<i64> result;     // axes of the result: an axis of x, or -1 for None
  usize tensors = 0;
};

i64 clip(i64 value, i64 low, i64 high) { return std::min(std::max(value, low), high); }

AxisView view_of_slice(const Slice& slice, const Size& size) {
  if (slice.step == 0) throw fail(ErrorKind::Invalid, "slice with a step of 0");
  AxisView view{.stride = slice.step < 0 ? -slice.step : slice.step, .flipped = slice.step < 0};
  const bool symbolic = !size.is_const() || (slice.start && !slice.start->is_const()) ||
                        (slice.stop && !slice.stop->is_const());
  if (symbolic) {
    if (slice.step != 1) throw fail(ErrorKind::Unsupported, "symbolic slice with a step");
    view.start = slice.start.value_or(0);
    view.stop = slice.stop.value_or(size);
    if (view.start.max() < 0) view.start = view.start + size;
    if (view.stop.max() < 0) view.stop = view.stop + size;
    return view;
  }
  const i64 n = size.value();
  auto bound = [n](const Bound& given, i64 open, i64 low, i64 high) {
    if (!given) return open;
    const i64 value = given->value();
    return clip(value < 0 ? value + n : value, low, high);
  };
  if (!view.flipped) {
    const i64 start = bound(slice.start, 0, 0, n);
    view.start = start;
    view.stop = std::max(start, bound(slice.stop, n, 0, n));
  } else {
    const i64 first = bound(slice.start, n - 1, -1, n - 1);
    const i64 last = std::min(first, bound(slice.stop, -1, -1, n - 1));
    view.start = last + 1;
    view.stop = first + 1;
  }
  return view;
}

AxisView view_of(const Index& index, const Size& size, i64 axis, const Tensor& x) {
  if (const Slice* slice = index.slice()) return view_of_slice(*slice, size);
  if (const Tensor* tensor = index.tensor()) {
    if (!tensor->dtype().is_int()) {
      throw fail(ErrorKind::Invalid, "index tensor has dtype {}, expected integers",
                 core::long_name_of(tensor->dtype().scalar));
    }
    return {.start = 0, .stop = size, .index = tensor};
  }
  const Size& position = *index.integer();
  if (position.is_const() && size.is_const() &&
      (position.value() < -size.value() || position.value() >= size.value())) {
    throw fail(ErrorKind::Invalid, "index {} is out of range for axis {} of shape {}",
               position.value(), axis, x.shape().str());
  }
  const Size start = position.max() < 0 ? position + size : position;
  return {.start = start, .stop = start + 1, .dropped = true};
}

View parse(const Tensor& x, std::span<const Index> indices) {
  const i64 rank = x.ndim();
  const i64 named = std::count_if(indices.begin(), indices.end(), [](const Index& index) {
    return !index.is_none() && !index.is_ellipsis();
  });
  if (named > rank) {
    throw fail(ErrorKind::Invalid, "{} indices for a tensor of shape {}", named, x.shape().str());
  }
  View view;
  bool filled = false;
  auto keep_whole = [&](i64 count) {
    for (; count > 0; --count) {
      view.result.push_back(static_cast<i64>(view.axes.size()));
      view.axes.push_back({.start = 0, .stop = x.size(static_cast<i64>(view.axes.size()))});
    }
  };
  for (const Index& index : indices) {
    if (index.is_none()) {
      view.result.push_back(-1);
    } else if (index.is_ellipsis()) {
      if (filled) throw fail(ErrorKind::Invalid, "an index may hold one Ellipsis");
      filled = true;
      keep_whole(rank - named);
    } else {
      const i64 axis = static_cast<i64>(view.axes.size());
      AxisView axis_view = view_of(index, x.size(axis), axis, x);
      if (!axis_view.dropped) view.result.push_back(axis);
      if (axis_view.index != nullptr) ++view.tensors;
      view.axes.push_back(std::move(axis_view));
    }
  }
  keep_whole(rank - static_cast<i64>(view.axes.size()));
  return view;
}

Size length_of(const AxisView& axis) { return ceil_div(axis.stop - axis.start, axis.stride); }

Tensor read_axes(const Tensor& x, const View& view) {
  std::vector<std::pair<Size, Size>> windows;
  std::vector<i64> flipped;
  for (usize i = 0; i < view.axes.size(); ++i) {
    windows.emplace_back(view.axes[i].start, view.axes[i].stop);
    if (view.axes[i].flipped) flipped.push_back(static_cast<i64>(i));
  }
  Tensor result = x.shrink(windows);
  if (!flipped.empty()) result = result.flip(flipped);
  for (usize i = 0; i < view.axes.size(); ++i) {
    const i64 stride = view.axes[i].stride;
    if (stride == 1) continue;
    // Rows of one stride; the first column stays.
    const i64 axis = static_cast<i64>(i);
    const i64 length = result.size(axis).value(), rows = (length + stride - 1) / stride;
    std::vector<std::pair<i64, i64>> amounts(view.axes.size(), {0, 0});
    amounts[i].second = rows * stride - length;
    result = result.pad(amounts).unflatten(axis, {rows, stride});
    std::vector<std::pair<Size, Size>> first;
    for (const Size& size : result.shape()) first.emplace_back(0, size);
    first[i + 1] = {0, 1};
    result = result.shrink(first).squeeze(axis + 1);
  }
  return result;
}

// The reverse of read_axes: elements at their places, zeros elsewhere.
Tensor spread_axes(const Tensor& values, const View& view, const Shape& whole) {
  Tensor result = values;
  std::vector<i64> flipped;
  Shape starts;
  for (usize i = 0; i < view.axes.size(); ++i) {
    const AxisView& axis_view = view.axes[i];
    const i64 axis = static_cast<i64>(i), stride = axis_view.stride;
    if (stride != 1) {
      std::vector<std::pair<i64, i64>> amounts(view.axes.size() + 1, {0, 0});
      amounts[i + 1].second = stride - 1;
      result = result.unsqueeze(axis + 1).pad(amounts).flatten(axis, axis + 1);
      std::vector<std::pair<Size, Size>> window;
      for (const Size& size : result.shape()) window.emplace_back(0, size);
      window[i] = {0, axis_view.stop - axis_view.start};
      result = result.shrink(window);
    }
    if (axis_view.flipped) flipped.push_back(axis);
    starts.push_back(axis_view.start);
  }
  if (!flipped.empty()) result = result.flip(flipped);
  return detail::pad_into(result, starts, whole);
}

// x (pre, n, post) at positions (index shape): (pre, index shape, post). Out of range gives 0.
Tensor take(const Tensor& x, i64 axis, const Tensor& index) {
  const Shape from = x.shape(), picked = index.shape();
  const i64 n = from[static_cast<usize>(axis)].value();
  Shape column(picked);  // the index over (n, post)
  Shape apart(from.begin(), from.begin() + axis);
  apart.insert(apart.end(), picked.size(), Size(1));
  apart.insert(apart.end(), from.begin() + axis, from.end());
  column.insert(column.end(), from.size() - static_cast<usize>(axis), Size(1));
  Shape along(from.size() - static_cast<usize>(axis), 1);
  along[0] = n;
  const Tensor here = index.reshape(column) == Tensor::arange(n).reshape(along);
  const Tensor source = x.dtype().is_bool() ? x.cast(dtypes::u8) : x;
  const Tensor masked = select(here, source.reshape(apart), constant(0, source.dtype()));
  const i64 reduced = axis + static_cast<i64>(picked.size());
  return detail::reduce_axes(Op::Add, masked, i64{1} << reduced).squeeze(reduced).cast(x.dtype());
}

Tensor from_front(const Tensor& index, i64 size) {
  const Tensor narrow = detail::narrow_index(index, -size - 1, size);
  if (narrow.dtype().is_unsigned()) return narrow;
  return doorbell::where(narrow < 0, narrow + size, narrow);
}

// Tensor indices at `places` (axes of x), which broadcast with each other.
Tensor take_all(const Tensor& x, std::vector<i64> places, const std::vector<const Tensor*>& picks) {
  Tensor source = x;
  const i64 count = static_cast<i64>(places.size());
  if (places.back() - places.front() != count - 1) {
    // Apart from each other: their axes come first in the result.
    std::vector<i64> order = places;
    for (i64 axis = 0; axis < x.ndim(); ++axis) {
      if (std::find(places.begin(), places.end(), axis) == places.end()) order.push_back(axis);
    }
    source = x.permute(order);
    std::iota(places.begin(), places.end(), 0);
  }
  if (count == 1) {
    return take(source, places[0], from_front(*picks[0], source.size(places[0]).value()));
  }
  // One position in the axes joined. A part out of range must not land in a neighbour.
  Tensor position, valid;
  for (usize i = 0; i < places.size(); ++i) {
    const i64 size = source.size(places[i]).value();
    const Tensor index = from_front(*picks[i], size);
    const Tensor inside = (index >= 0) & (index < size);
    position = position.defined() ? position * size + index : index;
    valid = valid.defined() ? valid & inside : inside;
  }
  return take(source.flatten(places.front(), places.back()), places.front(),
              doorbell::where(valid, position, -1));
}

}  // namespace

Tensor Tensor::at(std::span<const Index> indices) const {
  const View view = parse(*this, indices);
  Tensor x = read_axes(*this, view);
  Shape to;
  std::vector<i64> places;
  std::vector<const Tensor*> picks;
  for (i64 axis : view.result) {
    if (axis >= 0 && view.axes[static_cast<usize>(axis)].index != nullptr) {
      places.push_back(static_cast<i64>(to.size()));
      picks.push_back(view.axes[static_cast<usize>(axis)].index);
    }
    to.push_back(axis < 0 ? Size(1) : length_of(view.axes[static_cast<usize>(axis)]));
  }
  x = x.reshape(to);
  return places.empty() ? x : take_all(x, std::move(places), picks);
}

namespace {

// x with the rows that `index` names along `axis` replaced; values (pre, index shape, post).
Tensor put(const Tensor& x, i64 axis, const Tensor& index, const Tensor& values) {
  Shape wanted = x.shape();
  const i64 n = wanted[static_cast<usize>(axis)].value();
  const Tensor flat = from_front(index, n).reshape({-1});
  const i64 count = flat.size(0).value();
  Shape spread(wanted.begin(), wanted.begin() + axis);
  const Shape picked = index.shape();
  spread.insert(spread.end(), picked.begin(), picked.end());
  spread.insert(spread.end(), wanted.begin() + axis + 1, wanted.end());
  wanted[static_cast<usize>(axis)] = count;
  const Tensor rows = values.expand(spread).reshape(wanted);
  // Scatter wants an index as large as the values.
  Shape column(static_cast<usize>(x.ndim()), 1);
  column[static_cast<usize>(axis)] = count;
  return x.scatter(axis, flat.reshape(column).expand(wanted), rows);
}

}  // namespace

void Tensor::set_at(std::span<const Index> indices, const Operand& value) {
  const View view = parse(*this, indices);
  const Tensor base = *this;
  const Tensor values = detail::as_tensor(value, dtype());
  if (view.tensors > 0) {
    const bool plain =
        view.tensors == 1 && static_cast<i64>(view.result.size()) == ndim() &&
        std::all_of(view.axes.begin(), view.axes.end(), [&](const AxisView& axis) {
          const usize i = static_cast<usize>(&axis - view.axes.data());
          return !axis.flipped && axis.stride == 1 && axis.start.is(0) && axis.stop == shape()[i];
        });
    if (!plain) {
      throw fail(ErrorKind::Unsupported,
                 "assignment through an index tensor beside slices; use scatter");
    }
    for (usize i = 0; i < view.axes.size(); ++i) {
      if (view.axes[i].index == nullptr) continue;
      assign(put(base, static_cast<i64>(i), *view.axes[i].index, values));
    }
    return;
  }
  Shape selected, axes;
  for (i64 axis : view.result) {
    selected.push_back(axis < 0 ? Size(1) : length_of(view.axes[static_cast<usize>(axis)]));
  }
  for (const AxisView& axis : view.axes) axes.push_back(axis.dropped ? Size(1) : length_of(axis));
  const Tensor placed = spread_axes(values.expand(selected).reshape(axes), view, shape());
  const Tensor mask = spread_axes(constant(true, dtypes::bool_).expand(axes), view, shape());
  assign(select(mask, placed, base));
}

Tensor Tensor::operator[](std::initializer_list<Index> indices) const {
  return at(std::span(indices.begin(), indices.size()));
}
Tensor Tensor::operator[](const Index& index) const { return at(std::span(&index, 1)); }
Selection Tensor::operator[](std::initializer_list<Index> indices) {
  return Selection(*this, std::vector<Index>(indices));
}
Selection Tensor::operator[](const Index& index) { return Selection(*this, {index}); }

Selection::Selection(Tensor base, std::vector<Index> indices)
    : Tensor(base.at(indices)), base_(std::move(base)), indices_(std::move(indices)) {}

void Selection::assign_to_base(const Operand& value) { base_.set_at(indices_, value); }

}  // namespace doorbell
