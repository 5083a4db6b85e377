// Learning on several devices: gradients, allreduce, random numbers, jit, layers and optimisers,
// against the same on one device.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "core/device/counters.h"
#include "core/util/config.h"
#include "tensor/io/idx.h"
#include "tensor/io/safetensors.h"
#include "tensor/jit/jit.h"
#include "tensor/nn/layers.h"
#include "tensor/nn/optim.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

const Devices kTwo{"CPU", "CPU:1"};
const Devices kFour{"CPU", "CPU:1", "CPU:2", "CPU:3"};

Tensor noise(std::vector<i64> shape, u32 seed) {
  return Array::noise(std::move(shape), seed).tensor();
}

void expect_near(const Tensor& actual, const Tensor& expected, f64 relative = 1e-5,
                 f64 absolute = 1e-6) {
  expect_close(actual, {expected.shape().values(), expected.to_vector<double>()}, relative,
               absolute);
}

// ---- gradients

TEST(MultiGradient, FlowsBackToWhereTheSourcesAre) {
  const Tensor x = noise({8, 6}, 1), w = noise({6, 3}, 2);
  const auto loss = [](const Tensor& x, const Tensor& w) {
    return x.matmul(w).tanh().square().mean();
  };
  const std::vector<Tensor> expected = loss(x, w).gradient({x, w});
  const Tensor rows = x.shard(kFour, 0), copies = w.to(kFour);
  const std::vector<Tensor> found = loss(rows, copies).gradient({rows, copies});
  EXPECT_EQ(found[0].shard_axis(), 0);
  EXPECT_EQ(found[1].devices().size(), 4u);
  EXPECT_EQ(found[1].shard_axis(), std::nullopt);
  // Moved within the graph: the gradients come back.
  const std::vector<Tensor> home = loss(x.shard(kFour, 0), w.to(kFour)).gradient({x, w});
  EXPECT_EQ(home[0].device(), "CPU");
  EXPECT_EQ(home[1].device(), "CPU");
  for (usize i = 0; i < 2; ++i) {
    expect_near(found[i], expected[i]);
    expect_near(home[i], expected[i]);
  }
}

using Function = Tensor (*)(const Tensor&, const Tensor&);

TEST(MultiGradient, OfEveryKindOfRule) {
  const Function functions[] = {
      [](const Tensor& x, const Tensor& y) { return (x * y).exp2() / (y.square() + 1); },
      [](const Tensor& x, const Tensor& y) { return x.max(0) * y.sum(0); },
      [](const Tensor& x, const Tensor& y) { return (x + 2).prod(0) - y.mean({0, 1}); },
      [](const Tensor& x, const Tensor& y) { return x.softmax(0) * y.log_softmax(1); },
      [](const Tensor& x, const Tensor& y) { return x.reshape({48}) + y.t().reshape({48}); },
      [](const Tensor& x, const Tensor& y) {
        return x.pad({{2, 2}, {1, 0}}).flip(0) * y.pad({{2, 2}, {0, 1}});
      },
      [](const Tensor& x, const Tensor& y) { return (x[{Slice(2, 6)}]) * (y[{Slice(0, 4)}]); },
      [](const Tensor& x, const Tensor& y) { return x.matmul(y.t()).relu(); },
      [](const Tensor& x, const Tensor& y) { return x.t().matmul(y).cumsum(0); },
      [](const Tensor& x, const Tensor& y) {
        const Tensor weight = y.reshape({6, 1, 2, 4})[{Slice(0, 3)}];
        return x.reshape({4, 1, 2, 6}).conv2d(weight, {.padding = 1});
      },
  };
  const Tensor x = noise({8, 6}, 3), y = noise({8, 6}, 4);
  const auto weighted = [](const Function& run, const Tensor& x, const Tensor& y) {
    const Tensor value = run(x, y);
    Tensor weights = Array::noise(value.shape().values(), 5).tensor();
    if (value.devices().size() > 1) weights = weights.to(value.device());
    return (value * weights).sum();
  };
  std::vector<Tensor> expected, found;
  for (const Function& run : functions)
    for (const Tensor& one : weighted(run, x, y).gradient({x, y})) expected.push_back(one);
  Tensor::realize(expected);
  constexpr i64 kWays[][2] = {{0, 0}, {0, -1}, {1, 0}};
  for (const auto& [a, b] : kWays) {
    SCOPED_TRACE("x along " + std::to_string(a) + ", y along " + std::to_string(b));
    const Tensor one = a < 0 ? x.to(kTwo) : x.shard(kTwo, a);
    const Tensor two = b < 0 ? y.to(kTwo) : y.shard(kTwo, b);
    found.clear();
    for (const Function& run : functions)
      for (const Tensor& g : weighted(run, one, two).gradient({one, two})) found.push_back(g);
    Tensor::realize(found);
    for (usize i = 0; i < found.size(); ++i) {
      SCOPED_TRACE("function " + std::to_string(i / 2) + ", input " + std::to_string(i % 2));
      expect_near(found[i], expected[i], 1e-4, 1e-5);
    }
  }
}

