// Arithmetic, comparison and conversion: one op each, or the few that PyTorch's meaning takes.
// Functions of calculus and activations are functions.cc's.
#include <cmath>

#include "base/util/check.h"
#include "tensor/api/build.h"

namespace doorbell {

using core::Op;
using detail::binary;
using detail::constant;
using detail::make;
using detail::promote;
using detail::select;
using detail::unary;

namespace {

Tensor promoted(Op op, const Operand& a, const Operand& b) {
  auto [x, y] = promote(a, b);
  return binary(op, x, y);
}

// The two as floats: for what has no meaning among integers.
std::pair<Tensor, Tensor> promote_to_float(const Operand& a, const Operand& b) {
  auto [x, y] = promote(a, b);
  return {detail::as_float(x), detail::as_float(y)};
}

std::pair<Tensor, Tensor> promote_integers(const char* what, const Operand& a, const Operand& b) {
  auto pair = promote(a, b);
  if (pair.first.dtype().is_float()) {
    throw fail(ErrorKind::Invalid, "{} of {}, expected integers or bool", what,
               core::long_name_of(pair.first.dtype().scalar));
  }
  return pair;
}

}  // namespace

Tensor Tensor::cast(DType to) const {
  const DType from = dtype();
  if (from == to) return *this;
  if (to.is_bool()) return binary(Op::CmpNe, *this, constant(0, from));
  return make(Op::Cast, to, {this});
}

Tensor Tensor::bitcast(DType to) const {
  if (to == dtype()) return *this;
  if (to.bytes() != dtype().bytes() || to.is_bool() || dtype().is_bool()) {
    throw fail(ErrorKind::Invalid, "cannot bitcast {} to {}", core::long_name_of(dtype().scalar),
               core::long_name_of(to.scalar));
  }
  return make(Op::Bitcast, to, {this});
}

Tensor Tensor::neg() const {
  if (dtype().is_bool()) return logical_not();
  return unary(Op::Neg, *this);
}
Tensor Tensor::logical_not() const {
  return binary(Op::CmpNe, cast(dtypes::bool_), constant(true, dtypes::bool_));
}
Tensor Tensor::bitwise_not() const {
  if (dtype().is_bool()) return logical_not();
  return *this ^ -1;
}
Tensor Tensor::reciprocal() const { return unary(Op::Recip, detail::as_float(*this)); }
Tensor Tensor::sqrt() const { return unary(Op::Sqrt, detail::as_float(*this)); }
Tensor Tensor::trunc() const { return dtype().is_float() ? unary(Op::Trunc, *this) : *this; }

Tensor add(const Operand& a, const Operand& b) {
  auto [x, y] = promote(a, b);
  return binary(x.dtype().is_bool() ? Op::Or : Op::Add, x, y);
}

Tensor sub(const Operand& a, const Operand& b) {
  auto [x, y] = promote(a, b);
  if (x.dtype().is_bool()) {
    throw fail(ErrorKind::Invalid, "subtraction of bool tensors; use ^ or a cast");
  }
  return binary(Op::Sub, x, y);
}

Tensor mul(const Operand& a, const Operand& b) {
  auto [x, y] = promote(a, b);
  return binary(x.dtype().is_bool() ? Op::And : Op::Mul, x, y);
}

Tensor div(const Operand& a, const Operand& b) {
  auto [x, y] = promote_to_float(a, b);
  return binary(Op::FDiv, x, y);
}

Tensor Tensor::div(const Operand& x, Rounding rounding) const {
  if (rounding == Rounding::None) return doorbell::div(*this, x);
  auto [a, b] = promote(*this, x);
  if (a.dtype().is_int()) {
    return binary(rounding == Rounding::Trunc ? Op::CDiv : Op::FloorDiv, a, b);
  }
  const Tensor quotient = doorbell::div(a, b);
  return rounding == Rounding::Trunc ? quotient.trunc() : quotient.floor();
}

Tensor mod(const Operand& a, const Operand& b) {
  auto [x, y] = promote(a, b);
  if (x.dtype().is_int()) return binary(Op::FloorMod, x, y);
  return x - x.div(y, Rounding::Floor) * y;
}

Tensor Tensor::fmod(const Operand& x) const {
  auto [a, b] = promote(*this, x);
  if (a.dtype().is_int()) return binary(Op::CMod, a, b);
  return a - a.div(b, Rounding::Trunc) * b;
}

namespace {

// x to a whole power by squaring; exact for integers, and free of logarithms for floats.
Tensor integer_power(const Tensor& x, u64 exponent) {
  Tensor result;
  Tensor square = x;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result.defined() ? result * square : square;
    if (exponent > 1) square = square * square;
  }
  return result.defined() ? result : x.ones_like();
}

}  // namespace

Tensor pow(const Operand& a, const Operand& b) {
  if (a.tensor != nullptr && b.tensor == nullptr) {
    const Tensor& base = *a.tensor;
    const f64 exponent = b.number.real();
    constexpr f64 kMostSquared = 64;
    if (exponent == std::floor(exponent) && std::abs(exponent) <= kMostSquared) {
      const bool stays_int = !b.number.is_float() && !base.dtype().is_float();
      if (stays_int && exponent < 0) {
        throw fail(ErrorKind::Invalid, "integers to the power {}", b.number.integer());
      }
      const Tensor x = base.cast(promote(base.dtype(), b.number));
      const Tensor power = integer_power(x, static_cast<u64>(std::abs(exponent)));
      return exponent < 0 ? power.reciprocal() : power;
    }
    if (exponent == 0.5) return base.sqrt();
    if (exponent == -0.5) return base.rsqrt();
  }
  auto [x, y] = promote(a, b);
  if (!x.dtype().is_float()) {
    throw fail(ErrorKind::Unsupported, "integer tensors to the power of tensors; cast to a float");
  }
  return binary(Op::Pow, x, y);
}

