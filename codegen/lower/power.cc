// x^y = 2^(y log2 x). An error of log2 x is multiplied by y log(2), up to 100 or 700, so log2 |x|
// and its product with y are kept as sums of two floats. The way to split them is that of fdlibm's
// e_pow.c (Sun Microsystems, 1993): upper halves of significands have exact products.
#include <array>
#include <limits>

#include "codegen/lower/float_parts.h"
#include "codegen/lower/transcendental.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::UOp;

namespace {

// (3 atanh(s) / s - 3 - s^2) / s^4 as a function of s^2, |s| <= 3 - sqrt(8): minimax fits (Remez).
constexpr f64 kAtanhF32[] = {0x1.333338p-1, 0x1.b67bb4p-2, 0x1.67ba6ep-2};  // 2^-36.8
constexpr f64 kAtanhF64[] = {0x1.3333333333466p-1, 0x1.b6db6db6833e8p-2, 0x1.555555a26b9a3p-2,
                             0x1.1745af48c8207p-2, 0x1.d8ae6ea8276e6p-3, 0x1.973eaf481fa73p-3,
                             0x1.956f5666455fcp-3};  // 2^-66.3

// 2 / (3 log 2) and its two parts.
struct Scale {
  f64 whole, high, low;
};
constexpr Scale kScaleF32 = {0x1.ec709ep-1, 0x1.ec6p-1, 0x1.09dc3ap-13};
constexpr Scale kScaleF64 = {0x1.ec709dc3a03fdp-1, 0x1.ec709d8p-1, 0x1.0e80ff5d27f05p-27};

struct Pair {
  UOp high, low;
};

// log2 of x > 0, finite, to about one and a half times the precision of its dtype; `high` has half
// a significand.
Pair log2_pair(OpBuilder& b, UOp x) {
  const DType t = x.dtype();
  const bool is_f32 = t == core::dtypes::f32;
  const Scale scale = is_f32 ? kScaleF32 : kScaleF64;
  UOp one = b.number(t, 1), three = b.number(t, 3);
  Split parts = split(b, x);
  // s = f / d with f = m - 1 and d = m + 1, whose halves are exact.
  UOp f = b.sub(parts.mantissa, one), d = b.add(parts.mantissa, one);
  UOp inverse = b.div(one, d);
  UOp d_high = upper_half(b, d);
  UOp d_low = b.sub(parts.mantissa, b.sub(d_high, one));
  UOp s = b.mul(f, inverse);
  UOp s_high = upper_half(b, s);
  UOp remainder = b.mul_add(b.neg(s_high), d_low, b.mul_add(b.neg(s_high), d_high, f));
  UOp s_low = b.mul(inverse, remainder);
  // log((1 + s) / (1 - s)) = 2/3 s (3 + s^2 + rest).
  UOp square = b.mul(s, s), square_high = b.mul(s_high, s_high);
  std::span<const f64> coefficients =
      is_f32 ? std::span<const f64>(kAtanhF32) : std::span<const f64>(kAtanhF64);
  UOp tail = b.mul(b.mul(square, square), polynomial(b, square, coefficients));
  UOp rest = b.mul_add(s_low, b.add(s_high, s), tail);
  UOp sum_high = upper_half(b, b.add(b.add(three, square_high), rest));
  UOp sum_low = b.sub(rest, b.sub(b.sub(sum_high, three), square_high));
  UOp u = b.mul(s_high, sum_high);
  UOp v = b.mul_add(s_low, sum_high, b.mul(sum_low, s));
  UOp p_high = upper_half(b, b.add(u, v));
  UOp p_low = b.sub(v, b.sub(p_high, u));
  // Times 2 / (3 log 2), plus the exponent.
  UOp z_high = b.mul(p_high, b.number(t, scale.high));
  UOp z_rest = b.mul(p_low, b.number(t, scale.whole));
  UOp z_low = b.mul_add(p_high, b.number(t, scale.low), z_rest);
  UOp high = upper_half(b, b.add(b.add(z_high, z_low), parts.exponent));
  UOp low = b.sub(z_low, b.sub(b.sub(high, parts.exponent), z_high));
  return {high, low};
}

// |x|^y where both are finite and x is not zero.
UOp finite_power(OpBuilder& b, UOp x, UOp y) {
  const DType t = x.dtype();
  const FloatLayout layout = layout_of(t);
  Pair log = log2_pair(b, x);
  UOp y_high = upper_half(b, y);
  UOp y_low = b.sub(y, y_high);
  UOp low = b.mul_add(y_low, log.high, b.mul(y, log.low));
  UOp high = b.mul(y_high, log.high);
  UOp sum = b.add(high, low);
  RoundedExponent rounded = round_exponent(b, clamp_exponent(b, sum));
  UOp fraction = b.add(b.sub(high, rounded.n), low);
  // Outside the range the fraction is arbitrary, even infinite.
  UOp above = b.less(b.number(t, layout.least_exponent), sum);
  UOp in_range = b.bit_and(above, b.less(sum, b.number(t, layout.beyond_exponent)));
  UOp zero = b.number(t, 0);
  return exp2_parts(b, rounded, b.select(in_range, fraction, zero));
}

// Common exponents, for which there is a simple formula. Null for others.
UOp constant_power(OpBuilder& b, UOp x, f64 y) {
  const DType t = x.dtype();
  if (y == 0) return b.number(t, 1);
  if (y == 1) return x;
  if (y == 2) return b.mul(x, x);
  if (y == 3) return b.mul(b.mul(x, x), x);
  if (y == 4) {
    UOp square = b.mul(x, x);
    return b.mul(square, square);
  }
  if (y == -1) return b.make(Op::Recip, t, {x});
  if (y != 0.5) return UOp();
  // The root of -0 is -0 and of minus infinity NaN; their powers are 0 and infinity.
  UOp infinity = b.number(t, std::numeric_limits<f64>::infinity());
  UOp minus_infinity = b.number(t, -std::numeric_limits<f64>::infinity());
  UOp root = b.make(Op::Sqrt, t, {b.add(x, b.number(t, 0))});
  return b.select(b.equal(x, minus_infinity), infinity, root);
}

}  // namespace