// ---- allreduce

TEST(MultiAllreduce, AllWaysGiveTheSame) {
  // Whole numbers, so that the order of additions does not matter. 37 elements: chunks of 32 and 5,
  // and two devices without one.
  for (const i64 columns : {1, 37, 300}) {
    const Tensor x = (noise({4, columns}, 6) * 1000).trunc(), half = x / 8;
    const std::vector<f64> sum = x.sum(0).to_vector<f64>();
    const std::vector<f64> most = half.max(0).to_vector<f64>();
    for (int way = 1; way <= 3; ++way) {
      SCOPED_TRACE(std::to_string(columns) + " columns, way " + std::to_string(way));
      core::Context context({.allreduce = way});
      const Tensor rows = x.shard(kFour, 0);
      const Tensor total = rows.sum(0);
      EXPECT_EQ(total.to_vector<f64>(), sum);
      // Each copy, not only the one that is read.
      for (const char* device : {"CPU", "CPU:1", "CPU:2", "CPU:3"}) {
        const Tensor there = total.to(device);
        EXPECT_EQ(there.device(), device);
        EXPECT_EQ(there.to_vector<f64>(), sum);
      }
      EXPECT_EQ((rows / 8).max(0).to_vector<f64>(), most);
    }
  }
}

// ---- random numbers

TEST(MultiRandom, DrawsWhatOneDeviceDraws) {
  const auto draw = [](const Tensor& like) {
    Tensor::manual_seed(5);
    TrainingScope training;
    std::vector<Tensor> all{like.rand_like(), like.randn_like(), like.dropout(0.5)};
    all.push_back(Tensor::uniform({6}, -1, 1, {.device = like.device()}));
    all.push_back(Tensor::randint(0, 100, {6}, {.device = like.device()}));
    return all;
  };
  const Tensor x = noise({8, 6}, 7);
  const std::vector<Tensor> expected = draw(x);
  for (const Tensor& like : {x.shard(kTwo, 0), x.shard(kTwo, 1), x.to(kTwo)}) {
    const std::vector<Tensor> found = draw(like);
    for (usize i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].devices().size(), 2u);
      expect_near(found[i], expected[i]);
    }
    EXPECT_EQ(found[0].shard_axis(), like.shard_axis());
  }
}

// ---- jit