Tensor bitwise_and(const Operand& a, const Operand& b) {
  auto [x, y] = promote_integers("and", a, b);
  return binary(Op::And, x, y);
}
Tensor bitwise_or(const Operand& a, const Operand& b) {
  auto [x, y] = promote_integers("or", a, b);
  return binary(Op::Or, x, y);
}
Tensor bitwise_xor(const Operand& a, const Operand& b) {
  auto [x, y] = promote_integers("exclusive or", a, b);
  return binary(Op::Xor, x, y);
}
Tensor shift_left(const Operand& a, const Operand& b) {
  auto [x, y] = promote_integers("shift", a, b);
  return binary(Op::Shl, x, y);
}
Tensor shift_right(const Operand& a, const Operand& b) {
  auto [x, y] = promote_integers("shift", a, b);
  return binary(Op::Shr, x, y);
}

Tensor less(const Operand& a, const Operand& b) { return promoted(Op::CmpLt, a, b); }
Tensor equal(const Operand& a, const Operand& b) { return promoted(Op::CmpEq, a, b); }
Tensor not_equal(const Operand& a, const Operand& b) { return promoted(Op::CmpNe, a, b); }
Tensor less_equal(const Operand& a, const Operand& b) {
  auto [x, y] = promote(a, b);
  const Tensor greater = binary(Op::CmpLt, y, x);
  if (!x.dtype().is_float()) return greater.logical_not();
  // A NaN is neither above nor below.
  return binary(Op::Or, binary(Op::CmpLt, x, y), binary(Op::CmpEq, x, y));
}

Tensor maximum(const Operand& a, const Operand& b) {
  auto [x, y] = promote(a, b);
  return binary(x.dtype().is_bool() ? Op::Or : Op::Max, x, y);
}
Tensor minimum(const Operand& a, const Operand& b) {
  auto [x, y] = promote(a, b);
  if (x.dtype().is_bool()) return binary(Op::And, x, y);
  if (x.dtype().is_float()) return binary(Op::Max, x.neg(), y.neg()).neg();
  // All bits flipped reverses the order of integers, of the lowest too.
  return binary(Op::Max, x.bitwise_not(), y.bitwise_not()).bitwise_not();
}

Tensor where(const Tensor& condition, const Operand& yes, const Operand& no) {
  auto [x, y] = promote(yes, no);
  return select(condition, x, y);
}

Tensor Tensor::add(const Operand& x) const { return doorbell::add(*this, x); }
Tensor Tensor::sub(const Operand& x) const { return doorbell::sub(*this, x); }
Tensor Tensor::mul(const Operand& x) const { return doorbell::mul(*this, x); }
Tensor Tensor::mod(const Operand& x) const { return doorbell::mod(*this, x); }
Tensor Tensor::pow(const Operand& x) const { return doorbell::pow(*this, x); }
Tensor Tensor::maximum(const Operand& x) const { return doorbell::maximum(*this, x); }
Tensor Tensor::minimum(const Operand& x) const { return doorbell::minimum(*this, x); }
Tensor Tensor::where(const Operand& yes, const Operand& no) const {
  return doorbell::where(*this, yes, no);
}

Tensor Tensor::masked_fill(const Tensor& mask, Number value) const {
  return doorbell::where(mask, value, *this);
}

Tensor Tensor::clamp(const ClampOptions& options) const {
  if (!options.min && !options.max) {
    throw fail(ErrorKind::Invalid, "clamp without a minimum and a maximum");
  }
  Tensor result = *this;
  if (options.min) result = doorbell::where(less(result, *options.min), *options.min, result);
  if (options.max) result = doorbell::where(less(*options.max, result), *options.max, result);
  return result;
}

Tensor Tensor::lerp(const Tensor& end, const Operand& weight) const {
  return *this + (end - *this).mul(weight);
}

Tensor Tensor::copysign(const Operand& x) const {
  auto [a, b] = promote_to_float(*this, x);
  // The reciprocal tells -0 from 0.
  const Tensor negative = (b < 0) | ((b == 0) & (b.reciprocal() < 0));
  const Tensor magnitude = a.abs();
  return select(negative, magnitude.neg(), magnitude);
}

Tensor Tensor::logaddexp(const Operand& x) const {
  auto [a, b] = promote_to_float(*this, x);
  const Tensor most = doorbell::maximum(a, b).detach();
  // Equal infinities would give NaN.
  const Tensor base = select(most.isinf(), constant(0, most.dtype()), most);
  return ((a - base).exp() + (b - base).exp()).log() + base;
}

Tensor Tensor::isnan() const {
  if (!dtype().is_float()) return full_like(0).cast(dtypes::bool_);
  return binary(Op::CmpNe, *this, *this);
}
Tensor Tensor::isinf() const {
  if (!dtype().is_float()) return full_like(0).cast(dtypes::bool_);
  return abs() == INFINITY;
}
Tensor Tensor::isfinite() const {
  if (!dtype().is_float()) return full_like(1).cast(dtypes::bool_);
  return abs() < INFINITY;
}

Tensor Tensor::isclose(const Operand& x, const CloseOptions& options) const {
  auto [a, b] = promote(*this, x);
  const Tensor tolerance = options.atol + options.rtol * b.abs();
  Tensor close = (a == b) | (a.isfinite() & b.isfinite() & ((a - b).abs() <= tolerance));
  if (options.equal_nan) close = close | (a.isnan() & b.isnan());
  return close;
}

bool Tensor::allclose(const Tensor& x, const CloseOptions& options) const {
  return isclose(x, options).all().item<bool>();
}

}  // namespace doorbell
