// The float tables. The first holds of IEEE arithmetic exactly, NaN, infinities and signed zeros
// included (but not the bits of a NaN). Each rule of the second says what it relaxes.
#include <cmath>

#include "core/eval/float_format.h"
#include "core/rules/rules.h"

namespace doorbell::core {
namespace {

using namespace pat;

// 1 / c is exact, normal and finite: c is a power of two in the middle of the type's range.
bool has_exact_reciprocal(const Match& m) {
  int exponent;
  f64 value = m.real(0), mantissa = std::frexp(std::fabs(value), &exponent);
  if (mantissa != 0.5) return false;
  Scalar scalar = m.constant(0).dtype().scalar;
  // Subnormal reciprocals are avoided: targets may flush them.
  int limit = scalar == Scalar::F64                             ? 1000
              : scalar == Scalar::F32 || scalar == Scalar::BF16 ? 120
              : scalar == Scalar::F16                           ? 12
                                                                : 0;
  return std::abs(exponent) < limit;
}
// The product of the constants is exact, so multiplying by it rounds once where there were two.
bool powers_of_two(const Match& m) {
  int e;
  return std::frexp(std::fabs(m.real(0)), &e) == 0.5 && std::abs(e) < 12 &&
         std::frexp(std::fabs(m.real(1)), &e) == 0.5 && std::abs(e) < 12;
}

// clang-format off: * and & of patterns are operators
constexpr Rule kExact[] = {
    rw("add-minus-zero", x + -0.0, x),
    rw("sub-zero", x - 0.0, x),
    rw("mul-one", x * 1.0, x),
    rw("div-one", fdiv(x, 1.0), x),
    rw("mul-minus-one", x * -1.0, -x),
    rw("div-minus-one", fdiv(x, -1.0), -x),
    rw("neg-neg", -(-x), x),
    rw("add-neg", x + -y, x - y),
    rw("sub-neg", x - -y, x + y),
    rw("neg-times-constant", -x * c0, x * fold(-c0)),
    rw("neg-of-product", -(x * c0), x * fold(-c0)),
    rw("double", x + x, x * 2.0),
    rw("div-power-of-two", fdiv(x, c0), x * fold(recip(c0)), has_exact_reciprocal),
    rw("one-over", fdiv(1.0, x), recip(x)),
    rw("trunc-trunc", trunc(trunc(x)), trunc(x)),
    rw("reassociate-max", max(max(x, c0), c1), max(x, fold(max(c0, c1)))),
    rw("max-again", max(max(x, y), y), max(x, y)),
    rw("power-one", pow(x, 1.0), x),
    rw("power-zero", pow(x, 0.0), 1.0),
};
// clang-format on

// clang-format off: * and & of patterns are operators
constexpr Rule kRelaxed[] = {
    rw("add-zero", x + 0.0, x).relaxing("sign of zero: -0.0 + 0.0 is 0.0"),
    rw("zero-minus", Pattern(0.0) - x, -x).relaxing("sign of zero: 0.0 - 0.0 is 0.0"),
    rw("reassociate-mul", (x * c0) * c1, x * fold(c0 * c1), powers_of_two)
        .relaxing("underflow and overflow between the two"),
    rw("square", pow(x, 2.0), x * x).relaxing("rounding of pow"),
    rw("power-half", pow(x, 0.5), sqrt(x)).relaxing("rounding of pow; -0.0 and -inf"),
    rw("power-minus-one", pow(x, -1.0), recip(x)).relaxing("rounding of pow"),
    rw("exp-of-log", exp2(log2(x)), x).relaxing("rounding; negative x gave NaN"),
    rw("log-of-exp", log2(exp2(x)), x).relaxing("rounding; overflow to infinity"),
};
// clang-format on

}  // namespace

constinit const RuleTable kFloatRules{"float", Domain::Float, kExact};
constinit const RuleTable kRelaxedFloatRules{"relaxed float", Domain::Float, kRelaxed};

}  // namespace doorbell::core
