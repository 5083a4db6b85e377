// Sorting, and what follows from it: top k, permutations at random. A network of comparisons, each
// stage one elementwise kernel over pairs (value, place), so that it is stable and gives both.
#include <bit>
#include <limits>

#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/promotion.h"
#include "tensor/api/storage.h"
#include "tensor/api/windows.h"

namespace doorbell {

using core::Op;

namespace {

// NaN is above all numbers.
Tensor before(const Tensor& a, const Tensor& b) {
  const Tensor less = a < b;
  if (!a.dtype().is_float()) return less;
  return less | (b.isnan() & a.isnan().logical_not());
}

struct Pairs {
  Tensor values, places;
};

// Whether pair a goes before pair b.
Tensor precedes(const Pairs& a, const Pairs& b, bool descending) {
  const Tensor first = descending ? before(b.values, a.values) : before(a.values, b.values);
  const Tensor second = descending ? before(a.values, b.values) : before(b.values, a.values);
  return first | (second.logical_not() & (a.places < b.places));
}

// Compares elements `distance` apart; runs of `run` elements alternate in direction.
Pairs compare_apart(const Pairs& pairs, i64 length, i64 distance, i64 run, bool descending) {
  const i64 blocks = length / (2 * distance);
  const auto split = [&](const Tensor& x) { return x.unflatten(-1, {blocks, 2, distance}); };
  const auto join = [](const Tensor& x) { return x.flatten(-3, -1).contiguous(); };
  const Pairs mine{split(pairs.values), split(pairs.places)};
  const Pairs other{mine.values.flip(-2), mine.places.flip(-2)};
  const Tensor block = Tensor::arange(blocks).reshape({blocks, 1, 1});
  const Tensor forward = ((block * (2 * distance)) & run) == 0;
  const Tensor is_first = Tensor::arange(2).reshape({2, 1}) == 0;
  const Tensor wants_smaller = is_first == forward;
  const Tensor take = doorbell::where(wants_smaller, precedes(other, mine, descending),
                                      precedes(mine, other, descending));
  return {join(doorbell::where(take, other.values, mine.values)),
          join(doorbell::where(take, other.places, mine.places))};
}

// What stands behind every number of the tensor.
Number last_value(DType dtype, bool descending) {
  if (descending) return detail::lowest(dtype);
  return dtype.is_float() ? Number(std::numeric_limits<f64>::quiet_NaN()) : detail::highest(dtype);
}

}  // namespace

Picked Tensor::sort(i64 axis, bool descending) const {
  detail::check_axis(axis, ndim());
  if (ndim() == 0) return {*this, zeros_like().cast(dtypes::i32)};
  const i64 at = detail::resolve_axis(axis, ndim());
  const i64 length = size(at).value();
  const Tensor source = dtype().is_bool() ? cast(dtypes::u8) : *this;
  const i64 padded = static_cast<i64>(std::bit_ceil(static_cast<u64>(std::max<i64>(length, 1))));
  std::vector<std::pair<i64, i64>> after(static_cast<usize>(ndim()), {0, 0});
  after.back().second = padded - length;
  const Tensor last = source.transpose(at, -1);
  Shape whole = last.shape();
  whole.back() = padded;
  Pairs pairs{detail::pad_value(last, after, last_value(source.dtype(), descending)),
              Tensor::arange(padded).expand(whole)};
  for (i64 run = 2; run <= padded; run *= 2) {
    for (i64 distance = run / 2; distance > 0; distance /= 2) {
      pairs = compare_apart(pairs, padded, distance, run, descending);
    }
  }
  const auto finish = [&](const Tensor& x) {
    return x[{Ellipsis, Slice(0, length)}].transpose(at, -1);
  };
  const Pairs& sorted = pairs;
  return {finish(sorted.values).cast(dtype()), finish(sorted.places)};
}

Tensor Tensor::argsort(i64 axis, bool descending) const { return sort(axis, descending).indices; }

Picked Tensor::topk(i64 count, i64 axis, bool largest) const {
  const i64 at = detail::resolve_axis(axis, ndim());
  if (count < 0 || count > size(at).value()) {
    throw fail(ErrorKind::Invalid, "top {} of axis {} of shape {}", count, axis, shape().str());
  }
  const Picked all = sort(at, largest);
  Shape window = shape();
  if (ndim() > 0) window[static_cast<usize>(at)] = count;
  return {all.values.shrink_to(window), all.indices.shrink_to(window)};
}

Tensor Tensor::randperm(i64 count, const TensorOptions& options) {
  if (count < 0) throw fail(ErrorKind::Invalid, "randperm of {}, expected 0 or more", count);
  const Tensor order = rand({count}, {.device = options.device}).argsort();
  return order.cast(options.dtype.value_or(count > INT32_MAX ? dtypes::i64 : dtypes::i32));
}

}  // namespace doorbell
