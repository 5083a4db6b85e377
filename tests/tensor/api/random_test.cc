// The random stream: known answers of Threefry, reproducibility, and the moments of distributions.
#include <algorithm>

#include "tensor/api/cell.h"
#include "tensor/api/node.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

// Random123, tests/kat_vectors, "threefry2x32 20": counter, key, expected; low word first.
TEST(Random, ThreefryKnownAnswers) {
  struct Known {
    u64 counter, key, expected;
  };
  const Known known[] = {
      {0, 0, 0x99ba4efe'6b200159},
      {~u64{0}, ~u64{0}, 0xbb002be7'1cb996fc},
      {0x85a308d3'243f6a88, 0x03707344'13198a2e, 0x483df7a0'c4923a9c},
  };
  for (const Known& k : known) {
    const Tensor counter = Tensor::from_data(std::vector<u64>{k.counter}, {1});
    const Tensor key = Tensor::from_data(std::vector<u64>{k.key}, {1});
    const Tensor word = detail::make(core::Op::Threefry, dtypes::u64, {&counter, &key});
    EXPECT_EQ(word.to_vector<u64>()[0], k.expected);
  }
}

// rand is the upper 24 bits of the low word of threefry(place in the stream, seed).
TEST(Random, TheStreamIsAsDocumented) {
  Tensor::manual_seed(0);
  const float first = Tensor::rand({1}).item<float>();
  EXPECT_EQ(first, static_cast<float>(0x6b200159u >> 8) / (1 << 24));
}

TEST(Random, TheSameSeedGivesTheSameNumbers) {
  Tensor::manual_seed(7);
  const std::vector<float> a = Tensor::rand({100}).to_vector<float>();
  const std::vector<float> b = Tensor::rand({100}).to_vector<float>();
  Tensor::manual_seed(7);
  EXPECT_EQ(Tensor::rand({10, 10}).to_vector<float>(), a);
  EXPECT_EQ(Tensor::rand({100}).to_vector<float>(), b);
  EXPECT_NE(a, b);
  Tensor::manual_seed(8);
  EXPECT_NE(Tensor::rand({100}).to_vector<float>(), a);
}

struct Moments {
  double mean = 0, variance = 0, least = INFINITY, most = -INFINITY;
};
Moments moments(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_vector<double>();
  Moments m;
  const double n = static_cast<double>(values.size());
  for (double value : values) m.mean += value / n;
  for (double value : values) {
    m.variance += (value - m.mean) * (value - m.mean) / n;
    m.least = std::min(m.least, value);
    m.most = std::max(m.most, value);
  }
  return m;
}

// 20,000 draws: the standard error of the mean is below 0.01 deviations; bounds are 4 of them.
constexpr i64 kDraws = 20'000;

TEST(Random, UniformMoments) {
  Tensor::manual_seed(1);
  for (DType dtype : {dtypes::f32, dtypes::f64, dtypes::f16}) {
    const Moments m = moments(Tensor::rand({kDraws}, {.dtype = dtype}));
    EXPECT_NEAR(m.mean, 0.5, 0.01);
    EXPECT_NEAR(m.variance, 1.0 / 12, 0.005);
    EXPECT_GE(m.least, 0);
    EXPECT_LT(m.most, 1);
  }
  const Moments shifted = moments(Tensor::uniform({kDraws}, -3, 5));
  EXPECT_NEAR(shifted.mean, 1, 0.08);
  EXPECT_GE(shifted.least, -3);
  EXPECT_LE(shifted.most, 5);
}

TEST(Random, NormalMoments) {
  Tensor::manual_seed(2);
  const Tensor x = Tensor::randn({kDraws});
  const Moments m = moments(x);
  EXPECT_NEAR(m.mean, 0, 0.03);
  EXPECT_NEAR(m.variance, 1, 0.05);
  // 0.27 % of a normal lie beyond three deviations.
  const double beyond = (x.abs() > 3).cast(dtypes::f32).mean().item<double>();
  EXPECT_NEAR(beyond, 0.0027, 0.0015);
  const Moments scaled = moments(Tensor::normal({kDraws}, 10, 2));
  EXPECT_NEAR(scaled.mean, 10, 0.06);
  EXPECT_NEAR(scaled.variance, 4, 0.2);
}

TEST(Random, Integers) {
  Tensor::manual_seed(3);
  const Tensor x = Tensor::randint(-2, 3, {kDraws});
  EXPECT_EQ(x.dtype(), dtypes::i32);
  for (int value = -2; value < 3; ++value) {
    EXPECT_NEAR((x == value).cast(dtypes::f32).mean().item<double>(), 0.2, 0.012) << value;
  }
  EXPECT_EQ(message_of([] { Tensor::randint(3, 3, {1}); }), "randint from 3 to 3");
}

TEST(Random, InitialWeightsStayWithinTheirBounds) {
  Tensor::manual_seed(4);
  const Moments glorot = moments(Tensor::glorot_uniform({60, 40}));
  EXPECT_NEAR(glorot.most, std::sqrt(6.0 / 100), 0.01);
  EXPECT_LE(glorot.most, std::sqrt(6.0 / 100) + 1e-6);
  const Moments kaiming = moments(Tensor::kaiming_uniform({60, 40}));
  EXPECT_NEAR(kaiming.most, std::sqrt(6.0 / 40), 0.01);
  EXPECT_NEAR(moments(Tensor::kaiming_normal({100, 100})).variance, 2.0 / 100, 0.001);
}

TEST(Random, DropoutDropsOnlyInTraining) {
  Tensor::manual_seed(5);
  const Tensor x = Tensor::ones({kDraws});
  EXPECT_TRUE(x.dropout(0.3).allclose(x));
  TrainingScope training;
  const Tensor dropped = x.dropout(0.3);
  EXPECT_NEAR((dropped == 0).cast(dtypes::f32).mean().item<double>(), 0.3, 0.015);
  EXPECT_NEAR(dropped.max().item<double>(), 1 / 0.7, 1e-5);
  EXPECT_EQ(x.dropout(1).sum().item<float>(), 0);
  EXPECT_EQ(message_of([&] { x.dropout(1.5); }), "dropout of 1.5, expected 0 to 1");
}

TEST(Random, EmptyShapes) {
  EXPECT_EQ(Tensor::rand({0, 3}).to_vector<float>().size(), 0u);
  EXPECT_EQ(message_of([] { Tensor::rand({-1}); }), "shape (-1) has a negative size");
}

}  // namespace
}  // namespace doorbell::test
