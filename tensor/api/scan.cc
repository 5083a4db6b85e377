// Scans: running sums, products and extremes along an axis. For plain reductions see reduce.cc.
#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"
#include "tensor/api/windows.h"

namespace doorbell {

using core::Op;
using detail::constant;

namespace {

Number identity_of(Op op, DType dtype) {
  if (op == Op::Add) return 0;
  return op == Op::Mul ? Number(1) : detail::lowest(dtype);
}

// For each element of the last axis, on a new axis, the window that ends at it.
Tensor windows_before(const Tensor& x, Number identity) {
  const i64 length = x.size(-1).value();
  std::vector<std::pair<i64, i64>> amounts(static_cast<usize>(x.ndim()), {0, 0});
  amounts.back().first = length - 1;
  const i64 kernel[] = {length}, one[] = {1};
  return detail::pool(detail::pad_value(x, amounts, identity), kernel, one, one);
}

Tensor scan_last(Op op, const Tensor& x) {
  const Tensor windows = windows_before(x, identity_of(op, x.dtype()));
  return detail::reduce_axes(op, windows, i64{1} << x.ndim()).squeeze(-1);
}

// Long axes in two stages: inside pieces, then over the pieces' totals.
Tensor scan(Op op, const Tensor& x, i64 axis) {
  constexpr i64 kPiece = 256;
  detail::check_axis(axis, x.ndim());
  if (x.ndim() == 0 || detail::is_always_empty(x)) return x;
  const i64 at = detail::resolve_axis(axis, x.ndim());
  const Tensor last = x.transpose(at, -1);
  const i64 length = last.size(-1).value();
  if (length <= 2 * kPiece) return scan_last(op, last).transpose(at, -1);
  const i64 pieces = (length + kPiece - 1) / kPiece;
  const Number identity = identity_of(op, x.dtype());
  std::vector<std::pair<i64, i64>> front(static_cast<usize>(x.ndim()), {0, 0});
  front.back().first = pieces * kPiece - length;
  const Tensor inside =
      scan_last(op, detail::pad_value(last, front, identity).unflatten(-1, {pieces, kPiece}));
  std::vector<std::pair<i64, i64>> shifted(static_cast<usize>(x.ndim()), {0, 0});
  shifted.back() = {1, -1};
  const Tensor totals = scan_last(op, inside[{Ellipsis, -1}]);
  const Tensor before = detail::pad_value(totals, shifted, identity);
  const Tensor joined = detail::binary(op, inside, before.unsqueeze(-1)).flatten(-2, -1);
  const Slice end(-length, None);
  return joined[{Ellipsis, end}].transpose(at, -1);
}

}  // namespace

Tensor Tensor::cumsum(i64 axis) const {
  const Tensor total = scan(Op::Add, cast(detail::accumulator(dtype())), axis);
  return dtype().is_float() ? total.cast(dtype()) : total;
}
Tensor Tensor::cumprod(i64 axis) const {
  const Tensor total = scan(Op::Mul, cast(detail::accumulator(dtype())), axis);
  return dtype().is_float() ? total.cast(dtype()) : total;
}

namespace {

// Where the last of the elements that equal the running extreme stands: the largest place so far
// of those that are one.
Tensor places_of(const Tensor& x, const Tensor& values, i64 at) {
  Shape along(static_cast<usize>(x.ndim() - at), 1);
  along[0] = x.size(at).value();
  Tensor here = x == values;
  if (x.dtype().is_float()) here = here | x.isnan();
  const Tensor place = Tensor::arange(x.size(at).value()).reshape(along);
  return scan(Op::Max, doorbell::where(here, place, 0), at);
}

// `extremes` gives the running extremes. Gradients go to the places.
Picked with_places(const Tensor& input, i64 axis, Tensor (*extremes)(const Tensor& x, i64 axis)) {
  const Tensor x = detail::from_memory(input);
  const Tensor values = extremes(x, axis);
  if (x.ndim() == 0) return {values, constant(0, dtypes::i32)};
  const i64 at = detail::resolve_axis(axis, x.ndim());
  const Tensor places = places_of(x, values, at);
  if (!x.dtype().is_float()) return {values, places};
  const auto rule = [=](const Tensor& gradient, const std::vector<Tensor>& inputs, usize) {
    const Tensor x = detail::from_memory(inputs[0]);
    return x.zeros_like().scatter_add(at, places_of(x, extremes(x, at), at), gradient);
  };
  return {detail::with_derivative(values, {x}, rule), places};
}

Tensor largest_so_far(const Tensor& x, i64 axis) { return scan(Op::Max, x, axis); }

Tensor smallest_so_far(const Tensor& x, i64 axis) {
  const auto reversed = [](const Tensor& x) {
    return x.dtype().is_float() ? x.neg() : x.bitwise_not();
  };
  return reversed(largest_so_far(reversed(x), axis));
}

}  // namespace

Picked Tensor::cummax(i64 axis) const {
  if (dtype().is_bool()) {
    const Picked found = cast(dtypes::u8).cummax(axis);
    return {found.values.cast(dtypes::bool_), found.indices};
  }
  return with_places(*this, axis, largest_so_far);
}

Picked Tensor::cummin(i64 axis) const {
  if (dtype().is_bool()) {
    const Picked found = cast(dtypes::u8).cummin(axis);
    return {found.values.cast(dtypes::bool_), found.indices};
  }
  return with_places(*this, axis, smallest_so_far);
}

// Shifted by the largest so far, element by element of the window that ends there.
Tensor Tensor::logcumsumexp(i64 axis) const {
  detail::check_axis(axis, ndim());
  const Tensor x = detail::as_float(*this);
  if (ndim() == 0 || detail::is_always_empty(x)) return x;
  const Tensor last = x.transpose(axis, -1);
  return windows_before(last, detail::lowest(x.dtype())).logsumexp(-1).transpose(axis, -1);
}

}  // namespace doorbell
