// Elementwise operations against the C library, on ordinary and on special values.
#include <cmath>
#include <functional>
#include <limits>

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct UnaryCase {
  const char* name;
  Tensor (*actual)(const Tensor&);
  double (*expected)(double);
  std::vector<double> inputs;
  double tolerance = 2e-6;
};

const std::vector<double> kAny = {-3.5, -2.5, -1.5, -1, -0.5, -0.25, 0, 0.1, 0.5, 1, 1.5, 2.5, 7};
const std::vector<double> kPositive = {1e-3, 0.1, 0.5, 1, 2, 10, 1000};
const std::vector<double> kUnit = {-0.99, -0.5, -0.1, 0, 0.1, 0.5, 0.99};
const std::vector<double> kSpecial = {-kInf, -2, -0.0, 0, 3, kInf, kNan};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

#define UNARY(method, ...)                                           \
  UnaryCase {                                                        \
    #method, [](const Tensor& x) { return x.method(); }, __VA_ARGS__ \
  }

const UnaryCase kUnary[] = {
    UNARY(
        neg, [](double x) { return -x; }, kSpecial),
    UNARY(
        abs, [](double x) { return std::abs(x); }, kSpecial),
    UNARY(
        square, [](double x) { return x * x; }, kSpecial),
    UNARY(sqrt, [](double x) { return std::sqrt(x); }, {0, 1, 2, 100, kInf, kNan, -1}),
    UNARY(rsqrt, [](double x) { return 1 / std::sqrt(x); }, {0.25, 1, 2, 100, kInf}),
    UNARY(reciprocal, [](double x) { return 1 / x; }, {-4, 0.5, 3, kInf, -0.0, 0, kNan}),
    UNARY(
        sign, [](double x) { return std::isnan(x) ? x : double((x > 0) - (x < 0)); }, kSpecial),
    UNARY(
        exp, [](double x) { return std::exp(x); }, {-kInf, -80, -3, 0, 0.5, 10, 80, kInf, kNan},
        1e-5),
    UNARY(exp2, [](double x) { return std::exp2(x); },
          {-kInf, -100, -3, 0, 0.5, 10, 100, kInf, kNan}),
    UNARY(log, [](double x) { return std::log(x); }, {0, 1e-3, 0.5, 1, 2, 1000, kInf, -1, kNan}),
    UNARY(log2, [](double x) { return std::log2(x); }, {0, 1e-3, 0.5, 1, 2, 1000, kInf, -1, kNan}),
    UNARY(
        log10, [](double x) { return std::log10(x); }, kPositive),
    UNARY(
        log1p, [](double x) { return std::log1p(x); }, {-0.5, 0, 1e-7, 1e-3, 1, 1000, kInf}, 1e-5),
    UNARY(
        sin, [](double x) { return std::sin(x); }, kAny),
    UNARY(
        cos, [](double x) { return std::cos(x); }, kAny),
    UNARY(
        tan, [](double x) { return std::tan(x); }, kAny, 1e-5),
    UNARY(
        asin, [](double x) { return std::asin(x); }, kUnit),
    UNARY(
        acos, [](double x) { return std::acos(x); }, kUnit, 1e-5),
    UNARY(
        atan, [](double x) { return std::atan(x); }, kAny),
    UNARY(
        sinh, [](double x) { return std::sinh(x); }, kAny, 1e-5),
    UNARY(
        cosh, [](double x) { return std::cosh(x); }, kAny, 1e-5),
    UNARY(
        tanh, [](double x) { return std::tanh(x); }, kAny),
    UNARY(
        asinh, [](double x) { return std::asinh(x); }, kAny, 1e-5),
    UNARY(
        acosh, [](double x) { return std::acosh(x); }, {1, 1.5, 2, 10, 100}, 1e-5),
    UNARY(
        atanh, [](double x) { return std::atanh(x); }, kUnit, 1e-5),
    UNARY(
        erf, [](double x) { return std::erf(x); }, kAny),
    UNARY(
        floor, [](double x) { return std::floor(x); }, kAny),
    UNARY(
        ceil, [](double x) { return std::ceil(x); }, kAny),
    UNARY(
        trunc, [](double x) { return std::trunc(x); }, kAny),
    UNARY(
        round, [](double x) { return std::nearbyint(x); }, kAny),
    UNARY(
        isnan, [](double x) { return double(std::isnan(x)); }, kSpecial),
    UNARY(
        isinf, [](double x) { return double(std::isinf(x)); }, kSpecial),
    UNARY(
        isfinite, [](double x) { return double(std::isfinite(x)); }, kSpecial),
    UNARY(
        logical_not, [](double x) { return double(x == 0); }, kSpecial),
    UNARY(
        relu, [](double x) { return std::isnan(x) ? x : std::max(x, 0.0); }, kSpecial),
    UNARY(
        relu6, [](double x) { return std::min(std::max(x, 0.0), 6.0); }, kAny),
    UNARY(
        leaky_relu, [](double x) { return x < 0 ? 0.01 * x : x; }, kAny),
    UNARY(
        elu, [](double x) { return x > 0 ? x : std::expm1(x); }, kAny),
    UNARY(
        celu, [](double x) { return x > 0 ? x : std::expm1(x); }, kAny),
    UNARY(
        selu,
        [](double x) {
          return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
        },
        kAny),
    UNARY(
        gelu, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, kAny),
    UNARY(
        quick_gelu, [](double x) { return x * sigmoid(1.702 * x); }, kAny),
    UNARY(
        silu, [](double x) { return x * sigmoid(x); }, kAny),
    UNARY(
        mish, [](double x) { return x * std::tanh(softplus(x)); }, kAny, 1e-5),
    UNARY(sigmoid, sigmoid, {-100, -3, 0, 1, 100, -kInf, kInf, kNan}),
    UNARY(logsigmoid, [](double x) { return -softplus(-x); }, {-100, -3, 0, 1, 20}),
    UNARY(
        hardsigmoid, [](double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }, kAny),
    UNARY(
        hardswish, [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }, kAny),
    UNARY(
        hardtanh, [](double x) { return std::min(std::max(x, -1.0), 1.0); }, kAny),
    UNARY(softplus, softplus, {-100, -3, 0, 1, 20, 200}),
    UNARY(
        softsign, [](double x) { return x / (1 + std::abs(x)); }, kAny),
};

