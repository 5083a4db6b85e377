// Sizes that are bound at run time: readout of the elements that a value has now, jit over symbolic
// arguments and results, gradients of symbolic slices. Expected values are loops over the bound
// sizes.
#include <gtest/gtest.h>

#include <cmath>

#include "core/device/counters.h"
#include "core/uop/graph.h"
#include "runtime/doorbell.h"
#include "tests/tensor/examples.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

using Floats = std::vector<float>;
const Array kA = Array::noise({10, 3}, 1), kB = Array::noise({10, 3}, 2);
const Array kWide = Array::noise({3, 10}, 3);

Slice to(const Size& size) { return Slice(0, size); }

// The shape's sizes are symbolic; what is read has those of `expected`.
void expect_bound(const Tensor& actual, const Array& expected) {
  EXPECT_FALSE(actual.shape().is_const());
  EXPECT_EQ(actual.numel(), static_cast<i64>(expected.values.size()));
  const Floats values = actual.to_vector<float>();
  ASSERT_EQ(values.size(), expected.values.size());
  for (usize i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected.values[i], 1e-5) << "element " << i;
}

TEST(Symbolic, ReadoutGivesTheElementsOfTheBoundSize) {
  const Variable n("symbolic_n", 0, 10), m("symbolic_m", 1, 10);
  for (const i64 i : {0, 1, 4, 10}) {
    const Tensor lazy = kWide.tensor()[{Ellipsis, to(n.bind(i))}];
    const Array expected = Array::make({3, i}, [](auto& at) { return kWide.at(at); });
    EXPECT_EQ(lazy.nbytes(), 3 * i * 4);
    expect_bound(lazy, expected);
    const Tensor sum = lazy + 1;
    sum.realize();
    const Array more = Array::make({3, i}, [](auto& at) { return kWide.at(at) + 1; });
    expect_bound(sum, more);
    expect_bound(sum.clone(), more);
    // Of a stored value, another one.
    expect_bound((sum.realize() * 2).permute({1, 0}),
                 Array::make({i, 3}, [&](auto& at) { return 2 * (kWide.at({at[1], at[0]}) + 1); }));
  }
  const Tensor two = Array::noise({10, 10}, 4).tensor()[{to(n.bind(3)), to(m.bind(2))}];
  std::vector<std::byte> bytes(24);
  two.copy_to(bytes);
  EXPECT_EQ(thrown([&] { two.copy_to(std::span(bytes).first(20)); }),
            "20 bytes to copy to, the tensor has 24");
  const Tensor element = two[{0, 1}];
  EXPECT_EQ(element.item<float>(), static_cast<float>(Array::noise({10, 10}, 4).at({0, 1})));
}

TEST(Symbolic, PrintsAndGivesItems) {
  const Variable n("symbolic_n", 1, 6);
  const Tensor x = Tensor::arange(6);
  EXPECT_EQ(x[to(n.bind(4))].str(), "tensor([0, 1, 2, 3])");
  EXPECT_EQ(x[to(n.bind(1))].item<int>(), 0);
  EXPECT_EQ(thrown([&] { (void)x[to(n.bind(2))].item<int>(); }),
            "item() of a tensor of shape (symbolic_n), expected one element");
}

TEST(Symbolic, MovesToOtherDevices) {
  const Variable n("symbolic_n", 1, 6);
  const Tensor lazy = Tensor::arange(6)[to(n.bind(3))], stored = (lazy + 1).realize();
  EXPECT_EQ(lazy.to("CPU:1").str(), "tensor([0, 1, 2])");
  EXPECT_EQ((stored.to("CPU:1") * 2).str(), "tensor([2, 4, 6])");
  EXPECT_EQ(stored.to("CPU:1").device(), "CPU:1");
}

TEST(Symbolic, OneScheduleServesAllBoundSizes) {
  const Variable n("symbolic_n", 1, 10);
  const Tensor a = kA.tensor().realize();
  Tensor last;
  i64 made = 0;
  for (i64 i = 1; i <= 10; ++i) {
    last = (a[to(n.bind(i))] * 3).realize();
    if (i == 1) made = core::counters.schedules_made.load();
  }
  EXPECT_EQ(core::counters.schedules_made.load(), made);
  expect_bound(last, Array::make({10, 3}, [](auto& at) { return 3 * kA.at(at); }));
}

