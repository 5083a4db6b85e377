// Movement, joining and cutting against index arithmetic written out.
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

const Array kX = Array::noise({2, 3, 4}, 1);

TEST(Movement, ReshapeKeepsTheRowMajorOrder) {
  const Tensor x = kX.tensor();
  expect_exact(x.reshape({4, 6}), {{4, 6}, kX.values});
  expect_exact(x.reshape({-1, 2}), {{12, 2}, kX.values});
  expect_exact(x.view({24}), {{24}, kX.values});
  expect_exact(x.flatten(1), {{2, 12}, kX.values});
  expect_exact(x.flatten(0, 1), {{6, 4}, kX.values});
  expect_exact(x.unflatten(2, {2, -1}), {{2, 3, 2, 2}, kX.values});
  expect_exact(x.unsqueeze(-1).unsqueeze(0), {{1, 2, 3, 4, 1}, kX.values});
  expect_exact(x.unsqueeze(1).squeeze(), {{2, 3, 4}, kX.values});
  expect_exact(x.unsqueeze(1).squeeze(1), {{2, 3, 4}, kX.values});
  expect_exact(Tensor::of(3).reshape({1, 1}), {{1, 1}, {3}});
  EXPECT_EQ(x.squeeze(0).shape().str(), "(2, 3, 4)");
  EXPECT_EQ(message_of([&] { x.reshape({5, -1}); }), "cannot reshape shape (2, 3, 4) to (5, -1)");
  EXPECT_EQ(message_of([&] { x.reshape({-1, -1}); }), "cannot reshape shape (2, 3, 4) to (-1, -1)");
}

TEST(Movement, PermuteAndTranspose) {
  const Tensor x = kX.tensor();
  expect_exact(x.permute({2, 0, 1}), Array::make({4, 2, 3}, [](const Place& at) {
                 return kX.at({at[1], at[2], at[0]});
               }));
  expect_exact(x.transpose(), Array::make({2, 4, 3}, [](const Place& at) {
                 return kX.at({at[0], at[2], at[1]});
               }));
  EXPECT_EQ(message_of([&] { x.permute({0, 0, 1}); }), "permute names axis 0 twice");
  EXPECT_EQ(message_of([&] { x.permute({0, 1}); }),
            "permute names 2 axes of a tensor of shape (2, 3, 4)");
}

TEST(Movement, ExpandRepeatsAxesOfOne) {
  const Array column = Array::noise({3, 1}, 2);
  expect_exact(column.tensor().expand({2, 3, 4}),
               Array::make({2, 3, 4}, [&](const Place& at) { return column.at({at[1], 0}); }));
  expect_exact(column.tensor().expand({-1, 2}),
               Array::make({3, 2}, [&](const Place& at) { return column.at({at[0], 0}); }));
  EXPECT_EQ(message_of([&] { column.tensor().expand({4, 4}); }),
            "cannot expand shape (3, 1) to (4, 4)");
}

TEST(Movement, FlipReversesAxes) {
  expect_exact(kX.tensor().flip({0, 2}), Array::make({2, 3, 4}, [](const Place& at) {
                 return kX.at({1 - at[0], at[1], 3 - at[2]});
               }));
}

TEST(Movement, PadFillsAndCuts) {
  expect_exact(kX.tensor().pad({{0, 0}, {1, 2}, {-1, 1}}), Array::make({2, 6, 4}, [](auto& at) {
                 const bool inside = at[1] >= 1 && at[1] < 4 && at[2] < 3;
                 return inside ? kX.at({at[0], at[1] - 1, at[2] + 1}) : 0.0;
               }));
  expect_exact(Tensor::of({1, 2}).pad({{1, 1}}, {.value = 9}), {{4}, {9, 1, 2, 9}});
  expect_exact(Tensor::of({1.0, 2.0}).pad({{0, 1}}, {.value = -INFINITY}),
               {{3}, {1, 2, -INFINITY}});
  EXPECT_EQ(message_of([] { Tensor::ones({2}).pad({{0, -3}}); }),
            "window 0:-1 of axis 0 of shape (2): 0 is more than -1");
}

TEST(Movement, ShrinkTakesAWindow) {
  expect_exact(kX.tensor().shrink({{0, 1}, {1, 3}, {2, 2}}).reshape({-1}), {{0}, {}});
  expect_exact(kX.tensor().shrink({{1, 2}, {0, 3}, {1, 3}}),
               Array::make({1, 3, 2}, [](auto& at) { return kX.at({1, at[1], at[2] + 1}); }));
}

TEST(Movement, RepeatRollAndDiagonal) {
  const Tensor x = Tensor::arange(6).reshape({2, 3});
  expect_exact(x.repeat({2, 1, 2}),
               Array::make({2, 2, 6}, [](const Place& at) { return at[1] * 3 + at[2] % 3; }));
  expect_exact(x.repeat_interleave(2, 1), {{2, 6}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}});
  expect_exact(x.roll(1, 1), {{2, 3}, {2, 0, 1, 5, 3, 4}});
  expect_exact(x.roll(-4, 1), {{2, 3}, {1, 2, 0, 4, 5, 3}});
  const Array squares = Array::noise({2, 3, 3}, 3);
  expect_exact(squares.tensor().diagonal(0, 1, 2), Array::make({2, 3}, [&](const Place& at) {
                 return squares.at({at[0], at[1], at[1]});
               }));
}

