// p-norms. For that which divides by one, normalize(), see reduce.cc.
#include <cmath>

#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"

namespace doorbell {

using detail::constant;
using detail::select;

namespace {

// A root of which 0 has the slope 0. NaN that comes to it as a gradient goes on.
template <class Root>
Tensor root_of(const Tensor& x, Root root) {
  const Tensor is_zero = x == 0;
  return select(is_zero, x * 0, root(select(is_zero, constant(1, x.dtype()), x)));
}

}  // namespace

Tensor Tensor::norm(f64 p, const Axes& axes, const ReduceOptions& options) const {
  if (options.dtype) return cast(*options.dtype).norm(p, axes, {.keepdim = options.keepdim});
  const Tensor x = detail::as_float(*this);
  if (std::isnan(p)) throw fail(ErrorKind::Invalid, "norm with p = NaN, expected a number");
  if (p == 0) return detail::flat_in((x != 0).sum(axes, options).cast(x.dtype()), {x});
  if (p == 1) return x.abs().sum(axes, options);
  if (std::isinf(p)) return p > 0 ? x.abs().max(axes, options) : x.abs().min(axes, options);
  if (p == 2) return detail::root_of_squares(x.square().sum(axes, options));
  const auto power = [&](const Tensor& y) { return y.pow(p); };
  const auto inverse = [&](const Tensor& y) { return y.pow(1 / p); };
  if (p < 0) return inverse(power(x.abs()).sum(axes, options));
  return root_of(root_of(x.abs(), power).sum(axes, options), inverse);
}

}  // namespace doorbell
