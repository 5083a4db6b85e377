// Assignment through brackets, x[{...}] = v: the value is spread to its places and selected there,
// so that the graph stays one of values. Which elements an index names is index.cc's.
#include <algorithm>

#include "tensor/api/build.h"
#include "tensor/api/index_view.h"
#include "tensor/api/select.h"

namespace doorbell {

using detail::AxisView;
using detail::check_mask;
using detail::constant;
using detail::is_mask;
using detail::join_picks;
using detail::length_of;
using detail::parse_index;
using detail::Picks;
using detail::read_view;
using detail::select;
using detail::take;
using detail::View;
using detail::width_of;

namespace {

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

// x with `values`, of the shape that the view gives, at the view's places.
Tensor write_view(const Tensor& x, const View& view, const Tensor& values) {
  Shape axes, selected;
  for (i64 axis : view.result) {
    selected.push_back(axis < 0 ? Size(1) : length_of(view.axes[static_cast<usize>(axis)]));
  }
  for (const AxisView& axis : view.axes) axes.push_back(axis.dropped ? Size(1) : length_of(axis));
  const Tensor placed = spread_axes(values.expand(selected).reshape(axes), view, x.shape());
  const Tensor held = constant(true, dtypes::bool_).expand(axes);
  return select(spread_axes(held, view, x.shape()), placed, x);
}

// x with the rows that `position` names along `axis` replaced; values (pre, position's shape,
// post).
Tensor put(const Tensor& x, i64 axis, const Tensor& position, const Tensor& values) {
  const Tensor flat = position.reshape({-1});
  const i64 count = flat.size(0).value();
  Shape spread = x.shape(), rows = spread;
  const Shape picked = position.shape();
  spread.erase(spread.begin() + axis);
  spread.insert(spread.begin() + axis, picked.begin(), picked.end());
  rows[static_cast<usize>(axis)] = count;
  // Scatter wants an index as large as the values.
  Shape column(static_cast<usize>(x.ndim()), 1);
  column[static_cast<usize>(axis)] = count;
  return x.scatter(axis, flat.reshape(column).expand(rows), values.expand(spread).reshape(rows));
}

Tensor put_picked(const Tensor& x, const View& view, const Tensor& values) {
  const Picks picks = join_picks(x, view);
  const Tensor changed = put(picks.source, picks.axis, picks.position, values);
  std::vector<i64> back(picks.order.size());
  for (usize i = 0; i < back.size(); ++i) {
    back[static_cast<usize>(picks.order[i])] = static_cast<i64>(i);
  }
  return changed.reshape(picks.apart).permute(back);
}

// x (pre, the mask's axes, post) with `values` (pre, count, post) where the mask holds. Values that
// are the same for all of them need no count.
Tensor put_masked(const Tensor& x, i64 axis, const Tensor& mask, const Tensor& values) {
  Shape shape = x.shape(), wide(static_cast<usize>(x.ndim() - axis), 1);
  for (i64 i = 0; i < mask.ndim(); ++i) wide[static_cast<usize>(i)] = mask.size(i);
  shape.erase(shape.begin() + axis, shape.begin() + axis + mask.ndim());
  const i64 after = static_cast<i64>(shape.size()) - axis;
  const i64 own = values.ndim() - after - 1;  // the axis of the values that counts
  const bool same = own < 0 || values.size(own).is(1);
  const i64 count = same ? 1 : detail::places_of(mask)[0].size(0).value();
  shape.insert(shape.begin() + axis, count);
  Tensor placed = values.expand(shape);
  if (same) {
    Shape apart(shape);
    apart.insert(apart.begin() + axis, static_cast<usize>(mask.ndim()) - 1, Size(1));
    placed = placed.reshape(apart);
  } else {
    const Tensor rank = mask.reshape({-1}).cast(dtypes::i32).cumsum().reshape(mask.shape()) - 1;
    placed = take(placed, axis, doorbell::where(mask, rank, -1));
  }
  return select(mask.reshape(wide), placed, x);
}

// The indices with whole slices in place of what picks elements.
std::vector<Index> basic_indices(std::span<const Index> indices) {
  std::vector<Index> basic;
  for (const Index& index : indices) {
    if (detail::picks(index)) {
      basic.insert(basic.end(), static_cast<usize>(width_of(index)), Index(Slice()));
    } else {
      basic.push_back(index);
    }
  }
  return basic;
}

// The axis of what the basic indices give where the only thing that picks, a mask, begins; -1 where
// there are other such things.
i64 axis_of_only_mask(const Tensor& x, std::span<const Index> indices) {
  i64 axis = 0, found = -1, named = 0;
  for (const Index& index : indices) named += width_of(index);
  for (const Index& index : indices) {
    const bool picks = detail::picks(index);
    if (picks && (found >= 0 || !is_mask(index))) return -1;
    if (picks) found = axis;
    if (index.is_ellipsis()) {
      axis += x.ndim() - named;
    } else if (index.integer() == nullptr) {
      axis += index.is_none() ? 1 : width_of(index);
    }
  }
  return found;
}

}  // namespace

void Tensor::set_at(std::span<const Index> indices, const Operand& value) {
  if (auto wide = detail::with_scalar_masks(*this, indices)) {
    wide->x.set_at(wide->indices, value);
    assign(detail::without_axes(*wide));
    return;
  }
  const Tensor base = *this;
  const Tensor values = detail::as_tensor(value, dtype());
  const std::vector<Index> basic = basic_indices(indices);
  const View view = parse_index(base, basic);
  const i64 mask_axis = axis_of_only_mask(base, indices);
  if (std::none_of(indices.begin(), indices.end(), detail::picks)) {
    assign(write_view(base, view, values));
    return;
  }
  const Tensor part = read_view(base, view);
  Tensor changed;
  if (mask_axis >= 0) {
    const auto mask = std::find_if(indices.begin(), indices.end(), is_mask);
    check_mask(*mask->tensor(), mask_axis, part);
    changed = put_masked(part, mask_axis, *mask->tensor(), values);
  } else {
    changed = put_picked(part, parse_index(base, indices), values);
  }
  const bool whole = part.uop() == base.uop();
  assign(whole ? changed : write_view(base, view, changed));
}

}  // namespace doorbell
