// Indexing: x[{...}] as movement ops and, for what picks elements, as a masked sum that the
// scheduler turns into a gather. For assigning through brackets see index_assign.cc.
#include "tensor/api/index_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/disk.h"
#include "tensor/api/index_numbers.h"
#include "tensor/api/node.h"
#include "tensor/api/select.h"
#include "tensor/api/view.h"
#include "tensor/api/windows.h"

namespace doorbell {

using core::Op;
using core::TensorGraph;
using core::UOpRef;
using detail::AxisView;
using detail::constant;
using detail::Picks;
using detail::select;
using detail::View;

namespace {

i64 clip(i64 value, i64 low, i64 high) { return std::min(std::max(value, low), high); }

Size at_least(const Size& a, const Size& b) {
  const UOpRef left = a.expression(), right = b.expression();
  return Size(TensorGraph::make(Op::Max, core::dtypes::index, {*left, *right}));
}
Size at_most(const Size& a, const Size& b) { return 0 - at_least(0 - a, 0 - b); }

// From the front: less than 0 counts from the end, for each value that it may have.
Size wrapped(const Size& bound, const Size& size) {
  if (bound.min() >= 0) return bound;
  if (bound.max() < 0) return bound + size;
  const i64 beyond = std::max(-bound.min(), bound.max()) + 1;
  return bound - bound / beyond * size;  // the quotient is -1 or 0
}

Size clipped(const Size& bound, const Size& size) {
  const Size front = wrapped(bound, size);
  const Size low = front.min() < 0 ? at_least(front, 0) : front;
  return (size - low).min() < 0 ? at_most(low, size) : low;
}

// Of bounds or a size that are given at run time. A window is as long as its clipped bounds stand
// apart, and no longer than the bounds themselves do.
AxisView symbolic_view(const Slice& slice, const Size& size) {
  const bool backwards = slice.step == -1 && !slice.start && !slice.stop;
  if (slice.step != 1 && !backwards)
    throw fail(ErrorKind::Unsupported, "symbolic slice with a step");
  AxisView view{.flipped = backwards};
  view.start = slice.start ? clipped(*slice.start, size) : Size(0);
  view.stop = slice.stop ? clipped(*slice.stop, size) : size;
  Size length = view.stop - view.start;
  if (length.min() < 0) length = at_least(length, 0);
  if (slice.start && slice.stop) {
    const i64 apart = (*slice.stop - *slice.start).max();
    const bool wraps = slice.start->min() < 0 || slice.stop->min() < 0;
    if (!wraps && apart >= 0 && apart < length.max()) length = at_most(length, apart);
  }
  view.stop = view.start + length;
  return view;
}

AxisView view_of_slice(const Slice& slice, const Size& size) {
  if (slice.step == 0) throw fail(ErrorKind::Invalid, "slice with a step of 0");
  AxisView view{.stride = slice.step < 0 ? -slice.step : slice.step, .flipped = slice.step < 0};
  const bool symbolic = !size.is_const() || (slice.start && !slice.start->is_const()) ||
                        (slice.stop && !slice.stop->is_const());
  if (symbolic) return symbolic_view(slice, size);
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

Size position_on_axis(const Size& position, const Size& size, i64 axis, const Tensor& x) {
  if (position.is_const() && size.is_const() &&
      (position.value() < -size.value() || position.value() >= size.value())) {
    throw fail(ErrorKind::Invalid, "index {} is out of range for axis {} of shape {}",
               position.value(), axis, x.shape().str());
  }
  const Size place = wrapped(position, size);
  const auto what = [&] {
    return fmt::format("index {} of axis {} of shape {}", position.str(), axis, x.shape().str());
  };
  detail::require(0, place, what);
  detail::require(place, size - 1, what);
  return place;
}

AxisView view_of(const Index& index, const Size& size, i64 axis, const Tensor& x) {
  if (const Slice* slice = index.slice()) return view_of_slice(*slice, size);
  if (const Tensor* tensor = index.tensor()) {
    if (!tensor->dtype().is_int()) {
      throw fail(ErrorKind::Invalid, "index tensor has dtype {}, expected integers or bool",
                 core::long_name_of(tensor->dtype().scalar));
    }
    return {.start = 0, .stop = size, .index = *tensor};
  }
  if (const std::vector<i64>* list = index.list()) {
    std::vector<i64> places;
    for (i64 place : *list) places.push_back(position_on_axis(place, size, axis, x).value());
    const std::string device = detail::on_disk(x) ? "" : x.device();
    const Tensor picked =
        Tensor::from_data(places, {static_cast<i64>(places.size())}, {.device = device});
    return {.start = 0, .stop = size, .index = detail::narrow_index(picked, 0, size.max())};
  }
  const Size start = position_on_axis(*index.integer(), size, axis, x);
  return {.start = start, .stop = start + 1, .dropped = true};
}

}  // namespace

i64 detail::width_of(const Index& index) {
  if (index.is_none() || index.is_ellipsis()) return 0;
  return is_mask(index) ? index.tensor()->ndim() : 1;
}

bool detail::is_mask(const Index& index) {
  return index.tensor() != nullptr && index.tensor()->dtype().is_bool();
}

bool detail::picks(const Index& index) {
  return index.tensor() != nullptr || index.list() != nullptr;
}

void detail::check_mask(const Tensor& mask, i64 axis, const Tensor& x) {
  bool fits = mask.ndim() > 0;
  // A mask without elements picks none, as in NumPy, though PyTorch refuses it.
  for (i64 i = 0; fits && i < mask.ndim(); ++i)
    fits = mask.size(i) == x.size(axis + i) || mask.size(i).is(0);
  if (fits) return;
  throw fail(ErrorKind::Invalid, "mask of shape {} on axis {} of shape {}", mask.shape().str(),
             axis, x.shape().str());
}

View detail::parse_index(const Tensor& x, std::span<const Index> indices) {
  const i64 rank = x.ndim();
  i64 named = 0;
  for (const Index& index : indices) named += detail::width_of(index);
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
    } else if (detail::is_mask(index)) {
      const i64 axis = static_cast<i64>(view.axes.size());
      detail::check_mask(*index.tensor(), axis, x);
      const std::vector<Tensor> places = detail::places_of(*index.tensor());
      keep_whole(index.tensor()->ndim());
      for (usize i = 0; i < places.size(); ++i) {
        view.axes[static_cast<usize>(axis) + i].index = places[i];
      }
    } else {
      const i64 axis = static_cast<i64>(view.axes.size());
      AxisView axis_view = view_of(index, x.size(axis), axis, x);
      if (!axis_view.dropped) view.result.push_back(axis);
      view.axes.push_back(std::move(axis_view));
    }
  }
  keep_whole(rank - static_cast<i64>(view.axes.size()));
  return view;
}

