// A jitted function that is called with several combinations of shapes and dtypes.
#include "tensor/jit/jit.h"

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

// A shorter last batch is captured by itself; state is the same for all.
TEST(JitShapes, CapturesEachShapeByItself) {
  int calls = 0;
  Tensor total = Tensor::zeros({});
  auto add = jit([&](const Tensor& x) {
    ++calls;
    total += x.sum().cast(dtypes::f32);
    return x * 2;
  });
  float expected = 0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (const i64 rows : {4, 4, 3}) {
      const Tensor x = Tensor::ones({rows, 2}).realize();
      EXPECT_EQ(add(x).to_vector<float>(), std::vector<float>(static_cast<usize>(rows) * 2, 2.0f));
      expected += static_cast<float>(rows) * 2;
      EXPECT_EQ(total.item<float>(), expected);
    }
  }
  EXPECT_EQ(calls, 4) << "each shape plainly and captured";
  EXPECT_EQ(add.graph_count(), 2u);
  add(Tensor::ones({4, 2}, {.dtype = dtypes::f64}));
  EXPECT_EQ(add.graph_count(), 2u) << "the first call of a dtype runs plainly";
  add(Tensor::ones({4, 2}, {.dtype = dtypes::f64}));
  EXPECT_EQ(add.graph_count(), 3u);
  add.reset();
  EXPECT_EQ(add.graph_count(), 0u);
}

TEST(JitShapes, SizesOfVectorsAndMissingTensorsAreShapes) {
  auto sum = jit([](const std::vector<Tensor>& all, const Tensor& more) {
    Tensor result = more.defined() ? more : Tensor::zeros({1});
    for (const Tensor& x : all) result = result + x;
    return result;
  });
  const Tensor one = Tensor::ones({1}).realize();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sum(std::vector<Tensor>{one}, one).item<float>(), 2);
    EXPECT_EQ(sum(std::vector<Tensor>{one, one}, one).item<float>(), 3);
    EXPECT_EQ(sum(std::vector<Tensor>{one, one}, Tensor()).item<float>(), 2);
  }
  EXPECT_EQ(sum.graph_count(), 3u);
}

TEST(JitShapes, TooManyShapesAreTold) {
  auto f = jit([](const Tensor& x) { return x + 1; }, {.max_graphs = 2});
  for (const i64 size : {1, 1, 2, 2}) f(Tensor::ones({size}, {.device = "CPU"}));
  EXPECT_EQ(message_of([&] { f(Tensor::ones({3}, {.device = "CPU"})); }),
            "argument 0 of a jitted function is float32 of shape (3) on CPU, captured with float32 "
            "of shape (2) on CPU; these are more than 2 combinations of shapes and dtypes: pad to "
            "fewer, pass a bound size, or raise max_graphs");
  EXPECT_EQ(f(Tensor::ones({1}, {.device = "CPU"})).item<float>(), 2) << "the others work";
  EXPECT_EQ(f.graph_count(), 2u);
}

TEST(JitShapes, ACallThatThrowsTakesNoPlace) {
  auto f = jit([](const Tensor& x) { return x + Tensor::ones({2}); }, {.max_graphs = 1});
  for (const i64 size : {3, 4, 5})
    EXPECT_NE(message_of([&] { f(Tensor::ones({size})); }).find("cannot broadcast"),
              std::string::npos);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(Tensor::ones({2})).to_vector<float>()[0], 2);
  EXPECT_TRUE(f.is_captured());
}

TEST(JitShapes, ACopyIsCapturedAnew) {
  auto f = jit([](const Tensor& x) { return x + 1; });
  for (int i = 0; i < 2; ++i) f(Tensor::ones({1}));
  auto g = f;
  EXPECT_TRUE(f.is_captured());
  EXPECT_FALSE(g.is_captured());
  EXPECT_EQ(g(Tensor::ones({1})).item<float>(), 2);
}

}  // namespace
}  // namespace doorbell::test
