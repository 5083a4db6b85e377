// Element types at the API: conversion, arithmetic, reductions, printing and reading of each narrow
// float, bits as another type, and which dtype each class of operations gives
// (docs/decisions/0030-dtypes-of-results.md). Values are PyTorch 2.15's and NumPy's.
#include "tensor/api/dtype_info.h"

#include <limits>

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Narrow {
  DType dtype;
  std::vector<double> converted;  // of kSource
  std::vector<double> sum_of_two, product, quotient, running;
  double sum, mean;
  std::vector<double> exp;
  const char* text;
};

const std::vector<float> kSource = {0.1F,        3.14159F, 17,       19,   1e-3F,     0x1p-9F,
                                    0x1.18p-10F, 0x1.1p0F, 0x1.3p0F, 1e6F, -INFINITY, NAN};

const Narrow kNarrow[] = {
    {dtypes::f8e4m3,
     {0.1015625, 3.25, 16, 20, 0.001953125, 0.001953125, 0.001953125, 1, 1.25, 448, -448, kNan},
     {4.5, -1.75, 7, 18, 1.5},
     {4.5, -1.125, 0.6875, -36, 0.5625},
     {0.5, -4.5, 0.013671875, -11, 1},
     {1.5, -0.75, -0.625, 20, 20},
     20,
     4,
     {1.5, 0.5625, 1, 144, 1.25},
     "float8_e4m3fn"},
    {dtypes::f8e5m2,
     {0.09375, 3, 16, 20, 0.0009765625, 0.001953125, 0.0009765625, 1, 1.25, 57344, -57344, kNan},
     {4, -1.5, 7, 20, 1.5},
     {4, -1, 0.625, -32, 0.5},
     {0.5, -4, 0.013671875, -12, 1},
     {1.5, -0.5, -0.375, 20, 20},
     20,
     4,
     {1.5, 0.625, 1, 160, 1.25},
     "float8_e5m2"},
    {dtypes::f8e4m3fnuz,
     {0.1015625, 3.25, 16, 20, 0.0009765625, 0.001953125, 0.0009765625, 1, 1.25, 240, kNan, kNan},
     {4.5, -1.75, 7, 18, 1.5},
     {4.5, -1.125, 0.6875, -36, 0.5625},
     {0.5, -4.5, 0.0146484375, -11, 1},
     {1.5, -0.75, -0.625, 20, 20},
     20,
     4,
     {1.5, 0.5625, 1, 144, 1.25},
     "float8_e4m3fnuz"},
    {dtypes::f8e5m2fnuz,
     {0.09375, 3, 16, 20, 0.0009765625, 0.001953125, 0.0009765625, 1, 1.25, 57344, kNan, kNan},
     {4, -1.5, 7, 20, 1.5},
     {4, -1, 0.625, -32, 0.5},
     {0.5, -4, 0.013671875, -12, 1},
     {1.5, -0.5, -0.375, 20, 20},
     20,
     4,
     {1.5, 0.625, 1, 160, 1.25},
     "float8_e5m2fnuz"},
    {dtypes::f16,
     {0.0999755859375, 3.140625, 17, 19, 0.0010004043579101562, 0.001953125, 0.001068115234375,
      1.0625, 1.1875, kInf, -kInf, kNan},
     {4.5, -1.75, 7.1015625, 18.25, 1.5},
     {4.5, -1.125, 0.69970703125, -35, 0.5625},
     {0.5, -4.5, 0.0142822265625, -11.4296875, 1},
     {1.5, -0.75, -0.64990234375, 19.34375, 20.09375},
     20.09375,
     4.01953125,
     {1.455078125, 0.56982421875, 1.025390625, 148.375, 1.2060546875},
     "float16"},
    {dtypes::bf16,
     {0.10009765625, 3.140625, 17, 19, 0.00099945068359375, 0.001953125, 0.001068115234375, 1.0625,
      1.1875, 999424, -kInf, kNan},
     {4.5, -1.75, 7.09375, 18.25, 1.5},
     {4.5, -1.125, 0.69921875, -35, 0.5625},
     {0.5, -4.5, 0.0142822265625, -11.4375, 1},
     {1.5, -0.75, -0.6484375, 19.375, 20.125},
     20.125,
     4.03125,
     {1.453125, 0.5703125, 1.0234375, 148, 1.203125},
     "bfloat16"},
};

