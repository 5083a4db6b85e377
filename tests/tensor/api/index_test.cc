// Reading and writing through brackets, gather and scatter, against index arithmetic written out.
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

const Array kX = Array::noise({4, 5, 6}, 1);

TEST(Index, IntegersDropAxes) {
  const Tensor x = kX.tensor();
  expect_exact(x[2], Array::make({5, 6}, [](auto& at) { return kX.at({2, at[0], at[1]}); }));
  expect_exact(x[{-1, 0}], Array::make({6}, [](auto& at) { return kX.at({3, 0, at[0]}); }));
  expect_exact(x[{1, 2, 3}], {{}, {kX.at({1, 2, 3})}});
  expect_exact(x[{Ellipsis, 1}],
               Array::make({4, 5}, [](auto& at) { return kX.at({at[0], at[1], 1}); }));
  EXPECT_EQ(message_of([&] { x[4]; }), "index 4 is out of range for axis 0 of shape (4, 5, 6)");
  EXPECT_EQ(message_of([&] { x[{0, -6}]; }),
            "index -6 is out of range for axis 1 of shape (4, 5, 6)");
  EXPECT_EQ(message_of([&] { x[{0, 0, 0, 0}]; }), "4 indices for a tensor of shape (4, 5, 6)");
}

// Python's slices of a list of 7, written out by CPython.
TEST(Index, SlicesAreThoseOfPython) {
  const Tensor x = Tensor::arange(7);
  expect_values(x[Slice(2, 5)], {2, 3, 4});
  expect_values(x[Slice(None, None, 2)], {0, 2, 4, 6});
  expect_values(x[Slice(1, None, 3)], {1, 4});
  expect_values(x[Slice(None, None, -1)], {6, 5, 4, 3, 2, 1, 0});
  expect_values(x[Slice(None, None, -3)], {6, 3, 0});
  expect_values(x[Slice(5, 1, -2)], {5, 3});
  expect_values(x[Slice(-2, None)], {5, 6});
  expect_values(x[Slice(None, -5)], {0, 1});
  expect_values(x[Slice(-100, 100)], {0, 1, 2, 3, 4, 5, 6});
  expect_values(x[Slice(100, -100, -4)], {6, 2});
  expect_values(x[Slice(5, 2)], {});
  expect_values(x[Slice(2, 5, -1)], {});
  EXPECT_EQ(message_of([&] { x[Slice(0, 1, 0)]; }), "slice with a step of 0");
}

TEST(Index, MixedIndices) {
  expect_exact(
      kX.tensor()[{Slice(None, None, -2), None, 3, Slice(1, 6, 2)}],
      Array::make({2, 1, 3}, [](auto& at) { return kX.at({3 - 2 * at[0], 3, 1 + 2 * at[2]}); }));
}

TEST(Index, TensorsPickElements) {
  const Tensor x = kX.tensor();
  const Array rows{{2, 2}, {3, 0, -1, 1}};
  const auto row = [&](i64 i, i64 j) { return static_cast<i64>(rows.at({i, j}) + 4) % 4; };
  expect_exact(x[rows.tensor(dtypes::i32)], Array::make({2, 2, 5, 6}, [&](auto& at) {
                 return kX.at({row(at[0], at[1]), at[2], at[3]});
               }));
  expect_exact(x[{Slice(1, 3), Tensor::of({4, 0, 4})}], Array::make({2, 3, 6}, [&](auto& at) {
                 return kX.at({at[0] + 1, at[1] == 1 ? 0 : 4, at[2]});
               }));
  expect_exact(x[{Tensor::of({0, 2}), Tensor::of({1, 3})}], Array::make({2, 6}, [&](auto& at) {
                 return kX.at({2 * at[0], 1 + 2 * at[0], at[1]});
               }));
  // Apart from each other: the picked axis comes first.
  expect_exact(
      x[{Tensor::of({0, 2, 3}), Slice(), Tensor::of({5})}],
      Array::make({3, 5}, [&](auto& at) { return kX.at({at[0] == 0 ? 0 : at[0] + 1, at[1], 5}); }));
  EXPECT_EQ(message_of([&] { x[Tensor::of({0.5})]; }),
            "index tensor has dtype float32, expected integers or bool");
}

