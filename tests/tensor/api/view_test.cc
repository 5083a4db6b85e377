// Views: which methods give them, assigning through each, what sees it and what keeps the old
// value, and what is refused. tests/python/test_views.py compares more of them with PyTorch.
#include <functional>

#include "runtime/doorbell.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

using Floats = std::vector<float>;

// 0, 1, 2, ... of shape (3, 4).
Tensor numbered() { return Tensor::of({{0.0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}); }

struct Case {
  const char* name;
  std::function<Tensor(Tensor&)> view;
  std::vector<i64> places;  // of its elements among those of numbered()
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"rows", [](Tensor& x) { return x[{Slice(1, 3)}]; }, {4, 5, 6, 7, 8, 9, 10, 11}},
      {"steps",
       [](Tensor& x) { return x[{Slice(None, None, 2), Slice(1, None, 2)}]; },
       {1, 3, 9, 11}},
      {"backwards", [](Tensor& x) { return x[{1, Slice(None, None, -3)}]; }, {7, 4}},
      {"element", [](Tensor& x) { return x[{2, 1}]; }, {9}},
      {"brackets twice", [](Tensor& x) { return Tensor(x[{2}])[{Slice(2, 4)}]; }, {10, 11}},
      {"transpose", [](Tensor& x) { return x.T()[{3}]; }, {3, 7, 11}},
      {"permute",
       [](Tensor& x) { return x.reshape({3, 2, 2}).permute({2, 0, 1})[{1, 2}]; },
       {9, 11}},
      {"reshape", [](Tensor& x) { return x.reshape({2, 6})[{1, Slice(0, 2)}]; }, {6, 7}},
      {"flatten", [](Tensor& x) { return x.flatten()[{Slice(5, 7)}]; }, {5, 6}},
      {"unflatten", [](Tensor& x) { return x.unflatten(1, {2, 2})[{1, 1}]; }, {6, 7}},
      {"split of a column", [](Tensor& x) { return x[{Slice(), 0}].reshape({3, 1}); }, {0, 4, 8}},
      {"detach", [](Tensor& x) { return x.detach()[{0, Slice(1, 3)}]; }, {1, 2}},
      {"diagonal", [](Tensor& x) { return x.diagonal(1); }, {1, 6, 11}},
      {"a row of expand", [](Tensor& x) { return x[{1}].expand({5, 4})[{3}]; }, {4, 5, 6, 7}},
      {"unsqueeze", [](Tensor& x) { return x[{0}].unsqueeze(0).squeeze(0); }, {0, 1, 2, 3}},
      {"chunk", [](Tensor& x) { return x.chunk(2, 1)[1]; }, {2, 3, 6, 7, 10, 11}},
      {"contiguous", [](Tensor& x) { return x.contiguous()[{1, 1}]; }, {5}},
      {"none", [](Tensor& x) { return x[{Slice(1, 1)}]; }, {}},
  };
  return all;
}

Floats with(const Case& view, float value) {
  Floats expected(12);
  for (usize i = 0; i < 12; ++i) expected[i] = static_cast<float>(i);
  for (const i64 place : view.places) expected[static_cast<usize>(place)] = value;
  return expected;
}

TEST(Views, AssigningChangesTheirTensor) {
  for (const bool realized : {false, true}) {
    for (const Case& view : cases()) {
      SCOPED_TRACE(view.name);
      Tensor x = numbered() + 0;
      if (realized) x.realize();
      const Tensor computed = x + 0, other = x.T();
      Tensor seen = view.view(x);
      const Tensor before = seen + 0;
      seen.assign(Tensor::of(-5));  // broadcast and converted
      EXPECT_EQ(x.to_vector<float>(), with(view, -5));
      EXPECT_EQ(other.T().to_vector<float>(), with(view, -5));
      EXPECT_EQ(computed.to_vector<float>(), with({}, 0));
      EXPECT_EQ(seen.to_vector<float>(), Floats(view.places.size(), -5));
      Floats old;
      for (const i64 place : view.places) old.push_back(static_cast<float>(place));
      EXPECT_EQ(before.to_vector<float>(), old);
      seen += 12;
      EXPECT_EQ(x.to_vector<float>(), with(view, 7));
    }
  }
}

TEST(Views, SeeTheirTensorChange) {
  for (const Case& view : cases()) {
    SCOPED_TRACE(view.name);
    Tensor x = numbered();
    const Tensor seen = view.view(x);
    x *= 2;
    Floats doubled;
    for (const i64 place : view.places) doubled.push_back(2 * static_cast<float>(place));
    EXPECT_EQ(seen.to_vector<float>(), doubled);
    x[{Slice()}] = 3;
    EXPECT_EQ(seen.to_vector<float>(), Floats(view.places.size(), 3));
  }
}

TEST(Views, OfConstants) {
  Tensor x = Tensor::zeros({2, 3});
  x.T()[{1}] = 4;
  x[{0}][{2}] = 5;
  expect_values(x, {0, 4, 5, 0, 4, 0});
  expect_values(Tensor::zeros({2, 3}), {0, 0, 0, 0, 0, 0});
}

TEST(Views, OutliveTheirTensor) {
  Tensor left, right;
  {
    const Tensor x = numbered() + 0;
    left = x[{0}];
    right = x.T()[{1}];
  }
  left += 100;
  expect_values(left, {100, 101, 102, 103});
  expect_values(right, {101, 5, 9});
  right.assign(Tensor::of({1.0, 2.0, 3.0}));
  expect_values(left, {100, 1, 102, 103});
}

