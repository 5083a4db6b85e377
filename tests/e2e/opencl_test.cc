// OpenCL through the tensor API: a few kernels of each kind against plain loops, captured
// functions, copies between devices. The whole of it is `doorbell conformance --device CL`.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/device/registry.h"
#include "runtime/doorbell.h"
#include "runtime/runtime.h"

namespace doorbell {
namespace {

class OpenCl : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(runtime::initialize());
    if (const auto device = core::Registry::instance().open("CL"); !device)
      GTEST_SKIP() << device.error().message;
  }
};

// Small integers, so that sums of products are exact in any order.
std::vector<float> numbers(i64 count, int step) {
  std::vector<float> values(static_cast<usize>(count));
  for (usize i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>(i * static_cast<usize>(step) % 17) - 8);
  return values;
}

Tensor on_cl(const std::vector<float>& values, std::initializer_list<Size> shape) {
  return Tensor::from_data(values, shape).to("CL");
}

TEST_F(OpenCl, ElementwiseAndReductions) {
  const std::vector<float> x = numbers(37 * 29, 5);
  const Tensor t = on_cl(x, {37, 29});
  const Tensor rows = (t * t + 1).sum(1), highest = t.max(0), all = (t < 0).sum();
  Tensor::realize({rows, highest, all});
  EXPECT_EQ(rows.device(), "CL");
  std::vector<float> sums(37, 0), most(29, -100);
  i64 negative = 0;
  for (usize i = 0; i < x.size(); ++i) {
    sums[i / 29] += x[i] * x[i] + 1;
    most[i % 29] = std::max(most[i % 29], x[i]);
    negative += x[i] < 0;
  }
  EXPECT_EQ(rows.to_vector<float>(), sums);
  EXPECT_EQ(highest.to_vector<float>(), most);
  EXPECT_EQ(all.item<i64>(), negative);
}

TEST_F(OpenCl, ProductsAndConvolutions) {
  constexpr usize kM = 33, kK = 50, kN = 21;
  const std::vector<float> a = numbers(kM * kK, 3), b = numbers(kK * kN, 7);
  std::vector<float> product(kM * kN, 0);
  for (usize m = 0; m < kM; ++m)
    for (usize k = 0; k < kK; ++k)
      for (usize n = 0; n < kN; ++n) product[m * kN + n] += a[m * kK + k] * b[k * kN + n];
  EXPECT_EQ(on_cl(a, {33, 50}).matmul(on_cl(b, {50, 21})).to_vector<float>(), product);

  // One channel in, two out, 3 x 3, without padding.
  const std::vector<float> image = numbers(10 * 10, 5), w = numbers(2 * 9, 3);
  std::vector<float> expected;
  for (usize o = 0; o < 2; ++o)
    for (usize y = 0; y < 8; ++y)
      for (usize x = 0; x < 8; ++x) {
        float sum = 0;
        for (usize i = 0; i < 9; ++i) sum += image[(y + i / 3) * 10 + x + i % 3] * w[o * 9 + i];
        expected.push_back(sum);
      }
  const Tensor found = on_cl(image, {1, 1, 10, 10}).conv2d(on_cl(w, {2, 1, 3, 3}));
  EXPECT_EQ(found.to_vector<float>(), expected);
}

TEST_F(OpenCl, NarrowDtypesAreRoundedAsTheyAreStored) {
  const Tensor x = Tensor::of({1.0, 2049.0, 65520.0, 0.1, -3.7, 500.0}).to("CL");
  EXPECT_EQ(x.cast(dtypes::f16).cast(dtypes::f32).to_vector<float>(),
            (std::vector<float>{1, 2048, INFINITY, 0.0999755859375f, -3.69921875f, 500}));
  EXPECT_EQ(x.cast(dtypes::bf16).cast(dtypes::f32).to_vector<float>(),
            (std::vector<float>{1, 2048, 65536, 0.10009765625f, -3.703125f, 500}));
  EXPECT_EQ(x.cast(dtypes::f8e4m3).cast(dtypes::f32).to_vector<float>(),
            (std::vector<float>{1, 448, 448, 0.1015625f, -3.75f, 448}));
  EXPECT_EQ(x.cast(dtypes::i8).to_vector<int>(), (std::vector<int>{1, 127, 127, 0, -3, 127}));
}

TEST_F(OpenCl, CapturedFunctionsReplay) {
  Tensor total = Tensor::zeros({4}, {.device = "CL"}).realize();
  auto step = jit([&](const Tensor& x) {
    total += x * 2;
    return total.sum();
  });
  float expected = 0;
  for (int i = 0; i < 5; ++i) {
    const float value = static_cast<float>(i);
    const Tensor x = Tensor::of({value, 1.0f, 1.0f, value}).to("CL").realize();
    expected += 4 * value + 4;
    EXPECT_EQ(step(x).item<float>(), expected);
  }
}

TEST_F(OpenCl, GradientsFlow) {
  const Tensor w = Tensor::of({1.0, 2.0, 3.0}).to("CL").realize();
  EXPECT_EQ((w * w * w).sum().gradient({w})[0].to_vector<float>(), (std::vector<float>{3, 12, 27}));
}

TEST_F(OpenCl, ValuesMoveBetweenDevices) {
  const std::vector<float> x = numbers(1000, 5);
  std::vector<float> expected = x;
  for (float& value : expected) value = value * 2 + 1;
  Tensor moved = (on_cl(x, {1000}) * 2).to("CPU") + 1;
  EXPECT_EQ(moved.device(), "CPU");
  EXPECT_EQ(moved.to_vector<float>(), expected);
  const auto second = core::Registry::instance().open("CL:1");
  if (!second) GTEST_SKIP() << "one OpenCL device only: " << second.error().message;
  moved = (on_cl(x, {1000}) * 2).to("CL:1") + 1;
  EXPECT_EQ(moved.device(), "CL:1");
  EXPECT_EQ(moved.to("CL").to_vector<float>(), expected);
}

TEST_F(OpenCl, MissingDtypesAreNamed) {
  auto second = core::Registry::instance().open("CL:1");
  if (!second || (*second)->description().find(", f64") != std::string::npos)
    GTEST_SKIP() << "no OpenCL device without f64 here";
  const Tensor x = Tensor::of({1.0, 2.0}).to("CL:1");
  try {
    x.cast(dtypes::f64).exp().realize();
    FAIL() << "f64 was computed where there is none";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::Unsupported);
    EXPECT_NE(std::string(error.what()).find("float64"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace doorbell
