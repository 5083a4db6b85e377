// sin(x): |x| is reduced to r in [-pi/2, pi/2] and the parity of the multiple of pi taken off,
// which gives the sign. Moderate arguments are reduced with a pi of several words (Cody and Waite,
// "Software Manual for the Elementary Functions", 1980), larger ones by multiplying with the bits
// of 1/pi that matter (Payne and Hanek, "Radian reduction for trigonometric functions", 1983).
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/util/check.h"
#include "codegen/lower/transcendental.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::UOp;

namespace {

constexpr DType kU32 = core::dtypes::u32, kU64 = core::dtypes::u64, kI64 = core::dtypes::i64;

// (sin(r) / r - 1) / r^2 as a function of r^2, |r| <= pi/2: minimax fits (Remez).
constexpr f64 kSinF32[] = {-0x1.555556p-3, 0x1.111136p-7, -0x1.a023ccp-13, 0x1.72cddap-19,
                           -0x1.b623f2p-26};  // 2^-31.0 with the coefficients rounded
constexpr f64 kSinF64[] = {-0x1.5555555555555p-3,  0x1.11111111110c1p-7,   -0x1.a01a01a014893p-13,
                           0x1.71de3a5286a38p-19,  -0x1.ae6454cace496p-26, 0x1.6123cb05c1be8p-33,
                           -0x1.ae431437070b7p-41, 0x1.8828a0bee9263p-49};  // 2^-61.7

// pi in parts. The first three are so short that their products with any multiple below `limit` /
// pi are exact, and that x less the first two products is.
struct PiParts {
  f64 limit;
  f64 a, b, c, d;
};
constexpr PiParts kPartsF32 = {0x1p13, 0x1.92p+1, 0x1.fb4p-11, 0x1.444p-23, 0x1.68c234c4c6629p-38};
constexpr PiParts kPartsF64 = {0x1p24, 0x1.921fb54p+1, 0x1.10b461p-29, 0x1.a626330p-57,
                               0x1.45c06e0e68948p-85};

// Where the exponent field is `first_exponent`, bit 63 of the product of the significand with
// word[0] is worth one pi.
constexpr u64 kFirstExponentF32 = 127 + 13;
constexpr u64 kInversePiF32[] = {  // floor(2^(53 + 64 i) / pi) mod 2^64
    0x000a2f9836e4e441, 0x529fc2757d1f534d, 0xdc0db6295993c439, 0x041fe5163abdebbc};
constexpr u64 kFirstExponentF64 = 1023 + 24;
constexpr u64 kInversePiF64[] = {  // floor(2^(35 + 64 i) / pi) mod 2^64
    0x000000028be60db9, 0x391054a7f09d5f47, 0xd4d377036d8a5664, 0xf10e4107f9458eaf,
    0x7aef1586dc91b8e9, 0x09374b801924bba8, 0x27464873f877ac72, 0xc4a69cfba208d7d4,
    0xbaed1213a671c09a, 0xd17df904e64758e6, 0x0d4ce7d272117e2e, 0xf7e4a0ec7fe25fff,
    0x7816603fbcbc462d, 0x6829b47db4d9fb3c, 0x9f2c26dd3d18fd9a, 0x797fa8b5d49eeb1f,
    0xaf97c5ecf41ce7de, 0x294a4ba9afed7ec4, 0x7e357421580cc11b};

// x = r + rest + q pi, where `rest` is below r's last place; `sign` has the sign bit set where q is
// odd.
struct Reduced {
  UOp r, rest, sign;
};

Reduced reduce_moderate(OpBuilder& b, UOp x, const PiParts& pi) {
  const DType t = x.dtype(), bits = unsigned_like(t);
  const bool is_f32 = t == core::dtypes::f32;
  // Adding this rounds to an integer and leaves it in the low bits.
  UOp magic = b.number(t, is_f32 ? 0x1.8p23 : 0x1.8p52);
  UOp moved = b.mul_add(x, b.number(t, is_f32 ? 0x1.45f306p-2 : 0x1.45f306dc9c883p-2), magic);
  UOp q = b.sub(moved, magic);
  UOp minus_c = b.number(t, -pi.c);
  UOp exact = b.mul_add(q, b.number(t, -pi.a), x);
  exact = b.mul_add(q, b.number(t, -pi.b), exact);
  UOp r = b.mul_add(q, minus_c, exact);
  UOp rest = b.mul_add(q, minus_c, b.sub(exact, r));  // what rounding r lost
  rest = b.mul_add(q, b.number(t, -pi.d), rest);
  return {r, rest, b.shl(b.bitcast(moved, bits), is_f32 ? 31 : 63)};
}

// The 64 bits from bit `shift` (0 to 63) of the 128 in `high` and `low`.
UOp window(OpBuilder& b, UOp high, UOp low, UOp shift, UOp flipped_shift) {
  UOp upper = b.shl(high, shift);
  return b.bit_or(upper, b.shr(b.shr(low, 1), flipped_shift));
}

// high + low is the fraction of x / pi in [-1/2, 1/2) as a signed number of 2^-64; `high` has so
// few bits that its product with pi_high is exact.
Reduced fraction_times_pi(OpBuilder& b, UOp high, UOp low, UOp parity, f64 pi_high, f64 pi_low) {
  const DType t = high.dtype();
  UOp product = b.mul(high, b.number(t, pi_high * 0x1p-64));
  UOp small = b.mul(low, b.number(t, (pi_high + pi_low) * 0x1p-64));
  small = b.mul_add(high, b.number(t, pi_low * 0x1p-64), small);
  UOp r = b.add(product, small);
  return {r, b.add(b.sub(product, r), small), parity};
}

// `magnitude` are the bits of |x|, at least 2^13. 24 bits of significand times 96 bits of 1/pi.
Reduced reduce_large_f32(OpBuilder& b, UOp magnitude) {
  const u64* words = kInversePiF32;
  UOp field = b.shr(magnitude, 23);
  UOp exponent = b.sub(field, b.integer(kU32, kFirstExponentF32));
  UOp mantissa = b.bit_and(magnitude, 0x7fffff);
  UOp m = b.cast(b.bit_or(mantissa, b.integer(kU32, 0x800000)), kU64);
  UOp beyond_first = b.bit_and(exponent, 64);
  UOp second_word = b.not_equal(beyond_first, b.integer(kU32, 0));
  UOp taken[3];
  for (usize i = 0; i < 3; ++i) {
    UOp later = b.integer(kU64, words[i + 1]);
    taken[i] = b.select(second_word, later, b.integer(kU64, words[i]));
  }
  UOp shift = b.cast(b.bit_and(exponent, 63), kU64);
  UOp flipped = b.bit_xor(shift, b.integer(kU64, 63));
  UOp high = window(b, taken[0], taken[1], shift, flipped);
  UOp low = window(b, taken[1], taken[2], shift, flipped);
  UOp carried = b.shr(b.mul(m, b.shr(low, 32)), 32);
  UOp product = b.add(b.mul(m, high), carried);
  // Bit 63 of the product is the parity of x / pi, below it is the fraction. Its upper part is
  // rounded to nearest, so that the lower one is small where the fraction is; half a pi more rounds
  // the multiple of pi to nearest.
  constexpr u64 kLowBits = (u64{1} << 51) - 1;
  UOp moved = b.add(product, b.integer(kU64, u64{1} << 49));
  UOp rounded = b.add(moved, b.integer(kU64, u64{1} << 62));
  UOp parity = b.shl(b.cast(b.shr(rounded, 63), kU32), 31);
  UOp upper_bits = b.bit_and(b.shl(moved, 1), ~kLowBits);
  UOp lower_bits = b.sub(b.shl(product, 1), upper_bits);
  UOp upper = b.cast(b.bitcast(upper_bits, kI64), core::dtypes::f32);
  UOp lower = b.cast(b.bitcast(lower_bits, kI64), core::dtypes::f32);
  return fraction_times_pi(b, upper, lower, parity, 0x1.92p+1, 0x1.fb54442d1846ap-11);
}

// The upper 64 bits of the product of two u64.
UOp multiply_high(OpBuilder& b, UOp x, UOp y) {
  UOp x_low = b.bit_and(x, 0xffffffff), x_high = b.shr(x, 32);
  UOp y_low = b.bit_and(y, 0xffffffff), y_high = b.shr(y, 32);
  UOp low = b.shr(b.mul(x_low, y_low), 32);
  UOp middle = b.add(b.mul(x_high, y_low), low);
  UOp other = b.mul(x_low, y_high);
  other = b.add(other, b.bit_and(middle, 0xffffffff));
  UOp carries = b.shr(middle, 32);
  carries = b.add(carries, b.shr(other, 32));
  return b.add(b.mul(x_high, y_high), carries);
}

// The same with 53 bits of significand times 192 bits of 1/pi; x is at least 2^24.
Reduced reduce_large_f64(OpBuilder& b, UOp magnitude) {
  UOp field = b.shr(magnitude, 52);
  UOp exponent = b.sub(field, b.integer(kU64, kFirstExponentF64));
  UOp hidden = b.integer(kU64, u64{1} << 52);
  UOp m = b.bit_or(b.bit_and(magnitude, (u64{1} << 52) - 1), hidden);
  // Words k to k + 3 of the table, k = exponent / 64, by the bits of k from the highest.
  constexpr usize kWords = std::size(kInversePiF64);
  UOp taken[kWords];
  for (usize i = 0; i < kWords; ++i) taken[i] = b.integer(kU64, kInversePiF64[i]);
  for (usize step = 8; step > 0; step /= 2) {
    UOp zero = b.integer(kU64, 0);
    UOp skip = b.not_equal(b.bit_and(exponent, step * 64), zero);
    for (usize i = 0; i < step + 3; ++i) taken[i] = b.select(skip, taken[i + step], taken[i]);
  }
  UOp shift = b.bit_and(exponent, 63);
  UOp flipped = b.bit_xor(shift, b.integer(kU64, 63));
  UOp w[3];
  for (usize i = 0; i < 3; ++i) w[i] = window(b, taken[i], taken[i + 1], shift, flipped);
  UOp middle = b.mul(m, w[1]);
  UOp low = b.add(middle, multiply_high(b, m, w[2]));
  UOp carry = b.cast(b.less(low, middle), kU64);
  UOp high = b.mul(m, w[0]);
  high = b.add(b.add(high, multiply_high(b, m, w[1])), carry);
  constexpr u64 kLowBits = (u64{1} << 37) - 1;
  constexpr DType t = core::dtypes::f64;
  UOp moved = b.add(high, b.integer(kU64, u64{1} << 35));
  UOp rounded = b.add(moved, b.integer(kU64, u64{1} << 62));
  UOp parity = b.shl(b.shr(rounded, 63), 63);
  UOp upper_bits = b.bit_and(b.shl(moved, 1), ~kLowBits);
  UOp doubled = b.shl(high, 1);
  UOp lower_bits = b.sub(b.bit_or(doubled, b.shr(low, 63)), upper_bits);
  UOp upper = b.cast(b.bitcast(upper_bits, kI64), t);
  UOp lower = b.cast(b.bitcast(lower_bits, kI64), t);
  UOp last = b.cast(b.shl(low, 1), t);
  lower = b.mul_add(last, b.number(t, 0x1p-64), lower);
  return fraction_times_pi(b, upper, lower, parity, 0x1.921fb5p+1, 0x1.110b4611a6263p-25);
}

// An upper bound of |x|, infinite if nothing is known. Integers scaled and shifted by constants
// have one: random angles, positions.
f64 magnitude_bound(UOp x) {
  f64 scale = 1, offset = 0;  // |root| <= scale * |x| + offset
  for (;;) {
    bool by_constant = x.nsrc() == 2 && x.src(1).is_const();
    bool of_constant = x.nsrc() == 2 && x.src(0).is_const();
    switch (x.op()) {
      case Op::Const: return scale * std::fabs(x.const_float()) + offset;
      case Op::Sin: return scale + offset;
      case Op::Neg: break;
      case Op::Mul:
        if (!by_constant) return HUGE_VAL;
        scale *= std::fabs(x.src(1).const_float());
        break;
      case Op::Add:
      case Op::Sub:
        if (!by_constant && !of_constant) return HUGE_VAL;
        offset += scale * std::fabs(x.src(by_constant ? 1 : 0).const_float());
        break;
      case Op::Cast: {
        UOp from = x.src(0);
        if (from.dtype().is_float()) break;
        if (from.vmin() == core::kMinusInf || from.vmax() == core::kPlusInf) return HUGE_VAL;
        f64 low = static_cast<f64>(from.vmin()), high = static_cast<f64>(from.vmax());
        return scale * std::max(std::fabs(low), std::fabs(high)) + offset;
      }
      default: return HUGE_VAL;
    }
    x = x.src(by_constant || !of_constant ? 0 : 1);
  }
}

// sin(r + rest) = sin(r) + rest cos(r); 1 - (2 r / pi)^2 is close enough to the cosine.
UOp sin_reduced(OpBuilder& b, const Reduced& x) {
  const DType t = x.r.dtype();
  const bool is_f32 = t == core::dtypes::f32;
  std::span<const f64> coefficients =
      is_f32 ? std::span<const f64>(kSinF32) : std::span<const f64>(kSinF64);
  UOp square = b.mul(x.r, x.r);
  UOp cubic = b.mul(square, polynomial(b, square, coefficients));
  UOp one = b.number(t, 1);
  UOp slope = b.mul_add(square, b.number(t, -0x1.9f02f6p-2), one);
  return b.add(x.r, b.mul_add(cubic, x.r, b.mul(x.rest, slope)));
}

}  // namespace