TEST(Views, AreForgottenWithTheGraphOfTheirTensor) {
  const i64 before = core::TensorGraph::live_nodes();
  Tensor row;
  {
    const Tensor x = numbered().realize();
    row = (x.exp() * 2).reshape({4, 3})[{1}];
    row.realize();
  }
  EXPECT_LE(core::TensorGraph::live_nodes(), before + 2);
}

TEST(Views, ReplacingLeavesThemBehind) {
  Tensor x = numbered();
  Tensor row = x[{0}];
  x.replace(Tensor::of({1, 2}));
  row += 1;
  expect_values(row, {1, 2, 3, 4});
  expect_values(x, {1, 2});
}

TEST(Views, CopiesShareNothing) {
  const std::vector<std::function<Tensor(const Tensor&)>> copies = {
      [](const Tensor& x) { return x.flip(0); },
      [](const Tensor& x) { return x.T().reshape({-1}); },
      [](const Tensor& x) { return x.repeat({1, 1}); },
      [](const Tensor& x) { return x.pad({{0, 0}, {0, 0}}); },
      [](const Tensor& x) { return Tensor::cat({x}); },
      [](const Tensor& x) { return x.T().contiguous(); },
      [](const Tensor& x) { return x.reshape({1, 3, 4}).sum(0); },
      [](const Tensor& x) { return x.roll(0, 0); },
      [](const Tensor& x) { return x.clone(); },
  };
  for (const auto& copy : copies) {
    Tensor x = numbered();
    Tensor y = copy(x);
    y += 1;
    EXPECT_EQ(x.to_vector<float>(), with({}, 0));
    const Floats kept = y.to_vector<float>();
    x += 50;
    EXPECT_EQ(y.to_vector<float>(), kept);
  }
}

TEST(Views, WhatIsRefused) {
  Tensor x = numbered();
  EXPECT_EQ(message_of([&] { x[{0}].expand({2, 4}).assign(Tensor::zeros({2, 4})); }),
            "assignment to an expanded tensor, which shows elements of shape (4) several times in "
            "shape (2, 4); clone() it");
  EXPECT_EQ(message_of([&] { x.assign(Tensor::zeros({5})); }),
            "cannot assign float32 of shape (5) to float32 of shape (3, 4)");
  const auto lost = [](const char* shape) {
    return std::string("assignment to a tensor of shape ") + shape +
           " in between would be lost: no other tensor shares its elements";
  };
  EXPECT_EQ(message_of([&] { (x + 1)[{0}] = 1; }), lost("(3, 4)"));
  EXPECT_EQ(message_of([&] { x.flip(0)[{0}] = 1; }), lost("(3, 4)"));
  EXPECT_EQ(message_of([&] { x.at(std::vector<Index>{{0, 1}}).assign(Tensor::of(1)); }),
            lost("(2, 4)"));
  EXPECT_EQ(message_of([&] { x.T().reshape({12})[{0}] = 1; }), lost("(12)"));
  Tensor count = Tensor::of({1, 2});
  EXPECT_EQ(message_of([&] { count += 0.5; }),
            "cannot assign float32 of shape (2) to int32 of shape (2)");
  EXPECT_EQ(x.to_vector<float>(), with({}, 0));
  x.T().assign(Tensor::of(1));  // what x shares is no such
  EXPECT_EQ(x.sum().item<float>(), 12);
}

TEST(Views, OfMarkedTensors) {
  Tensor w = numbered();
  w.requires_grad();
  const std::string why = "a leaf of shape (3, 4) that requires grad is written";
  EXPECT_NE(message_of([&] { w[{0}] = 1; }).find(why), std::string::npos);
  EXPECT_NE(message_of([&] { w.T() += 1; }).find(why), std::string::npos);
  const Tensor seen = w.T();
  {
    NoGradScope no_grad;
    w[{Slice(0, 2)}] = 0;
  }
  (seen * seen).sum().backward();
  expect_values(w.grad(), {0, 0, 0, 0, 0, 0, 0, 0, 16, 18, 20, 22});
}

TEST(Views, GradientsPassThroughAssignments) {
  Tensor w = Tensor::of({1.0, 2.0}), z = Tensor::zeros({2, 2});
  w.requires_grad();
  z.T()[{1}] = w * 3;
  Tensor column = z.T()[{1}];
  column *= 2;
  z.sum().backward();
  expect_values(w.grad(), {6, 6});
}

TEST(Views, InCapturedFunctions) {
  Tensor cache = Tensor::zeros({3, 2}).realize();
  Tensor row = cache[{1}];
  auto step = jit([&](const Tensor& x) {
    cache[{0}][{Slice(0, 1)}] = x[{0}];
    row += x;
    return cache.T().clone();
  });
  for (int i = 1; i <= 4; ++i) {
    const Tensor seen = step(Tensor::of({1.0 * i, 10.0 * i}).realize());
    const float sum = static_cast<float>(i * (i + 1)) / 2;
    expect_values(seen, {static_cast<float>(i), sum, 0, 0, 10 * sum, 0});
    expect_values(row, {sum, 10 * sum});
    expect_values(cache, {static_cast<float>(i), 0, sum, 10 * sum, 0, 0});
  }
}

TEST(Views, AsArgumentsOfCapturedFunctions) {
  Tensor x = Tensor::zeros({2, 3}).realize();
  auto add = jit([](Tensor view) {
    view += 1;
    return view.sum();
  });
  for (int i = 0; i < 4; ++i) add(x.T()[{i % 2}]);
  expect_values(x, {2, 2, 0, 2, 2, 0});
}

}  // namespace
}  // namespace doorbell::test
