// Reductions and scans against loops.
#include <algorithm>
#include <limits>

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

const Array kX = Array::noise({3, 4, 5}, 7);

// Folds axis 1 of (3, 4, 5).
Array fold(double first, double (*join)(double, double)) {
  return Array::make({3, 5}, [=](const Place& at) {
    double total = first;
    for (i64 i = 0; i < 4; ++i) total = join(total, kX.at({at[0], i, at[1]}));
    return total;
  });
}
double plus(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }

TEST(Reduce, OneAxis) {
  const Tensor x = kX.tensor();
  expect_close(x.sum(1), fold(0, plus));
  expect_close(x.sum(-2), fold(0, plus));
  expect_close(x.prod(1), fold(1, times));
  expect_exact(x.max(1), fold(-9, larger));
  expect_exact(x.min(1), fold(9, smaller));
  EXPECT_EQ(x.sum(1, {.keepdim = true}).shape().str(), "(3, 1, 5)");
  EXPECT_EQ(message_of([&] { x.sum(3); }), "axis 3 of a tensor with 3 axes");
  EXPECT_EQ(message_of([&] { x.sum({1, -2}); }), "axis -2 is named twice");
}

TEST(Reduce, SeveralAxesAndAll) {
  const Tensor x = kX.tensor();
  expect_close(x.sum({0, 2}), Array::make({4}, [](const Place& at) {
                 double total = 0;
                 for (i64 i = 0; i < 3; ++i)
                   for (i64 j = 0; j < 5; ++j) total += kX.at({i, at[0], j});
                 return total;
               }));
  double total = 0;
  for (double value : kX.values) total += value;
  expect_close(x.sum(), {{}, {total}});
  expect_close(x.mean(), {{}, {total / 60}});
  EXPECT_EQ(x.max({}, {.keepdim = true}).shape().str(), "(1, 1, 1)");
  expect_close(Tensor::of(4.0).sum(0), {{}, {4}});
}

TEST(Reduce, VarianceAndDeviation) {
  const auto variance = [](double correction) {
    return Array::make({3, 5}, [=](const Place& at) {
      double mean = 0, squares = 0;
      for (i64 i = 0; i < 4; ++i) mean += kX.at({at[0], i, at[1]}) / 4;
      for (i64 i = 0; i < 4; ++i) squares += std::pow(kX.at({at[0], i, at[1]}) - mean, 2);
      return squares / (4 - correction);
    });
  };
  expect_close(kX.tensor().var(1), variance(1));
  expect_close(kX.tensor().var(1, {.correction = 0}), variance(0));
  Array deviation = variance(1);
  for (double& value : deviation.values) value = std::sqrt(value);
  expect_close(kX.tensor().std(1), deviation);
}

TEST(Reduce, AccumulatesInWiderTypes) {
  EXPECT_EQ(Tensor::ones({300}, {.dtype = dtypes::i8}).sum().item<int>(), 300);
  EXPECT_EQ(Tensor::ones({300}, {.dtype = dtypes::i8}).sum().dtype(), dtypes::i32);
  EXPECT_EQ(Tensor::ones({3}, {.dtype = dtypes::u8}).sum().dtype(), dtypes::u32);
  EXPECT_EQ(Tensor::ones({3}, {.dtype = dtypes::i64}).sum().dtype(), dtypes::i64);
  EXPECT_EQ(Tensor::ones({3}, {.dtype = dtypes::bool_}).sum().item<int>(), 3);
  const Tensor halves = Tensor::ones({4096}, {.dtype = dtypes::f16});
  EXPECT_EQ(halves.sum().dtype(), dtypes::f16);
  EXPECT_EQ(halves.sum().item<float>(), 4096);  // f16 would stop at 2048
  EXPECT_EQ(halves.mean().item<float>(), 1);
  EXPECT_EQ(Tensor::of({1, 2}).mean().dtype(), dtypes::f32);
  EXPECT_EQ(Tensor::of({1, 2}).sum({}, {.dtype = dtypes::f64}).dtype(), dtypes::f64);
}

TEST(Reduce, SpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from_data(std::vector<float>{1, kInf, NAN, -kInf, -3, 2}, {3, 2});
  expect_values(x.max(1), {kInf, NAN, 2});
  expect_values(x.min(1), {1, NAN, -3});
  expect_values(x.sum(1), {kInf, NAN, -1});
  expect_values(Tensor::of({-2147483647 - 1, 5}).min(), {-2147483648.0});
  expect_values(Tensor::of({0, 200}, {.dtype = dtypes::u8}).max(), {200});
}