UOp sin(OpBuilder& b, UOp x) {
  const DType t = x.dtype(), bits = unsigned_like(t);
  const bool is_f32 = t == core::dtypes::f32;
  CHECK(is_f32 || t == core::dtypes::f64, "sine of {}", t.str());
  const PiParts& pi = is_f32 ? kPartsF32 : kPartsF64;
  UOp sign = b.bit_and(b.bitcast(x, bits), u64{1} << (t.bits() - 1));
  UOp magnitude = b.bit_xor(b.bitcast(x, bits), sign);
  UOp positive = b.bitcast(magnitude, t);
  Reduced reduced = reduce_moderate(b, positive, pi);
  const bool is_moderate = magnitude_bound(x) < pi.limit;
  if (!is_moderate) {
    Reduced large = is_f32 ? reduce_large_f32(b, magnitude) : reduce_large_f64(b, magnitude);
    UOp choice = b.less(positive, b.number(t, pi.limit));
    reduced.r = b.select(choice, reduced.r, large.r);
    reduced.rest = b.select(choice, reduced.rest, large.rest);
    reduced.sign = b.select(choice, reduced.sign, large.sign);
  }
  UOp value = b.bitcast(sin_reduced(b, reduced), bits);
  UOp result_sign = b.bit_xor(sign, reduced.sign);
  UOp signed_value = b.bitcast(b.bit_xor(value, result_sign), t);
  if (is_moderate) return signed_value;
  UOp nan = b.number(t, std::numeric_limits<f64>::quiet_NaN());
  UOp infinity = b.number(t, std::numeric_limits<f64>::infinity());
  return b.select(b.less(positive, infinity), signed_value, nan);
}

}  // namespace doorbell::codegen
