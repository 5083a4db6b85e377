// Indexing at its edges: what is refused and how, places out of range, masks and Variables inside
// and outside of jit, and when a selection is read.
#include "runtime/doorbell.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

using Floats = std::vector<float>;

TEST(IndexEdges, WhatIsRefused) {
  Tensor x = Tensor::arange(12).reshape({3, 4}).float_();
  EXPECT_EQ(message_of([&] { x[{{0, 3}}]; }), "index 3 is out of range for axis 0 of shape (3, 4)");
  EXPECT_EQ(message_of([&] { x[{Slice(), {-5}}] = 1; }),
            "index -5 is out of range for axis 1 of shape (3, 4)");
  EXPECT_EQ(message_of([&] { (void)x[Tensor::of({true, false})].shape(); }),
            "mask of shape (2) on axis 0 of shape (3, 4)");
  EXPECT_EQ(message_of([&] { x[Tensor::of({true, false})] = 1; }),
            "mask of shape (2) on axis 0 of shape (3, 4)");
  EXPECT_EQ(x[Tensor::of(true)].shape(), Shape({1, 3, 4}));  // a mask of no axes picks all
  EXPECT_EQ(message_of([&] { (void)x[{x > 1, 0}].shape(); }),
            "3 indices for a tensor of shape (3, 4)");
  EXPECT_EQ(message_of([&] { x[x > 8] = Tensor::of({1.0, 2.0}); }),
            "cannot expand shape (2) to (3)");
  EXPECT_EQ(message_of([&] { x[{{0, 1}, {0, 1, 2}}]; }), "cannot broadcast shapes (2) and (3)");
  EXPECT_EQ(message_of([&] { x.masked_select(x); }), "mask has dtype float32, expected bool");
  EXPECT_EQ(x.sum().item<float>(), 66);  // nothing was assigned
}

// Documented in slice.h: 0 is read, nothing is written.
TEST(IndexEdges, PlacesOutOfRangeInTensors) {
  Tensor x = Tensor::of({{1, 2, 3}, {4, 5, 6}});
  expect_values(x[Tensor::of({1, 2, -3, -1})], {4, 5, 6, 0, 0, 0, 0, 0, 0, 4, 5, 6});
  expect_values(x[{Tensor::of({0, 0, 1}), Tensor::of({3, -4, 1})}], {0, 0, 5});
  x[{Tensor::of({0, 0, 1}), Tensor::of({3, -4, 1})}] = 9;
  x[Tensor::of({7})] = 8;
  expect_values(x, {1, 2, 3, 4, 9, 6});
}

TEST(IndexEdges, EmptyAndScalarShapes) {
  const Tensor x = Tensor::arange(6).reshape({2, 3});
  const std::vector<i64> nothing;
  EXPECT_EQ(x[nothing].shape().str(), "(0, 3)");
  EXPECT_EQ((x[{Slice(2, 1), {0, 1}}]).shape().str(), "(0, 2)");
  EXPECT_EQ(x[x > 9].shape().str(), "(0)");
  EXPECT_EQ(x[x > 9].sum().item<int>(), 0);
  EXPECT_EQ(Tensor::zeros({0, 3}).nonzero().shape().str(), "(0, 2)");
  EXPECT_EQ(Tensor::of(3).nonzero().shape().str(), "(1, 0)");
  expect_values(x[{Tensor::of(1), Tensor::of(2)}], {5});
  expect_values(x[{None, Tensor::of(1)}], {3, 4, 5});
  Tensor y = Tensor::zeros({2});
  y[y > 5] = Tensor::zeros({0});
  y[{Ellipsis}] = 4;
  expect_values(y, {4, 4});
  // A mask of size 0 on an axis picks none, whatever the axis's size.
  const auto mask = [](Shape shape) { return Tensor::zeros(shape, {.dtype = dtypes::bool_}); };
  EXPECT_EQ(x[mask({0})].shape(), Shape({0, 3}));
  EXPECT_EQ(x[mask({2, 0})].shape(), Shape({0}));
  EXPECT_EQ((x[{Slice(), mask({0})}]).shape(), Shape({2, 0}));
  y[mask({0})] = 9;
  expect_values(y, {4, 4});
  EXPECT_EQ(message_of([&] { (void)x[mask({0, 2})].shape(); }),
            "mask of shape (0, 2) on axis 0 of shape (2, 3)");
}

