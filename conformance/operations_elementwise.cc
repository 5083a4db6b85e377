// The operations of one element and of two, by the names of tests/conformance/generate_edges.py.
#include "conformance/operations.h"

#include <limits>

namespace doorbell::conformance {
namespace {

using Results = std::vector<Tensor>;

#define GIVES(expression) [](const Call& c) -> Results { return {expression}; }
#define UNARY(name) {#name, GIVES(c.x().name())}
// clang-format off
#define BINARY(name) \
  {#name, GIVES(c.x().name(c.in[1]))}, \
  {#name "_number", GIVES(c.x().name(c.real("number")))}
// clang-format on

ClampOptions clamp_options(const Call& c) {
  ClampOptions options;
  if (c.has("low")) options.min = c.real("low");
  if (c.has("high")) options.max = c.real("high");
  return options;
}

// Keeps the exponent's type: an integer takes another path than a float.
Tensor power(const Call& c) {
  const nlohmann::json& exponent = c.arguments.at("exponent");
  if (exponent.is_number_integer()) return c.x().pow(exponent.get<i64>());
  return c.x().pow(exponent.get<f64>());
}

// Avoids a gradient of 0 times infinity: values that are not selected do not reach the logarithm.
Tensor guarded_log(const Tensor& x) {
  const Tensor positive = x > 0;
  return doorbell::where(positive, doorbell::where(positive, x, 1).log(), 0);
}

// clang-format off
constexpr OperationEntry kElementwise[] = {
    UNARY(neg), UNARY(abs), UNARY(square), UNARY(sqrt), UNARY(rsqrt), UNARY(reciprocal),
    UNARY(sign), UNARY(exp), UNARY(exp2), UNARY(expm1), UNARY(log), UNARY(log2), UNARY(log10),
    UNARY(log1p), UNARY(sin), UNARY(cos), UNARY(tan), UNARY(asin), UNARY(acos), UNARY(atan),
    UNARY(sinh), UNARY(cosh), UNARY(tanh), UNARY(asinh), UNARY(acosh), UNARY(atanh), UNARY(erf),
    UNARY(floor), UNARY(ceil), UNARY(trunc), UNARY(round), UNARY(relu), UNARY(relu6), UNARY(selu),
    UNARY(gelu), UNARY(quick_gelu), UNARY(silu), UNARY(mish), UNARY(sigmoid), UNARY(logsigmoid),
    UNARY(hardsigmoid), UNARY(hardswish), UNARY(softsign), UNARY(contiguous), UNARY(clone),
    {"nan_to_num", GIVES(c.x().nan_to_num())},
    {"nan_to_numbers", GIVES(c.x().nan_to_num(c.real("nan"), c.real("high"), c.real("low")))},
    {"gelu_tanh", GIVES(c.x().gelu(Gelu::Tanh))},
    {"dropout_off", GIVES(c.x().dropout(0.5))},
    {"cast_back", GIVES(c.x().cast(dtypes::f32).cast(c.x().dtype()))},
    {"leaky_relu", GIVES(c.x().leaky_relu(c.real("slope")))},
    {"elu", GIVES(c.x().elu(c.real("alpha")))},
    {"celu", GIVES(c.x().celu(c.real("alpha")))},
    {"hardtanh", GIVES(c.x().hardtanh(c.real("low"), c.real("high")))},
    {"clamp", GIVES(c.x().clamp(clamp_options(c)))},
    {"softplus", GIVES(c.x().softplus(c.real("beta")))},
    {"power", GIVES(power(c))},
    {"number_power", GIVES(doorbell::pow(c.real("base"), c.x()))},
    BINARY(add), BINARY(sub), BINARY(mul), BINARY(div), BINARY(mod), BINARY(fmod), BINARY(maximum),
    BINARY(minimum), BINARY(copysign), BINARY(logaddexp), BINARY(atan2), BINARY(hypot),
    {"pow", GIVES(c.x().pow(c.in[1]))},
    {"div_floor", GIVES(c.x().div(c.in[1], Rounding::Floor))},
    {"div_trunc", GIVES(c.x().div(c.in[1], Rounding::Trunc))},
    {"div_floor_number", GIVES(c.x().div(c.real("number"), Rounding::Floor))},
    {"div_trunc_number", GIVES(c.x().div(c.real("number"), Rounding::Trunc))},
    // Only the direction: the step's size depends on the dtype.
    {"nextafter", [](const Call& c) -> Results {
       const Tensor next = c.x().nextafter(c.in[1]);
       return {(next > c.x()).cast(next.dtype()) - (next < c.x()).cast(next.dtype())};
     }},
    {"usum", GIVES(c.x().usum({c.in[1], c.in[2]}))},
    {"uprod", GIVES(c.x().uprod({c.in[1], c.in[2]}))},
    {"masked_fill", GIVES(c.x().masked_fill(c.in[1], std::numeric_limits<f64>::quiet_NaN()))},
    {"where_guard", GIVES(guarded_log(c.x()))},
    {"where_less", GIVES(doorbell::where(c.x() < c.in[1], c.x() * 2, c.in[1]))},
    {"lerp_quarter", GIVES(c.x().lerp(c.in[1], 0.25))},
    {"lerp_most", GIVES(c.x().lerp(c.in[1], 0.75))},
};
// clang-format on

}  // namespace

std::span<const OperationEntry> elementwise_operations() { return kElementwise; }

}  // namespace doorbell::conformance
