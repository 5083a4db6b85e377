// Reductions and what is made of them: softmax, variance, arg max. For scans see scan.cc.
#include <cmath>

#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"

namespace doorbell {

using core::Op;
using detail::constant;

namespace {

struct Reduced {
  i64 mask = 0;
  Shape kept;      // with size 1 where reduced
  Shape dropped;   // without
  Size count = 1;  // of elements under one result
};

Reduced plan(const Tensor& x, const Axes& axes) {
  const std::vector<bool> chosen = detail::resolve_axes(axes, x.ndim());
  const Shape shape = x.shape();
  Reduced plan;
  for (usize i = 0; i < chosen.size(); ++i) {
    plan.kept.push_back(chosen[i] ? Size(1) : shape[i]);
    if (!chosen[i]) plan.dropped.push_back(shape[i]);
    if (chosen[i]) plan.mask |= i64{1} << i;
    if (chosen[i]) plan.count = plan.count * shape[i];
  }
  return plan;
}

Tensor reduce(Op op, const Tensor& x, const Axes& axes, bool keepdim) {
  const Reduced plan = doorbell::plan(x, axes);
  return detail::reduce_axes(op, x, plan.mask).reshape(keepdim ? plan.kept : plan.dropped);
}

void refuse_empty(const Tensor& x, const Axes& axes, const char* what) {
  if (plan(x, axes).count.is(0)) {
    throw fail(ErrorKind::Invalid, "{} of no elements: shape {}", what, x.shape().str());
  }
}

}  // namespace

Tensor Tensor::sum(const Axes& axes, const ReduceOptions& options) const {
  const DType wide = options.dtype.value_or(detail::accumulator(dtype()));
  const Tensor total = reduce(Op::Add, cast(wide), axes, options.keepdim);
  return !options.dtype && dtype().is_float() ? total.cast(dtype()) : total;
}

Tensor Tensor::prod(const Axes& axes, const ReduceOptions& options) const {
  const DType wide = options.dtype.value_or(detail::accumulator(dtype()));
  const Tensor total = reduce(Op::Mul, cast(wide), axes, options.keepdim);
  return !options.dtype && dtype().is_float() ? total.cast(dtype()) : total;
}

Tensor Tensor::max(const Axes& axes, const ReduceOptions& options) const {
  refuse_empty(*this, axes, "max");
  return reduce(dtype().is_bool() ? Op::Or : Op::Max, *this, axes, options.keepdim);
}

Tensor Tensor::min(const Axes& axes, const ReduceOptions& options) const {
  refuse_empty(*this, axes, "min");
  if (dtype().is_float()) return neg().max(axes, options).neg();
  return bitwise_not().max(axes, options).bitwise_not();
}

Tensor Tensor::mean(const Axes& axes, const ReduceOptions& options) const {
  const DType result = options.dtype.value_or(detail::float_dtype(dtype()));
  const Tensor total = cast(detail::accumulator(result)).sum(axes, {.keepdim = options.keepdim});
  return (total / detail::size_tensor(plan(*this, axes).count, total.dtype())).cast(result);
}

Tensor Tensor::any(const Axes& axes, const ReduceOptions& options) const {
  return reduce(Op::Or, cast(dtypes::bool_), axes, options.keepdim);
}

Tensor Tensor::all(const Axes& axes, const ReduceOptions& options) const {
  return cast(dtypes::bool_).logical_not().any(axes, options).logical_not();
}

Tensor Tensor::count_nonzero(const Axes& axes, const ReduceOptions& options) const {
  return cast(dtypes::bool_).sum(axes, {.keepdim = options.keepdim, .dtype = dtypes::i64});
}

Tensor Tensor::var(const Axes& axes, const VarOptions& options) const {
  const DType result = detail::float_dtype(dtype());
  const Tensor x = cast(detail::accumulator(result));
  const Reduced reduced = plan(*this, axes);
  const Tensor left = detail::size_tensor(reduced.count, x.dtype()) - options.correction;
  const auto centred = [=](const Tensor& x) { return x - x.mean(axes, {.keepdim = true}); };
  const Tensor squares = centred(x).square();
  const Tensor value =
      (squares.sum(axes, {.keepdim = options.keepdim}) / left.maximum(0.0)).cast(result);
  // PyTorch's slope: where nothing is left to divide by it is infinite or has the other sign.
  return detail::with_derivative(
      value, {x},
      [=, correction = options.correction](const Tensor& gradient,
                                           const std::vector<Tensor>& inputs, usize) {
        const Tensor count = detail::size_tensor(reduced.count, inputs[0].dtype());
        return gradient.reshape(reduced.kept) * (2 / (count - correction)) * centred(inputs[0]);
      });
}

Tensor detail::root_of_squares(const Tensor& x) {
  return with_derivative(
      x.sqrt(), {x}, [](const Tensor& gradient, const std::vector<Tensor>& inputs, usize) {
        const Tensor root = inputs[0].sqrt();
        return select(root == 0, constant(0, root.dtype()), gradient / (root * 2));
      });
}

Tensor Tensor::std(const Axes& axes, const VarOptions& options) const {
  return detail::root_of_squares(var(axes, options));
}

std::pair<Tensor, Tensor> Tensor::var_mean(const Axes& axes, const VarOptions& options) const {
  return {var(axes, options), mean(axes, {.keepdim = options.keepdim})};
}
std::pair<Tensor, Tensor> Tensor::std_mean(const Axes& axes, const VarOptions& options) const {
  return {std(axes, options), mean(axes, {.keepdim = options.keepdim})};
}

Tensor Tensor::logsumexp(const Axes& axes, const ReduceOptions& options) const {
  const Tensor x = detail::as_float(*this);
  const Tensor most = reduce(Op::Max, x, axes, true).detach();
  // An infinite maximum would give NaN; the logarithm gives the right infinity without it.
  const Tensor base = doorbell::where(most.isinf(), 0.0, most);
  const Tensor sum = (x - base).exp().sum(axes, {.keepdim = true}).log() + base;
  return options.keepdim ? sum : sum.reshape(plan(*this, axes).dropped);
}

Tensor Tensor::argmax() const { return reshape({-1}).argmax(0); }
Tensor Tensor::argmin() const { return reshape({-1}).argmin(0); }

Tensor Tensor::argmax(i64 axis, const ReduceOptions& options) const {
  detail::check_axis(axis, ndim());
  if (ndim() == 0) return constant(0, dtypes::i32);
  const i64 at = detail::resolve_axis(axis, ndim());
  const i64 length = size(at).value();
  refuse_empty(*this, at, "argmax");
  Shape along(static_cast<usize>(ndim() - at), 1);
  along[0] = length;
  // Counting down, so that the largest count is at the first place. NaN is a maximum too.
  const Tensor x = detail::from_memory(*this), most = x.max(at, {.keepdim = true});
  Tensor here = x == most;
  if (dtype().is_float()) here = here | x.isnan();
  const Tensor countdown = Tensor::arange(length, 0, -1).reshape(along);
  const Tensor found = doorbell::where(here, countdown, 0).max(at, options);
  return length - found;
}

Tensor Tensor::argmin(i64 axis, const ReduceOptions& options) const {
  const Tensor reversed = dtype().is_float() ? neg() : bitwise_not();
  return reversed.argmax(axis, options);
}

namespace {

struct Exponentials {
  Tensor shifted, values, sum;
};
Exponentials exponentials(const Tensor& x, i64 axis) {
  const Tensor value = detail::as_float(x);
  const Tensor shifted = value - value.max(axis, {.keepdim = true}).detach();
  const Tensor values = shifted.exp();
  return {shifted, values, values.sum(axis, {.keepdim = true})};
}

}  // namespace

Tensor Tensor::softmax(i64 axis, std::optional<DType> dtype) const {
  if (dtype) return cast(*dtype).softmax(axis);
  if (detail::is_always_empty(*this)) return detail::as_float(*this);
  const Exponentials e = exponentials(*this, axis);
  if (e.sum.dtype().bits() < 32) return e.values / e.sum;  // one rounding less
  return e.values * e.sum.reciprocal();                    // no overflow, as the sum is 1 or more
}

Tensor Tensor::log_softmax(i64 axis, std::optional<DType> dtype) const {
  if (dtype) return cast(*dtype).log_softmax(axis);
  if (detail::is_always_empty(*this)) return detail::as_float(*this);
  const Exponentials e = exponentials(*this, axis);
  return e.shifted - e.sum.log();
}

Tensor Tensor::softmin(i64 axis, std::optional<DType> dtype) const {
  return detail::as_float(*this).neg().softmax(axis, dtype);
}

Tensor Tensor::normalize(f64 p, i64 axis, f64 eps) const {
  return *this / norm(p, axis, {.keepdim = true}).maximum(eps);
}

}  // namespace doorbell
