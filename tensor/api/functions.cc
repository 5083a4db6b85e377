// Functions of calculus and activations, composed of the ops that exist: exp2, log2, sin, sqrt and
// arithmetic. Half floats compute in f32 where the composition would lose digits.
#include <cmath>
#include <numbers>

#include "tensor/api/build.h"

namespace doorbell {

using core::Op;
using detail::as_float;
using detail::constant;
using detail::select;
using detail::unary;

namespace {

// At least f32.
Tensor widened(const Tensor& x) {
  const Tensor value = as_float(x);
  return value.dtype().bytes() < 4 ? value.cast(dtypes::f32) : value;
}
// Of the dtype that a float function of x has.
Tensor narrowed(const Tensor& value, const Tensor& x) {
  return value.cast(detail::float_dtype(x.dtype()));
}

// Horner; the highest power first.
Tensor polynomial(const Tensor& x, std::initializer_list<f64> coefficients) {
  Tensor sum = x.full_like(*coefficients.begin());
  for (const f64* c = coefficients.begin() + 1; c != coefficients.end(); ++c) sum = sum * x + *c;
  return sum;
}

}  // namespace

Tensor Tensor::rsqrt() const { return sqrt().reciprocal(); }
Tensor Tensor::square() const { return *this * *this; }

// Max rather than a select: NaN stays, and the gradient at 0 is 0.
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

Tensor Tensor::exp2() const { return unary(Op::Exp2, as_float(*this)); }
Tensor Tensor::log2() const { return unary(Op::Log2, as_float(*this)); }
Tensor Tensor::sin() const { return unary(Op::Sin, as_float(*this)); }

Tensor Tensor::exp() const {
  return narrowed(unary(Op::Exp2, widened(*this) * std::numbers::log2e), *this);
}
Tensor Tensor::log() const {
  return narrowed(unary(Op::Log2, widened(*this)) * std::numbers::ln2, *this);
}
Tensor Tensor::log10() const {
  return narrowed(unary(Op::Log2, widened(*this)) * std::log10(2.0), *this);
}
// log(1 + x) * x / ((1 + x) - 1): what rounding 1 + x lost cancels.
Tensor Tensor::log1p() const {
  const Tensor x = widened(*this);
  const Tensor shifted = x + 1;
  const Tensor rounded = shifted - 1;
  const Tensor plain = shifted.log();
  const Tensor safe = select(rounded == 0, constant(1, x.dtype()), rounded);
  const Tensor corrected = select(rounded == 0, x, plain * (x / safe));
  return narrowed(select(shifted.isfinite(), corrected, plain), *this);
}
Tensor Tensor::cos() const {
  return narrowed((std::numbers::pi / 2 - widened(*this)).sin(), *this);
}
Tensor Tensor::tan() const { return sin() / cos(); }

// Abramowitz and Stegun 4.4.46.
Tensor Tensor::asin() const {
  const Tensor x = widened(*this);
  const Tensor size = x.abs();
  const Tensor series =
      polynomial(size, {-0.0012624911, 0.0066700901, -0.0170881256, 0.0308918810, -0.0501743046,
                        0.0889789874, -0.2145988016, 1.5707963050});
  return narrowed(x.sign() * (std::numbers::pi / 2 - (1.0 - size).sqrt() * series), *this);
}
Tensor Tensor::acos() const { return std::numbers::pi / 2 - asin(); }
Tensor Tensor::atan() const {
  const Tensor x = widened(*this);
  return narrowed((x / (1 + x * x).sqrt()).asin(), *this);
}
Tensor Tensor::sinh() const {
  const Tensor x = as_float(*this);
  return (x.exp() - x.neg().exp()) / 2;
}
Tensor Tensor::cosh() const {
  const Tensor x = as_float(*this);
  return (x.exp() + x.neg().exp()) / 2;
}
Tensor Tensor::asinh() const {
  const Tensor x = widened(*this);
  const Tensor size = x.abs();  // the negative half would cancel
  return narrowed(x.sign() * (size + (size.square() + 1).sqrt()).log(), *this);
}
Tensor Tensor::acosh() const {
  const Tensor x = widened(*this);
  return narrowed((x + (x.square() - 1).sqrt()).log(), *this);
}
Tensor Tensor::atanh() const {
  const Tensor x = widened(*this);
  return narrowed(((1 + x) / (1 - x)).log() / 2, *this);
}
Tensor Tensor::sigmoid() const {
  const Tensor x = widened(*this);
  return narrowed((1 + unary(Op::Exp2, x * -std::numbers::log2e)).reciprocal(), *this);
}
Tensor Tensor::tanh() const {
  const Tensor x = widened(*this);
  return narrowed(2.0 * (2.0 * x).sigmoid() - 1.0, *this);
}

// Abramowitz and Stegun 7.1.26; the error is below 1.5e-7.
Tensor Tensor::erf() const {
  const Tensor x = widened(*this);
  const Tensor size = x.abs();
  const Tensor t = (1.0 + 0.3275911 * size).reciprocal();
  const Tensor series =
      polynomial(t, {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592});
  return narrowed(x.sign() * (1.0 - t * series * (-x.square()).exp()), *this);
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
  return select(0 < x, x, alpha * (x.minimum(0.0).exp() - 1));
}
Tensor Tensor::celu(f64 alpha) const {
  const Tensor x = as_float(*this);
  return select(0 < x, x, alpha * ((x.minimum(0.0) / alpha).exp() - 1));
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

// max(x, 0) + log(1 + exp(-|x|)): never overflows.
Tensor Tensor::softplus(f64 beta) const {
  const Tensor x = as_float(*this) * beta;
  return (x.relu() + (x.abs().neg().exp() + 1).log()) / beta;
}

}  // namespace doorbell
