// Assignment through brackets, x[{...}] = v: to the view that slices and integers give; what picks
// elements makes a new value of that view. For which elements an index names see index.cc, for
// writing through views view.cc.
#include <algorithm>

#include "tensor/api/cell.h"
#include "tensor/api/index_view.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"
#include "tensor/api/select.h"
#include "tensor/api/view.h"

namespace doorbell {

using detail::check_mask;
using detail::is_mask;
using detail::join_picks;
using detail::parse_index;
using detail::Picks;
using detail::read_view;
using detail::select;
using detail::take;
using detail::View;
using detail::width_of;

namespace {

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
  // x may have elements where the mask has none.
  for (const Size& size : mask.shape()) {
    if (size.is(0)) return x;
  }
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

// Axes of size 1 in front of what there is place for mean nothing.
Tensor without_leading_ones(const Tensor& values, i64 rank) {
  Shape shape = values.shape();
  while (static_cast<i64>(shape.size()) > rank && shape.front().is(1)) shape.erase(shape.begin());
  return values.reshape(shape);
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
  detail::release_if_alone(detail::Access::cell(*this));
  const std::vector<Index> basic = basic_indices(indices);
  const i64 mask_axis = axis_of_only_mask(*this, indices);
  Tensor part = read_view(*this, parse_index(*this, basic));
  if (std::none_of(indices.begin(), indices.end(), detail::picks)) {
    // x[...] += v has assigned already, to the part that it gives back.
    const bool done =
        value.tensor != nullptr &&
        detail::same_elements(detail::Access::cell(part), detail::Access::cell(*value.tensor));
    const Tensor values = without_leading_ones(detail::as_tensor(value, dtype()), part.ndim());
    if (!done) part.assign(values.expand(part.shape()));
    return;
  }
  const Tensor values = detail::as_tensor(value, dtype());
  if (mask_axis >= 0) {
    const auto mask = std::find_if(indices.begin(), indices.end(), is_mask);
    check_mask(*mask->tensor(), mask_axis, part);
    part.assign(put_masked(part, mask_axis, *mask->tensor(), values));
  } else {
    part.assign(put_picked(part, parse_index(*this, indices), values));
  }
}

}  // namespace doorbell