class Unary : public testing::TestWithParam<UnaryCase> {};

TEST_P(Unary, MatchesTheCLibrary) {
  const UnaryCase& c = GetParam();
  const i64 count = static_cast<i64>(c.inputs.size());
  const Array input{{count}, c.inputs};
  // What f32 makes of the input is what the function sees.
  const Array expected = Array::make(
      {count}, [&](const Place& at) { return c.expected(static_cast<float>(input.at(at))); });
  expect_close(c.actual(input.tensor()), expected, c.tolerance, c.tolerance);
}

INSTANTIATE_TEST_SUITE_P(Elementwise, Unary, testing::ValuesIn(kUnary),
                         [](const auto& info) { return std::string(info.param.name); });

struct BinaryCase {
  const char* name;
  Tensor (*actual)(const Tensor&, const Tensor&);
  double (*expected)(double, double);
};

double floor_mod(double x, double y) { return x - y * std::floor(x / y); }
double max_with_nan(double x, double y) {
  return std::isnan(x) ? x : x < y || std::isnan(y) ? y : x;
}
double min_with_nan(double x, double y) { return -max_with_nan(-x, -y); }

const BinaryCase kBinary[] = {
    {"add", [](const Tensor& x, const Tensor& y) { return x + y; },
     [](double x, double y) { return x + y; }},
    {"sub", [](const Tensor& x, const Tensor& y) { return x - y; },
     [](double x, double y) { return x - y; }},
    {"mul", [](const Tensor& x, const Tensor& y) { return x * y; },
     [](double x, double y) { return x * y; }},
    {"div", [](const Tensor& x, const Tensor& y) { return x / y; },
     [](double x, double y) { return x / y; }},
    {"less", [](const Tensor& x, const Tensor& y) { return x < y; },
     [](double x, double y) { return double(x < y); }},
    {"greater", [](const Tensor& x, const Tensor& y) { return x > y; },
     [](double x, double y) { return double(x > y); }},
    {"less_equal", [](const Tensor& x, const Tensor& y) { return x <= y; },
     [](double x, double y) { return double(x <= y); }},
    {"greater_equal", [](const Tensor& x, const Tensor& y) { return x >= y; },
     [](double x, double y) { return double(x >= y); }},
    {"equal", [](const Tensor& x, const Tensor& y) { return x == y; },
     [](double x, double y) { return double(x == y); }},
    {"not_equal", [](const Tensor& x, const Tensor& y) { return x != y; },
     [](double x, double y) { return double(x != y); }},
    {"maximum", [](const Tensor& x, const Tensor& y) { return x.maximum(y); }, max_with_nan},
    {"minimum", [](const Tensor& x, const Tensor& y) { return x.minimum(y); }, min_with_nan},
    {"copysign", [](const Tensor& x, const Tensor& y) { return x.copysign(y); },
     [](double x, double y) { return std::isnan(y) ? kNan : std::copysign(x, y); }},
};