TEST(Dtypes, ConversionToNarrowFloatsRoundsToEven) {
  for (const Narrow& n : kNarrow) {
    SCOPED_TRACE(n.text);
    const Tensor x = Tensor::from_data(kSource, {12}).cast(n.dtype);
    EXPECT_EQ(x.dtype(), n.dtype);
    EXPECT_EQ(x.nbytes(), 12 * n.dtype.bytes());
    expect_values(x, n.converted, 0, 0);
    // The same when the data comes in, and from f64.
    expect_values(Tensor::from_data(kSource, {12}, {.dtype = n.dtype}), n.converted, 0, 0);
    expect_values(Tensor::from_data(kSource, {12}).double_().cast(n.dtype), n.converted, 0, 0);
  }
}

TEST(Dtypes, NarrowFloatsComputeAndRoundAfterEachOperation) {
  for (const Narrow& n : kNarrow) {
    SCOPED_TRACE(n.text);
    const Tensor a = Tensor::of({1.5, -2.25, 0.1, 20.0, 0.75}, {.dtype = n.dtype});
    const Tensor b = Tensor::of({3.0, 0.5, 7.0, -1.75, 0.75}, {.dtype = n.dtype});
    const auto expect = [&](const Tensor& actual, const std::vector<double>& values) {
      EXPECT_EQ(actual.dtype(), n.dtype);
      expect_values(actual, values, 0, 0);
    };
    expect(a + b, n.sum_of_two);
    expect(a * b, n.product);
    expect(a / b, n.quotient);
    expect(a.sum(), {n.sum});
    expect(a.mean(), {n.mean});
    expect(a.max(), {20});
    expect(a.min(), {a[1].item<double>()});
    expect(a.cumsum(), n.running);
    expect((a / 4).exp(), n.exp);
    expect(-a.relu(), {-1.5, -0.0, -a[2].item<double>(), -20, -0.75});
    expect(a.sort().values[-1], {20});
    expect(a[{{3, 0}}], {20, 1.5});
    EXPECT_EQ(a.argmax().item<int>(), 3);
    expect_values(a < b, {1, 1, 1, 0, 0});
    EXPECT_EQ((a + b.float_()).dtype(), dtypes::f32);
  }
}

TEST(Dtypes, EveryFloatIsMadeReadAndPrinted) {
  for (const Narrow& n : kNarrow) {
    SCOPED_TRACE(n.text);
    const TensorOptions options{.dtype = n.dtype};
    const std::string end = std::string(", dtype=") + n.text + ")";
    EXPECT_EQ(Tensor::zeros({2}, options).str(), "tensor([0., 0.]" + end);
    EXPECT_EQ(Tensor::full({2}, 1.5, options).str(), "tensor([1.5000, 1.5000]" + end);
    EXPECT_EQ(Tensor::arange(0, 4, 1, options).str(), "tensor([0., 1., 2., 3.]" + end);
    EXPECT_EQ(Tensor::eye(1, options).to_vector<float>(), std::vector<float>{1});
    EXPECT_EQ(Tensor::empty({3}, options).nbytes(), 3 * n.dtype.bytes());
    const Tensor drawn = Tensor::rand({64}, options);
    EXPECT_EQ(drawn.dtype(), n.dtype);
    EXPECT_TRUE(((drawn.float_() >= 0) & (drawn.float_() < 1)).all().item<bool>());
    Tensor x = Tensor::of({1.0, 2.0}, {.dtype = n.dtype, .requires_grad = true});
    (x * x).sum().backward();
    EXPECT_EQ(x.grad().dtype(), n.dtype);
    expect_values(x.grad(), {2, 4});
  }
}

