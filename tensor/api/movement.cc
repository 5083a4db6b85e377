// Movement: the six movement ops with their checks, and the methods that are one or two of them.
// For joining and cutting (cat, split, repeat, ...) see join.cc.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/util/check.h"
#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/disk.h"
#include "tensor/api/node.h"
#include "tensor/api/view.h"
#include "tensor/api/windows.h"

namespace doorbell {

using core::Op;
using core::UOpRef;

namespace {

// Sizes as args of a movement op: symbolic ones become sources.
struct SizeArgs {
  absl::InlinedVector<i64, 8> args;
  absl::InlinedVector<UOpRef, 2> symbolic;

  void add(const Size& size) {
    if (size.is_const()) {
      if (size.value() > detail::kMaxElements) detail::refuse_count({size});
      args.push_back(size.value());
    } else {
      args.push_back(core::kDynamicDim + static_cast<i64>(symbolic.size()));
      symbolic.push_back(size.expression());
    }
  }
};

Tensor move(Op op, const Tensor& x, const SizeArgs& sizes) {
  const Tensor* src = &x;
  return detail::make(op, x.dtype(), std::span(&src, 1), sizes.args, sizes.symbolic);
}

void check_rank(const Shape& shape) {
  if (shape.size() > core::kMaxRank) {
    throw fail(ErrorKind::Unsupported, "shape {} has more than {} axes", shape.str(),
               core::kMaxRank);
  }
}

void check_same_rank(const Tensor& x, usize rank, const char* what) {
  if (static_cast<usize>(x.ndim()) != rank) {
    throw fail(ErrorKind::Invalid, "{} names {} axes of a tensor of shape {}", what, rank,
               x.shape().str());
  }
}

// The product of the sizes that are not -1.
Size known_product(const Shape& shape) {
  Size total = 1;
  for (const Size& size : shape) {
    if (!size.is(-1)) total = total * size;
  }
  return total;
}

Shape resolve_reshape(const Shape& from, const Shape& wanted) {
  Shape shape = wanted;
  const i64 unknown = std::count_if(shape.begin(), shape.end(), [](auto& s) { return s.is(-1); });
  const bool negative =
      std::any_of(shape.begin(), shape.end(), [](auto& s) { return s.is_const() && s.max() < -1; });
  const Size total = from.numel();
  const Size known = known_product(shape);
  bool fits = !negative && unknown <= 1;
  if (fits && unknown == 1) {
    fits = !known.is(0) && (total % known).is(0);
    const Size rest = fits ? total / known : 0;
    for (Size& size : shape) {
      if (size.is(-1)) size = rest;
    }
  } else if (fits) {
    fits =
        total == known || (!(total.is_const() && known.is_const()) && total.max() == known.max());
  }
  if (!fits) {
    throw fail(ErrorKind::Invalid, "cannot reshape shape {} to {}", from.str(), wanted.str());
  }
  return shape;
}

Tensor reshaped(const Tensor& x, const Shape& to) {
  SizeArgs sizes;
  for (const Size& size : to) sizes.add(size);
  return move(Op::Reshape, x, sizes);
}

}  // namespace

Tensor Tensor::reshape(const Shape& shape) const {
  const Shape from = this->shape();
  const Shape to = resolve_reshape(from, shape);
  check_rank(to);
  if (from == to) return *this;
  const Tensor result = reshaped(*this, to);
  return detail::reshapes_in_place(*this, to) ? detail::as_view(result, *this, true) : result;
}

Tensor detail::reshape_view(const Tensor& x, const Shape& to) {
  return x.shape() == to ? x : as_view(reshaped(x, to), x, true);
}

Tensor Tensor::permute(const std::vector<i64>& axes) const {
  check_same_rank(*this, axes.size(), "permute");
  SizeArgs order;
  std::vector<bool> seen(axes.size());
  bool identity = true;
  for (usize i = 0; i < axes.size(); ++i) {
    const i64 axis = detail::resolve_axis(axes[i], ndim());
    if (seen[static_cast<usize>(axis)]) {
      throw fail(ErrorKind::Invalid, "permute names axis {} twice", axes[i]);
    }
    seen[static_cast<usize>(axis)] = true;
    identity = identity && axis == static_cast<i64>(i);
    order.add(axis);
  }
  return identity ? *this : detail::as_view(move(Op::Permute, *this, order), *this, false);
}

Tensor Tensor::transpose(i64 a, i64 b) const {
  std::vector<i64> order(static_cast<usize>(ndim()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<usize>(detail::resolve_axis(a, ndim()))],
            order[static_cast<usize>(detail::resolve_axis(b, ndim()))]);
  return permute(order);
}

Tensor Tensor::t() const {
  if (ndim() > 2) {
    throw fail(ErrorKind::Invalid, "t() of shape {}, expected two axes or fewer", shape().str());
  }
  return ndim() < 2 ? *this : transpose(0, 1);
}

Tensor Tensor::T() const {
  std::vector<i64> order(static_cast<usize>(ndim()));
  std::iota(order.rbegin(), order.rend(), 0);
  return permute(order);
}

Tensor Tensor::expand(const Shape& shape) const {
  const Shape from = this->shape();
  check_rank(shape);
  Shape to = shape;
  bool fits = to.size() >= from.size();
  const usize added = fits ? to.size() - from.size() : 0;
  for (usize i = 0; fits && i < to.size(); ++i) {
    if (i < added) {
      fits = !(to[i].is_const() && to[i].max() < 0);
      continue;
    }
    const Size& size = from[i - added];
    if (to[i].is(-1)) to[i] = size;
    fits = to[i] == size || (size.is(1) && to[i].min() >= 0);
  }
  if (!fits) {
    throw fail(ErrorKind::Invalid, "cannot expand shape {} to {}", from.str(), shape.str());
  }
  if (from == to) return *this;
  SizeArgs sizes;
  for (const Size& size : to) sizes.add(size);
  return detail::as_view(move(Op::Expand, *this, sizes), *this, false);
}

Tensor Tensor::flip(const Axes& axes) const {
  const std::vector<bool> chosen = detail::resolve_axes(axes, ndim());
  i64 mask = 0;
  for (usize i = 0; i < chosen.size(); ++i) {
    if (chosen[i] && !size(static_cast<i64>(i)).is(1)) mask |= i64{1} << i;
  }
  // A copy, as in PyTorch; x[::-1] is a view, as in NumPy.
  return mask == 0 ? detail::unshared(*this) : detail::make(Op::Flip, dtype(), {this}, {mask});
}

Tensor detail::flip_view(const Tensor& x, const std::vector<i64>& axes) {
  const Tensor flipped = x.flip(axes);
  return flipped.uop() == x.uop() ? x : as_view(flipped, x, false);
}

Tensor Tensor::shrink(const std::vector<std::pair<Size, Size>>& windows) const {
  check_same_rank(*this, windows.size(), "shrink");
  const Shape from = shape();
  for (usize i = 0; i < windows.size(); ++i) {
    const auto& [start, stop] = windows[i];
    const auto what = [&] {
      return fmt::format("window {}:{} of axis {} of shape {}", start.str(), stop.str(), i,
                         from.str());
    };
    detail::require(0, start, what);
    detail::require(start, stop, what);
    detail::require(stop, from[i], what);
  }
  return detail::window(*this, windows);
}

Tensor detail::window(const Tensor& x, const std::vector<std::pair<Size, Size>>& windows) {
  const Shape from = x.shape();
  SizeArgs args;
  bool whole = true;
  // Rows of one block lie together.
  bool is_row_major = true, is_cut = false;
  for (usize i = windows.size(); i-- > 0;) {
    const Size length = windows[i].second - windows[i].first;
    whole = whole && windows[i].first.is(0) && length == from[i];
    is_row_major = is_row_major && (!is_cut || length.is(1));
    is_cut = is_cut || length != from[i];
  }
  if (whole) return x;
  for (const auto& [start, stop] : windows) {
    args.add(start);
    args.add(stop - start);
  }
  return as_view(move(Op::Shrink, x, args), x, is_row_major);
}

Tensor Tensor::shrink_to(const Shape& shape) const {
  check_same_rank(*this, shape.size(), "shrink_to");
  std::vector<std::pair<Size, Size>> windows;
  for (usize i = 0; i < shape.size(); ++i) {
    windows.emplace_back(0, shape[i].is(-1) ? size(static_cast<i64>(i)) : shape[i]);
  }
  return shrink(windows);
}

Tensor Tensor::pad_to(const Shape& shape, Number value) const {
  check_same_rank(*this, shape.size(), "pad_to");
  std::vector<std::pair<Size, Size>> amounts;
  for (usize i = 0; i < shape.size(); ++i) {
    const Size from = size(static_cast<i64>(i));
    const Size& to = shape[i].is(-1) ? from : shape[i];
    detail::require(from, to, [&] {
      return fmt::format("cannot pad shape {} to {}", this->shape().str(), shape.str());
    });
    amounts.emplace_back(0, to - from);
  }
  return pad(amounts, {.value = value});
}

std::vector<std::pair<i64, i64>> PadAmounts::values() const {
  std::vector<std::pair<i64, i64>> values;
  for (const auto& [before, after] : amounts_) values.emplace_back(before.value(), after.value());
  return values;
}

Tensor Tensor::pad(const PadAmounts& amounts, const PadOptions& options) const {
  if (detail::on_disk(*this)) detail::refuse_on_disk("Pad");
  if (options.mode != PadMode::Constant)
    return detail::pad_from_inside(*this, amounts.values(), options.mode);
  return detail::pad_value(*this, amounts, options.value);
}

namespace {

using SizePairs = std::vector<std::pair<Size, Size>>;

// Zeros around; the amounts are not negative.
Tensor pad_zeros(const Tensor& x, const SizePairs& amounts) {
  const Shape from = x.shape();
  SizeArgs args;
  bool nothing = true;
  for (usize i = 0; i < amounts.size(); ++i) {
    nothing = nothing && amounts[i].first.is(0) && amounts[i].second.is(0);
    args.add(amounts[i].first);
    args.add(from[i] + amounts[i].first + amounts[i].second);
  }
  return nothing ? detail::unshared(x) : move(Op::Pad, x, args);
}

// An amount of padding as what is cut off and what is added; one of them is 0.
std::pair<Size, Size> cut_and_added(const Size& amount, usize axis, const Shape& shape) {
  if (amount.max() <= 0) return {0 - amount, 0};
  detail::require(0, amount, [&] {
    return fmt::format("padding of {} at axis {} of shape {}", amount.str(), axis, shape.str());
  });
  return {0, amount};
}

}  // namespace

Tensor detail::pad_view(const Tensor& x, const std::vector<i64>& after) {
  SizePairs amounts;
  for (const i64 amount : after) amounts.emplace_back(0, amount);
  const Tensor padded = pad_zeros(x, amounts);
  return padded.uop() == x.uop() ? x : as_view(padded, x, false);
}

Tensor detail::pad_into(const Tensor& x, const Shape& starts, const Shape& whole) {
  SizeArgs args;
  for (usize i = 0; i < whole.size(); ++i) {
    args.add(starts[i]);
    args.add(whole[i]);
  }
  return x.shape() == whole ? x : move(Op::Pad, x, args);
}

Tensor detail::pad_value(const Tensor& x, const PadAmounts& amounts, Number value) {
  check_same_rank(x, amounts.size(), "pad");
  const Shape from = x.shape();
  SizePairs windows, added;
  for (usize i = 0; i < amounts.size(); ++i) {
    const auto [cut_before, before] = cut_and_added(amounts[i].first, i, from);
    const auto [cut_after, after] = cut_and_added(amounts[i].second, i, from);
    windows.emplace_back(cut_before, from[i] - cut_after);
    added.emplace_back(before, after);
  }
  const Tensor base = x.shrink(windows);
  const Tensor padded = pad_zeros(base, added);
  if (value.real() == 0 || padded.shape() == base.shape()) return padded;
  // A mask of what is inside: the fill must not depend on what a pad holds.
  const Tensor inside = pad_zeros(constant(true, dtypes::bool_).expand(base.shape()), added);
  return select(inside, padded, constant(value, x.dtype()));
}

Tensor Tensor::squeeze() const { return squeeze(Axes()); }

Tensor Tensor::squeeze(const Axes& axes) const {
  const std::vector<bool> chosen = detail::resolve_axes(axes, ndim());
  const Shape from = shape();
  Shape kept;
  for (usize i = 0; i < from.size(); ++i) {
    if (!chosen[i] || !from[i].is(1)) kept.push_back(from[i]);
  }
  return reshape(kept);
}

Tensor Tensor::unsqueeze(i64 axis) const {
  Shape wider = shape();
  wider.insert(wider.begin() + detail::resolve_axis(axis, ndim() + 1), Size(1));
  return reshape(wider);
}

Tensor Tensor::flatten(i64 first, i64 last) const {
  const Shape from = shape();
  if (from.empty()) return reshape({1});
  const i64 begin = detail::resolve_axis(first, ndim());
  const i64 end = detail::resolve_axis(last, ndim()) + 1;
  if (begin >= end) throw fail(ErrorKind::Invalid, "flatten from axis {} to {}", first, last);
  Shape to(from.begin(), from.begin() + begin);
  to.push_back(Shape(from.begin() + begin, from.begin() + end).numel());
  to.insert(to.end(), from.begin() + end, from.end());
  return reshape(to);
}

Tensor Tensor::unflatten(i64 axis, const Shape& sizes) const {
  const Shape from = shape();
  const i64 at = detail::resolve_axis(axis, ndim());
  const Shape inner = resolve_reshape({from[static_cast<usize>(at)]}, sizes);
  Shape to(from.begin(), from.begin() + at);
  to.insert(to.end(), inner.begin(), inner.end());
  to.insert(to.end(), from.begin() + at + 1, from.end());
  return reshape(to);
}

}  // namespace doorbell