class Binary : public testing::TestWithParam<BinaryCase> {};

TEST_P(Binary, MatchesTheCLibraryOnEveryPair) {
  const std::vector<double> specials = {-kInf, -2.5, -1, -0.0, 0, 0.5, 1, 3, kInf, kNan};
  const i64 n = static_cast<i64>(specials.size());
  const Array column{{n, 1}, specials}, row{{n}, specials};
  Array expected = Array::make({n, n}, [&](const Place& at) {
    return GetParam().expected(row.at({at[0]}), row.at({at[1]}));
  });
  Tensor actual = GetParam().actual(column.tensor(), row.tensor());
  if (std::string_view(GetParam().name) == "copysign") {  // the sign of NaN is unspecified
    expected = Array::make({n, n - 1}, [&](const Place& at) { return expected.at(at); });
    actual = actual[{Ellipsis, Slice(0, -1)}];
  }
  expect_close(actual, expected);
}

INSTANTIATE_TEST_SUITE_P(Elementwise, Binary, testing::ValuesIn(kBinary),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Elementwise, ModulusHasTheSignOfTheDivisorAndFmodOfTheDividend) {
  const Array x{{6}, {7, -7, 7, -7, 6, -6}}, y{{6}, {3, 3, -3, -3, 3, 3}};
  const auto mod = [&](const Place& at) { return floor_mod(x.at(at), y.at(at)); };
  const auto fmod = [&](const Place& at) { return std::fmod(x.at(at), y.at(at)); };
  for (DType dtype : {dtypes::f32, dtypes::i32, dtypes::i64, dtypes::i8}) {
    const Tensor a = x.tensor(dtype), b = y.tensor(dtype);
    expect_exact(a % b, Array::make({6}, mod));
    expect_exact(a.fmod(b), Array::make({6}, fmod));
    expect_exact(a.div(b, Rounding::Floor),
                 Array::make({6}, [&](auto& at) { return std::floor(x.at(at) / y.at(at)); }));
    expect_exact(a.div(b, Rounding::Trunc),
                 Array::make({6}, [&](auto& at) { return std::trunc(x.at(at) / y.at(at)); }));
  }
}

TEST(Elementwise, PowersOfNumbersAndTensors) {
  const Array x{{4}, {0.5, 1, 2, 3}};
  for (double exponent : {0.0, 1.0, 2.0, 3.0, -2.0, 0.5, -0.5, 1.7, 13.0}) {
    SCOPED_TRACE(exponent);
    expect_close(x.tensor().pow(exponent),
                 Array::make({4}, [&](auto& at) { return std::pow(x.at(at), exponent); }), 1e-5);
  }
  expect_close(doorbell::pow(2, x.tensor()),
               Array::make({4}, [&](auto& at) { return std::pow(2, x.at(at)); }), 1e-5);
  expect_values(Tensor::of({-3, 2}).pow(3), {-27, 8});
  EXPECT_EQ(Tensor::of({-3, 2}).pow(3).dtype(), dtypes::i32);
  EXPECT_EQ(message_of([] { Tensor::of({1, 2}).pow(-1); }), "integers to the power -1");
}

TEST(Elementwise, IntegersWrapAndShift) {
  const Tensor x = Tensor::of({120, -120, 7}, {.dtype = dtypes::i8});
  expect_values(x + x, {-16, 16, 14});
  expect_values(x.bitwise_not(), {-121, 119, -8});
  expect_values(x >> 1, {60, -60, 3});
  expect_values(Tensor::of({1, 2, 3}) << 4, {16, 32, 48});
  expect_values(Tensor::of({12, 10}) & 6, {4, 2});
  expect_values(Tensor::of({12, 10}) | 6, {14, 14});
  expect_values(Tensor::of({12, 10}) ^ 6, {10, 12});
  expect_values(Tensor::of({-2147483647 - 1, 5}).minimum(Tensor::of({3, 7})), {-2147483648.0, 5});
}