TEST(MultiJit, ArgumentsStateAndResults) {
  Tensor state = Tensor::zeros({4, 6}).shard(kFour, 0);
  state.realize();
  const auto run = [&](const Tensor& x, const Tensor& scale) {
    state.assign(state + x * scale);
    return std::pair(state.sum(0), x.max(1));
  };
  auto step = jit(run, {.max_graphs = 1});
  std::vector<f64> expected(24, 0);
  for (u32 call = 1; call <= 5; ++call) {
    const Tensor x = noise({4, 6}, call);
    const std::vector<f64> values = x.to_vector<f64>();
    const auto [sum, most] = step(x.shard(kFour, 0), Tensor::full({}, f64{2} * call).to(kFour));
    EXPECT_EQ(most.shard_axis(), 0);
    EXPECT_EQ(sum.devices().size(), 4u);
    for (usize i = 0; i < 24; ++i) expected[i] += values[i] * 2 * call;
    for (usize row = 0; row < 4; ++row)
      EXPECT_EQ(most.to_vector<f64>()[row],
                *std::max_element(values.begin() + static_cast<i64>(row) * 6,
                                  values.begin() + static_cast<i64>(row) * 6 + 6));
    expect_close(state, {{4, 6}, expected});
    Array sums{{6}, std::vector<f64>(6, 0)};
    for (usize i = 0; i < 24; ++i) sums.values[i % 6] += expected[i];
    expect_close(sum, sums, 1e-5, 1e-5);
  }
  EXPECT_TRUE(step.is_captured());
  const Tensor scale = Tensor::full({}, 1.0).to(kFour);
  EXPECT_EQ(message_of([&] { step(noise({4, 6}, 9).to(kFour), scale); }),
            "argument 0 of a jitted function is float32 of shape (4, 6) on "
            "CPU,CPU:1,CPU:2,CPU:3, captured with float32 of shape (4, 6) on "
            "CPU,CPU:1,CPU:2,CPU:3 along axis 0");
  EXPECT_EQ(message_of([&] { step(noise({4, 6}, 9), scale); }),
            "argument 0 of a jitted function is float32 of shape (4, 6) on CPU, captured with "
            "float32 of shape (4, 6) on CPU,CPU:1,CPU:2,CPU:3 along axis 0");
}

TEST(MultiJit, DrawsGoOn) {
  const Tensor x = Tensor::ones({8, 4});
  const auto draws = [&](const Tensor& x, bool captured) {
    Tensor::manual_seed(11);
    auto plain = [](const Tensor& x) { return x * x.rand_like(); };
    auto jitted = jit(plain);
    std::vector<f64> all;
    for (int i = 0; i < 4; ++i) {
      const Tensor drawn = captured ? jitted(x) : plain(x);
      for (f64 value : drawn.to_vector<f64>()) all.push_back(value);
    }
    return all;
  };
  EXPECT_EQ(draws(x.shard(kTwo, 0), true), draws(x, false));
}

// ---- layers and optimisers

struct Net {
  nn::Conv2d conv{1, 4, {5, 5}, {.stride = 2}};
  nn::BatchNorm norm{4};
  nn::Linear linear{144, 10};
  Tensor operator()(const Tensor& x) {
    return linear(norm(conv(x).relu()).max_pool2d({2, 2}).flatten(1));
  }
  void visit(nn::Visitor& v) { v("conv", conv), v("norm", norm), v("linear", linear); }
};

struct Digits {
  Tensor images, labels;
};

Digits load_digits(i64 count) {
  const char* root = std::getenv("DOORBELL_SOURCE_ROOT");
  const std::string folder = std::string(root != nullptr ? root : ".") + "/data/mnist/t10k-";
  const auto take = [&](const Tensor& all) {
    return (all[{Slice(0, count)}]).contiguous().realize();
  };
  const Tensor pixels = io::load_idx(folder + "images-idx3-ubyte");
  return {take(pixels.cast(dtypes::f32) / 255).reshape({count, 1, 28, 28}),
          take(io::load_idx(folder + "labels-idx1-ubyte").cast(dtypes::i32))};
}

constexpr i64 kBatch = 32, kSteps = 4;

// The losses of a few steps, and what the network is then.
struct Learnt {
  std::vector<f64> losses;
  std::map<std::string, std::vector<f64>> state;
};

Learnt learn(const Digits& digits, const Devices* devices, bool captured) {
  Tensor::manual_seed(1);
  Net net;
  if (devices != nullptr)
    for (auto& [name, tensor] : nn::state_of(net)) tensor.to_(*devices);
  nn::Adam optimizer(nn::parameters_of(net), 1e-2);
  auto step = [&](const Tensor& images, const Tensor& labels) {
    optimizer.zero_grad();
    const Tensor loss = net(images).sparse_categorical_crossentropy(labels);
    loss.backward();
    optimizer.step({loss});
    return loss;
  };
  auto jitted = jit(step);
  TrainingScope training;
  Learnt learnt;
  for (i64 i = 0; i < kSteps; ++i) {
    const Slice batch(i * kBatch, (i + 1) * kBatch);
    Tensor images = digits.images[{batch}], labels = digits.labels[{batch}];
    if (devices != nullptr) {
      images = images.shard(*devices, 0);
      labels = labels.shard(*devices, 0);
    }
    const Tensor loss = captured ? jitted(images, labels) : step(images, labels);
    learnt.losses.push_back(loss.item<f64>());
  }
  for (auto& [name, tensor] : nn::state_of(net)) {
    if (devices != nullptr) {
      EXPECT_EQ(tensor.devices().size(), devices->names().size()) << name;
      EXPECT_EQ(tensor.shard_axis(), std::nullopt) << name;
    }
    learnt.state[name] = tensor.to_vector<f64>();
  }
  return learnt;
}

