// Captured functions: replays with other arguments, state, random draws, sizes given at run time,
// and a training step, each against plain calls.
#include <fmt/format.h>

#include "conformance/inputs.h"
#include "tensor/jit/jit.h"
#include "tensor/nn/layers.h"
#include "tensor/nn/optim.h"

namespace doorbell::conformance {
namespace {

constexpr int kCalls = 6;

Array row(std::vector<Real> values) {
  return {dtypes::f32, {static_cast<i64>(values.size())}, std::move(values)};
}

void arguments(Trial& trial) {
  auto f =
      jit([](const Tensor& a, const Tensor& b) { return std::pair(a * 2 + b, (a - b).sum()); });
  for (int i = 0; i < kCalls; ++i) {
    const Real n = i;
    const auto [y, total] = f(trial.tensor(row({n, 1, 2})), trial.tensor(row({10, 20, n})));
    trial.check(fmt::format("call {}", i), y, row({2 * n + 10, 22, 4 + n}));
    trial.check(fmt::format("sum of call {}", i), total, {dtypes::f32, {}, {3 - 30.0L}});
  }
}

// A chain of products, of other memory in each call: a permutation's matrix moves the columns,
// exactly.
void products(Trial& trial) {
  constexpr i64 kRows = 64, kColumns = 128, kProducts = 5;
  const auto place = [](i64 column) { return (column * 5 + 3) % kColumns; };
  const Tensor turn =
      trial
          .tensor(Array::make(dtypes::f16, {kColumns, kColumns},
                              [&](const Place& at) { return Real(at[1] == place(at[0]) ? 1 : 0); }))
          .realize();
  auto f = jit([&](const Tensor& x, const Tensor& by) {
    Tensor y = x;
    for (i64 i = 0; i < kProducts; ++i) y = y.matmul(by);
    return y;
  });
  std::vector<Tensor> kept;  // so that memory is not used again
  for (int call = 0; call < kCalls; ++call) {
    const auto value = [&](i64 row, i64 column) { return Real((row * 7 + column + call) % 61); };
    const Array x = Array::make(dtypes::f16, {kRows, kColumns},
                                [&](const Place& at) { return value(at[0], at[1]); });
    Array want = x;
    for (i64 row = 0; row < kRows; ++row) {
      for (i64 column = 0; column < kColumns; ++column) {
        i64 to = column;
        for (i64 i = 0; i < kProducts; ++i) to = place(to);
        want.values[static_cast<usize>(row * kColumns + to)] = value(row, column);
      }
    }
    kept.push_back(trial.tensor(x).realize());
    trial.check(fmt::format("call {}", call), f(kept.back(), turn), want);
  }
}

void state(Trial& trial) {
  Tensor total = trial.tensor(row({0, 0})), scale = trial.tensor(row({1, 1}));
  auto add = jit([&](const Tensor& x) {
    total.assign(total + x * scale);
    return total * 10;
  });
  const Tensor x = trial.tensor(row({1, 2}));
  for (int i = 1; i <= 4; ++i)
    trial.check(fmt::format("call {}", i), add(x), row({Real(i) * 10, Real(i) * 20}));
  scale.assign(trial.tensor(row({10, 10})));
  add(x);
  trial.check("after the scale has changed", total, row({14, 28}));
  total += 1;
  add(x);
  trial.check("after the state has changed", total, row({25, 49}));
}

void random_draws(Trial& trial) {
  const auto draw = [&] {
    return Tensor::rand({37}, trial.on(dtypes::f32)) + Tensor::rand({37}, trial.on(dtypes::f32));
  };
  std::vector<std::vector<float>> plain;
  Tensor::manual_seed(11);
  for (int i = 0; i < kCalls; ++i) plain.push_back(draw().to_vector<float>());
  Tensor::manual_seed(11);
  auto f = jit(draw);
  for (int i = 0; i < kCalls; ++i)
    trial.require(f().to_vector<float>() == plain[static_cast<usize>(i)],
                  fmt::format("call {} draws other numbers than a plain call", i));
}

void sizes(Trial& trial) {
  const Array values =
      Array::make(dtypes::i32, {16, 3}, [](const Place& at) { return Real(at[0] * 3 + at[1]); });
  const Tensor x = trial.tensor(values).realize();
  Variable length("conformance_length", 1, 16);
  auto f = jit([](const Tensor& t, const Size& n) { return t[{Slice(0, n)}].sum(0); });
  for (i64 n : {16, 3, 7, 1, 12, 16}) {
    Array want = Array::make(
        dtypes::i32, {3}, [&](const Place& at) { return Real(n * at[0] + 3 * n * (n - 1) / 2); });
    trial.check(fmt::format("length {}", n), f(x, length.bind(n)), want);
  }
}

// Sizes given at run time, without a capture.
void plain_sizes(Trial& trial) {
  const Array values =
      Array::make(dtypes::f32, {9, 12}, [](const Place& at) { return Real(at[0] * 12 + at[1]); });
  const Tensor x = trial.tensor(values).realize();
  Variable rows("conformance_rows", 1, 9), columns("conformance_columns", 1, 12);
  for (const auto& [m, n] : {std::pair<i64, i64>{9, 12}, {1, 1}, {4, 7}, {5, 12}}) {
    const Tensor part = x[{Slice(0, rows.bind(m)), Slice(0, columns.bind(n))}];
    Real sum = 0;
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < n; ++j) sum += Real(i * 12 + j);
    trial.check(fmt::format("sum of {} x {}", m, n), part.sum(), {dtypes::f32, {}, {sum}});
    trial.check(fmt::format("max of {} x {}", m, n), part.max(),
                {dtypes::f32, {}, {Real((m - 1) * 12 + n - 1)}});
  }
}

// Adam on a small network: the jitted step must equal the plain step.
void training(Trial& trial) {
  const auto train = [&](bool captured) {
    Tensor::manual_seed(3);
    const std::string device = trial.device().name();
    nn::Linear first(3, 8), second(8, 1);
    for (Tensor* parameter : {&first.weight, &first.bias, &second.weight, &second.bias})
      *parameter = parameter->to(device).detach().requires_grad();
    nn::Adam optimizer(std::vector{first.weight, first.bias, second.weight, second.bias}, 0.05);
    const Tensor x = Tensor::rand({16, 3}, trial.on(dtypes::f32)).realize(),
                 y = x.sum(1, {.keepdim = true}).realize();
    const auto body = [&](const Tensor& a, const Tensor& b) {
      optimizer.zero_grad();
      const Tensor loss = (second(first(a).tanh()) - b).square().mean();
      loss.backward();
      optimizer.step();
      return loss;
    };
    auto step = jit(body);
    std::vector<float> losses;
    for (int i = 0; i < 8; ++i)
      losses.push_back((captured ? step(x, y) : body(x, y)).item<float>());
    return losses;
  };
  const std::vector<float> plain = train(false), captured = train(true);
  for (usize i = 0; i < plain.size(); ++i)
    trial.require(std::abs(plain[i] - captured[i]) <= 1e-5f * (1 + std::abs(plain[i])),
                  fmt::format("loss {} is {} captured, {} plain", i, captured[i], plain[i]));
  trial.require(plain.back() < plain.front(),
                fmt::format("the loss goes from {} to {}", plain.front(), plain.back()));
}

}  // namespace

void add_jit_cases(Suite& suite) {
  const Needs values{.runs = true};
  suite.add_alone("jit/arguments/replayed", values, arguments);
  suite.add_alone("jit/products/replayed", {.dtypes = {dtypes::f16}, .runs = true}, products);
  suite.add_alone("jit/state/live", values, state);
  suite.add_alone("jit/random/drawn", {.dtypes = {dtypes::u64}, .runs = true}, random_draws);
  suite.add_alone("jit/sizes/captured", values, sizes);
  suite.add_alone("jit/sizes/plain", values, plain_sizes);
  suite.add_alone("jit/training/adam", {.dtypes = {dtypes::u64}, .runs = true}, training);
}

}  // namespace doorbell::conformance