TEST(Index, AssignmentChangesTheNamedPlaceOnly) {
  Tensor x = kX.tensor();
  const Tensor before = x, doubled = x * 2;
  x[{1, Slice(0, 2), Slice(None, None, 3)}] = 7;
  const auto expected = [](const Place& at) {
    return at[0] == 1 && at[1] < 2 && at[2] % 3 == 0 ? 7.0 : kX.at(at);
  };
  expect_exact(x, Array::make({4, 5, 6}, expected));
  expect_exact(before, Array::make({4, 5, 6}, expected));  // a copy of the handle
  expect_close(doubled, Array::make({4, 5, 6}, [](auto& at) { return 2 * kX.at(at); }));
}

TEST(Index, AssignmentOfTensorsWithNegativeSteps) {
  Tensor x = Tensor::zeros({7});
  x[Slice(None, None, -2)] = Tensor::of({1.0, 2.0, 3.0, 4.0});
  expect_values(x, {4, 0, 3, 0, 2, 0, 1});
  x[{Slice(1, 3)}] += 10;
  expect_values(x, {4, 10, 13, 0, 2, 0, 1});
  Tensor y = Tensor::zeros({2, 3}, {.dtype = dtypes::i32});
  y[{Ellipsis, -1}] = Tensor::of({5, 6});
  y[0] = y[1];
  expect_values(y, {0, 0, 6, 0, 0, 6});
  Tensor z = Tensor::zeros({3, 2});
  z[Tensor::of({2, 0, 2})] = Tensor::of({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});  // the last stays
  expect_values(z, {3, 4, 0, 0, 5, 6});
  EXPECT_EQ(message_of([&] { x[Slice(0, 2)] = Tensor::ones({3}); }),
            "cannot expand shape (3) to (2)");
}

TEST(Index, GatherTakesAlongAnAxis) {
  const Tensor index = Tensor::of({{{4, 0}, {1, 1}}, {{2, 3}, {0, 0}}});
  const Array numbers = {{2, 2, 2}, {4, 0, 1, 1, 2, 3, 0, 0}};
  expect_exact(kX.tensor().gather(1, index), Array::make({2, 2, 2}, [&](auto& at) {
                 return kX.at({at[0], static_cast<i64>(numbers.at(at)), at[2]});
               }));
  EXPECT_EQ(message_of([&] { kX.tensor().gather(1, Tensor::of({1})); }),
            "index of shape (1) into shape (4, 5, 6)");
  EXPECT_EQ(
      message_of([&] { kX.tensor().gather(2, Tensor::zeros({9, 1, 1}, {.dtype = dtypes::i32})); }),
      "index of shape (9, 1, 1) exceeds shape (4, 5, 6) on axis 0");
}

TEST(Index, ScatterPutsAndAdds) {
  const Tensor x = Tensor::zeros({3, 4});
  const Tensor index = Tensor::of({{0, 2, 2}, {3, 3, 1}});
  const Tensor src = Tensor::of({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  expect_exact(x.scatter(1, index, src), {{3, 4}, {1, 0, 3, 0, 0, 6, 0, 5, 0, 0, 0, 0}});
  expect_exact(x.scatter(1, index, 9), {{3, 4}, {9, 0, 9, 0, 0, 9, 0, 9, 0, 0, 0, 0}});
  expect_exact((x + 1).scatter_add(1, index, src), {{3, 4}, {2, 1, 6, 1, 1, 7, 1, 10, 1, 1, 1, 1}});
  expect_exact(x.scatter(0, Tensor::of({{2, 1, 0, 0}}), 1),
               {{3, 4}, {0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0}});
}

TEST(Index, OneHot) {
  expect_exact(Tensor::of({1, 0, 3}).one_hot(4), {{3, 4}, {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}});
  EXPECT_EQ(message_of([] { Tensor::of({1.5}).one_hot(4); }),
            "class numbers have dtype float32, expected integers");
}

TEST(Index, VariablesAreSizesGivenLater) {
  Variable length("length", 1, 6);
  EXPECT_EQ(message_of([&] { length.bind(7); }),
            "7 is out of the bounds 1 to 6 of variable length");
  const Tensor part = Tensor::arange(6).cast(dtypes::f32)[Slice(0, length.bind(4))];
  EXPECT_EQ(part.shape().str(), "(length)");
  EXPECT_EQ(part.sum().item<float>(), 0 + 1 + 2 + 3);
}

}  // namespace
}  // namespace doorbell::test
