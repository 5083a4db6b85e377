// Functions of one tensor: each with every dtype and every view, against the C library in long
// double; gradients against difference quotients. docs/conformance.md lists the error bounds.
#include <fmt/format.h>

#include <cmath>

#include "conformance/inputs.h"

namespace doorbell::conformance {
namespace {

// How a result may differ: ulps of the result, grown by |x| where the argument is scaled first,
// plus `steps` roundings of numbers about as large as 1 + |x|, plus the truncation error of a
// series (`floor`).
struct Bound {
  f64 ulps = Tolerance::kRounded, ulps_per_x = 0, steps = 0, floor = 0;
};

struct Unary {
  const char* name;
  Tensor (*apply)(const Tensor&);
  Real (*reference)(Real);
  Domain domain = Domain::Any;
  Bound bound = {};
  // Infinities, NaN and extremes must equal the reference.
  bool specials = false;
  bool gradient = true;
  // One operation of the graph, so that fp8 rounds once.
  bool single = false;
};

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real softplus(Real x) { return std::max(x, 0.0L) + std::log1p(std::exp(-std::fabs(x))); }
Real relu(Real x) { return std::isnan(x) ? x : std::max(x, 0.0L); }
Real clamp(Real x, Real low, Real high) {
  return std::isnan(x) ? x : std::min(std::max(x, low), high);
}
Real elu(Real x) { return x > 0 ? x : std::expm1(x); }

#define CASE(method) #method, [](const Tensor& x) { return x.method(); }
constexpr bool kSpecials = true, kSmooth = true, kNoGradient = false, kSingle = true;

using D = Domain;
constexpr Bound kExact = {};
constexpr Unary kUnaries[] = {
    {CASE(neg), [](Real x) { return -x; }, D::Any, kExact, kSpecials, kSmooth, kSingle},
    {CASE(abs), [](Real x) { return std::fabs(x); }, D::Any, kExact, kSpecials, kSmooth, kSingle},
    {CASE(square), [](Real x) { return x * x; }, D::Any, kExact, kSpecials, kSmooth, kSingle},
    {CASE(sqrt),
     [](Real x) { return std::sqrt(x); },
     D::Positive,
     {3},
     kSpecials,
     kSmooth,
     kSingle},
    {CASE(rsqrt), [](Real x) { return 1 / std::sqrt(x); }, D::Positive, {5}},
    {CASE(reciprocal),
     [](Real x) { return 1 / x; },
     D::AwayFromZero,
     {3},
     kSpecials,
     kSmooth,
     kSingle},
    {CASE(sign), [](Real x) { return std::isnan(x) ? x : Real((x > 0) - (x < 0)); }, D::Any, kExact,
     kSpecials, kNoGradient},
    {CASE(exp), [](Real x) { return std::exp(x); }, D::Small, {4, 1.5}, kSpecials},
    {CASE(exp2), [](Real x) { return std::exp2(x); }, D::Small, {3}, kSpecials, kSmooth, kSingle},
    {CASE(log), [](Real x) { return std::log(x); }, D::Positive, {4}, kSpecials},
    {CASE(log2),
     [](Real x) { return std::log2(x); },
     D::Positive,
     {3},
     kSpecials,
     kSmooth,
     kSingle},
    {CASE(log10), [](Real x) { return std::log10(x); }, D::Positive, {4}},
    {CASE(log1p), [](Real x) { return std::log1p(x); }, D::Positive, {6}},
    {CASE(sin), [](Real x) { return std::sin(x); }, D::Any, {4}, false, kSmooth, kSingle},
    {CASE(cos), [](Real x) { return std::cos(x); }, D::Small, {4, 0, 2}},
    {CASE(tan), [](Real x) { return std::tan(x); }, D::Unit, {12, 0, 4}},
    {CASE(asin), [](Real x) { return std::asin(x); }, D::Unit, {4, 0, 4, 1e-7}},
    {CASE(acos), [](Real x) { return std::acos(x); }, D::Unit, {4, 0, 4, 1e-7}},
    {CASE(atan), [](Real x) { return std::atan(x); }, D::Any, {4, 0, 4, 1e-7}},
    {CASE(sinh), [](Real x) { return std::sinh(x); }, D::Small, {8, 2, 2}},
    {CASE(cosh), [](Real x) { return std::cosh(x); }, D::Small, {8, 2, 2}},
    {CASE(tanh), [](Real x) { return std::tanh(x); }, D::Small, {4, 0, 3}},
    {CASE(asinh), [](Real x) { return std::asinh(x); }, D::Any, {6, 0, 3}},
    {CASE(acosh), [](Real x) { return std::acosh(x); }, D::AboveOne, {8, 0, 4}},
    {CASE(atanh), [](Real x) { return std::atanh(x); }, D::Unit, {8, 0, 4}},
    {CASE(erf), [](Real x) { return std::erf(x); }, D::Small, {4, 0, 4, 3e-7}},
    {CASE(floor), [](Real x) { return std::floor(x); }, D::Any, kExact, false, kNoGradient},
    {CASE(ceil), [](Real x) { return std::ceil(x); }, D::Any, kExact, false, kNoGradient},
    {CASE(trunc), [](Real x) { return std::trunc(x); }, D::Any, kExact, kSpecials, kNoGradient,
     kSingle},
    {CASE(round), [](Real x) { return std::nearbyint(x); }, D::Any, kExact, false, kNoGradient},
    {CASE(relu), relu, D::Any, kExact, kSpecials, kSmooth, kSingle},
    {CASE(relu6), [](Real x) { return clamp(x, 0, 6); }, D::Any, kExact, kSpecials},
    {CASE(leaky_relu), [](Real x) { return x < 0 ? 0.01L * x : x; }, D::Any, {2}},
    {CASE(elu), elu, D::Small, {4, 2, 2}},
    {CASE(celu), elu, D::Small, {4, 2, 2}},
    {CASE(selu),
     [](Real x) {
       return 1.0507009873554804934193349852946L *
              (x > 0 ? x : 1.6732632423543772848170429916717L * std::expm1(x));
     },
     D::Small,
     {6, 2, 4}},
    {CASE(gelu),
     [](Real x) { return 0.5L * x * (1 + std::erf(x / std::sqrt(2.0L))); },
     D::Small,
     {6, 0, 6, 1e-6}},
    {"gelu_tanh",
     [](const Tensor& x) { return x.gelu(Gelu::Tanh); },
     [](Real x) {
       return 0.5L * x *
              (1 + std::tanh(std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x)));
     },
     D::Small,
     {8, 0, 8}},
    {CASE(quick_gelu), [](Real x) { return x * sigmoid(1.702L * x); }, D::Small, {8, 2, 4}},
    {CASE(silu), [](Real x) { return x * sigmoid(x); }, D::Small, {8, 2, 4}},
    {CASE(mish), [](Real x) { return x * std::tanh(softplus(x)); }, D::Small, {8, 2, 8}},
    {CASE(sigmoid), sigmoid, D::Small, {6, 2}, kSpecials},
    {CASE(logsigmoid), [](Real x) { return -softplus(-x); }, D::Small, {6, 0, 4}},
    {CASE(hardsigmoid), [](Real x) { return clamp(x + 3, 0, 6) / 6; }, D::Any, {4, 0, 2}},
    {CASE(hardswish), [](Real x) { return x * clamp(x + 3, 0, 6) / 6; }, D::Any, {5, 0, 4}},
    {CASE(hardtanh), [](Real x) { return clamp(x, -1, 1); }, D::Any, kExact},
    {CASE(softplus), softplus, D::Small, {6, 0, 4}},
    {CASE(softsign), [](Real x) { return x / (1 + std::fabs(x)); }, D::Any, {6}},
};

// Functions with a bool result.
struct Predicate {
  const char* name;
  Tensor (*apply)(const Tensor&);
  bool (*reference)(Real);
};
const Predicate kPredicates[] = {
    {CASE(isnan), [](Real x) { return std::isnan(x); }},
    {CASE(isinf), [](Real x) { return std::isinf(x); }},
    {CASE(isfinite), [](Real x) { return std::isfinite(x); }},
    {CASE(logical_not), [](Real x) { return x == 0; }},
};

bool whole_stay_whole(std::string_view name) {
  for (std::string_view kept :
       {"neg", "abs", "square", "sign", "floor", "ceil", "trunc", "round", "relu", "relu6"})
    if (name == kept) return true;
  return false;
}

// Of integers near the end of their range that would wrap.
bool adds_before_clamping(std::string_view name) {
  return name == "hardsigmoid" || name == "hardswish";
}

Tolerance tolerance_for(const Unary& op, DType dtype, Real largest) {
  const Real epsilon = epsilon_of(dtype);
  Tolerance tolerance;
  tolerance.ulps = op.bound.ulps + op.bound.ulps_per_x * static_cast<f64>(largest);
  tolerance.absolute = op.bound.steps * static_cast<f64>(epsilon * (1 + largest)) + op.bound.floor;
  // Half floats round after each operation of a composition.
  const bool exact = op.bound.ulps == Tolerance::kRounded;
  if (dtype.bytes() == 2 && !op.single && !exact) {
    tolerance.ulps += 3;
    tolerance.absolute += 4 * static_cast<f64>(epsilon * (1 + largest));
  }
  if (dtype.bytes() < 4 && op.single && !exact) tolerance.ulps = 1;  // through f32
  return tolerance;
}

Real largest_of(const Array& x) {
  Real largest = 0;
  for (Real value : x.values)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  return largest;
}

// (f(x + h) - f(x - h)) / 2h with the error of the second order taken out. The step stays within
// the domain.
Real slope(const Unary& op, Real x) {
  const auto quotient = [&](Real h) {
    return (op.reference(x + h) - op.reference(x - h)) / (2 * h);
  };
  Real h = 0x1p-10L * std::min(1.0L, std::max(std::fabs(x), 0x1p-10L));
  if (op.domain == Domain::Unit) h = std::min(h, 0x1p-10L * (1 - std::fabs(x)));
  return (4 * quotient(h / 2) - quotient(h)) / 3;
}

struct Prepared {
  Tensor x;
  Array values;
};

Prepared prepare(Trial& trial, DType dtype, const View& view, Domain domain) {
  const Input& input = trial.input(fmt::format("x{}", static_cast<int>(domain)), [&] {
    Random random(seed_of(trial.seed(), "x"));
    return random_array(random, dtype, view.stored, domain);
  });
  return {view.of_tensor(input.tensor), view.of_array(input.values)};
}

std::function<std::string(usize)> shows(const Array& x) {
  return [x](usize element) {
    return element < x.values.size() ? "x = " + text_of(x.values[element]) : summary_of("x", x);
  };
}

// A padded view brings zeros into every domain.
bool admits(const Unary& op, const View& view) {
  return std::string_view(view.name) != "padded" || std::isfinite(op.reference(0));
}

void add_unary(Batch& batch, const Unary& op, DType dtype, const View& view) {
  if (!admits(op, view)) return;
  batch.add(op.name, [&op, dtype, &view](Trial& trial) {
    const auto [x, values] = prepare(trial, dtype, view, op.domain);
    const bool to_float = !dtype.is_float() && !whole_stay_whole(op.name);
    const DType result = to_float ? dtypes::f32 : dtype;
    Array want = map(result, values, op.reference);
    if (!result.is_float())
      for (Real& value : want.values) value = wrap(result, static_cast<__int128>(value));
    const Tolerance tolerance =
        result.is_float() ? tolerance_for(op, result, largest_of(values)) : Tolerance{};
    trial.expect("value", op.apply(x), std::move(want), tolerance, shows(values));
  });
}

void add_gradient(Batch& batch, const Unary& op, DType dtype, const View& view) {
  batch.add(op.name, [&op, dtype, &view](Trial& trial) {
    Domain domain = op.domain;
    if (domain == Domain::Any) domain = Domain::AwayFromZero;
    const auto [x, values] = prepare(trial, dtype, view, domain);
    const Array upstream =
        map(dtype, values, [](Real v) { return std::signbit(v) ? -0.5L : 2.0L; });
    Array want = map(dtype, values, [&](Real v) { return slope(op, v); });
    Real steepest = 0;
    for (Real value : want.values) steepest = std::max(steepest, std::fabs(value));
    for (usize i = 0; i < want.values.size(); ++i) want.values[i] *= upstream.values[i];
    Tolerance tolerance;
    const Real epsilon = epsilon_of(dtype);
    tolerance.ulps = 24;
    tolerance.absolute = static_cast<f64>(epsilon * 24 * (1 + steepest) * (1 + largest_of(values)));
    tolerance.absolute += op.bound.floor * 100 + 1e-10;  // of the series; of the quotient
    tolerance.relative = 1e-9;
    const Tensor gradient = op.apply(x).gradient({x}, trial.tensor(upstream))[0];
    trial.expect("gradient", gradient, std::move(want), tolerance, shows(values));
  });
}

void add_specials(Suite& suite, DType dtype) {
  Batch& batch = suite.add("elementwise/specials/" + dtype.str(), {.dtypes = {dtype}});
  const auto input = [dtype](Trial& trial) -> const Input& {
    return trial.input("x", [&] {
      std::vector<Real> values = special_values(dtype);
      return Array{dtype, {static_cast<i64>(values.size())}, values};
    });
  };
  for (const Unary& op : kUnaries) {
    if (!op.specials || (is_fp8(dtype) && !op.single)) continue;
    batch.add(op.name, [&op, dtype, input](Trial& trial) {
      const Input& x = input(trial);
      Tolerance tolerance = tolerance_for(op, dtype, 1);
      // The argument is multiplied by log2(e), which counts by its size.
      if (op.bound.ulps_per_x > 0) tolerance.ulps += op.bound.ulps_per_x * 4;
      // max(0, -0) may be either zero, and this function is a maximum.
      const bool is_maximum = op.name == std::string_view("relu");
      tolerance.zero_sign = op.single && !format_of(dtype).fnuz && !is_maximum;
      Array want = map(dtype, x.values, op.reference);
      // Narrow floats are computed in f32, which may overflow or underflow before the reference
      // does.
      if (dtype.bytes() < 4)
        for (Real& value : want.values) value = round_to(dtypes::f32, value);
      trial.expect("value", op.apply(x.tensor), std::move(want), tolerance, shows(x.values));
    });
  }
  for (const Predicate& op : kPredicates) {
    batch.add(op.name, [&op, input](Trial& trial) {
      const Input& x = input(trial);
      trial.expect("value", op.apply(x.tensor),
                   map(dtypes::bool_, x.values, [&](Real v) { return Real(op.reference(v)); }), {},
                   shows(x.values));
    });
  }
}

// Subnormal numbers keep their value.
void add_subnormals(Suite& suite, DType dtype) {
  const bool in_f32 = dtype == core::dtypes::bf16;  // it has f32's exponents
  Batch& batch = suite.add("elementwise/subnormals/" + dtype.str(),
                           {.dtypes = {dtype}, .subnormals = in_f32 || dtype.bytes() >= 4});
  const FloatFormat format = format_of(dtype);
  const Real least = std::ldexp(1.0L, format.least_exponent);
  const Array values{
      dtype, {5}, {least / 2, -least / 2, least / 4, least * 2, epsilon_of(dtype) * least}};
  for (const char* name : {"neg", "abs", "relu", "sqrt", "log2", "exp2", "sin"}) {
    for (const Unary& op : kUnaries) {
      if (std::string_view(op.name) != name) continue;
      batch.add(name, [&op, dtype, values](Trial& trial) {
        trial.expect("value", op.apply(trial.tensor(values)), map(dtype, values, op.reference),
                     tolerance_for(op, dtype, 1), shows(values));
      });
    }
  }
  batch.add("times_half", [dtype, values](Trial& trial) {
    trial.expect("value", trial.tensor(values) * 0.5,
                 map(dtype, values, [](Real v) { return v / 2; }), {}, shows(values));
  });
}

// Exponentials and logarithms over the whole range, where errors of argument reduction show.
void add_accuracy(Suite& suite, DType dtype) {
  Batch& batch = suite.add("elementwise/accuracy/" + dtype.str(), {.dtypes = {dtype}});
  struct Range {
    const char* name;
    Real low, high;  // exponents of two, both signs; or for exp2 the argument itself
    bool both_signs;
  };
  const FloatFormat format = format_of(dtype);
  const Real top = std::log2(format.max), bottom = format.least_exponent;
  for (const Range& range : {Range{"exp2", bottom, top - 1, false},
                             {"log2", bottom, top - 1, false},
                             {"sin", -8, std::min(top - 1, 60.0L), true},
                             {"sqrt", bottom, top - 1, false}}) {
    for (const Unary& op : kUnaries) {
      if (std::string_view(op.name) != range.name) continue;
      batch.add(range.name, [&op, dtype, range](Trial& trial) {
        Random random(seed_of(trial.seed(), range.name));
        const bool linear = std::string_view(range.name) == "exp2";
        const Array x = Array::make(dtype, {1024}, [&](const Place&) {
          const Real at = range.low + random.unit() * (range.high - range.low);
          const Real value = linear ? at : std::exp2(at);
          return round_to(dtype, range.both_signs && random.below(2) ? -value : value);
        });
        trial.expect("value", op.apply(trial.tensor(x)), map(dtype, x, op.reference),
                     tolerance_for(op, dtype, 1), shows(x));
      });
    }
  }
}

#undef CASE

}  // namespace