TEST(Movement, CatAndStackJoin) {
  const Array a = Array::noise({2, 3}, 4), b = Array::noise({2, 1}, 5);
  const auto joined = [&](const Place& at) {
    return at[1] < 3 ? a.at(at) : at[1] == 3 ? b.at({at[0], 0}) : a.at({at[0], at[1] - 4});
  };
  expect_exact(Tensor::cat({a.tensor(), b.tensor(), a.tensor()}, -1), Array::make({2, 7}, joined));
  expect_exact(Tensor::stack({a.tensor(), a.tensor()}, 1),
               Array::make({2, 2, 3}, [&](auto& at) { return a.at({at[0], at[2]}); }));
  EXPECT_EQ(Tensor::cat({Tensor::of({1}), Tensor::of({0.5})}).dtype(), dtypes::f32);
  expect_exact(Tensor::cat({Tensor::of({true}), Tensor::of({false})}), {{2}, {1, 0}});
  const Tensor zeros = Tensor::of({-0.0, 0.0}), signs = 1 / Tensor::cat({zeros, zeros, zeros});
  expect_exact(signs, {{6}, {-INFINITY, INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY}});
  EXPECT_EQ(message_of([&] { Tensor::cat({a.tensor(), b.tensor()}); }),
            "cannot join shapes (2, 3) and (2, 1) along axis 0");
}

TEST(Movement, SplitAndChunkCut) {
  const Tensor x = Tensor::arange(7);
  const std::vector<Tensor> parts = x.split(3);
  ASSERT_EQ(parts.size(), 3u);
  expect_exact(parts[0], {{3}, {0, 1, 2}});
  expect_exact(parts[2], {{1}, {6}});
  expect_exact(x.split(std::vector<i64>{2, 5})[1], {{5}, {2, 3, 4, 5, 6}});
  EXPECT_EQ(x.chunk(3)[2].shape().str(), "(1)");
  EXPECT_EQ(x.chunk(3).size(), 3u);
  EXPECT_EQ(message_of([&] { x.split(std::vector<i64>{2, 2}); }),
            "split sizes sum to 4, axis 0 of shape (7) has 7");
}

TEST(Movement, TrianglesKeepOneSide) {
  for (i64 diagonal : {-2, -1, 0, 1, 3}) {
    SCOPED_TRACE(diagonal);
    const auto side = [&](bool upper) {
      return Array::make({2, 3, 4}, [=](const Place& at) {
        const bool kept = upper ? at[2] - at[1] >= diagonal : at[2] - at[1] <= diagonal;
        return kept ? kX.at(at) : 0.0;
      });
    };
    expect_exact(kX.tensor().triu(diagonal), side(true));
    expect_exact(kX.tensor().tril(diagonal), side(false));
  }
}

TEST(Movement, RankIsBounded) {
  EXPECT_EQ(message_of([] { Tensor::ones({1}).reshape(Shape(17, 1)); }),
            "shape (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1) has more than 16 axes");
}

TEST(Create, RangesAndConstants) {
  expect_exact(Tensor::arange(5), {{5}, {0, 1, 2, 3, 4}});
  expect_exact(Tensor::arange(5, -4, -3), {{3}, {5, 2, -1}});
  expect_exact(Tensor::arange(1, 8, 3), {{3}, {1, 4, 7}});
  expect_close(Tensor::arange(0.5, 2.0, 0.25), {{6}, {0.5, 0.75, 1, 1.25, 1.5, 1.75}});
  expect_exact(Tensor::arange(0), {{0}, {}});
  EXPECT_EQ(Tensor::arange(3).dtype(), dtypes::i32);
  EXPECT_EQ(Tensor::arange(3.0).dtype(), dtypes::f32);
  EXPECT_EQ(Tensor::arange(3, {.dtype = dtypes::u8}).dtype(), dtypes::u8);
  expect_exact(Tensor::arange(1000)[{Slice(997, None)}], {{3}, {997, 998, 999}});
  expect_close(Tensor::linspace(-1, 2, 4), {{4}, {-1, 0, 1, 2}});
  expect_exact(Tensor::eye(2, 3), {{2, 3}, {1, 0, 0, 0, 1, 0}});
  expect_exact(Tensor::full({2}, -1, {.dtype = dtypes::u8}), {{2}, {255, 255}});
  expect_exact(Tensor::of({{{1}, {2}}}), {{1, 2, 1}, {1, 2}});
  EXPECT_EQ(Tensor::of({3000000000, 1}).dtype(), dtypes::i64);
  EXPECT_EQ(Tensor::of({true, false}).dtype(), dtypes::bool_);
  EXPECT_EQ(message_of([] { Tensor::of({{1, 2}, {3}}); }),
            "braces of 1 items beside braces of 2 at depth 1");
  EXPECT_EQ(message_of([] { Tensor::arange(0, 1, 0); }), "arange with a step of 0");
  EXPECT_EQ(message_of([] { Tensor::zeros({2, -1}); }), "shape (2, -1) has a negative size");
}

}  // namespace
}  // namespace doorbell::test