TEST(Dtypes, BitsAsAnotherType) {
  const Tensor x = Tensor::of({{1.0, -2.5}, {3.25, 0.1}});
  expect_exact(x.bitcast(dtypes::u8),
               {{2, 8}, {0, 0, 128, 63, 0, 0, 32, 192, 0, 0, 80, 64, 205, 204, 204, 61}});
  const Array halves{{2, 4}, {0, 16256, 0, 49184, 0, 16464, 52429, 15820}};
  expect_exact(x.bitcast(dtypes::u16), halves);
  expect_exact(x.bitcast(dtypes::f16).bitcast(dtypes::u16), halves);
  const Tensor joined = x.bitcast(dtypes::i64);
  EXPECT_EQ(joined.shape().str(), "(2, 1)");
  EXPECT_EQ(joined.to_vector<i64>(), (std::vector<i64>{-4602678818107293696, 4453159313481924608}));
  expect_exact(x.bitcast(dtypes::u8).bitcast(dtypes::f32), {{2, 2}, {1, -2.5, 3.25, 0.1F}});
  // OFP8 table 1: 0x38 is 1, 0x7e is 448; table 2: 0x3c is 1.
  const Tensor bytes = Tensor::of({0x38, 0x7e, 0xb8}, {.dtype = dtypes::u8});
  expect_values(bytes.bitcast(dtypes::f8e4m3), {1, 448, -1});
  expect_values(Tensor::of({0x3c}, {.dtype = dtypes::u8}).bitcast(dtypes::f8e5m2), {1});
  EXPECT_EQ(message_of([] { Tensor::of({1.0, 2.0, 3.0}).bitcast(dtypes::f64); }),
            "cannot bitcast float32 of shape (3) to float64");
  EXPECT_EQ(message_of([] { Tensor::of(1.0).bitcast(dtypes::u8); }),
            "cannot bitcast float32 of shape () to uint8");
  EXPECT_EQ(message_of([] { Tensor::of({true}).bitcast(dtypes::u8); }),
            "cannot bitcast bool of shape (1) to uint8");
}

TEST(Dtypes, IntegersSaturateFromFloatsAndWrapFromIntegers) {
  const Tensor x = Tensor::of({1.9, -1.9, 300.0, -300.0, kInf, kNan});
  expect_values(x.cast(dtypes::i8), {1, -1, 127, -128, 127, 0});
  expect_values(x.cast(dtypes::u8), {1, 0, 255, 0, 255, 0});
  expect_values(Tensor::of({300, -1}).cast(dtypes::u8), {44, 255});
  expect_values(Tensor::of({300, -1}).cast(dtypes::i8), {44, -1});
}

// The lattice, each pair once; JAX's table (jax.numpy type promotion) without its weak types.
TEST(Dtypes, TwoTensorsMeetInTheLattice) {
  struct Pair {
    DType a, b, common;
  };
  const Pair pairs[] = {
      {dtypes::bool_, dtypes::i8, dtypes::i8},       {dtypes::bool_, dtypes::f16, dtypes::f16},
      {dtypes::i8, dtypes::u8, dtypes::i16},         {dtypes::i16, dtypes::u8, dtypes::i16},
      {dtypes::i32, dtypes::u32, dtypes::i64},       {dtypes::i64, dtypes::u64, dtypes::f32},
      {dtypes::i64, dtypes::f16, dtypes::f16},       {dtypes::f16, dtypes::bf16, dtypes::f32},
      {dtypes::f8e4m3, dtypes::f8e5m2, dtypes::f16}, {dtypes::f8e4m3, dtypes::bf16, dtypes::bf16},
      {dtypes::i32, dtypes::f8e5m2, dtypes::f8e5m2}, {dtypes::f32, dtypes::f64, dtypes::f64},
  };
  for (const Pair& pair : pairs) {
    const Tensor a = Tensor::ones({1}, {.dtype = pair.a}), b = Tensor::ones({1}, {.dtype = pair.b});
    EXPECT_EQ((a * b).dtype(), pair.common) << pair.a.str() << " " << pair.b.str();
    EXPECT_EQ(b.maximum(a).dtype(), pair.common) << pair.b.str() << " " << pair.a.str();
  }
}