// What a value was computed from goes when it is stored, as it does with constant shapes.
TEST(Symbolic, StoredValuesDoNotKeepTheirPast) {
  const Variable n("symbolic_n", 1, 10);
  Tensor x = kA.tensor()[to(n.bind(5))].realize();
  i64 before = 0;
  for (int step = 0; step < 20; ++step) {
    x = (x + 1).realize();
    if (step == 3) before = core::TensorGraph::live_nodes();
  }
  EXPECT_LE(core::TensorGraph::live_nodes(), before + 2);
  expect_bound(x, Array::make({5, 3}, [](auto& at) { return kA.at(at) + 20; }));
}

TEST(Symbolic, SumsOfSizesAreSimplified) {
  const Variable n("symbolic_n", 1, 10), m("symbolic_m", 1, 10);
  const Size a = n.bind(4), b = m.bind(3);
  EXPECT_TRUE(((a + 2) - a).is(2));
  EXPECT_TRUE((a + (10 - a)).is(10));
  EXPECT_TRUE((a + b - a) == b);
  EXPECT_TRUE((a * 3 - a - a) == a);
  EXPECT_EQ((a + b).max(), 20);
  EXPECT_EQ((a - b).min(), -9);
}

// Calls `f` with 1 to 6 bound and compares with `expected(i)`; one capture serves them all.
template <class F, class Call, class Expected>
void expect_all_sizes(F& f, const Call& call, const Expected& expected) {
  for (i64 i = 1; i <= 6; ++i) {
    SCOPED_TRACE(i);
    expect_bound(call(f, i), expected(i));
  }
  EXPECT_TRUE(f.is_captured());
}

TEST(SymbolicJit, TakesAndGivesSymbolicShapes) {
  const Variable n("symbolic_n", 1, 10);
  int runs = 0;
  auto f = jit([&](const Tensor& x, const Tensor& y) {
    ++runs;
    return x * 2 + y;
  });
  const Tensor wide = kWide.tensor(), b = kA.tensor().reshape({3, 10});
  expect_all_sizes(
      f,
      [&](auto& g, i64 i) {
        return g(wide[{Ellipsis, to(n.bind(i))}], b[{Ellipsis, to(n.bind(i))}]);
      },
      [&](i64 i) {
        return Array::make({3, i}, [](auto& at) {
          return kWide.at(at) * 2 + kA.values[static_cast<usize>(10 * at[0] + at[1])];
        });
      });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(f.launches(), 1u);
}

TEST(SymbolicJit, MatmulOverASymbolicAxis) {
  const Variable n("symbolic_n", 1, 10);
  auto f = jit([](const Tensor& x, const Tensor& y) {
    const Tensor product = x.matmul(y).realize();
    return product + product;
  });
  for (i64 i = 1; i <= 6; ++i) {
    const Tensor result = f(kWide.tensor()[{Ellipsis, to(n.bind(i))}], kA.tensor()[to(n.bind(i))]);
    expect_close(result, Array::make({3, 3}, [&](auto& at) {
                   f64 sum = 0;
                   for (i64 k = 0; k < i; ++k) sum += kWide.at({at[0], k}) * kA.at({k, at[1]});
                   return 2 * sum;
                 }));
  }
}

TEST(SymbolicJit, ConcatenatesTwoVariables) {
  const Variable n("symbolic_n", 1, 10), m("symbolic_m", 1, 10);
  auto f = jit([](const Tensor& x, const Tensor& y) { return Tensor::cat({x, y}, 0); });
  for (const auto& [i, j] : {std::pair<i64, i64>{2, 3}, {3, 2}, {1, 6}, {10, 10}, {4, 1}}) {
    const Tensor result = f(kA.tensor()[to(n.bind(i))], kB.tensor()[to(m.bind(j))]);
    expect_bound(result, Array::make({i + j, 3}, [&, i = i](auto& at) {
                   return at[0] < i ? kA.at(at) : kB.at({at[0] - i, at[1]});
                 }));
  }
}

