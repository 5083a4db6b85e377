// 2^x and log2(x). The polynomials are minimax fits (Remez) of the functions named beside them;
// their error, relative to the function's value, is given as a power of two.
#include <limits>

#include "base/util/check.h"
#include "codegen/lower/float_parts.h"
#include "codegen/lower/transcendental.h"

namespace doorbell::codegen {

using core::DType;
using core::UOp;

namespace {

constexpr f64 kInf = std::numeric_limits<f64>::infinity();
constexpr f64 kNan = std::numeric_limits<f64>::quiet_NaN();

// (2^f - 1) / f on [-0.5, 0.5].
constexpr f64 kExp2F32[] = {0x1.62e430p-1, 0x1.ebfbdcp-3,  0x1.c6aee8p-5,
                            0x1.3b2d4cp-7, 0x1.5f3e5ap-10, 0x1.41fc0ap-13};  // 2^-28.9
constexpr f64 kExp2F64[] = {0x1.62e42fefa39efp-1,  0x1.ebfbdff82c5a4p-3,  0x1.c6b08d7049fe8p-5,
                            0x1.3b2ab6fba0115p-7,  0x1.5d87fe78cd701p-10, 0x1.4309130ed9bd8p-13,
                            0x1.ffcbfba97516ep-17, 0x1.62bfc79ab962dp-20, 0x1.b5267cf1c0ca1p-24,
                            0x1.e61b546258629p-28, 0x1.e79ba680b183fp-32};  // 2^-58.0

// log2(1 + f) / f - 1 on [sqrt(1/2) - 1, sqrt(2) - 1].
constexpr f64 kLog2F32[] = {0x1.c551dap-2, -0x1.715470p-1, 0x1.ec7096p-2, -0x1.715a76p-2,
                            0x1.277e36p-2, -0x1.eabc8ep-3, 0x1.a305aap-3, -0x1.874bb6p-3,
                            0x1.7d4934p-3, -0x1.c25b40p-4};  // 2^-27.9

// (log((1 + s) / (1 - s)) / s - 2) / s^2 as a function of s^2, |s| <= 3 - sqrt(8).
constexpr f64 kAtanhF64[] = {0x1.5555555555592p-1, 0x1.999999997fd78p-2, 0x1.24924941f4e98p-2,
                             0x1.c71c52061c01dp-3, 0x1.74663f9cdd5aep-3, 0x1.39a1a79b4091cp-3,
                             0x1.2f062d1f3f832p-3};  // 2^-59.5

// With f = mantissa - 1: f + f * P(f), whose first part is exact.
UOp log2_f32(OpBuilder& b, const Split& x) {
  UOp f = b.sub(x.mantissa, b.number(core::dtypes::f32, 1));
  UOp p = polynomial(b, f, kLog2F32);
  return b.add(x.exponent, b.mul_add(f, p, f));
}

// log(1 + f) = f - f^2/2 + s * (f^2/2 + s^2 * R(s^2)), s = f / (2 + f); the sum is kept as high +
// low with few enough bits in high that its product with the upper half of log2(e) is exact.
UOp log2_f64(OpBuilder& b, const Split& x) {
  constexpr DType t = core::dtypes::f64;
  constexpr f64 kLog2eHigh = 0x1.715476p+0;
  constexpr f64 kLog2eLow = 0x1.4ae0bf85ddf44p-26;
  UOp f = b.sub(x.mantissa, b.number(t, 1));
  UOp half_square = b.mul(b.mul(f, b.number(t, 0.5)), f);
  UOp s = b.div(f, b.add(f, b.number(t, 2)));
  UOp z = b.mul(s, s);
  UOp r = b.mul(z, polynomial(b, z, kAtanhF64));
  UOp difference = b.sub(f, half_square);
  UOp high = upper_half(b, difference);
  UOp rest = b.sub(b.sub(f, high), half_square);
  UOp low = b.mul_add(s, b.add(half_square, r), rest);
  UOp value_high = b.mul(high, b.number(t, kLog2eHigh));
  UOp cross = b.mul(b.add(low, high), b.number(t, kLog2eLow));
  UOp value_low = b.mul_add(low, b.number(t, kLog2eHigh), cross);
  UOp sum = b.add(x.exponent, value_high);
  UOp error = b.add(b.sub(x.exponent, sum), value_high);
  return b.add(sum, b.add(value_low, error));
}

}  // namespace

FloatLayout layout_of(DType t) {
  CHECK(t == core::dtypes::f32 || t == core::dtypes::f64, "transcendental function of {}", t.str());
  if (t == core::dtypes::f32) {
    return {core::dtypes::u32, core::dtypes::i32, 23,        127, -152, 129,
            0x1p-126,          0x3f3504f3,        0xfffff000};
  }
  return {core::dtypes::u64,  core::dtypes::i64, 52, 1023, -1077, 1025, 0x1p-1022,
          0x3fe6a09e667f3bcd, ~u64{0x7ffffff}};
}

Split split(OpBuilder& b, UOp x) {
  const FloatLayout t = layout_of(x.dtype());
  UOp small = b.less(x, b.number(x.dtype(), t.least_normal));
  UOp scaled = b.mul(x, b.number(x.dtype(), static_cast<f64>(u64{1} << t.mantissa_bits)));
  UOp bits = b.bitcast(b.select(small, scaled, x), t.signed_bits);
  UOp above = b.sub(bits, b.integer(t.signed_bits, t.sqrt_half));
  UOp exponent = b.shr(above, t.mantissa_bits);
  UOp mantissa = b.bitcast(b.sub(bits, b.shl(exponent, t.mantissa_bits)), x.dtype());
  UOp shift = b.number(x.dtype(), -static_cast<f64>(t.mantissa_bits));
  UOp correction = b.select(small, shift, b.number(x.dtype(), 0));
  return {b.add(b.cast(exponent, x.dtype()), correction), mantissa};
}

UOp upper_half(OpBuilder& b, UOp x) {
  const FloatLayout t = layout_of(x.dtype());
  return b.bitcast(b.bit_and(b.bitcast(x, t.bits), t.upper_half), x.dtype());
}

UOp clamp_exponent(OpBuilder& b, UOp x) {
  const FloatLayout t = layout_of(x.dtype());
  UOp least = b.number(x.dtype(), t.least_exponent);
  UOp beyond = b.number(x.dtype(), t.beyond_exponent);
  UOp above = b.select(b.less(x, least), least, x);
  return b.select(b.less(beyond, above), beyond, above);
}

// Adding 1.5 * 2^mantissa_bits rounds to an integer and leaves it in the low bits. With twice the
// bias added those low bits are n + 2 bias.
RoundedExponent round_exponent(OpBuilder& b, UOp clamped) {
  const FloatLayout t = layout_of(clamped.dtype());
  f64 one_and_half = 1.5 * static_cast<f64>(u64{1} << t.mantissa_bits);
  UOp magic = b.number(clamped.dtype(), one_and_half + 2 * t.bias);
  UOp carrier = b.add(clamped, magic);
  return {b.sub(carrier, magic), carrier};
}

// The halves of n + 2 bias are the exponent fields of two powers of two whose product is 2^n. Two,
// because 2^n itself may be out of range where the result is not; the second product rounds, once,
// into the subnormals.
UOp exp2_parts(OpBuilder& b, const RoundedExponent& rounded, UOp fraction) {
  const DType t = fraction.dtype();
  const FloatLayout layout = layout_of(t);
  std::span<const f64> coefficients =
      t == core::dtypes::f32 ? std::span<const f64>(kExp2F32) : std::span<const f64>(kExp2F64);
  UOp slope = polynomial(b, fraction, coefficients);
  UOp power = b.mul_add(slope, fraction, b.number(t, 1));
  UOp bits = b.bitcast(rounded.carrier, layout.bits);
  UOp half = b.shr(bits, 1);
  UOp first = b.bitcast(b.shl(half, layout.mantissa_bits), t);
  UOp second = b.bitcast(b.shl(b.sub(bits, half), layout.mantissa_bits), t);
  return b.mul(b.mul(power, first), second);
}

UOp polynomial(OpBuilder& b, UOp x, std::span<const f64> coefficients) {
  UOp sum = b.number(x.dtype(), coefficients.back());
  for (usize i = coefficients.size() - 1; i-- > 0;) {
    sum = b.mul_add(sum, x, b.number(x.dtype(), coefficients[i]));
  }
  return sum;
}

UOp exp2(OpBuilder& b, UOp x) {
  UOp clamped = clamp_exponent(b, x);
  RoundedExponent rounded = round_exponent(b, clamped);
  return exp2_parts(b, rounded, b.sub(clamped, rounded.n));
}

UOp log2(OpBuilder& b, UOp x) {
  const DType t = x.dtype();
  Split parts = split(b, x);
  UOp value = t == core::dtypes::f32 ? log2_f32(b, parts) : log2_f64(b, parts);
  UOp zero = b.number(t, 0);
  UOp finite = b.select(b.less(x, b.number(t, kInf)), value, x);
  UOp minus_infinity = b.number(t, -kInf), nan = b.number(t, kNan);
  UOp special = b.select(b.equal(x, zero), minus_infinity, nan);
  return b.select(b.less(zero, x), finite, special);
}

}  // namespace doorbell::codegen