UOp pow(OpBuilder& b, UOp x, UOp y) {
  const DType t = x.dtype(), bits = unsigned_like(t);
  if (y.is_const()) {
    if (UOp done = constant_power(b, x, y.const_float())) return done;
  }
  const u64 sign_bit = u64{1} << (t.bits() - 1);
  UOp zero = b.number(t, 0), one = b.number(t, 1);
  UOp infinity = b.number(t, std::numeric_limits<f64>::infinity());
  UOp minus_infinity = b.number(t, -std::numeric_limits<f64>::infinity());
  UOp nan = b.number(t, std::numeric_limits<f64>::quiet_NaN());
  UOp sign = b.bit_and(b.bitcast(x, bits), sign_bit);
  UOp magnitude = b.bitcast(b.bit_xor(b.bitcast(x, bits), sign), t);
  UOp y_magnitude = b.bitcast(b.bit_and(b.bitcast(y, bits), sign_bit - 1), t);
  // A zero or infinite operand: infinity or zero, by whether |x| > 1 and y > 0 agree.
  UOp extreme = b.equal(magnitude, infinity);
  extreme = b.bit_or(extreme, b.equal(y_magnitude, infinity));
  extreme = b.bit_or(extreme, b.equal(magnitude, zero));
  UOp above_one = b.less(one, magnitude);
  UOp differ = b.not_equal(above_one, b.less(zero, y));
  UOp power = finite_power(b, magnitude, y);
  power = b.select(extreme, b.select(differ, zero, infinity), power);
  power = b.select(b.equal(magnitude, one), one, power);
  // Odd powers have the sign of a negative base, and of -0.
  UOp half = b.mul(y, b.number(t, 0.5));
  UOp is_integer = b.equal(b.trunc(y), y);
  UOp is_odd = b.bit_and(is_integer, b.not_equal(b.trunc(half), half));
  UOp kept_sign = b.select(is_odd, sign, b.integer(bits, 0));
  power = b.bitcast(b.bit_or(b.bitcast(power, bits), kept_sign), t);
  UOp negative = b.less(x, zero);
  negative = b.bit_and(negative, b.less(minus_infinity, x));
  UOp fails = b.bit_and(negative, b.not_equal(b.trunc(y), y));
  fails = b.bit_or(fails, b.is_nan(x));
  fails = b.bit_or(fails, b.is_nan(y));
  power = b.select(fails, nan, power);
  UOp always_one = b.equal(x, one);
  always_one = b.bit_or(always_one, b.equal(y, zero));
  return b.select(always_one, one, power);
}

}  // namespace doorbell::codegen
