// Functions of two and three tensors: for every dtype, with broadcasting, with numbers, with
// reversed and with transposed memory. Integers are computed in 128 bits here and wrapped; floats
// in long double.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "conformance/inputs.h"

namespace doorbell::conformance {
namespace {

using Int = __int128;

// Which dtypes an operation takes.
enum class Takes : u8 { All, Numbers, Floats, Whole, WholeAndBool };
// Of what dtype its result is.
enum class Gives : u8 { Same, Float, Bool };

struct Binary {
  const char* name;
  Tensor (*apply)(const Tensor&, const Tensor&);
  Real (*of_floats)(Real, Real);
  Int (*of_integers)(Int, Int);
  Takes takes = Takes::All;
  Gives gives = Gives::Same;
  f64 ulps = Tolerance::kRounded;
  bool specials = true;
  bool gradient = false;
};

bool is_nan(Real x, Real y) { return std::isnan(x) || std::isnan(y); }
Real nan_or(Real x, Real y, Real value) { return is_nan(x, y) ? x + y : value; }
Real larger(Real x, Real y) { return nan_or(x, y, x < y ? y : x); }
Real smaller(Real x, Real y) { return nan_or(x, y, y < x ? y : x); }

// Modulo 2^128: Int does not hold each product of two numbers of 64 bits.
Int product(Int x, Int y) {
  using Unsigned = unsigned __int128;
  return static_cast<Int>(static_cast<Unsigned>(x) * static_cast<Unsigned>(y));
}
Int floor_div(Int x, Int y) {
  if (y == 0) return 0;
  const Int quotient = x / y;
  return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}
// A modulo by zero gives zero, as division does.
Int floor_mod(Int x, Int y) { return y == 0 ? 0 : x - y * floor_div(x, y); }
Int trunc_div(Int x, Int y) { return y == 0 ? 0 : x / y; }
Int trunc_mod(Int x, Int y) { return y == 0 ? 0 : x % y; }

#define OPERATOR(op) [](const Tensor& x, const Tensor& y) { return x op y; }
#define METHOD(method) [](const Tensor& x, const Tensor& y) { return x.method(y); }
#define FLOATS(expression) [](Real x, Real y) -> Real { return expression; }
#define INTEGERS(expression) [](Int x, Int y) -> Int { return expression; }

using T = Takes;
using G = Gives;
constexpr f64 kOnce = Tolerance::kRounded;
constexpr Binary kBinaries[] = {
    {"add", OPERATOR(+), FLOATS(x + y), INTEGERS(x + y), T::Numbers, G::Same, kOnce, true, true},
    {"sub", OPERATOR(-), FLOATS(x - y), INTEGERS(x - y), T::Numbers, G::Same, kOnce, true, true},
    {"mul", OPERATOR(*), FLOATS(x* y), product, T::Numbers, G::Same, kOnce, true, true},
    {"div", OPERATOR(/), FLOATS(x / y), nullptr, T::Numbers, G::Float, 3, true, true},
    {"floor_div", [](const Tensor& x, const Tensor& y) { return x.div(y, Rounding::Floor); },
     nullptr, floor_div, T::Whole},
    {"trunc_div", [](const Tensor& x, const Tensor& y) { return x.div(y, Rounding::Trunc); },
     nullptr, trunc_div, T::Whole},
    {"mod", OPERATOR(%), nullptr, floor_mod, T::Whole},
    {"fmod", METHOD(fmod), nullptr, trunc_mod, T::Whole},
    {"maximum", METHOD(maximum), larger, INTEGERS(x < y ? y : x), T::All, G::Same, kOnce, true,
     true},
    {"minimum", METHOD(minimum), smaller, INTEGERS(x < y ? x : y), T::All, G::Same, kOnce, true,
     true},
    {"less", OPERATOR(<), FLOATS(x < y), INTEGERS(x < y), T::All, G::Bool},
    {"greater", OPERATOR(>), FLOATS(x > y), INTEGERS(x > y), T::All, G::Bool},
    {"less_equal", OPERATOR(<=), FLOATS(x <= y), INTEGERS(x <= y), T::All, G::Bool},
    {"greater_equal", OPERATOR(>=), FLOATS(x >= y), INTEGERS(x >= y), T::All, G::Bool},
    {"equal", OPERATOR(==), FLOATS(x == y), INTEGERS(x == y), T::All, G::Bool},
    {"not_equal", OPERATOR(!=), FLOATS(x != y), INTEGERS(x != y), T::All, G::Bool},
    {"and", OPERATOR(&), nullptr, INTEGERS(x& y), T::WholeAndBool},
    {"or", OPERATOR(|), nullptr, INTEGERS(x | y), T::WholeAndBool},
    {"xor", OPERATOR(^), nullptr, INTEGERS(x ^ y), T::WholeAndBool},
    {"copysign", METHOD(copysign), FLOATS(std::copysign(x, y)), nullptr, T::Floats, G::Same, kOnce,
     false},
    {"pow", METHOD(pow), FLOATS(std::pow(x, y)), nullptr, T::Floats, G::Same, 16, false, true},
    {"logaddexp", METHOD(logaddexp),
     FLOATS(std::max(x, y) + std::log1p(std::exp(-std::fabs(x - y)))), nullptr, T::Floats, G::Same,
     16, false, true},
};

bool takes(const Binary& op, DType dtype) {
  switch (op.takes) {
    case Takes::All: return true;
    case Takes::Numbers: return !dtype.is_bool();
    case Takes::Floats: return dtype.is_float() && !is_fp8(dtype);
    case Takes::Whole: return dtype.is_int();
    case Takes::WholeAndBool: return !dtype.is_float();
  }
  return false;
}

Array reference(const Binary& op, DType dtype, const Array& x, const Array& y) {
  DType result = dtype;
  if (op.gives == Gives::Bool) result = dtypes::bool_;
  if (op.gives == Gives::Float && !dtype.is_float()) result = dtypes::f32;
  if (dtype.is_float() || op.of_integers == nullptr) {
    // Integers become f32 first.
    const auto operand = [&](Real v) { return dtype.is_float() ? v : round_to(result, v); };
    return zip(result, x, y, [&](Real a, Real b) { return op.of_floats(operand(a), operand(b)); });
  }
  return zip(result, x, y, [&](Real a, Real b) {
    return wrap(result, op.of_integers(static_cast<Int>(a), static_cast<Int>(b)));
  });
}

Tolerance tolerance_for(const Binary& op, DType dtype) {
  Tolerance tolerance;
  tolerance.ulps = op.ulps;
  if (!dtype.is_float() || op.ulps == Tolerance::kRounded) return tolerance;
  if (dtype.bytes() < 4 && op.name == std::string_view("div")) tolerance.ulps = 1;
  // max + log(...) may cancel.
  if (op.name == std::string_view("logaddexp"))
    tolerance.absolute = 16 * static_cast<f64>(epsilon_of(dtype));
  return tolerance;
}

std::function<std::string(usize)> shows(const Array& x, const Array& y) {
  return [x, y, shape = broadcast_shape(x.shape, y.shape)](usize element) {
    if (static_cast<i64>(element) >= count_of(shape)) return std::string("none");
    const Place at = unflatten(static_cast<i64>(element), shape);
    return fmt::format("x = {}, y = {}", text_of(x.broadcast_at(at)), text_of(y.broadcast_at(at)));
  };
}

// The shapes and views of two operands.
struct Pairing {
  const char* name;
  std::vector<i64> x, y;  // stored shapes
  View x_view, y_view;
};

const std::vector<Pairing>& pairings() {
  const View same{"", {}, [](const Tensor& x) { return x; }, [](const Array& x) { return x; }};
  const View flipped{"",
                     {},
                     [](const Tensor& x) { return x.flip(0); },
                     [](const Array& x) { return flip(x, {0}); }};
  const View turned{"",
                    {},
                    [](const Tensor& x) { return x.transpose(0, 1); },
                    [](const Array& x) { return permute(x, {1, 0}); }};
  const View shifted{"",
                     {},
                     [](const Tensor& x) { return x[{Slice(1, None)}]; },
                     [](const Array& x) { return slice(x, 0, 1, 1, x.shape[0] - 1); }};
  static const auto& all = *new std::vector<Pairing>{
      {"same", {3, 5, 7}, {3, 5, 7}, same, same},
      {"scalars", {}, {}, same, same},
      {"outer", {9, 1}, {11}, same, same},
      {"scalar_right", {4, 5}, {}, same, same},
      {"ones_inside", {2, 1, 3, 1}, {5, 1, 4}, same, same},
      {"empty", {0, 3}, {3}, same, same},
      {"backwards", {7, 5}, {7, 5}, same, flipped},
      {"transposed", {6, 7}, {7, 6}, turned, same},
      {"offsets", {65}, {66}, same, shifted},
      {"large", {41, 1, 7}, {1, 67, 7}, same, same},
  };
  return all;
}

Array operand(u64 seed, std::string_view name, DType dtype, const std::vector<i64>& shape) {
  Random random(seed_of(seed, name));
  Array array = random_array(random, dtype, shape, Domain::Any);
  if (!dtype.is_int()) return array;
  // The whole range, among them zeros.
  for (Real& value : array.values) {
    if (random.below(3) == 0) value = wrap(dtype, static_cast<Int>(random.next()));
    if (random.below(9) == 0) value = 0;
  }
  return array;
}

struct Operands {
  Tensor x, y;
  Array x_values, y_values;
};

Operands operands(Trial& trial, DType dtype, const Pairing& pairing, bool positive) {
  const std::string key = positive ? "positive" : "any";
  const auto made = [&](const char* name, const std::vector<i64>& shape) -> const Input& {
    return trial.input(key + name, [&] {
      Array array = operand(trial.seed(), name, dtype, shape);
      for (Real& value : array.values)
        if (positive)
          value = round_to(dtype, std::exp2(std::fabs(std::log2(std::fabs(value))) / 8));
      return array;
    });
  };
  const Input &x = made("x", pairing.x), &y = made("y", pairing.y);
  return {pairing.x_view.of_tensor(x.tensor), pairing.y_view.of_tensor(y.tensor),
          pairing.x_view.of_array(x.values), pairing.y_view.of_array(y.values)};
}

bool wants_positive(const Binary& op) { return op.name == std::string_view("pow"); }

void add_values(Suite& suite, DType dtype, const Pairing& pairing) {
  Batch& batch =
      suite.add(fmt::format("binary/{}/{}", dtype.str(), pairing.name), {.dtypes = {dtype}});
  for (const Binary& op : kBinaries) {
    if (!takes(op, dtype)) continue;
    batch.add(op.name, [&op, dtype, &pairing](Trial& trial) {
      const Operands in = operands(trial, dtype, pairing, wants_positive(op));
      Array want = reference(op, dtype, in.x_values, in.y_values);
      trial.expect("value", op.apply(in.x, in.y), std::move(want), tolerance_for(op, dtype),
                   shows(in.x_values, in.y_values));
    });
  }
}

// Every special value with every other: zero divisors and the least integer among them.
void add_specials(Suite& suite, DType dtype) {
  Batch& batch = suite.add("binary/specials/" + dtype.str(), {.dtypes = {dtype}});
  const std::vector<Real> values = special_values(dtype);
  const i64 count = static_cast<i64>(values.size());
  const Array column{dtype, {count, 1}, values}, row{dtype, {count}, values};
  for (const Binary& op : kBinaries) {
    if (!takes(op, dtype) || !op.specials) continue;
    batch.add(op.name, [&op, dtype, column, row](Trial& trial) {
      const Input& x = trial.input("column", [&] { return column; });
      const Input& y = trial.input("row", [&] { return row; });
      trial.expect("value", op.apply(x.tensor, y.tensor), reference(op, dtype, column, row),
                   tolerance_for(op, dtype), shows(column, row));
    });
  }
  if (!dtype.is_int()) return;
  // Shifts by the width or more give 0, or the sign.
  const Array amounts{dtype, {5}, {0, 1, 3, Real(dtype.bits() - 1), Real(dtype.bits())}};
  for (const bool left : {true, false}) {
    batch.add(left ? "shift_left" : "shift_right", [=](Trial& trial) {
      const Tensor x = trial.input("column", [&] { return column; }).tensor;
      const Tensor n = trial.input("amounts", [&] { return amounts; }).tensor;
      Array want = zip(dtype, column, amounts, [&](Real a, Real b) {
        const Int value = static_cast<Int>(a), amount = static_cast<Int>(b);
        return wrap(dtype, left ? static_cast<Int>(static_cast<unsigned __int128>(value) << amount)
                                : value >> amount);
      });
      trial.expect("value", left ? x << n : x >> n, std::move(want), {}, shows(column, amounts));
    });
  }
}

// A bare number on either side does not change the dtype.
void add_numbers(Suite& suite, DType dtype) {
  if (dtype.is_bool()) return;
  Batch& batch = suite.add("binary/numbers/" + dtype.str(), {.dtypes = {dtype}});
  struct Form {
    const char* name;
    Tensor (*apply)(const Tensor&);
    Real (*floats)(Real);
    Int (*integers)(Int);
  };
  static const Form kForms[] = {
      {"plus", [](const Tensor& x) { return x + 3; }, [](Real x) { return x + 3; },
       [](Int x) { return x + 3; }},
      {"minus_from", [](const Tensor& x) { return 2 - x; }, [](Real x) { return 2 - x; },
       [](Int x) { return 2 - x; }},
      {"times", [](const Tensor& x) { return x * 6; }, [](Real x) { return x * 6; },
       [](Int x) { return x * 6; }},
      {"by_seven", [](const Tensor& x) { return x.div(7, Rounding::Floor); }, nullptr,
       [](Int x) { return floor_div(x, 7); }},
      {"mod_ten", [](const Tensor& x) { return x % 10; }, nullptr,
       [](Int x) { return floor_mod(x, 10); }},
      {"by_eight", [](const Tensor& x) { return x.div(8, Rounding::Trunc); }, nullptr,
       [](Int x) { return trunc_div(x, 8); }},
      {"maximum", [](const Tensor& x) { return x.maximum(2); }, [](Real x) { return larger(x, 2); },
       [](Int x) { return x < 2 ? Int{2} : x; }},
  };
  for (const Form& form : kForms) {
    if (dtype.is_float() && form.floats == nullptr) continue;
    batch.add(form.name, [&form, dtype](Trial& trial) {
      const Input& x = trial.input("x", [&] { return operand(trial.seed(), "x", dtype, {5, 13}); });
      Array want = map(dtype, x.values, [&](Real v) {
        return dtype.is_float() ? form.floats(v) : wrap(dtype, form.integers(static_cast<Int>(v)));
      });
      const Array& values = x.values;
      trial.expect("value", form.apply(x.tensor), std::move(want), {},
                   [values](usize i) { return "x = " + text_of(values.values[i]); });
    });
  }
}

// d f / d x at a pair, by the difference quotient.
Real slope(Real (*f)(Real, Real), Real x, Real y, bool of_x) {
  const auto quotient = [&](Real h) {
    return of_x ? (f(x + h, y) - f(x - h, y)) / (2 * h) : (f(x, y + h) - f(x, y - h)) / (2 * h);
  };
  // The difference must not cross the kink of maximum and minimum, except for equal operands: each
  // gets half.
  const Real h = x == y ? 0x1p-13L : std::min(0x1p-13L, std::fabs(x - y) / 4);
  return (4 * quotient(h / 2) - quotient(h)) / 3;
}

void add_gradients(Suite& suite, DType dtype, const Pairing& pairing) {
  Batch& batch = suite.add(fmt::format("gradient/{}/binary_{}", dtype.str(), pairing.name),
                           {.dtypes = {dtype}});
  for (const Binary& op : kBinaries) {
    if (!op.gradient) continue;
    batch.add(op.name, [&op, dtype, &pairing](Trial& trial) {
      const Operands in = operands(trial, dtype, pairing, true);
      const std::vector<Tensor> gradients = op.apply(in.x, in.y).sum().gradient({in.x, in.y});
      for (const bool of_x : {true, false}) {
        const Array each = zip(dtype, in.x_values, in.y_values,
                               [&](Real x, Real y) { return slope(op.of_floats, x, y, of_x); });
        Array want = sum_to(each, of_x ? in.x_values.shape : in.y_values.shape);
        const Real sum_length = Real(each.count()) / std::max<i64>(1, want.count());
        Real largest = 1;
        for (Real value : each.values) largest = std::max(largest, std::fabs(value));
        Tolerance tolerance;
        tolerance.ulps = 8;
        tolerance.absolute =
            static_cast<f64>(epsilon_of(dtype) * largest * 16 * (4 + sum_length)) + 1e-9;
        trial.expect(of_x ? "gradient of x" : "gradient of y", gradients[of_x ? 0 : 1],
                     std::move(want), tolerance);
      }
    });
  }
}

void add_choices(Suite& suite, DType dtype) {
  Batch& batch = suite.add("choice/" + dtype.str(), {.dtypes = {dtype}});
  const auto drawn = [dtype](Trial& trial, const char* name,
                             std::vector<i64> shape) -> const Input& {
    return trial.input(name, [&] { return operand(trial.seed(), name, dtype, shape); });
  };
  const auto mask = [](Trial& trial) -> const Input& {
    return trial.input("mask", [&] {
      Random random(seed_of(trial.seed(), "mask"));
      return random_array(random, dtypes::bool_, {6, 1}, Domain::Any);
    });
  };
  batch.add("where", [=](Trial& trial) {
    const Input &c = mask(trial), &x = drawn(trial, "x", {6, 5}), &y = drawn(trial, "y", {5});
    Array want = Array::make(dtype, {6, 5}, [&](const Place& at) {
      return c.values.broadcast_at(at) != 0 ? x.values.at(at) : y.values.broadcast_at(at);
    });
    trial.expect("value", where(c.tensor, x.tensor, y.tensor), std::move(want));
  });
  batch.add("masked_fill", [=](Trial& trial) {
    const Input &c = mask(trial), &x = drawn(trial, "x", {6, 5});
    Array want = Array::make(dtype, {6, 5}, [&](const Place& at) {
      return c.values.broadcast_at(at) != 0 ? 1 : x.values.at(at);
    });
    trial.expect("value",
                 x.tensor.masked_fill(c.tensor, dtype.is_bool() ? Number(true) : Number(1)),
                 std::move(want));
  });
  if (dtype.is_bool()) return;
  batch.add("clamp", [=](Trial& trial) {
    const Input& x = drawn(trial, "x", {6, 5});
    Array want = map(dtype, x.values, [](Real v) { return std::min(std::max(v, 1.0L), 3.0L); });
    trial.expect("value", x.tensor.clamp({.min = 1, .max = 3}), std::move(want));
  });
}

#undef OPERATOR
#undef METHOD
#undef FLOATS
#undef INTEGERS

}  // namespace

void add_binary_cases(Suite& suite) {
  for (DType dtype : all_dtypes()) {
    for (const Pairing& pairing : pairings()) add_values(suite, dtype, pairing);
    add_specials(suite, dtype);
    add_numbers(suite, dtype);
    add_choices(suite, dtype);
    if (!dtype.is_float() || is_fp8(dtype)) continue;
    for (const Pairing& pairing : pairings())
      if (pairing.x != std::vector<i64>{0, 3}) add_gradients(suite, dtype, pairing);
  }
}

}  // namespace doorbell::conformance