TEST(Reduce, OfNothing) {
  const Tensor none = Tensor::zeros({2, 0});
  expect_values(none.sum(1), {0, 0});
  expect_values(none.prod(1), {1, 1});
  expect_values(none.all(1), {1, 1});
  EXPECT_EQ(none.sum(0).shape().str(), "(0)");
  EXPECT_EQ(message_of([&] { none.max(1); }), "max of no elements: shape (2, 0)");
}

TEST(Reduce, AnyAndAll) {
  const Tensor x = Tensor::of({{0, 0}, {0, 3}, {1, 2}});
  expect_values(x.any(1), {0, 1, 1});
  expect_values(x.all(1), {0, 0, 1});
  EXPECT_TRUE(x.any().item<bool>());
  EXPECT_EQ(x.any().dtype(), dtypes::bool_);
  expect_values(Tensor::of({{true, false}, {false, false}}).max(1), {1, 0});
}

TEST(Reduce, ArgMaxIsTheFirstOfEquals) {
  const Tensor x = Tensor::of({{1.0, 5.0, 5.0}, {7.0, -1.0, 7.0}});
  expect_values(x.argmax(1), {1, 0});
  expect_values(x.argmax(0), {1, 0, 1});
  expect_values(x.argmin(1), {0, 1});
  EXPECT_EQ(x.argmax().item<int>(), 3);
  EXPECT_EQ(x.argmin().item<int>(), 4);
  EXPECT_EQ(x.argmax(1, {.keepdim = true}).shape().str(), "(2, 1)");
  EXPECT_EQ(x.argmax().dtype(), dtypes::i32);
  const Tensor odd = Tensor::from_data(std::vector<float>{1, NAN, 3}, {3});
  EXPECT_EQ(odd.argmax().item<int>(), 1);
}

TEST(Reduce, SoftmaxAndItsRelatives) {
  const auto row_sum = [](const Place& at) {
    double sum = 0;
    for (i64 i = 0; i < 4; ++i) sum += std::exp(kX.at({at[0], i, at[2]}));
    return sum;
  };
  const auto softmax = [&](const Place& at) { return std::exp(kX.at(at)) / row_sum(at); };
  expect_close(kX.tensor().softmax(1), Array::make({3, 4, 5}, softmax));
  expect_close(kX.tensor().log_softmax(1),
               Array::make({3, 4, 5}, [&](auto& at) { return std::log(softmax(at)); }));
  expect_close(kX.tensor().logsumexp(1),
               Array::make({3, 5}, [&](auto& at) { return std::log(row_sum({at[0], 0, at[1]})); }));
  expect_values(Tensor::of({1000.0, 1000.0}).softmax(), {0.5, 0.5});
  expect_values(Tensor::of({-1000.0, -INFINITY}).softmax(), {1, 0});
  // The sum of a long row of f16 has no normal reciprocal.
  expect_values(Tensor::zeros({32768}, {.dtype = dtypes::f16}).softmax().max(), {1.0 / 32768});
  expect_values(Tensor::of({1000.0, 1000.0}).logsumexp(), {1000.6931472});
  expect_values(Tensor::full({2}, -INFINITY).logsumexp(), {-INFINITY});
}

TEST(Reduce, ScansOfEveryKind) {
  const auto scan = [](double first, double (*join)(double, double)) {
    return Array::make({3, 4, 5}, [=](const Place& at) {
      double total = first;
      for (i64 i = 0; i <= at[1]; ++i) total = join(total, kX.at({at[0], i, at[2]}));
      return total;
    });
  };
  expect_close(kX.tensor().cumsum(1), scan(0, plus));
  expect_close(kX.tensor().cumprod(1), scan(1, times));
  expect_exact(kX.tensor().cummax(1).values, scan(-9, larger));
  expect_exact(Tensor::of(3).cumsum(), {{}, {3}});
}

TEST(Reduce, LongScansRunInPieces) {
  const Tensor x = Tensor::ones({2, 1200}, {.dtype = dtypes::i32});
  expect_exact(x.cumsum(1), Array::make({2, 1200}, [](auto& at) { return at[1] + 1.0; }));
}

}  // namespace
}  // namespace doorbell::test