Size detail::length_of(const AxisView& axis) {
  return ceil_div(axis.stop - axis.start, axis.stride);
}

namespace {

Tensor read_axes(const Tensor& x, const View& view) {
  std::vector<std::pair<Size, Size>> windows;
  std::vector<i64> flipped;
  for (usize i = 0; i < view.axes.size(); ++i) {
    windows.emplace_back(view.axes[i].start, view.axes[i].stop);
    if (view.axes[i].flipped) flipped.push_back(static_cast<i64>(i));
  }
  Tensor result = detail::window(x, windows);
  if (!flipped.empty()) result = detail::flip_view(result, flipped);
  for (usize i = 0; i < view.axes.size(); ++i) {
    const i64 stride = view.axes[i].stride;
    if (stride == 1) continue;
    // Rows of one stride; the first column stays.
    const i64 axis = static_cast<i64>(i);
    const i64 length = result.size(axis).value(), rows = (length + stride - 1) / stride;
    std::vector<i64> after(view.axes.size(), 0);
    after[i] = rows * stride - length;
    Shape apart = result.shape();
    apart[i] = rows;
    apart.insert(apart.begin() + axis + 1, stride);
    result = detail::reshape_view(detail::pad_view(result, after), apart);
    std::vector<std::pair<Size, Size>> first;
    for (const Size& size : result.shape()) first.emplace_back(0, size);
    first[i + 1] = {0, 1};
    result = result.shrink(first).squeeze(axis + 1);
  }
  return result;
}

}  // namespace

