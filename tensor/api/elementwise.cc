// Arithmetic, comparison and conversion: one op each, or the few that PyTorch's meaning takes. For
// functions of calculus and activations see functions.cc.
#include <cmath>
#include <numbers>

#include "base/util/check.h"
#include "tensor/api/cell.h"
#include "tensor/api/disk.h"
#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"
#include "tensor/api/view.h"

namespace doorbell {

using core::Op;
using detail::binary;
using detail::constant;
using detail::make;
using detail::promote;
using detail::select;
using detail::unary;

namespace {

// Whether an integer is less, or more, than all that an integer dtype holds.
bool is_below(const Number& x, DType dtype) {
  return dtype.is_int() && !x.is_float() && x.real() < detail::lowest(dtype).real();
}
bool is_above(const Number& x, DType dtype) {
  if (!dtype.is_int() || x.is_float()) return false;
  return dtype.bits() < 64 ? x.real() > detail::highest(dtype).real()
                           : x.exceeds_i64() && dtype != dtypes::u64;
}

// Calls `compute` with both in their common dtype; without handles of its own where they have it.
template <class Compute>
Tensor with_promoted(const Operand& a, const Operand& b, const Compute& compute) {
  if (a.tensor != nullptr && b.tensor != nullptr && a.tensor->dtype() == b.tensor->dtype())
    return compute(*a.tensor, *b.tensor);
  const auto [x, y] = promote(a, b);
  return compute(x, y);
}

Tensor promoted(Op op, const Operand& a, const Operand& b) {
  return with_promoted(a, b, [&](const Tensor& x, const Tensor& y) { return binary(op, x, y); });
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

namespace {

DType unsigned_of(i64 bytes) {
  switch (bytes) {
    case 1: return dtypes::u8;
    case 2: return dtypes::u16;
    case 4: return dtypes::u32;
    case 8: return dtypes::u64;
  }
  UNREACHABLE("{} bytes", bytes);
}

// x, unsigned, as `parts` narrower words of each element along the last axis, the lowest first.
Tensor split_words(const Tensor& x, i64 parts) {
  const i64 bits = x.dtype().bits() / parts;
  const Tensor shift = (Tensor::arange(parts) * bits).cast(x.dtype());
  return shift_right(x.unsqueeze(-1), shift).cast(unsigned_of(bits / 8)).flatten(-2, -1);
}

// The reverse: each `parts` neighbours of the last axis as one word.
Tensor join_words(const Tensor& x, i64 parts) {
  const DType wide = unsigned_of(x.element_size() * parts);
  const Tensor shift = (Tensor::arange(parts) * x.dtype().bits()).cast(wide);
  const Tensor words = x.unflatten(-1, {x.size(-1) / parts, parts}).cast(wide);
  return shift_left(words, shift).sum(-1, {.dtype = wide});
}

}  // namespace

Tensor Tensor::bitcast(DType to) const {
  if (to == dtype()) return *this;
  const i64 from_bytes = dtype().bytes(), to_bytes = to.bytes();
  const bool widens = to_bytes > from_bytes;
  const bool fits = from_bytes == to_bytes ||
                    (ndim() > 0 && (!widens || size(-1).value() % (to_bytes / from_bytes) == 0));
  if (to.is_bool() || dtype().is_bool() || !fits) {
    throw fail(ErrorKind::Invalid, "cannot bitcast {} of shape {} to {}",
               core::long_name_of(dtype().scalar), shape().str(), core::long_name_of(to.scalar));
  }
  if (from_bytes != to_bytes && detail::on_disk(*this)) {
    Shape shape = this->shape();
    shape.back() = size(-1).value() * from_bytes / to_bytes;
    return detail::bitcast_disk(*this, to, shape);
  }
  if (from_bytes == to_bytes) return detail::as_view(make(Op::Bitcast, to, {this}), *this, true);
  const Tensor words = bitcast(unsigned_of(from_bytes));
  return (widens ? join_words(words, to_bytes / from_bytes)
                 : split_words(words, from_bytes / to_bytes))
      .bitcast(to);
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
Tensor Tensor::trunc() const {
  return dtype().is_float() ? unary(Op::Trunc, *this) : detail::unshared(*this);
}

Tensor add(const Operand& a, const Operand& b) {
  return with_promoted(a, b, [](const Tensor& x, const Tensor& y) {
    return binary(x.dtype().is_bool() ? Op::Or : Op::Add, x, y);
  });
}

Tensor sub(const Operand& a, const Operand& b) {
  return with_promoted(a, b, [](const Tensor& x, const Tensor& y) {
    if (x.dtype().is_bool())
      throw fail(ErrorKind::Invalid, "subtraction of bool tensors; use ^ or a cast");
    return binary(Op::Sub, x, y);
  });
}

Tensor mul(const Operand& a, const Operand& b) {
  return with_promoted(a, b, [](const Tensor& x, const Tensor& y) {
    return binary(x.dtype().is_bool() ? Op::And : Op::Mul, x, y);
  });
}

Tensor div(const Operand& a, const Operand& b) {
  auto [x, y] = promote_to_float(a, b);
  return binary(Op::FDiv, x, y);
}

namespace {

// As PyTorch: of an infinity NaN, by zero an infinity, and of a quotient that is too small for a
// float -1 where it is negative.
Tensor floor_quotient(const Tensor& a, const Tensor& b) {
  const Tensor quotient = doorbell::div(a, b);
  const Tensor tiny = (quotient == 0) & (a != 0) & ((a < 0) != (b < 0));
  const Tensor floor = select(tiny, constant(-1, quotient.dtype()), quotient.floor());
  return select(a.isinf() & (b != 0), constant(NAN, quotient.dtype()), floor);
}

}  // namespace

Tensor Tensor::div(const Operand& x, Rounding rounding) const {
  if (rounding == Rounding::None) return doorbell::div(*this, x);
  auto [a, b] = promote(*this, x);
  if (a.dtype().is_int()) {
    return binary(rounding == Rounding::Trunc ? Op::CDiv : Op::FloorDiv, a, b);
  }
  if (rounding == Rounding::Trunc) return doorbell::div(a, b).trunc();
  return floor_quotient(detail::as_float(a), detail::as_float(b));
}

namespace {

std::pair<Tensor, Tensor> promote_to_divide(const Operand& a, const Operand& b) {
  auto pair = promote(a, b);
  if (pair.first.dtype().is_bool()) {
    throw fail(ErrorKind::Invalid, "remainder of bool tensors; cast them to integers");
  }
  return pair;
}

}  // namespace

Tensor mod(const Operand& a, const Operand& b) {
  auto [x, y] = promote_to_divide(a, b);
  if (x.dtype().is_int()) return binary(Op::FloorMod, x, y);
  const Tensor rest = x.fmod(y), is_below = y < 0;
  // A zero has the sign of the divisor, too.
  const Tensor zero = select(is_below, constant(-0.0, y.dtype()), constant(0.0, y.dtype()));
  const Tensor of_sign = select((rest < 0) != is_below, rest + y, rest);
  return detail::with_derivative(
      select(rest == 0, zero, of_sign), {x, y},
      [](const Tensor& gradient, const std::vector<Tensor>& inputs, usize input) {
        return input == 0 ? gradient : gradient * inputs[0].div(inputs[1], Rounding::Floor).neg();
      });
}

Tensor Tensor::fmod(const Operand& x) const {
  auto [a, b] = promote_to_divide(*this, x);
  if (a.dtype().is_int()) return binary(Op::CMod, a, b);
  // Without a multiple to take off, the divisor may be infinite.
  const Tensor multiple = a.div(b, Rounding::Trunc);
  const Tensor rest = a - multiple * b;
  // A rest of 0 has the sign of what is divided.
  const Tensor signed_rest = select(rest == 0, a * 0, rest);
  return detail::with_derivative(
      select(multiple == 0, a, signed_rest), {a, b},
      [](const Tensor& gradient, const std::vector<Tensor>& inputs, usize input) {
        if (input == 0) return gradient;
        return (gradient * inputs[0].div(inputs[1], Rounding::Trunc)).neg();
      });
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

// `value`, x to the power of a number: what it is made of has no slope, or another, at 0 and
// infinity.
Tensor with_power_rule(const Tensor& value, const Tensor& x, f64 exponent) {
  if (!x.dtype().is_float()) return value;
  return detail::with_derivative(
      value, {x}, [exponent](const Tensor& gradient, const std::vector<Tensor>& inputs, usize) {
        return gradient * (exponent * inputs[0].pow(exponent - 1));
      });
}

}  // namespace

Tensor pow(const Operand& a, const Operand& b) {
  if (a.tensor != nullptr && b.tensor == nullptr) {
    const Tensor& base = *a.tensor;
    const f64 exponent = b.number.real();
    constexpr f64 kMaxSquared = 64;
    if (exponent == std::floor(exponent) && std::abs(exponent) <= kMaxSquared) {
      const bool stays_int = !b.number.is_float() && !base.dtype().is_float();
      if (stays_int && exponent < 0) {
        throw fail(ErrorKind::Invalid, "integers to the power {}", b.number.integer());
      }
      const Tensor x = base.cast(promote(base.dtype(), b.number));
      const Tensor power = integer_power(x, static_cast<u64>(std::abs(exponent)));
      if (exponent == 0) return detail::flat_in(power, {x});
      if (exponent > 0) return power;
      return exponent == -1 ? power.reciprocal() : with_power_rule(power.reciprocal(), x, exponent);
    }
    if (exponent == 0.5) return base.sqrt();
    if (exponent == -0.5) return with_power_rule(base.rsqrt(), base, exponent);
  }
  auto [x, y] = promote(a, b);
  if (x.dtype().is_bool()) {
    throw fail(ErrorKind::Unsupported, "bool tensors to the power of tensors; cast to integers");
  }
  return x.dtype().is_float() ? binary(Op::Pow, x, y) : detail::integer_power(x, y);
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
  if (yes.tensor == nullptr) detail::check_holds(x.dtype(), yes.number);
  if (no.tensor == nullptr) detail::check_holds(y.dtype(), no.number);
  return select(condition, x, y);
}

Tensor Tensor::add(const Operand& x) const { return doorbell::add(*this, x); }
Tensor Tensor::sub(const Operand& x) const { return doorbell::sub(*this, x); }
Tensor Tensor::mul(const Operand& x) const { return doorbell::mul(*this, x); }
Tensor Tensor::mod(const Operand& x) const { return doorbell::mod(*this, x); }
Tensor Tensor::pow(const Operand& x) const { return doorbell::pow(*this, x); }
Tensor Tensor::maximum(const Operand& x) const { return doorbell::maximum(*this, x); }
Tensor Tensor::minimum(const Operand& x) const { return doorbell::minimum(*this, x); }
Tensor Tensor::bitwise_and(const Operand& x) const { return doorbell::bitwise_and(*this, x); }
Tensor Tensor::bitwise_or(const Operand& x) const { return doorbell::bitwise_or(*this, x); }
Tensor Tensor::bitwise_xor(const Operand& x) const { return doorbell::bitwise_xor(*this, x); }
Tensor Tensor::lshift(const Operand& x) const { return shift_left(*this, x); }
Tensor Tensor::rshift(const Operand& x) const { return shift_right(*this, x); }
Tensor Tensor::eq(const Operand& x) const { return equal(*this, x); }
Tensor Tensor::ne(const Operand& x) const { return not_equal(*this, x); }
Tensor Tensor::lt(const Operand& x) const { return less(*this, x); }
Tensor Tensor::le(const Operand& x) const { return less_equal(*this, x); }
Tensor Tensor::gt(const Operand& x) const { return less(x, *this); }
Tensor Tensor::ge(const Operand& x) const { return less_equal(x, *this); }
Tensor Tensor::where(const Operand& yes, const Operand& no) const {
  return doorbell::where(*this, yes, no);
}

Tensor Tensor::masked_fill(const Tensor& mask, const Operand& value) const {
  if (value.tensor == nullptr) detail::check_holds(dtype(), value.number);
  return select(mask, detail::as_tensor(value, dtype()), *this);
}

Tensor Tensor::usum(std::initializer_list<Operand> others) const {
  Tensor sum = *this;
  for (const Operand& x : others) sum = sum.add(x);
  return sum;
}
Tensor Tensor::uprod(std::initializer_list<Operand> others) const {
  Tensor product = *this;
  for (const Operand& x : others) product = product.mul(x);
  return product;
}

Tensor Tensor::threefry(const Tensor& key) const {
  if (dtype() != dtypes::u64 || key.dtype() != dtypes::u64) {
    throw fail(ErrorKind::Invalid, "threefry of {} under a key of {}, expected uint64",
               core::long_name_of(dtype().scalar), core::long_name_of(key.dtype().scalar));
  }
  return binary(Op::Threefry, *this, key);
}

Tensor Tensor::clamp(const ClampOptions& options) const {
  if (!options.min && !options.max) {
    throw fail(ErrorKind::Invalid, "clamp without minimum and maximum, expected one or both");
  }
  if (options.max && is_below(*options.max, dtype())) {
    throw fail(ErrorKind::Invalid, "{}, the maximum of clamp, does not fit {}",
               options.max->integer(), core::long_name_of(dtype().scalar));
  }
  Tensor result = *this;
  if (options.min && !is_below(*options.min, dtype()))
    result = doorbell::where(less(result, *options.min), *options.min, result);
  if (options.max && !is_above(*options.max, dtype()))
    result = doorbell::where(less(*options.max, result), *options.max, result);
  if (!dtype().is_float()) return result;
  return detail::with_derivative(
      result, {*this}, [options](const Tensor& gradient, const std::vector<Tensor>& inputs, usize) {
        Tensor passed = gradient;
        const Tensor& x = inputs[0];
        const Tensor zero = constant(0, gradient.dtype());
        if (options.min) passed = select(less(*options.min, x), passed, zero);
        if (options.max) passed = select(less(x, *options.max), passed, zero);
        return passed;
      });
}

// From the nearer end, so that weight 1 gives the end exactly.
Tensor Tensor::lerp(const Operand& end, const Operand& weight) const {
  const Tensor way = doorbell::sub(end, *this);
  const Tensor part = detail::as_tensor(weight, way.dtype());
  return select(part < 0.5, *this + way * part, doorbell::sub(end, way * (1 - part)));
}

// max + log(1 + exp(-|a - b|)); of equals, infinities too, without the difference.
Tensor Tensor::logaddexp(const Operand& x) const {
  auto [a, b] = promote_to_float(*this, x);
  const Tensor same = a == b;
  const Tensor apart = select(same, constant(0, a.dtype()), a - b).abs();
  const Tensor most = doorbell::maximum(a, b);
  return select(same, most + std::numbers::ln2, most + apart.neg().exp().log1p());
}

Tensor Tensor::isnan() const {
  if (!dtype().is_float()) return full_like(0).cast(dtypes::bool_);
  return binary(Op::CmpNe, *this, *this);
}
Tensor Tensor::isinf(bool detect_positive, bool detect_negative) const {
  if (!dtype().is_float() || !(detect_positive || detect_negative)) {
    return full_like(0).cast(dtypes::bool_);
  }
  const Tensor sided = detect_positive ? (detect_negative ? abs() : *this) : neg();
  return sided == INFINITY;
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
