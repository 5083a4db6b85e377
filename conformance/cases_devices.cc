// Several devices of a kind: copies of all sizes, work on each, and operations on a device that is
// not the default one.
#include <fmt/format.h>

#include "conformance/inputs.h"
#include "tensor/jit/jit.h"

namespace doorbell::conformance {
namespace {

void copies(Trial& trial) {
  const std::string here = trial.device().name(), there = trial.target().second->name();
  Random random(seed_of(trial.seed(), "copies"));
  for (i64 size : {0, 1, 3, 4096, 100003}) {
    const Array values = random_array(random, dtypes::u8, {size}, Domain::Any);
    const Tensor x = trial.tensor(values);
    trial.check(fmt::format("{} bytes there and back", size), x.to(there).to(here), values);
    trial.check(fmt::format("{} bytes there", size), x.to(there), values);
  }
}

// Copies a value back and forth; each device changes it in turn.
void back_and_forth(Trial& trial) {
  const std::string here = trial.device().name(), there = trial.target().second->name();
  Array want{dtypes::i32, {1001}, std::vector<Real>(1001, 1)};
  Tensor x = trial.tensor(want);
  for (int i = 0; i < 20; ++i) {
    x = (x * 3 + i).to(i % 2 == 0 ? there : here);
    for (Real& value : want.values) value = wrap(dtypes::i32, static_cast<__int128>(value) * 3 + i);
  }
  trial.check("after 20 steps", x, want);
}

// Operations that make constants, ranges or random numbers must make them on the device of their
// operand.
void not_the_default(Trial& trial) {
  const std::string here = trial.device().name(), there = trial.target().second->name();
  Random random(seed_of(trial.seed(), "there"));
  const Array values = random_array(random, dtypes::f32, {4, 6}, Domain::Small);
  const Array places{dtypes::i32, {4, 1}, {5, 0, 3, 3}};
  struct Form {
    const char* name;
    std::function<Tensor(const Tensor& x, const Tensor& index)> apply;
  };
  using T = const Tensor&;
  const Form forms[] = {
      {"sort", [](T x, T) { return x.sort().values; }},
      {"argmax", [](T x, T) { return x.argmax(1); }},
      {"topk", [](T x, T) { return x.topk(2).values; }},
      {"tril", [](T x, T) { return x.tril(); }},
      {"gather", [](T x, T i) { return x.gather(1, i); }},
      {"scatter", [](T x, T i) { return x.scatter(1, i, 2.0); }},
      {"one_hot", [](T, T i) { return i.one_hot(6); }},
      {"rows", [](T x, T i) { return x[i % 4]; }},
      {"cumsum", [](T x, T) { return x.cumsum(1); }},
      {"interpolate", [](T x, T) { return x.unsqueeze(0).interpolate({5, 5}); }},
      {"pad", [](T x, T) { return x.pad({{1, 1}, {2, 0}}, {.value = 3.0}); }},
      {"cross_entropy", [](T x, T i) { return x.cross_entropy(i.reshape({4})); }},
      {"like", [](T x, T) { return x.ones_like() * x + x.full_like(2) + 1; }},
      {"set",
       [](T x, T) {
         Tensor y = x.clone();
         y[{1, Slice(2, 4)}] = 9;
         return y;
       }},
      {"attention",
       [](T x, T) { return x.scaled_dot_product_attention(x, x, {.is_causal = true}); }},
      {"gradient", [](T x, T) { return x.softmax(1).square().sum().gradient({x})[0]; }},
  };
  const Tensor x = trial.tensor(values), index = trial.tensor(places);
  const Tensor other_x = x.to(there).realize(), other_index = index.to(there).realize();
  for (const Form& form : forms) {
    try {
      const Tensor want = form.apply(x, index), got = form.apply(other_x, other_index);
      trial.require(got.device() == there,
                    fmt::format("{} of a tensor on {} is on {}", form.name, there, got.device()));
      trial.check(form.name, got,
                  Array::from_bytes(want.dtype(), want.shape().values(), want.to_bytes()));
    } catch (const Error& error) {
      trial.require(false, fmt::format("{} on {}: {}", form.name, there, error.message));
    }
  }
}

void refuses_mixing(Trial& trial) {
  const Tensor x = Tensor::ones({2}, trial.on(dtypes::f32)),
               y = x.to(trial.target().second->name());
  trial.require_throws([&] { (x + y).realize(); }, trial.target().second->name());
}

// Draws on two devices do not disturb each other, and differ.
void random_streams(Trial& trial) {
  const TensorOptions there{.device = trial.target().second->name()};
  Tensor::manual_seed(5);
  const auto alone = Tensor::rand({64}, trial.on(dtypes::f32)).to_vector<float>();
  Tensor::manual_seed(5);
  const auto other = Tensor::rand({64}, there).to_vector<float>();
  const auto beside = Tensor::rand({64}, trial.on(dtypes::f32)).to_vector<float>();
  trial.require(alone == beside, "a draw on another device changed this one's");
  trial.require(alone != other, "two devices draw the same numbers");
}

// A tensor split or copied over both devices against the same tensor on one: values, devices and
// gradients. The other groups check results on one device.
void shards(Trial& trial) {
  const Devices both{trial.device().name(), trial.target().second->name()};
  Random random(seed_of(trial.seed(), "shards"));
  const Tensor x = trial.tensor(random_array(random, dtypes::f32, {6, 8}, Domain::Small)),
               w = trial.tensor(random_array(random, dtypes::f32, {8, 4}, Domain::Small));
  struct Form {
    const char* name;
    std::function<Tensor(const Tensor& x, const Tensor& w)> apply;
  };
  using T = const Tensor&;
  const Form forms[] = {
      {"elementwise", [](T x, T) { return (x * 3 + 1).relu(); }},
      {"sum of rows", [](T x, T) { return x.sum(1); }},
      {"sum of columns", [](T x, T) { return x.sum(0); }},
      {"sum", [](T x, T) { return x.sum(); }},
      {"max", [](T x, T) { return x.max(0); }},
      {"product", [](T x, T w) { return x.matmul(w); }},
      {"transposed", [](T x, T) { return x.t().contiguous(); }},
      {"flipped", [](T x, T) { return x.flip({0, 1}); }},
      {"softmax of rows", [](T x, T) { return x.softmax(1); }},
      {"softmax of columns", [](T x, T) { return x.softmax(0); }},
      {"joined", [](T x, T) { return Tensor::cat({x, x * 2}, 1); }},
  };
  const Tolerance sums{.absolute = 1e-4};  // in another order
  for (const std::optional<i64> axis : {std::optional<i64>(0), std::optional<i64>(1), {}}) {
    const std::string split = axis ? fmt::format("split along axis {}", *axis) : "copied";
    const Tensor parts = x.shard(both, axis);
    const Tensor weights = axis == 1 ? w.shard(both, 0) : w.shard(both);
    for (const Form& form : forms) {
      const Tensor want = form.apply(x, w);
      trial.check(fmt::format("{}, {}", form.name, split), form.apply(parts, weights),
                  Array::from_bytes(want.dtype(), want.shape().values(), want.to_bytes()), sums);
    }
    const Tensor want = x.matmul(w).square().sum().gradient({w})[0];
    trial.check(fmt::format("gradient, {}", split),
                parts.matmul(weights).square().sum().gradient({weights})[0],
                Array::from_bytes(want.dtype(), want.shape().values(), want.to_bytes()),
                {.absolute = 1e-2});
  }
}

// The state of a training loop on two devices: assigned in place, step after step.
void shards_assigned(Trial& trial) {
  const Devices both{trial.device().name(), trial.target().second->name()};
  Tensor total = Tensor::zeros({4, 3}, trial.on(dtypes::i32)).shard(both, 0).realize();
  Array want{dtypes::i32, {4, 3}, std::vector<Real>(12, 0)};
  for (int step = 1; step <= 5; ++step) {
    total.assign(total * 2 + step).realize();
    for (Real& value : want.values) value = value * 2 + step;
  }
  trial.check("after 5 steps", total, want);
  trial.check("on one device", total.to(trial.device().name()), want);
  trial.require_throws([&] { Tensor::zeros({3}).shard(both, 0).realize(); }, "3");
}

// A captured function whose kernels run on both devices in turn, with other inputs each time.
void graph_wanders(Trial& trial) {
  const std::string here = trial.device().name(), there = trial.target().second->name();
  Tensor seen = Tensor::zeros({1001}, trial.on(dtypes::i32)).realize();
  auto f = jit([&](const Tensor& x) {
    const Tensor far = (x * 3).to(there);
    const Tensor back = (far + far.sum()).to(here);
    seen.assign(seen + back);
    return back - x;
  });
  std::vector<Real> total(1001, 0);
  for (i64 call = 0; call < 6; ++call) {
    const Array x = Array::make(dtypes::i32, {1001},
                                [&](const Place& at) { return Real((at[0] * 7 + call) % 101); });
    Real sum = 0;
    for (Real value : x.values) sum += 3 * value;
    Array want = x;
    for (usize i = 0; i < total.size(); ++i) {
      want.values[i] = 2 * x.values[i] + sum;
      total[i] += 3 * x.values[i] + sum;
    }
    trial.check(fmt::format("call {}", call), f(trial.tensor(x)), want);
  }
  trial.check("the recorded values", seen, {dtypes::i32, {1001}, total});
}

// Captured gradient descent on a sum of squares, with its rows split over two devices and its
// weights on both: every step adds the gradients of both.
void graph_trained(Trial& trial) {
  constexpr i64 kRows = 6, kColumns = 5;
  constexpr Real kRate = 1.0L / 64;
  const Devices both{trial.device().name(), trial.target().second->name()};
  const Array x = Array::make(dtypes::f32, {kRows, kColumns}, [](const Place& at) {
    return Real((at[0] * 3 + at[1] * 5) % 7 - 3);
  });
  const Array y =
      Array::make(dtypes::f32, {kRows, 1}, [](const Place& at) { return Real(at[0] - 2); });
  const Tensor rows = trial.tensor(x).shard(both, 0).realize(),
               wanted = trial.tensor(y).shard(both, 0).realize();
  Tensor w = Tensor::zeros({kColumns, 1}, trial.on(dtypes::f32)).shard(both).realize();
  auto step = jit([&](const Tensor& a, const Tensor& b) {
    const Tensor miss = a.matmul(w) - b;
    w.assign(w - a.t().matmul(miss) * static_cast<double>(kRate));
    return miss.square().sum();
  });
  std::vector<Real> weights(kColumns, 0);
  for (int call = 0; call < 6; ++call) {
    std::vector<Real> slope(kColumns, 0);
    Real loss = 0;
    for (i64 i = 0; i < kRows; ++i) {
      const Real* row = x.values.data() + i * kColumns;
      Real miss = -y.values[static_cast<usize>(i)];
      for (usize j = 0; j < kColumns; ++j) miss += row[j] * weights[j];
      for (usize j = 0; j < kColumns; ++j) slope[j] += row[j] * miss;
      loss += miss * miss;
    }
    for (usize j = 0; j < kColumns; ++j) weights[j] -= kRate * slope[j];
    trial.check(fmt::format("loss of step {}", call), step(rows, wanted), {dtypes::f32, {}, {loss}},
                {.absolute = 1e-3});
    trial.check(fmt::format("weights after step {}", call), w,
                {dtypes::f32, {kColumns, 1}, weights}, {.absolute = 1e-3});
  }
}

}  // namespace

void add_device_cases(Suite& suite) {
  const Needs two{.runs = true, .second_device = true};
  suite.add_alone("devices/copies/sizes",
                  {.dtypes = {dtypes::u8}, .runs = true, .second_device = true}, copies);
  suite.add_alone("devices/copies/wander", two, back_and_forth);
  suite.add_alone("devices/work/not_the_default", two, not_the_default);
  suite.add_alone("devices/shards/forms", two, shards);
  suite.add_alone("devices/shards/assigned", two, shards_assigned);
  suite.add_alone("devices/graph/wanders", two, graph_wanders);
  suite.add_alone("devices/graph/trained", two, graph_trained);
  suite.add_alone("devices/work/refuses_mixing", {.second_device = true}, refuses_mixing);
  suite.add_alone("devices/work/random",
                  {.dtypes = {dtypes::u64}, .runs = true, .second_device = true}, random_streams);
}

}  // namespace doorbell::conformance