Tensor detail::take(const Tensor& x, i64 axis, const Tensor& index) {
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

namespace {

Tensor from_front(const Tensor& index, i64 size) {
  const Tensor narrow = detail::narrow_index(index, -size - 1, size);
  if (index.dtype().is_unsigned()) return narrow;
  // Of a large size the sum must not seem to leave 64 bits where it is not chosen.
  const Tensor negative = size < INT32_MAX ? narrow : doorbell::minimum(narrow, -1);
  return doorbell::where(narrow < 0, negative + size, narrow);
}

}  // namespace

Picks detail::join_picks(const Tensor& x, const View& view) {
  std::vector<i64> places;
  std::vector<Tensor> indices;
  for (usize i = 0; i < view.result.size(); ++i) {
    const i64 axis = view.result[i];
    if (axis < 0 || !view.axes[static_cast<usize>(axis)].index.defined()) continue;
    places.push_back(static_cast<i64>(i));
    indices.push_back(view.axes[static_cast<usize>(axis)].index);
  }
  Picks picks;
  const i64 count = static_cast<i64>(places.size());
  const bool adjacent = places.back() - places.front() == count - 1;
  picks.axis = adjacent ? places.front() : 0;
  if (!adjacent) picks.order = places;
  for (i64 axis = 0; axis < x.ndim(); ++axis) {
    const bool picked = std::find(places.begin(), places.end(), axis) != places.end();
    if (adjacent || !picked) picks.order.push_back(axis);
  }
  const Tensor source = x.permute(picks.order);
  picks.apart = source.shape();
  // A part out of range must not land in a neighbour.
  Tensor valid;
  picks.source = source.flatten(picks.axis, picks.axis + count - 1);
  const bool is_long = picks.source.size(picks.axis).value() >= INT32_MAX;
  for (i64 i = 0; i < count; ++i) {
    const i64 size = source.size(picks.axis + i).value();
    const Tensor& given = indices[static_cast<usize>(i)];
    detail::check_index(given, -size, size, view.result[static_cast<usize>(places[i])]);
    Tensor index = from_front(given, size);
    if (is_long) index = index.cast(dtypes::i64);
    if (count == 1) {
      picks.position = index;
      break;
    }
    const Tensor inside = (index >= 0) & (index < size);
    picks.position = i == 0 ? index : picks.position * size + index;
    valid = i == 0 ? inside : valid & inside;
  }
  if (count > 1) picks.position = doorbell::where(valid, picks.position, -1);
  return picks;
}

Tensor detail::read_view(const Tensor& x, const View& view) {
  Shape to;
  for (i64 axis : view.result) {
    to.push_back(axis < 0 ? Size(1) : length_of(view.axes[static_cast<usize>(axis)]));
  }
  return detail::reshape_view(read_axes(x, view), to);
}

Tensor Tensor::at(std::span<const Index> indices) const {
  if (const auto wide = detail::with_scalar_masks(*this, indices)) return wide->x.at(wide->indices);
  const View view = detail::parse_index(*this, indices);
  const Tensor x = detail::read_view(*this, view);
  if (!view.picks()) return x;
  const Picks picks = detail::join_picks(x, view);
  return detail::take(picks.source, picks.axis, picks.position);
}

Tensor Tensor::operator[](std::initializer_list<Index> indices) const& {
  return at(std::span(indices.begin(), indices.size()));
}
Tensor Tensor::operator[](const Index& index) const& { return at(std::span(&index, 1)); }
Selection Tensor::operator[](std::initializer_list<Index> indices) & {
  return Selection(*this, std::vector<Index>(indices));
}
Selection Tensor::operator[](const Index& index) & { return Selection(*this, {index}); }
Selection Tensor::operator[](std::initializer_list<Index> indices) && {
  return Selection(*this, std::vector<Index>(indices), true);
}
Selection Tensor::operator[](const Index& index) && { return Selection(*this, {index}, true); }

namespace {

// The value of x now, whatever is assigned to it later.
Tensor present(const Tensor& x) { return Tensor::from_uop(x.uop(), x.needs_grad()); }

// What a selection reads as. The count of a mask is read only if the selection is: on the left of =
// it is not.
Tensor read(const Tensor& base, const std::vector<Index>& indices) {
  if (std::none_of(indices.begin(), indices.end(), detail::is_mask)) return base.at(indices);
  std::vector<Index> now;
  for (const Index& index : indices) {
    now.push_back(index.tensor() == nullptr ? index : Index(present(*index.tensor())));
  }
  return detail::Access::deferred([x = present(base), now = std::move(now)] { return x.at(now); });
}

}  // namespace

Selection::Selection(Tensor base, std::vector<Index> indices, bool of_temporary)
    : Tensor(read(base, indices)),
      base_(std::move(base)),
      indices_(std::move(indices)),
      of_temporary_(of_temporary) {}

void Selection::assign_to_base(const Operand& value) {
  // Its own handle, the one that goes, and what it reads as.
  if (of_temporary_) detail::refuse_lost(base_, 2, 1);
  base_.set_at(indices_, value);
}

}  // namespace doorbell
