// Powers of two halves, signs, rounding to whole numbers, and activations. Calculus is
// calculus.cc's.
#include <cmath>
#include <numbers>

#include "tensor/api/build.h"
#include "tensor/api/dtype_info.h"

namespace doorbell {

using core::Op;
using detail::as_float;
using detail::constant;
using detail::select;

Tensor Tensor::rsqrt() const { return sqrt().reciprocal(); }
Tensor Tensor::square() const { return *this * *this; }

// Max rather than a select: NaN stays, and the gradient at 0 is 0. Lowering clears the sign bit.
Tensor Tensor::abs() const {
  if (dtype().is_bool() || dtype().is_unsigned()) return *this;
  return detail::binary(Op::Max, *this, neg());
}

Tensor Tensor::sign() const {
  if (dtype().is_bool()) return *this;
  const Tensor one = constant(1, dtype()), zero = constant(0, dtype());
  if (dtype().is_unsigned()) return select(*this != 0, one, zero);
  const Tensor of_nonzero = select(*this < 0, constant(-1, dtype()), one);
  const Tensor result = select(*this == 0, zero, of_nonzero);
  return dtype().is_float() ? select(isnan(), *this, result) : result;
}

Tensor Tensor::floor() const {
  if (!dtype().is_float()) return *this;
  const Tensor whole = trunc();
  return select(*this < whole, whole - 1, whole);
}
Tensor Tensor::ceil() const {
  if (!dtype().is_float()) return *this;
  const Tensor whole = trunc();
  return select(whole < *this, whole + 1, whole);
}
Tensor Tensor::round() const {
  if (!dtype().is_float()) return *this;
  // Away from zero at .5, unless that is odd: then towards it.
  const Tensor whole = trunc();
  const Tensor rest = (*this - whole).abs();
  const Tensor odd = (whole / 2).trunc() != whole / 2;
  const Tensor away = (rest > 0.5) | ((rest == 0.5) & odd);
  return select(away, whole + sign(), whole);
}

Tensor Tensor::relu() const { return detail::binary(Op::Max, *this, constant(0, dtype())); }
Tensor Tensor::relu6() const { return clamp({.min = 0, .max = 6}); }
Tensor Tensor::leaky_relu(f64 slope) const {
  return doorbell::where(*this < 0, *this * slope, *this);
}
// The exponential only sees what is negative: elsewhere it could overflow and spoil the gradient.
Tensor Tensor::elu(f64 alpha) const {
  const Tensor x = as_float(*this);
  return select(0 < x, x, alpha * (x.minimum(0.0).expm1()));
}
Tensor Tensor::celu(f64 alpha) const {
  const Tensor x = as_float(*this);
  return select(0 < x, x, alpha * (x.minimum(0.0) / alpha).expm1());
}
Tensor Tensor::selu() const {
  constexpr f64 kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;
  return kScale * elu(kAlpha);
}
Tensor Tensor::gelu(Gelu form) const {
  const Tensor x = as_float(*this);
  if (form == Gelu::Exact) return 0.5 * x * (1.0 + (x / std::numbers::sqrt2).erf());
  const f64 scale = std::sqrt(2 / std::numbers::pi);
  return 0.5 * x * (1.0 + (scale * (x + 0.044715 * x.pow(3))).tanh());
}
Tensor Tensor::quick_gelu() const { return *this * (*this * 1.702).sigmoid(); }
Tensor Tensor::silu() const { return *this * sigmoid(); }
Tensor Tensor::mish() const { return *this * softplus().tanh(); }
Tensor Tensor::hardsigmoid() const { return (*this + 3).relu6() / 6.0; }
Tensor Tensor::hardswish() const { return *this * hardsigmoid(); }
Tensor Tensor::hardtanh(f64 min, f64 max) const { return clamp({.min = min, .max = max}); }
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