// The largest of x and -x, where -x is a result too and may be loaded.
TEST(Elementwise, ZerosHaveNoSignOnceItWasTaken) {
  for (DType t : {dtypes::f32, dtypes::f16, dtypes::f8e4m3}) {
    const Tensor x = Tensor::of({0.0, -0.0, 2.0, -2.0}).cast(t).realize();
    const Tensor negated = x.neg(), absolute = x.abs(), positive = x.relu();
    Tensor::realize({negated, absolute, positive});
    expect_values(1 / absolute.cast(dtypes::f32), {INFINITY, INFINITY, 0.5, 0.5});
    expect_values(1 / positive.cast(dtypes::f32), {INFINITY, INFINITY, 0.5, INFINITY});
    expect_values(1 / negated.cast(dtypes::f32), {-INFINITY, INFINITY, -0.5, 0.5});
  }
}

TEST(Elementwise, BoolsAreLogic) {
  const Tensor x = Tensor::of({true, true, false}), y = Tensor::of({true, false, false});
  expect_values(x + y, {1, 1, 0});
  expect_values(x * y, {1, 0, 0});
  expect_values(x.maximum(y), {1, 1, 0});
  expect_values(x.minimum(y), {1, 0, 0});
  expect_values(!x, {0, 0, 1});
  expect_values(x ^ y, {0, 1, 0});
  EXPECT_EQ((x + y).dtype(), dtypes::bool_);
  EXPECT_EQ(message_of([&] { x - y; }), "subtraction of bool tensors; use ^ or a cast");
}

TEST(Elementwise, NumbersAreWeak) {
  const Tensor half = Tensor::of({1}, {.dtype = dtypes::f16});
  const Tensor byte = Tensor::of({1}, {.dtype = dtypes::u8});
  const Tensor flag = Tensor::of({true});
  EXPECT_EQ((half * 2.5).dtype(), dtypes::f16);
  EXPECT_EQ((half * 2).dtype(), dtypes::f16);
  EXPECT_EQ((byte * 2).dtype(), dtypes::u8);
  EXPECT_EQ((byte * 2.5).dtype(), dtypes::f32);
  EXPECT_EQ((byte / 2).dtype(), dtypes::f32);
  EXPECT_EQ((flag * 2).dtype(), dtypes::i32);
  EXPECT_EQ((flag * 2.5).dtype(), dtypes::f32);
  EXPECT_EQ((flag | true).dtype(), dtypes::bool_);
  EXPECT_EQ((half + byte).dtype(), dtypes::f16);
  EXPECT_EQ(doorbell::where(flag, 1, 2.5).dtype(), dtypes::f32);
  expect_values(2 - Tensor::of({1.5, 3.0}), {0.5, -1});
  expect_values(1 / Tensor::of({2, 4}), {0.5, 0.25});
}

TEST(Elementwise, CastsTruncateAndTestForZero) {
  const Tensor x = Tensor::of({-1.7, 0.0, 0.3, 2.9});
  expect_values(x.cast(dtypes::i32), {-1, 0, 0, 2});
  expect_values(x.cast(dtypes::bool_), {1, 0, 1, 1});
  expect_values(x.cast(dtypes::f16), {-1.7, 0, 0.3, 2.9}, 1e-3);
  expect_values(Tensor::of({1.0}).bitcast(dtypes::u32), {1065353216});
  EXPECT_EQ(message_of([&] { x.bitcast(dtypes::bool_); }),
            "cannot bitcast float32 of shape " + x.shape().str() + " to bool");
}