TEST(Dtypes, ResultsPerClassOfOperations) {
  struct Result {
    DType from;
    DType same, common, real, total, number;
  };
  const Result results[] = {
      // the tensor        relu            + 2             exp            sum            + 0.5
      {dtypes::bool_, dtypes::bool_, dtypes::i32, dtypes::f32, dtypes::i32, dtypes::f32},
      {dtypes::i8, dtypes::i8, dtypes::i8, dtypes::f32, dtypes::i32, dtypes::f32},
      {dtypes::u16, dtypes::u16, dtypes::u16, dtypes::f32, dtypes::u32, dtypes::f32},
      {dtypes::i64, dtypes::i64, dtypes::i64, dtypes::f32, dtypes::i64, dtypes::f32},
      {dtypes::f8e4m3, dtypes::f8e4m3, dtypes::f8e4m3, dtypes::f8e4m3, dtypes::f8e4m3,
       dtypes::f8e4m3},
      {dtypes::bf16, dtypes::bf16, dtypes::bf16, dtypes::bf16, dtypes::bf16, dtypes::bf16},
      {dtypes::f64, dtypes::f64, dtypes::f64, dtypes::f64, dtypes::f64, dtypes::f64},
  };
  for (const Result& r : results) {
    SCOPED_TRACE(r.from.str());
    const Tensor x = Tensor::ones({2, 2}, {.dtype = r.from});
    for (const Tensor& y : {x.flip(0), x.sort().values, x[0], x.max(), x.cummax().values,
                            x.masked_fill(x == 1, 1), x.abs(), x.sign(), x.floor(),
                            x.masked_select(x == 1, 2), x.scatter(0, Tensor::of({{0}}), 1)}) {
      EXPECT_EQ(y.dtype(), r.same);
    }
    EXPECT_EQ((x + 2).dtype(), r.common);
    EXPECT_EQ((2 - x).dtype(), r.common);
    EXPECT_EQ((x + 0.5).dtype(), r.number);
    for (const Tensor& y : {x.exp(), x / x, x.sigmoid(), x.mean(), x.var(), x.softmax(), x.sqrt(),
                            x.erf(), x.logsumexp()}) {
      EXPECT_EQ(y.dtype(), r.real);
    }
    for (const Tensor& y : {x.sum(), x.prod(), x.cumsum(), x.cumprod()}) {
      EXPECT_EQ(y.dtype(), r.total);
    }
    for (const Tensor& y :
         {x.argmax(), x.argsort(), x.nonzero(3), x.topk(1).indices, x.cummin().indices}) {
      EXPECT_EQ(y.dtype(), dtypes::i32);
    }
    for (const Tensor& y : {x == x, x < x, x.isnan(), x.any(), x.logical_not(), x.isin(x)}) {
      EXPECT_EQ(y.dtype(), dtypes::bool_);
    }
    EXPECT_EQ(x.sum({}, {.dtype = dtypes::f64}).dtype(), dtypes::f64);
    EXPECT_EQ(x.softmax(-1, dtypes::f64).dtype(), dtypes::f64);
  }
}

// torch.finfo and torch.iinfo.
TEST(Dtypes, Limits) {
  EXPECT_EQ(finfo(dtypes::f8e4m3).max, 448);
  EXPECT_EQ(finfo(dtypes::f8e4m3).eps, 0.125);
  EXPECT_EQ(finfo(dtypes::f8e4m3).smallest_normal, 0x1p-6);
  EXPECT_EQ(finfo(dtypes::f8e5m2).max, 57344);
  EXPECT_EQ(finfo(dtypes::f8e4m3fnuz).smallest_normal, 0x1p-7);
  EXPECT_EQ(finfo(dtypes::f8e5m2fnuz).min, -57344);
  EXPECT_EQ(finfo(dtypes::f16).max, 65504);
  EXPECT_EQ(finfo(dtypes::bf16).eps, 0x1p-7);
  EXPECT_EQ(finfo(dtypes::f32).max, 0x1.fffffep127);
  EXPECT_EQ(finfo(dtypes::f64).smallest_normal, 0x1p-1022);
  EXPECT_EQ(iinfo(dtypes::i8).min, -128);
  EXPECT_EQ(iinfo(dtypes::i8).max, 127u);
  EXPECT_EQ(iinfo(dtypes::u64).max, ~u64{0});
  EXPECT_EQ(iinfo(dtypes::i64).min, INT64_MIN);
  EXPECT_EQ(message_of([] { finfo(dtypes::i8); }), "finfo of int8, expected a float dtype");
  EXPECT_EQ(message_of([] { iinfo(dtypes::f16); }), "iinfo of float16, expected an integer dtype");
}

}  // namespace
}  // namespace doorbell::test
