// Exponentials, logarithms, trigonometry and erf, composed of the ops that exist: exp2, log2, sin,
// sqrt and arithmetic. Where a composition would lose digits near zero, a polynomial takes over;
// where its own derivative would (0 times infinity far out), the slope is given in closed form.
// Half floats compute in f32. For rounding and activations see functions.cc.
#include <cmath>
#include <numbers>

#include "tensor/api/cell.h"
#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"

namespace doorbell {

using core::Op;
using detail::constant;
using detail::narrowed;
using detail::select;
using detail::unary;
using detail::widened;

namespace {

// Coefficients, the highest power first, for f32 (and what is narrower) and for f64. Interpolated
// at Chebyshev nodes with 60 digits; the error in powers of 2 is relative to the function.
struct Fit {
  std::initializer_list<f64> single, wide;
};

Tensor polynomial(const Tensor& x, const Fit& fit) {
  const auto& coefficients = x.dtype() == dtypes::f64 ? fit.wide : fit.single;
  Tensor sum = x.full_like(*coefficients.begin());
  for (const f64* c = coefficients.begin() + 1; c != coefficients.end(); ++c) sum = sum * x + *c;
  return sum;
}

// x + x z P(z), z = x^2: an odd function whose slope at 0 is 1.
Tensor odd(const Tensor& x, const Fit& fit) {
  const Tensor z = x * x;
  return x + x * z * polynomial(z, fit);
}

// x where near holds, elsewhere 0: a branch that is not taken must not overflow.
Tensor where_near(const Tensor& near, const Tensor& x) {
  return select(near, x, constant(0, x.dtype()));
}

// value, and x where that is 0 or -0: of a function that is x near 0, which sums would round to 0.
Tensor keeping_zeros(const Tensor& value, const Tensor& x) { return select(x == 0, x, value); }

// Of an odd function: -0 keeps its sign, too.
Tensor with_sign_of(const Tensor& magnitude, const Tensor& x) {
  return keeping_zeros(select(x < 0, magnitude.neg(), magnitude), x);
}

using Slope = Tensor (*)(const Tensor& x);

class SlopeRule final : public detail::GradientRule {
 public:
  explicit SlopeRule(Slope slope) : slope_(slope) {}
  Tensor derivative(const Tensor& gradient, const std::vector<Tensor>& inputs,
                    usize) const override {
    const Tensor slope = slope_(widened(inputs[0]));
    return (gradient.cast(slope.dtype()) * slope).cast(inputs[0].dtype());
  }