TEST(IndexEdges, ASelectionIsReadAsItWas) {
  Tensor x = Tensor::of({1.0, -2.0, 3.0});
  Tensor mask = x < 0;
  const Tensor negative = x[mask];
  x += 10;
  mask.assign(x > 12);
  EXPECT_EQ(negative.to_vector<float>(), Floats{-2});
  x[x > 10] += 100;
  EXPECT_EQ(x.to_vector<float>(), (Floats{111, 8, 113}));
  x[mask] *= 0;
  EXPECT_EQ(x.to_vector<float>(), (Floats{111, 8, 0}));
}

TEST(IndexEdges, GradientsFlowThroughMasks) {
  Tensor x = Tensor::of({1.0, -2.0, 3.0}, {.requires_grad = true});
  const Tensor picked = x[x > 0];
  (picked * Tensor::of({5.0, 7.0})).sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{5, 0, 7}));
}

TEST(IndexEdges, MasksInsideJit) {
  auto write = jit([](const Tensor& x) {
    Tensor y = x + 0;
    y[y < 0] = 0;
    y[y > 5] = Tensor::of({5.0});
    return y;
  });
  for (float last : {7.0F, 2.0F, -4.0F, 9.0F}) {
    const Tensor x = Tensor::from_data(Floats{-1, 3, last}, {3});
    EXPECT_EQ(write(x).to_vector<float>(), (Floats{0, 3, std::min(std::max(last, 0.0F), 5.0F)}));
  }
  auto read = jit([](const Tensor& x) { return x[x > 0].sum(); });
  const Tensor x = Tensor::of({1.0, -1.0});
  const std::string message = message_of([&] {
    for (int i = 0; i < 3; ++i) read(x).item<float>();
  });
  EXPECT_TRUE(
      message.starts_with("the number of elements that a mask selects is read inside a "
                          "function that jit captures"))
      << message;
  auto sized = jit([](const Tensor& x) { return x.masked_select(x > 0, 2, -1); });
  for (float last : {7.0F, -2.0F, 4.0F}) {
    const Tensor y = Tensor::from_data(Floats{-1, 3, last}, {3});
    EXPECT_EQ(sized(y).to_vector<float>(), (Floats{3, last > 0 ? last : -1}));
  }
}

TEST(IndexEdges, AssignmentAtVariables) {
  Variable place("place", 0, 4);
  const Tensor x = Tensor::arange(12).reshape({6, 2}).float_();
  for (i64 at : {0, 3}) {
    Tensor y = x + 0;
    y[place.bind(at)] = Tensor::of({50.0, 60.0});
    expect_exact(y, Array::make({6, 2}, [&](const Place& p) {
                   return p[0] == at ? 50 + 10.0 * p[1] : 2.0 * p[0] + p[1];
                 }));
    Tensor z = x + 0;
    const Size start = place.bind(at);
    z[{Slice(start, start + 2), 1}] = Tensor::of({-1.0, -2.0});
    expect_exact(z, Array::make({6, 2}, [&](const Place& p) {
                   return p[1] == 1 && p[0] >= at && p[0] < at + 2
                              ? static_cast<double>(at - p[0]) - 1
                              : 2.0 * p[0] + p[1];
                 }));
    Tensor w = x + 0;
    w[Slice(0, start)] = 0;
    EXPECT_EQ(w.sum().item<float>(), at == 0 ? 66 : 51);
  }
}

}  // namespace
}  // namespace doorbell::test