// Sums over a batch are added in another order: each differs by a few units in the last of 24 bits.
// Adam divides by the root of the variance, so where a gradient is near zero it turns such a
// difference into a part of a step of 1e-2; four steps move no weight by more than a fraction of
// it.
void expect_same_learnt(const Learnt& found, const Learnt& expected) {
  for (i64 i = 0; i < kSteps; ++i)
    EXPECT_NEAR(found.losses[static_cast<usize>(i)], expected.losses[static_cast<usize>(i)], 2e-4);
  for (const auto& [name, values] : expected.state) {
    const std::vector<f64>& other = found.state.at(name);
    ASSERT_EQ(other.size(), values.size());
    for (usize i = 0; i < values.size(); ++i)
      ASSERT_NEAR(other[i], values[i], 2e-3) << name << " " << i;
  }
}

TEST(MultiTraining, FourDevicesLearnWhatOneLearns) {
  const Digits digits = load_digits(kBatch * kSteps);
  const Learnt expected = learn(digits, nullptr, false);
  EXPECT_LT(expected.losses.back(), expected.losses.front());
  expect_same_learnt(learn(digits, &kFour, false), expected);
  expect_same_learnt(learn(digits, &kFour, true), expected);
}

TEST(MultiTraining, OptimisersKeepTheirStateBesideTheParameters) {
  const Tensor x = noise({8, 4}, 1), y = noise({8, 2}, 2);
  const auto train = [&](auto make, const Devices* devices) {
    Tensor w = noise({4, 2}, 3).requires_grad();
    Tensor a = x, b = y;
    if (devices != nullptr) {
      w.shard_(*devices, 0);
      a = a.shard(*devices, 0), b = b.shard(*devices, 0);
    }
    EXPECT_TRUE(w.is_leaf());
    auto optimizer = make(std::vector<Tensor>{w});
    for (int i = 0; i < 3; ++i) {
      optimizer.zero_grad();
      (a.matmul(w) - b).square().mean().backward();
      optimizer.step();
      optimizer.set_learning_rate(0.05);
    }
    EXPECT_EQ(w.shard_axis().has_value(), devices != nullptr);
    return w;
  };
  const auto sgd = [](const std::vector<Tensor>& w) {
    return nn::SGD(w, 0.1, {.momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
  };
  const auto adam = [](const std::vector<Tensor>& w) { return nn::AdamW(w, 0.1); };
  expect_near(train(sgd, &kTwo), train(sgd, nullptr));
  expect_near(train(adam, &kTwo), train(adam, nullptr), 1e-4, 1e-5);
}

TEST(MultiTraining, StateIsSavedWholeAndLoadedInPlace) {
  Tensor::manual_seed(3);
  Net net, sharded;
  for (auto& [name, tensor] : nn::state_of(sharded)) tensor.to_(kTwo);
  sharded.linear.weight.shard_(kTwo, 1);
  nn::load_state(sharded, nn::state_of(net));
  EXPECT_EQ(sharded.linear.weight.shard_axis(), 1);
  EXPECT_EQ(sharded.conv.bias.devices().size(), 2u);
  const std::string path = ::testing::TempDir() + "/multi.safetensors";
  io::save_safetensors(path, nn::state_of(sharded));
  const nn::NamedTensors loaded = io::load_safetensors(path).tensors;
  for (const auto& [name, tensor] : nn::state_of(net)) {
    const auto at = std::ranges::find(loaded, name, [](const auto& one) { return one.first; });
    ASSERT_NE(at, loaded.end()) << name;
    EXPECT_EQ(at->second.to_bytes(), tensor.to_bytes()) << name;
  }
}

}  // namespace
}  // namespace doorbell::test