// PyTorch refuses these, too; numbers below 0 it takes for unsigned ones, and so do we.
TEST(Elementwise, NumbersThatIntegersDoNotHold) {
  const Tensor x = Tensor::of({1, 2}), mask = x > 1;
  const i64 large = i64{1} << 40;
  const auto expect_refused = [](const std::function<Tensor()>& make, const std::string& what) {
    try {
      make();
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_NE(error.message.find(what), std::string::npos) << error.message;
    }
  };
  expect_refused([&] { return Tensor::full({2}, large, {.dtype = dtypes::i32}); },
                 "1099511627776 does not fit int32");
  expect_refused([&] { return x.full_like(-large); }, "-1099511627776 does not fit int32");
  expect_refused([&] { return x.masked_fill(mask, large); }, "does not fit int32");
  expect_refused([&] { return where(mask, x, large); }, "does not fit int32");
  expect_refused([&] { return Tensor::of({1, 300}, {.dtype = dtypes::u8}); },
                 "300 does not fit uint8");
  expect_refused([&] { return Tensor::full({1}, 300.7, {.dtype = dtypes::u8}); },
                 "300.7 does not fit uint8");
  expect_refused([&] { return Tensor::full({1}, NAN, {.dtype = dtypes::i64}); }, "nan");
  expect_refused([&] { return x.clamp({.min = large}); }, "does not fit int32");
  expect_refused([&] { return x.cast(dtypes::u8).clamp({.max = -1}); }, "does not fit uint8");
  EXPECT_EQ(Tensor::full({1}, -1, {.dtype = dtypes::u8}).item<i32>(), 255);
  EXPECT_EQ(Tensor::full({1}, INT64_MIN, {.dtype = dtypes::i64}).item<i64>(), INT64_MIN);
  EXPECT_EQ(Tensor::full({1}, -128.9, {.dtype = dtypes::i8}).item<i32>(), -128);
  EXPECT_EQ(x.clamp({.min = -large, .max = large}).to_vector<i32>(), (std::vector<i32>{1, 2}));
}

TEST(Elementwise, ClampLerpAndFill) {
  const Tensor x = Tensor::of({-2.0, 0.5, 9.0});
  expect_values(x.clamp({.min = 0, .max = 1}), {0, 0.5, 1});
  expect_values(x.clamp({.min = 0}), {0, 0.5, 9});
  expect_values(x.clamp({.max = 1}), {-2, 0.5, 1});
  expect_values(x.lerp(Tensor::of({0.0, 1.5, 10.0}), 0.5), {-1, 1, 9.5});
  expect_values(x.masked_fill(x < 0, 7), {7, 0.5, 9});
  EXPECT_EQ(message_of([&] { x.clamp({}); }),
            "clamp without minimum and maximum, expected one or both");
}

TEST(Elementwise, LogAddExpSurvivesInfinities) {
  const Tensor x = Tensor::of({1.0, -1.0, 100.0}), y = Tensor::of({2.0, -1.0, 0.0});
  expect_values(x.logaddexp(y), {2.3132617, -0.3068528, 100});
  const Tensor inf = Tensor::full({1}, -kInf);
  expect_values(inf.logaddexp(inf), {-kInf});
}

TEST(Elementwise, FunctionsOfBoolsAndOfTheLeastIntegerComputeInFloats) {
  const Tensor flags = Tensor::of({true, false});
  expect_values(flags.sinh(), {1.1752012, 0});
  expect_values(flags.cosh(), {1.5430806, 1});
  expect_values(flags.logsigmoid(), {-0.3132617, -0.6931472});
  const Tensor edges = Tensor::of({-128, 127}, {.dtype = dtypes::i8});
  expect_values(edges.softsign(), {-0.9922481, 0.9921875});
}

TEST(Elementwise, CloseMeansRelativeAndAbsolute) {
  const Tensor x = Tensor::of({1.0, 1e-9, 5.0}), y = Tensor::of({1.000001, 0.0, 6.0});
  expect_values(x.isclose(y), {1, 1, 0});
  EXPECT_FALSE(x.allclose(y));
  EXPECT_TRUE(x.allclose(x));
  const Tensor odd = Tensor::from_data(std::vector<float>{float(kNan), float(kInf)}, {2});
  expect_values(odd.isclose(odd), {0, 1});
  expect_values(odd.isclose(odd, {.equal_nan = true}), {1, 1});
}

TEST(Elementwise, EmptyAndScalarShapes) {
  const Tensor none = Tensor::zeros({0, 3});
  EXPECT_EQ((none * 2 + none).to_vector<float>().size(), 0u);
  EXPECT_EQ((Tensor::of(2.0) * 3).item<float>(), 6);
  EXPECT_EQ((none + Tensor::ones({1, 3})).shape().str(), "(0, 3)");
}

TEST(Elementwise, WrongOperandsAreRefusedWithBothValues) {
  const Tensor x = Tensor::ones({2, 3}), y = Tensor::ones({4});
  EXPECT_EQ(message_of([&] { x + y; }), "cannot broadcast shapes (2, 3) and (4)");
  EXPECT_EQ(message_of([&] { doorbell::where(x, 1, 2); }),
            "condition has dtype float32, expected bool");
  EXPECT_EQ(message_of([&] { x & x; }), "and of float32, expected integers or bool");
  EXPECT_EQ(message_of([&] { Tensor() + x; }), "the tensor is not defined");
  // Devices are named as users know them.
  const TensorOptions there{.device = "CPU:1"}, here{.device = "CPU"};
  EXPECT_EQ(message_of([&] { Tensor::empty({3}, here) + Tensor::empty({3}, there); }),
            "tensors are on devices CPU and CPU:1; move one with to() or shard_like()");
}