TEST(SymbolicJit, AttentionOverAGrowingCache) {
  const Variable n("symbolic_n", 1, 10);
  const Array query = Array::noise({1, 3}, 5);
  auto f = jit([](const Tensor& q, const Tensor& k, const Tensor& v) {
    return q.matmul(k.transpose(0, 1)).softmax(-1).matmul(v);
  });
  for (i64 i = 1; i <= 6; ++i) {
    std::vector<f64> weight(static_cast<usize>(i));
    f64 total = 0;
    for (i64 at = 0; at < i; ++at) {
      f64 score = 0;
      for (i64 c = 0; c < 3; ++c) score += query.at({0, c}) * kA.at({at, c});
      total += weight[static_cast<usize>(at)] = std::exp(score);
    }
    expect_close(f(query.tensor(), kA.tensor()[to(n.bind(i))], kB.tensor()[to(n.bind(i))]),
                 Array::make({1, 3}, [&](auto& place) {
                   f64 sum = 0;
                   for (i64 at = 0; at < i; ++at)
                     sum += weight[static_cast<usize>(at)] / total * kB.at({at, place[1]});
                   return sum;
                 }));
  }
}

TEST(SymbolicJit, MeansAndVariances) {
  const Variable n("symbolic_n", 2, 10);
  auto f =
      jit([](const Tensor& x) { return std::tuple(x.mean(), x.mean(0), x.mean(1), x.var(0)); });
  for (i64 i = 2; i <= 6; ++i) {
    const auto [all, down, across, spread] = f(kA.tensor()[to(n.bind(i))]);
    const auto mean = [&](i64 column) {
      f64 sum = 0;
      for (i64 row = 0; row < i; ++row) sum += kA.at({row, column});
      return sum / static_cast<f64>(i);
    };
    expect_close(all, Array::make({}, [&](auto&) { return (mean(0) + mean(1) + mean(2)) / 3; }));
    expect_close(down, Array::make({3}, [&](auto& at) { return mean(at[0]); }));
    expect_bound(across, Array::make({i}, [](auto& at) {
                   return (kA.at({at[0], 0}) + kA.at({at[0], 1}) + kA.at({at[0], 2})) / 3;
                 }));
    expect_close(spread, Array::make({3}, [&](auto& at) {
                   f64 sum = 0;
                   for (i64 row = 0; row < i; ++row)
                     sum += std::pow(kA.at({row, at[0]}) - mean(at[0]), 2);
                   return sum / static_cast<f64>(i - 1);
                 }));
  }
}

// A window that moves, and a size that is an expression of the variable.
TEST(SymbolicJit, WindowsAndExpressions) {
  const Variable n("symbolic_n", 1, 8);
  auto moved = jit([](const Tensor& x) { return x + 1; });
  auto longer = jit([](const Tensor& x) { return Tensor::cat({x, x, Tensor::ones({2, 3})}); });
  for (i64 i = 1; i <= 6; ++i) {
    const Size at = n.bind(i);
    const Tensor window = kA.tensor()[{Slice(at, at + 2), Slice(1, 3)}];
    const Array shifted =
        Array::make({2, 2}, [&](auto& p) { return kA.at({p[0] + i, p[1] + 1}) + 1; });
    const Floats values = moved(window).to_vector<float>();
    ASSERT_EQ(values.size(), 4u);
    for (usize k = 0; k < 4; ++k) EXPECT_NEAR(values[k], shifted.values[k], 1e-6);
    expect_bound(longer(kA.tensor()[to(at)]), Array::make({2 * i + 2, 3}, [&](auto& p) {
                   return p[0] >= 2 * i ? 1.0 : kA.at({p[0] % i, p[1]});
                 }));
  }
}

TEST(SymbolicJit, ResultsAreArgumentsAndStateOfOthers) {
  const Variable n("symbolic_n", 1, 10);
  auto grow = jit([](const Tensor& x) { return x + 1; });
  auto twice = jit([](const Tensor& x) { return (x * 2).sum(0); });
  for (i64 i = 1; i <= 6; ++i) {
    Tensor x = kA.tensor()[to(n.bind(i))];
    for (int step = 0; step < 3; ++step) x = grow(x);
    expect_close(twice(x), Array::make({3}, [&](auto& at) {
                   f64 sum = 0;
                   for (i64 row = 0; row < i; ++row) sum += 2 * (kA.at({row, at[0]}) + 3);
                   return sum;
                 }));
  }
}

