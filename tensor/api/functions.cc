// Powers of two halves, signs, rounding to whole numbers, and activations. For calculus see
// calculus.cc.
#include <cmath>
#include <numbers>

#include "tensor/api/cell.h"
#include "tensor/api/dtype_info.h"
#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"
#include "tensor/api/view.h"

namespace doorbell {

using core::Op;
using detail::as_float;
using detail::constant;
using detail::select;

namespace {

// `value`, which rises with x but where `flat` of x holds. At their kinks PyTorch calls some
// functions flat and others not, and likewise for NaN.
Tensor flat_where(const Tensor& value, const Tensor& x, std::function<Tensor(const Tensor&)> flat) {
  if (!x.dtype().is_float()) return value;
  return detail::with_derivative(
      value, {x}, [flat](const Tensor& gradient, const std::vector<Tensor>& inputs, usize) {
        return select(flat(inputs[0]), constant(0, gradient.dtype()), gradient);
      });
}

// `value`, x held between two numbers.
Tensor flat_outside(const Tensor& value, const Tensor& x, f64 min, f64 max) {
  return flat_where(value, x, [=](const Tensor& x) { return (x <= min) | (x >= max); });
}

}  // namespace

Tensor Tensor::rsqrt() const { return sqrt().reciprocal(); }
Tensor Tensor::square() const { return *this * *this; }

// Max rather than a select: NaN stays, and at 0 the two halves of the gradient cancel. Lowering
// clears the sign bit.
Tensor Tensor::abs() const {
  if (dtype().is_bool() || dtype().is_unsigned()) return detail::unshared(*this);
  return detail::binary(Op::Max, *this, neg());
}

Tensor Tensor::sign() const {
  if (dtype().is_bool()) return detail::unshared(*this);
  const Tensor one = constant(1, dtype()), zero = constant(0, dtype());
  if (dtype().is_unsigned()) return select(*this != 0, one, zero);
  const Tensor of_nonzero = select(*this < 0, constant(-1, dtype()), one);
  const Tensor result = select(*this == 0, zero, of_nonzero);
  return dtype().is_float() ? detail::flat_in(select(isnan(), *this, result), {*this}) : result;
}

Tensor Tensor::floor() const {
  if (!dtype().is_float()) return detail::unshared(*this);
  const Tensor whole = trunc();
  return select(*this < whole, whole - 1, whole);
}
Tensor Tensor::ceil() const {
  if (!dtype().is_float()) return detail::unshared(*this);
  const Tensor whole = trunc();
  return select(whole < *this, whole + 1, whole);
}
Tensor Tensor::round() const {
  if (!dtype().is_float()) return detail::unshared(*this);
  // Away from zero at .5, unless that is odd: then towards it.
  const Tensor whole = trunc();
  const Tensor rest = (*this - whole).abs();
  const Tensor odd = (whole / 2).trunc() != whole / 2;
  const Tensor away = (rest > 0.5) | ((rest == 0.5) & odd);
  return select(away, whole + sign(), whole);
}

Tensor Tensor::relu() const {
  return flat_where(detail::binary(Op::Max, *this, constant(0, dtype())), *this,
                    [](const Tensor& x) { return x <= 0; });
}
Tensor Tensor::relu6() const { return flat_outside(clamp({.min = 0, .max = 6}), *this, 0, 6); }
Tensor Tensor::leaky_relu(f64 slope) const {
  return doorbell::where(0 < *this, *this, *this * slope);
}

namespace {

// x above 0, otherwise scale (e^(x / range) - 1). The exponential only sees what is not above 0:
// elsewhere it could overflow and spoil the gradient.
Tensor exponential_below(const Tensor& x, f64 scale, f64 range) {
  const Tensor below = x <= 0;
  const Tensor low = select(below, x, constant(0, x.dtype()));
  return select(below, scale * (low / range).expm1(), x);
}

}  // namespace

Tensor Tensor::elu(f64 alpha) const { return exponential_below(as_float(*this), alpha, 1); }
Tensor Tensor::celu(f64 alpha) const { return exponential_below(as_float(*this), alpha, alpha); }
Tensor Tensor::selu() const {
  constexpr f64 kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;
  return kScale * elu(kAlpha);
}
Tensor Tensor::gelu(Gelu form) const {
  const Tensor x = as_float(*this);
  if (form == Gelu::Exact) return 0.5 * x * (1.0 + (x * (1 / std::numbers::sqrt2)).erf());
  const f64 scale = std::sqrt(2 / std::numbers::pi);
  return 0.5 * x * (1.0 + (scale * (x + 0.044715 * x.pow(3))).tanh());
}
Tensor Tensor::quick_gelu() const { return *this * (*this * 1.702).sigmoid(); }
Tensor Tensor::silu() const { return *this * sigmoid(); }
Tensor Tensor::mish() const { return *this * softplus().tanh(); }
Tensor Tensor::hardsigmoid() const { return (*this + 3).clamp({.min = 0, .max = 6}) / 6.0; }
// Its slope in closed form: that of the product is NaN at minus infinity.
Tensor Tensor::hardswish() const {
  const Tensor value = *this * hardsigmoid();
  if (!dtype().is_float()) return value;
  return detail::with_derivative(
      value, {*this}, [](const Tensor& gradient, const std::vector<Tensor>& inputs, usize) {
        const Tensor& x = inputs[0];
        const Tensor inside = select(x < 3, gradient * (x / 3 + 0.5), gradient);
        return select(x <= -3, constant(0, gradient.dtype()), inside);
      });
}
Tensor Tensor::hardtanh(f64 min, f64 max) const {
  return flat_outside(clamp({.min = min, .max = max}), *this, min, max);
}
Tensor Tensor::softsign() const {
  const Tensor x = as_float(*this);
  return x / (1 + x.abs());
}
Tensor Tensor::logsigmoid() const { return as_float(*this).neg().softplus().neg(); }

Tensor Tensor::nan_to_num(f64 nan, std::optional<f64> posinf, std::optional<f64> neginf) const {
  if (!dtype().is_float()) return *this;
  const auto number = [&](std::optional<f64> asked, Number limit) {
    return constant(asked ? Number(*asked) : limit, dtype());
  };
  const FloatInfo limits = finfo(dtype());
  const Tensor positive = number(posinf, limits.max), negative = number(neginf, limits.min);
  const Tensor bounded = select(isinf(true, false), positive, *this);
  return select(isnan(), number(nan, 0), select(isinf(false, true), negative, bounded));
}

}  // namespace doorbell