 private:
  const Slope slope_;
};

// `value`, a function of x whose derivative is `slope`, as the dtype that a float function of x
// has. x is as the caller got it: where it holds integers no gradient flows.
Tensor with_slope(const Tensor& value, const Tensor& x, Slope slope) {
  const Tensor result = narrowed(value, x);
  if (!x.dtype().is_float()) return result;
  return detail::with_gradient(result, {x}, std::make_unique<SlopeRule>(slope));
}

// From where on the square of an f32 or f64 hides an added 1.
f64 hides_one(DType dtype) { return dtype == dtypes::f64 ? 0x1p30 : 0x1p14; }

// (asin(x) / x - 1) / x^2 over x^2 in 0 to 1/4: 2^-28, 2^-57.
constexpr Fit kAsin = {
    {0x1.13fed4p-5, 0x1.18f91ep-6, 0x1.fd8da2p-6, 0x1.6d5bbap-5, 0x1.33343p-4, 0x1.555554p-3},
    {0x1.d72b2bc8155f8p-6, -0x1.e6aaa8a0a04ccp-7, 0x1.1d189408314eep-6, 0x1.65a9c4dfcf8b2p-8,
     0x1.52420b04b37bep-7, 0x1.782651caa6547p-7, 0x1.c9cf07674736ap-7, 0x1.1c4d35cf95421p-6,
     0x1.6e8bb1c8209a2p-6, 0x1.f1c71c1db0623p-6, 0x1.6db6db6e31f13p-5, 0x1.3333333332ecap-4,
     0x1.5555555555556p-3}};
// (atan(x) / x - 1) / x^2 over x^2 in 0 to 1: 2^-26, 2^-54.
constexpr Fit kAtan = {
    {0x1.86406cp-10, -0x1.2ba6b6p-7, 0x1.aefb2cp-6, -0x1.9115a4p-5, 0x1.2006f8p-4, -0x1.6dd8fep-4,
     0x1.c62cdap-4, -0x1.248952p-3, 0x1.999956p-3, -0x1.555556p-2},
    {-0x1.8d087295ab9f4p-17, 0x1.1f0adb240a1fbp-13, -0x1.8a2f3ae537bb1p-11, 0x1.57cc888719aap-9,
     -0x1.aef1a8e977bf8p-8,  0x1.a1fe88baf72d4p-7,  -0x1.4b974a27ac39fp-6,  0x1.c3ac54a572735p-6,
     -0x1.147b2825d82f6p-5,  0x1.3d3f26d5ea7ffp-5,  -0x1.60ebd1489b946p-5,  0x1.854a7b99af61dp-5,
     -0x1.af00bd568a3d2p-5,  0x1.e1dc0d7679adcp-5,  -0x1.1110bfea8ed5ep-4,  0x1.3b13aaf4aba4ap-4,
     -0x1.745d16f26d0a3p-4,  0x1.c71c71c472843p-4,  -0x1.249249248c7dap-3,  0x1.99999999998f9p-3,
     -0x1.5555555555555p-2}};
// (tanh(x) / x - 1) / x^2 over |x| to 5/8: 2^-27, 2^-56.
constexpr Fit kTanh = {
    {0x1.2c83cp-9, -0x1.116a16p-7, 0x1.64a976p-6, -0x1.ba08c4p-5, 0x1.1110eap-3, -0x1.555556p-2},
    {0x1.b33642a122cddp-18, -0x1.05bbdae896297p-15, 0x1.8445870f6fe41p-14, -0x1.f243823c8c981p-13,
     0x1.3526e9ed54da1p-11, -0x1.7d9f6f23e8682p-10, 0x1.d6d39ae3905e2p-9, -0x1.226e3473dce5cp-7,
     0x1.664f487e0a749p-6, -0x1.ba1ba1ba0f126p-5, 0x1.11111111110a8p-3, -0x1.5555555555555p-2}};
// (sinh(x) / x - 1) / x^2 over |x| to 1: 2^-27, 2^-56.
constexpr Fit kSinh = {
    {0x1.78a70ep-19, 0x1.a009p-13, 0x1.11111ep-7, 0x1.555556p-3},
    {0x1.b41232cf9950fp-41, 0x1.611cb330c1fe8p-33, 0x1.ae6460fae3728p-26, 0x1.71de3a4e14f4p-19,
     0x1.a01a01a01ee7p-13, 0x1.11111111110fdp-7, 0x1.5555555555555p-3}};
// ((exp(x) - 1) / x - 1) / x over |x| to 1/2: 2^-26, 2^-57.
constexpr Fit kExpm1 = {
    {0x1.a2463ap-13, 0x1.6e88dcp-10, 0x1.11104p-7, 0x1.55538p-5, 0x1.555556p-3, 0x1p-1},
    {0x1.6267cf434f12cp-33, 0x1.201cd8001288bp-29, 0x1.ae63a07779c78p-26, 0x1.27e450c2e35f7p-22,
     0x1.71de3a84a10c3p-19, 0x1.a01a01f8a44eap-16, 0x1.a01a01a00ef0fp-13, 0x1.6c16c16c02003p-10,
     0x1.111111111112p-7, 0x1.555555555558ep-5, 0x1.5555555555555p-3, 0x1p-1}};
// erf(x) / x over x^2 in 0 to 1: 2^-24, 2^-54.
constexpr Fit kErf = {
    {0x1.4a569p-14, -0x1.a45088p-11, 0x1.54127p-8, -0x1.b7fabap-6, 0x1.ce2d1p-4, -0x1.81273ep-2,
     0x1.20dd74p+0},
    {-0x1.ac9585a44fe29p-31, 0x1.d76af6ca49787p-27, -0x1.5c131500d3f88p-23, 0x1.b981d78881a5dp-20,
     -0x1.f4ca838adb73bp-17, 0x1.f9a2be4f731a1p-14, -0x1.c02db0665e53dp-11, 0x1.565bccfa44156p-8,
     -0x1.b82ce31203772p-6, 0x1.ce2f21a040f66p-4, -0x1.812746b0379c1p-2, 0x1.20dd750429b6dp+0}};
// Of f32, log2(erfc(x)), x from 1 to 4: 2^-25.9 of erf (Remez). It falls on to minus infinity, and
// costs no division. Of f64, erfc(x) exp(x^2) over t = 1 / (1 + x / 2), x from 1 to 6: 2^-56 of
// erf.
constexpr Fit kErfc = {
    {-0x1.b5a74ap-10, 0x1.5e94f6p-6, -0x1.065f02p-3, -0x1.e342cap-1, -0x1.9cc56p+0, -0x1.ef4726p-9},
    {0x1.06de90fce20e3p-4, -0x1.db4a380864d43p-2, 0x1.7fd3eb69b9152p+0, -0x1.677beeb9077d4p+1,
     0x1.a837046bf615p+1, -0x1.4637da8270982p+1, 0x1.640682e54e569p+0, -0x1.581816b53d9ap-1,
     0x1.8f0441e18093fp-3, 0x1.1ce8cceee0799p-5, 0x1.7b872be925988p-3, 0x1.f70cbc11fe46fp-3,
     0x1.20fa627a1aef8p-2, 0x1.20dbd3ad45fd5p-2, 0x1.5ccce7983ea5ap-23}};

// 1 - erf(x) for x >= 1, of f32 or f64.
Tensor erfc(const Tensor& x) {
  if (x.dtype() != dtypes::f64) return polynomial(x, kErfc).exp2();
  const Tensor t = (1 + 0.5 * x).reciprocal();
  return polynomial(t, kErfc) * x.square().neg().exp();
}

}  // namespace

Tensor Tensor::exp2() const { return unary(Op::Exp2, detail::as_float(*this)); }
Tensor Tensor::log2() const { return unary(Op::Log2, detail::as_float(*this)); }
Tensor Tensor::sin() const { return unary(Op::Sin, detail::as_float(*this)); }

Tensor Tensor::exp() const {
  return narrowed(unary(Op::Exp2, widened(*this) * std::numbers::log2e), *this);
}
Tensor Tensor::log() const {
  return narrowed(unary(Op::Log2, widened(*this)) * std::numbers::ln2, *this);
}
Tensor Tensor::log10() const {
  return narrowed(unary(Op::Log2, widened(*this)) * std::log10(2.0), *this);
}

Tensor Tensor::expm1() const {
  const Tensor x = widened(*this);
  const Tensor near = x.abs() < 0.5;
  const Tensor small = where_near(near, x);
  const Tensor value = select(near, small + small * small * polynomial(small, kExpm1), x.exp() - 1);
  return with_slope(keeping_zeros(value, x), *this, [](const Tensor& x) { return x.exp(); });
}

// log(1 + x) * x / ((1 + x) - 1): what rounding 1 + x lost cancels.
Tensor Tensor::log1p() const {
  const Tensor x = widened(*this);
  const Tensor shifted = x + 1;
  const Tensor rounded = shifted - 1;
  const Tensor plain = shifted.log();
  const Tensor safe = select(rounded == 0, constant(1, x.dtype()), rounded);
  const Tensor corrected = select(rounded == 0, x, plain * (x / safe));
  return with_slope(select(shifted.isfinite(), corrected, plain), *this,
                    [](const Tensor& x) { return (1 + x).reciprocal(); });
}

// 1 - 2 sin^2(x / 2): a shift by a quarter turn would round a large x.
Tensor Tensor::cos() const {
  const Tensor half = unary(Op::Sin, widened(*this) * 0.5);
  return with_slope(1 - 2 * half * half, *this, [](const Tensor& x) { return x.sin().neg(); });
}
Tensor Tensor::tan() const { return sin() / cos(); }

// Beyond 1/2 the half angle: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
Tensor Tensor::asin() const {
  const Tensor x = widened(*this), size = x.abs();
  const Tensor near = size <= 0.5;
  const Tensor value = odd(select(near, size, ((1 - size) * 0.5).sqrt()), kAsin);
  return with_slope(with_sign_of(select(near, value, std::numbers::pi / 2 - 2 * value), x), *this,
                    [](const Tensor& x) { return (1 - x * x).rsqrt(); });
}
Tensor Tensor::acos() const {
  const Tensor x = widened(*this), size = x.abs();
  const Tensor near = size <= 0.5;
  const Tensor value = odd(select(near, x, ((1 - size) * 0.5).sqrt()), kAsin);
  const Tensor far = doorbell::where(x < 0, std::numbers::pi - 2 * value, 2 * value);
  return with_slope(select(near, std::numbers::pi / 2 - value, far), *this,
                    [](const Tensor& x) { return (1 - x * x).rsqrt().neg(); });
}
Tensor Tensor::atan() const {
  const Tensor x = widened(*this), size = x.abs();
  const Tensor near = size <= 1;
  const Tensor value = odd(doorbell::where(near, size, size.reciprocal()), kAtan);
  return with_slope(with_sign_of(select(near, value, std::numbers::pi / 2 - value), x), *this,
                    [](const Tensor& x) { return (1 + x * x).reciprocal(); });
}

Tensor Tensor::sinh() const {
  const Tensor x = widened(*this);
  const Tensor near = x.abs() < 1;
  const Tensor far = (x.exp() - x.neg().exp()) / 2;
  return with_slope(select(near, odd(where_near(near, x), kSinh), far), *this,
                    [](const Tensor& x) { return x.cosh(); });
}
Tensor Tensor::cosh() const {
  const Tensor x = widened(*this);
  return with_slope((x.exp() + x.neg().exp()) / 2, *this, [](const Tensor& x) { return x.sinh(); });
}
Tensor Tensor::tanh() const {
  const Tensor x = widened(*this);
  const Tensor near = x.abs() < 0.625;
  const Tensor small = where_near(near, x);
  const Tensor far = 2.0 * (2.0 * x).sigmoid() - 1.0;
  return with_slope(select(near, keeping_zeros(odd(small, kTanh), small), far), *this,
                    [](const Tensor& x) { return 1 - x.tanh().square(); });
}

Tensor Tensor::asinh() const {
  const Tensor x = widened(*this), size = x.abs();  // the negative half would cancel
  const Tensor far = hides_one(x.dtype()) < size;
  const Tensor safe = doorbell::where(far, 1, size), square = safe * safe;
  const Tensor near = (safe + square / (1 + (1 + square).sqrt())).log1p();
  return with_slope(with_sign_of(select(far, size.log() + std::numbers::ln2, near), x), *this,
                    [](const Tensor& x) { return (x * x + 1).rsqrt(); });
}
Tensor Tensor::acosh() const {
  const Tensor x = widened(*this);
  const Tensor far = hides_one(x.dtype()) < x;
  const Tensor above = doorbell::where(far, 1, x - 1);
  // A root for each factor: below 1 one is NaN, and a product of both may be positive again.
  const Tensor near = (above + above.sqrt() * (above + 2).sqrt()).log1p();
  return with_slope(select(far, x.log() + std::numbers::ln2, near), *this,
                    [](const Tensor& x) { return (x * x - 1).rsqrt(); });
}
Tensor Tensor::atanh() const {
  const Tensor x = widened(*this);
  return with_slope(keeping_zeros((2 * x / (1 - x)).log1p() * 0.5, x), *this,
                    [](const Tensor& x) { return (1 - x * x).reciprocal(); });
}

Tensor Tensor::sigmoid() const {
  const Tensor x = widened(*this);
  return with_slope((1 + unary(Op::Exp2, x * -std::numbers::log2e)).reciprocal(), *this,
                    [](const Tensor& x) {
                      const Tensor y = x.sigmoid();
                      return y * (1 - y);
                    });
}

// log(1 + exp(x)) as max(x, 0) + log(1 + exp(-|x|)), which never overflows.
Tensor Tensor::softplus(f64 beta) const {
  const Tensor scaled = widened(*this) * beta;
  const Tensor value = scaled.relu() + scaled.abs().neg().exp().log1p();
  return narrowed(with_slope(value, scaled, [](const Tensor& x) { return x.sigmoid(); }) / beta,
                  *this);
}

Tensor Tensor::erf() const {
  const Tensor x = widened(*this), size = x.abs();
  const Tensor near = size < 1;
  const Tensor small = where_near(near, x);
  const Tensor far = 1 - erfc(size);
  const Tensor value = select(near, small * polynomial(small * small, kErf), with_sign_of(far, x));
  return with_slope(value, *this, [](const Tensor& x) {
    return x.square().neg().exp() * (2 / std::sqrt(std::numbers::pi));
  });
}

}  // namespace doorbell