// Of functions that are x near 0, in each dtype.
TEST(Elementwise, NegativeZeroKeepsItsSign) {
  using Function = Tensor (Tensor::*)() const;
  const Function functions[] = {&Tensor::sin,   &Tensor::tan,  &Tensor::asin,  &Tensor::atan,
                                &Tensor::sinh,  &Tensor::tanh, &Tensor::asinh, &Tensor::atanh,
                                &Tensor::expm1, &Tensor::log1p};
  for (DType dtype : {dtypes::f64, dtypes::f32, dtypes::f16}) {
    const Tensor x = Tensor::of({-0.0, 0.0}, {.dtype = dtype}).realize();
    for (const Function function : functions) {
      const std::vector<f64> values = (x.*function)().to_vector<f64>();
      EXPECT_EQ(values, (std::vector<f64>{0, 0})) << dtype.str();
      EXPECT_TRUE(std::signbit(values[0])) << dtype.str();
      EXPECT_FALSE(std::signbit(values[1])) << dtype.str();
    }
  }
}

TEST(Elementwise, CopysignReadsTheSignBit) {
  for (DType dtype : {dtypes::f64, dtypes::f32, dtypes::f16, dtypes::bf16}) {
    const Tensor sign = Tensor::of({-0.0, 0.0, -3.0, 2.0, -INFINITY, -NAN, NAN}, {.dtype = dtype});
    const Tensor size = Tensor::of({-1.5}, {.dtype = dtype});
    expect_values(size.copysign(sign.realize()), {-1.5, 1.5, -1.5, 1.5, -1.5, -1.5, 1.5});
  }
}

TEST(Elementwise, AcoshBelowOneIsNotANumber) {
  for (DType dtype : {dtypes::f64, dtypes::f32}) {
    const Tensor x = Tensor::of({0.5, -0.0, -1.0, -2.0, -1e8, -1e30, -kInf}, {.dtype = dtype});
    for (f64 value : x.realize().acosh().to_vector<f64>()) EXPECT_TRUE(std::isnan(value));
  }
}

// Python's values; a gradient passes at multiples of the divisor, too.
TEST(Elementwise, RemaindersHaveTheSignOfTheDivisor) {
  const Tensor x = Tensor::of({-0.0, 0.0, 4, -4, 5, -5.5}, {.dtype = dtypes::f32}).realize();
  const Tensor above = x.mod(2), below = x.mod(-2);
  expect_values(above, {0, 0, 0, 0, 1, 0.5});
  expect_values(below, {0, 0, 0, 0, -1, -1.5});
  for (f64 value : above.to_vector<f64>()) EXPECT_FALSE(std::signbit(value));
  for (f64 value : below.to_vector<f64>()) EXPECT_TRUE(std::signbit(value));
  Tensor a = x.clone(), b = Tensor::of({2.0, -2.0, 2.0, -2.0, 2.0, -2.0});
  a.requires_grad();
  b.requires_grad();
  a.mod(b).sum().backward();
  expect_values(a.grad(), {1, 1, 1, 1, 1, 1});
  expect_values(b.grad(), {0, 0, -2, -2, -2, -2});
  const Tensor flags = Tensor::of({true, false});
  const std::string message = "remainder of bool tensors; cast them to integers";
  EXPECT_EQ(message_of([&] { flags.mod(flags); }), message);
  EXPECT_EQ(message_of([&] { flags.fmod(flags); }), message);
}

TEST(Elementwise, AnAbsoluteValueHasNoSign) {
  for (DType dtype : {dtypes::f64, dtypes::f32, dtypes::f16, dtypes::bf16, dtypes::f8e5m2}) {
    const Tensor x = Tensor::of({0.0, -0.0, -2.0, -INFINITY}, {.dtype = dtypes::f64});
    for (f64 value : x.cast(dtype).realize().abs().to_vector<f64>())
      EXPECT_FALSE(std::signbit(value)) << dtype.str();
  }
  EXPECT_TRUE(std::isnan(Tensor::of({-NAN}).realize().abs().item<f32>()));
}

}  // namespace
}  // namespace doorbell::test