TEST(SymbolicJit, ASizeWithinTheFunctionAndAnArgumentAgree) {
  const Variable n("symbolic_n", 1, 10);
  const Tensor state = kB.tensor().realize();
  auto f = jit([&](const Tensor& x, const Size& size) { return x + state[to(size)]; });
  for (i64 i = 1; i <= 6; ++i) {
    expect_bound(f(kA.tensor()[to(n.bind(i))], n.bind(i)),
                 Array::make({i, 3}, [](auto& at) { return kA.at(at) + kB.at(at); }));
  }
  EXPECT_EQ(thrown([&] { f(kA.tensor()[to(n.bind(2))], n.bind(3)); }),
            "variable symbolic_n is bound to 3 and to 2 in one call of a jitted function");
  // By way of its argument's shape the function needs no size.
  auto g = jit([&](const Tensor& x) { return x + state[to(x.size(0))]; });
  for (i64 i = 1; i <= 6; ++i) {
    expect_bound(g(kA.tensor()[to(n.bind(i))]),
                 Array::make({i, 3}, [](auto& at) { return kA.at(at) + kB.at(at); }));
  }
}

TEST(SymbolicJit, ArgumentsAreAssigned) {
  const Variable n("symbolic_n", 1, 10);
  auto f = jit([](Tensor x) { x += 1; });
  for (i64 i = 1; i <= 5; ++i) {
    Tensor x = kA.tensor()[to(n.bind(i))].realize();
    f(x);
    f(x);
    expect_bound(x, Array::make({i, 3}, [](auto& at) { return kA.at(at) + 2; }));
  }
}

// A cache of keys or values that is filled row by row, and read as far as it is full.
TEST(SymbolicJit, RowsAreAssignedAtASymbolicPlace) {
  const Variable position("symbolic_position", 0, 9);
  Tensor cache = Tensor::zeros({10, 3});
  auto f = jit([&](const Tensor& row, const Size& at) {
    cache[{Slice(at, at + 1)}] = row;
    return cache[to(at + 1)].sum(0);
  });
  for (i64 i = 0; i < 10; ++i) {
    const Tensor row = kA.tensor()[{Slice(i, i + 1)}];
    expect_close(f(row, position.bind(i)), Array::make({3}, [&](auto& p) {
                   f64 sum = 0;
                   for (i64 r = 0; r <= i; ++r) sum += kA.at({r, p[0]});
                   return sum;
                 }));
  }
  expect_close(cache, kA);
}

TEST(SymbolicJit, WhatDoesNotFitIsRefused) {
  const Variable n("symbolic_n", 1, 10), other("symbolic_other", 1, 10);
  auto f = jit([](const Tensor& x) { return x + 1; }, {.max_graphs = 1});
  const Tensor a = kA.tensor();
  for (i64 i = 1; i <= 3; ++i) f(a[to(n.bind(i))]);
  EXPECT_EQ(thrown([&] { f(a[to(other.bind(2))]); }),
            "argument 0 of a jitted function is float32 of shape (symbolic_other, 3) on CPU, "
            "captured with float32 of shape (symbolic_n, 3) on CPU");
  EXPECT_EQ(thrown([&] { f(a[{Slice(0, 2)}]); }),
            "argument 0 of a jitted function is float32 of shape (2, 3) on CPU, captured with "
            "float32 of shape (symbolic_n, 3) on CPU");
  EXPECT_EQ(thrown([&] { f(a[{to(n.bind(2)), Slice(0, 2)}]); }),
            "argument 0 of a jitted function is float32 of shape (symbolic_n, 2) on CPU, captured "
            "with float32 of shape (symbolic_n, 3) on CPU");
  auto bound = jit([&](const Tensor& x) { return x.sum() + a[to(n.bind(4))].sum(); });
  EXPECT_EQ(thrown([&] { bound(a[to(n.bind(3))]); }),
            "variable symbolic_n has two values in one graph");
  auto apart = jit([&](const Tensor& x) { return x.sum() + a[to(n.bind(4))].sum().realize(); });
  apart(a[to(n.bind(3))]);
  EXPECT_EQ(thrown([&] { apart(a[to(n.bind(3))]); }),
            "variable symbolic_n is bound to 4 inside a jitted function and to 3 by its "
            "arguments; pass the bound size as an argument");
  auto empty = jit([](const Tensor& x) { return x[{Ellipsis, Slice(0, 0)}]; });
  empty(a[to(n.bind(3))]);
  EXPECT_EQ(thrown([&] { empty(a[to(n.bind(3))]); }),
            "a jitted function gives a tensor of shape (symbolic_n, 0), which has no elements and "
            "a size that changes from call to call");
}

