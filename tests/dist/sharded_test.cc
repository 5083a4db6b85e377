// Tensors over the devices of several processes give what one process gives: operations, moves,
// gradients, random numbers, jit, layers and optimisers.
#include "core/device/counters.h"
#include "tensor/jit/jit.h"
#include "tensor/nn/layers.h"
#include "tensor/nn/losses.h"
#include "tensor/nn/optim.h"
#include "tests/dist/support.h"

namespace doorbell::test {
namespace {

Devices all() { return dist::devices("CPU"); }

TEST(Sharded, EveryLayoutIsReadBack) {
  const Tensor x = whole_numbers({16, 8}, 1);
  for (const std::optional<i64> from : {std::optional<i64>(0), std::optional<i64>(1), {}})
    for (const std::optional<i64> to : {std::optional<i64>(0), std::optional<i64>(1), {}}) {
      const Tensor moved = x.shard(all(), from).contiguous().realize().shard(all(), to);
      expect_same(moved.contiguous(), x);
    }
}

TEST(Sharded, OperationsOnPartsAndAcrossThem) {
  const Tensor x = whole_numbers({16, 8}, 2), y = whole_numbers({16, 8}, 3);
  using Function = Tensor (*)(const Tensor&, const Tensor&);
  const Function functions[] = {
      [](const Tensor& a, const Tensor& b) { return a * 2 + b; },
      [](const Tensor& a, const Tensor& b) { return a.sum(0) + b.max(0); },
      [](const Tensor& a, const Tensor& b) { return a.sum() * b.sum(1); },
      [](const Tensor& a, const Tensor& b) { return a.matmul(b.t()); },
      [](const Tensor& a, const Tensor& b) { return a.t().matmul(b); },
      [](const Tensor& a, const Tensor& b) { return a.flip(0) - b.flip(1); },
      [](const Tensor& a, const Tensor& b) { return (a[{Slice(2, 10)}]) * (b[{Slice(0, 8)}]); },
      [](const Tensor& a, const Tensor& b) { return a.pad({{3, 1}, {1, 0}}).sum(1) + b.sum(); },
      [](const Tensor& a, const Tensor& b) {
        return a.reshape({8, 16}).cumsum(0) + b.reshape({8, 16});
      },
      [](const Tensor& a, const Tensor& b) { return Tensor::cat({a, b}, 0); },
  };
  for (usize i = 0; i < std::size(functions); ++i) {
    SCOPED_TRACE("function " + std::to_string(i));
    const Tensor expected = functions[i](x, y);
    for (const i64 axis : {0, 1})
      expect_same(functions[i](x.shard(all(), axis), y.shard(all(), 0)), expected);
  }
}

// By one exchange, not by a message to each.
TEST(Sharded, WhatOneProcessHasIsBroadcast) {
  const Tensor x = whole_numbers({16, 8}, 8), rows = x.shard(all(), 0).contiguous().realize();
  const i64 before = core::counters.copies;
  for (const i64 row : {0, 5, 15}) expect_same(rows[row].contiguous().realize(), x[row]);
  expect_same(rows[{Slice(6, 7), Slice(1, 4)}], x[{Slice(6, 7), Slice(1, 4)}]);
  EXPECT_EQ(core::counters.copies - before, 0);
}

TEST(Sharded, GradientsOfSharedAndSplitLeaves) {
  const Tensor x = whole_numbers({8, 6}, 4), w = whole_numbers({6, 4}, 5);
  const auto loss = [](const Tensor& a, const Tensor& b) { return a.matmul(b).square().sum(); };
  const std::vector<Tensor> expected = loss(x, w).gradient({x, w});
  const Tensor rows = x.shard(all(), 0), copies = w.to(all());
  const std::vector<Tensor> found = loss(rows, copies).gradient({rows, copies});
  for (usize i = 0; i < 2; ++i) expect_same(found[i], expected[i]);
  // A part of the sum each: of the rows of w.
  if (dist::world_size() <= 2) {
    const Tensor part = found[1].shard(all(), 0);
    expect_same(part, expected[1]);
  }
}

TEST(Sharded, DrawsWhatOneProcessDraws) {
  const auto draw = [](const Tensor& like) {
    Tensor::manual_seed(5);
    TrainingScope training;
    return std::vector{like.rand_like(), like.dropout(0.5), like.randn_like()};
  };
  const Tensor x = whole_numbers({8, 4}, 6);
  const std::vector<Tensor> expected = draw(x), found = draw(x.shard(all(), 0));
  for (usize i = 0; i < expected.size(); ++i) expect_same(found[i], expected[i], 1e-6);
}

TEST(Sharded, ElementsOfOthersAreNotReadBySurprise) {
  if (dist::world_size() == 1) return;
  const Tensor x = whole_numbers({8, 4}, 7).shard(all(), 0).contiguous().realize();
  EXPECT_THROW(x.to_vector<f32>(), Error);
  EXPECT_EQ(x.sum().item<f32>(), whole_numbers({8, 4}, 7).sum().item<f32>());
}

struct Net {
  nn::Linear first{6, 16}, second{16, 3};
  Tensor operator()(const Tensor& x) { return second(first(x).tanh()); }
  void visit(nn::Visitor& v) { v("first", first), v("second", second); }
};

struct Learnt {
  std::vector<f64> losses;
  std::vector<Tensor> state;
};

Learnt learn(bool is_shared, bool is_captured) {
  Tensor::manual_seed(1);
  Net net;
  for (auto& [name, tensor] : nn::state_of(net)) {
    tensor.realize();
    if (is_shared) tensor.to_(all());
  }
  nn::Adam optimizer(nn::parameters_of(net), 1e-2);
  auto step = [&](const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = (net(x) - y).square().mean();
    loss.backward();
    optimizer.step();
    return loss;
  };
  auto captured = jit(step);
  Learnt learnt;
  TrainingScope training;
  for (i64 i = 0; i < 5; ++i) {
    Tensor x = whole_numbers({8, 6}, 10 + i), y = whole_numbers({8, 3}, 20 + i);
    if (is_shared) x = x.shard(all(), 0), y = y.shard(all(), 0);
    x.realize(), y.realize();
    learnt.losses.push_back((is_captured ? captured(x, y) : step(x, y)).item<f32>());
  }
  if (is_captured) {
    EXPECT_TRUE(captured.is_captured());
  }
  for (auto& [name, tensor] : nn::state_of(net)) learnt.state.push_back(tensor);
  return learnt;
}

TEST(Sharded, TrainingLearnsWhatOneProcessLearns) {
  const Learnt alone = learn(false, false);
  for (const bool is_captured : {false, true}) {
    const Learnt shared = learn(true, is_captured);
    for (usize i = 0; i < alone.losses.size(); ++i)
      EXPECT_NEAR(shared.losses[i], alone.losses[i], 1e-4 * alone.losses[i]) << "step " << i;
    for (usize i = 0; i < alone.state.size(); ++i)
      expect_same(shared.state[i], alone.state[i], 1e-4);
  }
}

}  // namespace
}  // namespace doorbell::test
