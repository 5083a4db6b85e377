// What rests on the order of elements: median, searchsorted, and differences of neighbours.
// For sorting see sort.cc, for unique unique.cc.
#include <bit>

#include "tensor/api/axes.h"
#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"
#include "tensor/api/view.h"

namespace doorbell {

using detail::constant;
using detail::select;

namespace {

// Where x is the median, which may be NaN.
Tensor is_same(const Tensor& x, const Tensor& median) {
  const Tensor same = x == median;
  return x.dtype().is_float() ? same | (x.isnan() & median.isnan()) : same;
}

// All elements that equal the median share its gradient.
class MedianRule final : public detail::GradientRule {
 public:
  Tensor derivative(const Tensor& gradient, const std::vector<Tensor>& inputs,
                    usize) const override {
    const Tensor x = detail::from_memory(inputs[0]);
    const Tensor same = is_same(x, x.detach().median());
    const Tensor count = same.sum().cast(gradient.dtype());
    return select(same, (gradient / count).expand(x.shape()), constant(0, gradient.dtype()));
  }
};

// Elements before others in order: NaN behind all.
Tensor is_before(const Tensor& a, const Tensor& b) {
  const Tensor less = a < b;
  return a.dtype().is_float() ? less | (b.isnan() & a.isnan().logical_not()) : less;
}

}  // namespace

Picked Tensor::median(i64 axis, const ReduceOptions& options) const {
  if (ndim() == 0) {
    (void)detail::resolve_axes(axis, 0);
    return {*this, constant(0, dtypes::i32)};
  }
  const i64 at = detail::resolve_axis(axis, ndim());
  const i64 length = size(at).value();
  if (length == 0) throw fail(ErrorKind::Invalid, "median of no elements: shape {}", shape().str());
  const Tensor places = detach().argsort(at);
  Tensor middle = constant((length - 1) / 2, dtypes::i32);
  if (dtype().is_float()) {
    const Tensor numbers = isnan().logical_not().sum(at, {.keepdim = true});
    middle = select(numbers < length, numbers, middle);
  }
  Shape one = shape();
  one[static_cast<usize>(at)] = 1;
  const Tensor index = places.gather(at, middle.cast(dtypes::i32).expand(one));
  const Tensor value = gather(at, index);
  if (options.keepdim) return {value, index};
  return {value.squeeze(at), index.squeeze(at)};
}

Tensor Tensor::median() const {
  if (numel() == 0)
    throw fail(ErrorKind::Invalid, "median of no elements: shape {}", shape().str());
  const Tensor value = detach().flatten().median(0).values;
  if (!dtype().is_float()) return value;
  return detail::with_gradient(value, {*this}, std::make_unique<MedianRule>());
}

namespace {

// How many elements of each row of `sorted` (..., n) are before the values of that row: found by
// halving, each step of which reads one element for each value.
Tensor places_in(const Tensor& sorted, const Tensor& values, bool right) {
  const i64 length = sorted.size(-1).value();
  const DType dtype = length < INT32_MAX ? dtypes::i32 : dtypes::i64;
  Tensor place = values.zeros_like({.dtype = dtype});
  for (u64 step = std::bit_floor(static_cast<u64>(length)); step != 0; step /= 2) {
    const Tensor beyond = (place + static_cast<i64>(step)).cast(dtype);
    const Tensor element = sorted.gather(-1, (beyond - 1).minimum(length - 1));
    const Tensor is_passed =
        right ? is_before(values, element).logical_not() : is_before(element, values);
    place = select((beyond <= length) & is_passed, beyond, place).contiguous();
  }
  return place;
}

}  // namespace

Tensor Tensor::searchsorted(const Tensor& values, bool right) const {
  if (ndim() == 0) throw fail(ErrorKind::Invalid, "searchsorted in shape (), expected an axis");
  auto [sorted, wanted] = detail::promote(detach(), values.detach());
  sorted = sorted.contiguous();
  if (ndim() == 1) return places_in(sorted, wanted.flatten(), right).reshape(values.shape());
  const Shape own = shape(), other = values.shape();
  if (own.size() != other.size() ||
      Shape(own.begin(), own.end() - 1) != Shape(other.begin(), other.end() - 1)) {
    throw fail(ErrorKind::Invalid, "searchsorted of values of shape {} in shape {}", other.str(),
               own.str());
  }
  return places_in(sorted, wanted, right);
}

Tensor Tensor::diff(i64 times, i64 axis) const {
  if (times < 0)
    throw fail(ErrorKind::Invalid, "differences taken {} times, expected 0 or more", times);
  const i64 at = detail::resolve_axis(axis, ndim());
  if (times == 0) return detail::unshared(*this);
  Tensor result = *this;
  for (; times > 0 && !result.size(at).is(0); --times) {
    std::vector<std::pair<Size, Size>> later, earlier;
    for (i64 i = 0; i < ndim(); ++i) {
      later.emplace_back(i == at ? 1 : 0, result.size(i));
      earlier.emplace_back(0, result.size(i) - (i == at ? 1 : 0));
    }
    const Tensor a = result.shrink(later), b = result.shrink(earlier);
    result = dtype().is_bool() ? a != b : a - b;
  }
  return result;
}

}  // namespace doorbell