TEST(SymbolicJit, NullReplaysToo) {
  const Variable n("symbolic_n", 1, 10);
  auto f = jit([](const Tensor& x) { return (x + 1).contiguous() * 2; });
  const Tensor x = Tensor::empty({10, 3}, {.device = "NULL"});
  for (i64 i = 1; i <= 4; ++i) {
    const Tensor result = f(x[to(n.bind(i))]);
    EXPECT_EQ(result.numel(), 3 * i);
    EXPECT_EQ(result.device(), "NULL");
  }
}

TEST(SymbolicGradient, OfASliceIsZeroOutsideIt) {
  const Variable n("symbolic_n", 1, 10);
  for (const i64 i : {1, 4, 10}) {
    Tensor x = kA.tensor();
    x.requires_grad();
    x[to(n.bind(i))].square().sum().backward();
    expect_close(x.grad(),
                 Array::make({10, 3}, [&](auto& at) { return at[0] < i ? 2 * kA.at(at) : 0.0; }));
  }
}

TEST(SymbolicGradient, OfAMovingWindow) {
  const Variable n("symbolic_n", 0, 7);
  for (const i64 i : {0, 3, 7}) {
    Tensor x = kA.tensor();
    x.requires_grad();
    const Size at = n.bind(i);
    (x[{Slice(at, at + 3), Slice(1, 2)}] * 5).sum().backward();
    expect_close(x.grad(), Array::make({10, 3}, [&](auto& p) {
                   return p[0] >= i && p[0] < i + 3 && p[1] == 1 ? 5.0 : 0.0;
                 }));
  }
}

TEST(SymbolicGradient, OfTheGradient) {
  const Variable n("symbolic_n", 1, 10);
  Tensor x = kA.tensor();
  x.requires_grad();
  const Tensor part = x[to(n.bind(4))];
  const Tensor first = (part * part * part).sum().gradient({x})[0];
  const Tensor second = first.sum().gradient({x})[0];
  expect_close(second,
               Array::make({10, 3}, [&](auto& at) { return at[0] < 4 ? 6 * kA.at(at) : 0.0; }));
}

TEST(SymbolicGradient, WithRespectToASymbolicTensor) {
  const Variable n("symbolic_n", 1, 10);
  auto f = jit([](const Tensor& x) { return x.square().sum().gradient({x})[0]; });
  for (i64 i = 1; i <= 5; ++i) {
    const Array expected = Array::make({i, 3}, [](auto& at) { return 2 * kA.at(at); });
    Tensor x = kA.tensor()[to(n.bind(i))].realize();
    expect_bound(x.square().sum().gradient({x})[0], expected);
    expect_bound(f(x), expected);
    x.requires_grad();
    x.square().sum().backward();
    expect_bound(x.grad(), expected);
  }
}

// A step over batches of a size that changes.
TEST(SymbolicGradient, InAJittedStep) {
  const Variable n("symbolic_n", 1, 10);
  Tensor weight = Tensor::of({0.5, -0.25, 0.125});
  weight.requires_grad();
  const std::vector<Tensor> parameters{weight};
  nn::SGD optimizer(parameters, 0.1);
  auto step = jit([&](const Tensor& x) {
    optimizer.zero_grad();
    const Tensor loss = (x * weight).sum(1).square().mean();
    loss.backward();
    optimizer.step();
    return loss;
  });
  std::vector<f64> w = {0.5, -0.25, 0.125};
  for (const i64 rows : {3, 5, 2, 10, 1, 7}) {
    f64 loss = 0;
    std::vector<f64> slope(3, 0);
    for (i64 r = 0; r < rows; ++r) {
      f64 dot = 0;
      for (i64 c = 0; c < 3; ++c) dot += kA.at({r, c}) * w[static_cast<usize>(c)];
      loss += dot * dot / static_cast<f64>(rows);
      for (i64 c = 0; c < 3; ++c)
        slope[static_cast<usize>(c)] += 2 * dot * kA.at({r, c}) / static_cast<f64>(rows);
    }
    for (usize c = 0; c < 3; ++c) w[c] -= 0.1 * slope[c];
    EXPECT_NEAR(step(kA.tensor()[to(n.bind(rows))]).item<float>(), loss, 1e-5);
    const Floats now = weight.to_vector<float>();
    for (usize c = 0; c < 3; ++c) EXPECT_NEAR(now[c], w[c], 1e-5);
  }
}

}  // namespace
}  // namespace doorbell::test
