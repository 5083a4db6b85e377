// Gather, scatter and one-hot: masks of where class numbers equal places, and reductions over them.
#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/gradient.h"
#include "tensor/api/index_numbers.h"
#include "tensor/api/loss.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"

namespace doorbell {

using core::Op;
using detail::constant;
using detail::select;

// In i32, or i64 where the size asks for that. What is computed from 64-bit numbers stays within
// bounds; those out of range stay out of range.
Tensor detail::narrow_index(const Tensor& index, i64 lowest, i64 size) {
  const bool is_small = size < INT32_MAX;
  const DType dtype = is_small ? dtypes::i32 : dtypes::i64;
  const bool is_unsigned = index.dtype().is_unsigned();
  if (index.dtype().bytes() < (is_small && is_unsigned ? 4 : 8)) return index.cast(dtype);
  const Tensor below = doorbell::minimum(index, size);
  if (is_small) return (is_unsigned ? below : doorbell::maximum(below, lowest)).cast(dtype);
  // The bounds of u64 say nothing, so i64 gets both ends anew.
  const Tensor within = is_unsigned ? doorbell::minimum(below.cast(dtype), size) : below;
  return doorbell::maximum(within, lowest);
}

Tensor detail::one_hot_mask(const Tensor& x, i64 classes, i64 axis) {
  if (!x.dtype().is_int()) {
    throw fail(ErrorKind::Invalid, "class numbers have dtype {}, expected integers",
               core::long_name_of(x.dtype().scalar));
  }
  const i64 at = resolve_axis(axis, x.ndim());
  Shape along(static_cast<usize>(x.ndim() - at), 1);
  along[0] = classes;
  return narrow_index(x, -1, classes) == Tensor::arange(classes).reshape(along);
}

Tensor Tensor::one_hot(i64 classes) const {
  if (classes == -1) {
    if (numel() == 0) throw fail(ErrorKind::Invalid, "one_hot of no elements, without classes");
    classes = max().item<i64>() + 1;
  }
  if (classes < 0) throw fail(ErrorKind::Invalid, "one_hot of {} classes", classes);
  detail::check_index(*this, 0, classes, ndim());
  return detail::one_hot_mask(unsqueeze(-1), classes, -1).cast(dtypes::i32);
}

namespace {

// Checks and lays out gather and scatter: index and values with the axis last.
void check_shapes(const Tensor& x, i64 axis, const Tensor& index) {
  if (index.ndim() != x.ndim()) {
    throw fail(ErrorKind::Invalid, "index of shape {} into shape {}", index.shape().str(),
               x.shape().str());
  }
  for (i64 i = 0; i < x.ndim(); ++i) {
    if (i != axis && index.size(i).max() > x.size(i).max()) {
      throw fail(ErrorKind::Invalid, "index of shape {} exceeds shape {} on axis {}",
                 index.shape().str(), x.shape().str(), i);
    }
  }
}

}  // namespace

Tensor Tensor::gather(i64 axis, const Tensor& index) const {
  const i64 at = detail::resolve_axis(axis, ndim());
  check_shapes(*this, at, index);
  detail::check_index(index, 0, size(at).value(), at);
  Shape window = index.shape();
  window[static_cast<usize>(at)] = size(at);
  const Tensor x = dtype().is_bool() ? cast(dtypes::u8) : *this;
  const Tensor columns = x.shrink_to(window).unsqueeze(-1).transpose(at, -1);
  const Tensor here = detail::one_hot_mask(index.unsqueeze(-1), size(at).value(), -1);
  const Tensor masked = select(here, columns, constant(0, x.dtype()));
  return detail::reduce_axes(Op::Add, masked, i64{1} << ndim()).squeeze(-1).cast(dtype());
}

namespace {

// What scatter works on: for each place of x a row of all index elements.
struct Scattered {
  Tensor here;    // Bool (shape of x, index length): does element j go here?
  Tensor values;  // src, same layout
};

Scattered scattered(const Tensor& x, i64 axis, const Tensor& index, const Tensor& src) {
  check_shapes(x, axis, index);
  check_shapes(src, -1, index);
  detail::check_index(index, 0, x.size(axis).value(), axis);
  std::vector<std::pair<i64, i64>> around;
  for (i64 i = 0; i < x.ndim(); ++i) {
    around.emplace_back(0, i == axis ? 0 : x.size(i).value() - index.size(i).value());
  }
  around.emplace_back(0, 0);
  const Tensor rows = index.unsqueeze(-1).transpose(axis, -1);
  const Tensor here = detail::one_hot_mask(rows, x.size(axis).value(), axis);
  return {here.pad(around),
          src.shrink_to(index.shape()).unsqueeze(-1).transpose(axis, -1).pad(around)};
}

// x, to which no element of src goes: the gradient for src is zeros, not missing.
Tensor unchanged_by(const Tensor& x, const Tensor& src) {
  if (!x.dtype().is_float()) return x;
  return detail::with_derivative(
      x, {x, src}, [](const Tensor& gradient, const std::vector<Tensor>&, usize input) {
        return input == 0 ? gradient : Tensor();
      });
}

}  // namespace

Tensor Tensor::scatter(i64 axis, const Tensor& index, const Operand& src) const {
  const i64 at = detail::resolve_axis(axis, ndim());
  const Tensor source = detail::as_tensor(src, dtype());
  const Tensor values = source.ndim() == 0 && ndim() != 0 ? source.expand(index.shape()) : source;
  const Scattered s = scattered(*this, at, index, values);
  // The last element that goes to a place wins it; places are numbered from 1.
  const i64 count = index.size(at).value();
  if (count == 0) return unchanged_by(*this, values);
  const Tensor number = Tensor::arange(1, count + 1);
  const Tensor winner = doorbell::where(s.here, number, 0).max(-1, {.keepdim = true});
  const Tensor masked = doorbell::where(number == winner, s.values, 0);
  const Tensor won = masked.sum(-1, {.dtype = dtype().is_bool() ? dtypes::u8 : dtype()});
  return select(winner.squeeze(-1) > 0, won.cast(dtype()), *this);
}

Tensor Tensor::scatter(i64 axis, const Tensor& index, const Operand& src, Combine combine) const {
  if (combine != Combine::Sum && combine != Combine::Product) {
    throw fail(ErrorKind::Invalid, "scatter takes a sum or a product; use scatter_reduce");
  }
  const Tensor source = detail::as_tensor(src, dtype());
  const Tensor values = source.ndim() == 0 && ndim() != 0 ? source.expand(index.shape()) : source;
  return scatter_reduce(axis, index, values, combine);
}

Tensor Tensor::scatter_add(i64 axis, const Tensor& index, const Tensor& src) const {
  const i64 at = detail::resolve_axis(axis, ndim());
  const Scattered s = scattered(*this, at, index, src.cast(dtype()));
  return *this + doorbell::where(s.here, s.values, 0).sum(-1, {.dtype = dtype()});
}

Tensor Tensor::scatter_reduce(i64 axis, const Tensor& index, const Tensor& src, Combine combine,
                              bool include_self) const {
  const i64 at = detail::resolve_axis(axis, ndim());
  const Scattered s = scattered(*this, at, index, src.cast(dtype()));
  if (index.size(at).is(0)) return unchanged_by(*this, src);
  const auto spread = [&](Number identity) {
    return select(s.here, s.values, constant(identity, dtype()));
  };
  const auto reduced = [&](Number identity, auto fold, auto join) {
    const Tensor all = fold(spread(identity));
    if (include_self) return join(all, *this);
    return select(s.here.any(-1), all, *this);
  };
  // This element stands beside those of src, so that equals share the gradient evenly.
  const auto extreme = [&](Number identity, auto fold) {
    if (include_self) return fold(Tensor::cat({spread(identity), unsqueeze(-1)}, -1));
    return select(s.here.any(-1), fold(spread(identity)), *this);
  };
  const auto sum = [&](const Tensor& x) { return x.sum(-1, {.dtype = dtype()}); };
  const auto product = [&](const Tensor& x) { return x.prod(-1, {.dtype = dtype()}); };
  switch (combine) {
    case Combine::Sum:
      return reduced(0, sum, [](const Tensor& a, const Tensor& b) { return a + b; });
    case Combine::Product:
      return reduced(1, product, [](const Tensor& a, const Tensor& b) { return a * b; });
    case Combine::Max:
      return extreme(detail::lowest(dtype()), [](const Tensor& x) { return x.max(-1); });
    case Combine::Min:
      return extreme(detail::highest(dtype()), [](const Tensor& x) { return x.min(-1); });
    case Combine::Mean: break;
  }
  const Tensor total = reduced(0, sum, [](const Tensor& a, const Tensor& b) { return a + b; });
  const Tensor count = s.here.sum(-1) + (include_self ? 1 : 0);
  const Tensor safe = doorbell::maximum(count, 1).cast(dtype());
  return dtype().is_float() ? total / safe : total.div(safe, Rounding::Floor);
}

}  // namespace doorbell