void add_elementwise_cases(Suite& suite) {
  for (DType dtype : all_dtypes()) {
    for (const View& view : views()) {
      Batch& batch =
          suite.add(fmt::format("elementwise/{}/{}", dtype.str(), view.name), {.dtypes = {dtype}});
      for (const Unary& op : kUnaries) {
        if (is_fp8(dtype) && !op.single) continue;
        if (dtype.is_bool() && !std::isfinite(op.reference(0))) continue;
        if (dtype.is_bool() && whole_stay_whole(op.name)) continue;
        // Integers are outside these domains.
        if (dtype.is_int() && !std::isfinite(op.reference(0))) continue;
        if (dtype.is_int() && op.domain == Domain::Unit) continue;
        if (dtype.is_int() && adds_before_clamping(op.name)) continue;
        if (view.large && !op.single) continue;
        add_unary(batch, op, dtype, view);
      }
    }
    if (!dtype.is_float()) continue;
    add_specials(suite, dtype);
    add_subnormals(suite, dtype);
    add_accuracy(suite, dtype);
    if (is_fp8(dtype)) continue;
    for (const char* name : {"scalar", "odd", "flip", "transposed"}) {
      Batch& batch =
          suite.add(fmt::format("gradient/{}/{}", dtype.str(), name), {.dtypes = {dtype}});
      for (const Unary& op : kUnaries)
        if (op.gradient) add_gradient(batch, op, dtype, view_named(name));
    }
  }
}

}  // namespace doorbell::conformance
