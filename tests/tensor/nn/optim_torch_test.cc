// Optimisers, schedules and layers against PyTorch, and LAMB and LARS against their papers
// (tests/tensor/torch/make_values.py).
#include "tensor/jit/jit.h"
#include "tensor/nn/layers.h"
#include "tensor/nn/optim.h"
#include "tensor/nn/schedule.h"

#include "tests/tensor/torch_values.h"

namespace doorbell::test {
namespace {

using Shapes = std::vector<std::vector<i64>>;

// Five steps, of which the last two have half the rate.
template <class Make>
void run(const std::string& name, Make make, const Shapes& shapes = {{3, 4}, {4}}) {
  SCOPED_TRACE(name);
  std::vector<Tensor> parameters;
  for (usize i = 0; i < shapes.size(); ++i) {
    parameters.push_back(Array::noise(shapes[i], 50 + static_cast<u32>(i)).tensor(dtypes::f64));
    parameters.back().requires_grad();
  }
  auto optimizer = make(parameters);
  for (int step = 0; step < 5; ++step) {
    if (step == 3) optimizer->set_learning_rate(optimizer->learning_rate() / 2);
    optimizer->zero_grad();
    Tensor loss;
    for (const Tensor& p : parameters) {
      const Tensor part = (0.5 * (p - 1).square() + p * p * p / 6).sum();
      loss = loss.defined() ? loss + part : part;
    }
    loss.backward();
    optimizer->step();
  }
  // The rate and the powers of beta are f32.
  for (usize i = 0; i < parameters.size(); ++i)
    expect_torch("optim/" + name + "/" + std::to_string(i), parameters[i], 2e-4);
}

template <class T, class Options>
auto with(f64 rate, const Options& options) {
  return [=](const std::vector<Tensor>& parameters) {
    return std::make_unique<T>(parameters, rate, options);
  };
}

TEST(OptimTorch, Descent) {
  run("sgd", with<nn::SGD>(0.1, nn::SGDOptions{.weight_decay = 0.2}));
  run("momentum", with<nn::SGD>(0.1, nn::SGDOptions{.momentum = 0.9, .weight_decay = 0.2}));
  run("nesterov", with<nn::SGD>(0.1, nn::SGDOptions{.momentum = 0.9, .nesterov = true}));
  run("lars", with<nn::LARS>(100, nn::LARSOptions{}));
  run("lars_nesterov",
      with<nn::LARS>(
          100, nn::LARSOptions{
                   .momentum = 0.8, .weight_decay = 0.01, .nesterov = true, .classic = false}));
}

TEST(OptimTorch, Moments) {
  const nn::AdamOptions adam{.betas = {0.8, 0.95}, .eps = 1e-6, .weight_decay = 0.3};
  run("adam", with<nn::Adam>(0.1, adam));
  run("adam_defaults", with<nn::Adam>(0.1, nn::AdamOptions{}));
  run("adamw", with<nn::AdamW>(0.1, nn::AdamOptions{.betas = {0.8, 0.95}, .weight_decay = 0.3}));
  run("adamw_defaults", [](const std::vector<Tensor>& parameters) {
    return std::make_unique<nn::AdamW>(parameters, 0.1);
  });
  run("lamb", with<nn::LAMB>(0.1, nn::LAMBOptions{.weight_decay = 0.05}));
}

TEST(OptimTorch, Muon) {
  const Shapes matrices = {{3, 4}, {5, 2}};
  run("muon", with<nn::Muon>(0.1, nn::MuonOptions{}), matrices);
  run("muon_plain",
      with<nn::Muon>(
          0.1,
          nn::MuonOptions{.weight_decay = 0, .momentum = 0.5, .nesterov = false, .ns_steps = 3}),
      matrices);
}

// Steps that jit replays are the steps that are run, and see the rate change.
template <class T>
void expect_same_when_replayed(const auto& options) {
  SCOPED_TRACE(__PRETTY_FUNCTION__);
  std::vector<std::vector<double>> results;
  for (bool replayed : {false, true}) {
    std::vector<Tensor> w{Array::noise({3, 4}, 50).tensor()};
    w[0].requires_grad();
    T optimizer(w, 0.1, options);
    nn::MultiStepLR schedule(optimizer, {.milestones = {3}});
    const auto run_step = [&](const Tensor& x) {
      optimizer.zero_grad();
      (w[0] * x - 1).square().sum().backward();
      optimizer.step();
    };
    auto step = jit(run_step);
    for (int i = 0; i < 5; ++i) {
      const Tensor x = Array::noise({3, 4}, static_cast<u32>(i)).tensor().realize();
      replayed ? step(x) : run_step(x);
      schedule.step();
    }
    results.push_back(w[0].to_vector<double>());
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(Optim, StepsAreReplayed) {
  expect_same_when_replayed<nn::SGD>(nn::SGDOptions{.momentum = 0.9, .classic = true});
  expect_same_when_replayed<nn::LARS>(nn::LARSOptions{});
  expect_same_when_replayed<nn::LAMB>(nn::LAMBOptions{.weight_decay = 0.1});
  expect_same_when_replayed<nn::Muon>(nn::MuonOptions{});
}

// A velocity that holds the rate: v = 0.9 v + rate g; x -= v.
TEST(Optim, ClassicMomentumHoldsTheRate) {
  Tensor x = Tensor::of({2.0}, {.requires_grad = true});
  nn::SGD optimizer(std::vector<Tensor>{x}, 0.5, {.momentum = 0.9, .classic = true});
  double expected = 2, velocity = 0;
  for (double rate : {0.5, 0.5, 0.25}) {
    optimizer.set_learning_rate(rate);
    optimizer.zero_grad();
    (x * x / 2).sum().backward();
    velocity = 0.9 * velocity + rate * expected;
    expected -= velocity;
    optimizer.step();
  }
  expect_values(x, {expected});
}

TEST(Optim, GroupsStepTogether) {
  Tensor x = Tensor::of({1.0}, {.requires_grad = true}), y = x + 0;
  y = Tensor::of({{1.0}}, {.requires_grad = true});
  nn::SGD first(std::vector<Tensor>{x}, 0.5);
  nn::Adam second(std::vector<Tensor>{y}, 0.25);
  nn::OptimizerGroup both({&first, &second});
  for (int i = 0; i < 2; ++i) {
    both.zero_grad();
    (x.sum() + y.sum()).backward();
    both.step();
    EXPECT_TRUE(x.is_realized() && y.is_realized());
  }
  expect_values(x, {0});
  expect_values(y, {0.5}, 1e-4, 1e-4);
  EXPECT_EQ(message_of([] { nn::OptimizerGroup group({}); }),
            "a group without optimisers, expected one or more");
}

TEST(Optim, RefusesSettings) {
  std::vector<Tensor> x{Tensor::ones({2}, {.requires_grad = true})};
  EXPECT_EQ(message_of([&] { nn::SGD(x, 0.1, {.nesterov = true}); }),
            "nesterov with a momentum of 0, expected another");
  EXPECT_EQ(message_of([&] { nn::LARS(x, 0.1, {.momentum = -1}); }), "a momentum of -1");
  EXPECT_EQ(message_of([&] { nn::LAMB(x, 0.1, {.betas = {0.9, 1}}); }),
            "a beta of 1, expected at least 0 and less than 1");
  EXPECT_EQ(message_of([&] { nn::Muon(x, 0.1); }),
            "Muon for a parameter of shape (2), expected a matrix");
  EXPECT_EQ(message_of([&] { nn::SGD(x, -0.1); }), "a learning rate of -0.1, expected 0 or more");
}

template <class Schedule, class Options, class... Metrics>
void expect_rates(const std::string& name, const Options& options) {
  SCOPED_TRACE(name);
  nn::SGD optimizer(std::vector<Tensor>{Tensor::ones({1}, {.requires_grad = true})}, 0.5);
  Schedule schedule(optimizer, options);
  const std::vector<double> expected = torch_value("schedule/" + name).values;
  ASSERT_EQ(expected.size(), 21u);
  const std::vector<double> metrics = {5,   4,   4.1, 4.2, 4,   4,   3,   3.5, 3.5, 3.5,
                                       3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5};
  // The rate of a cycle's last step is the one before: see schedule.cc.
  const usize count = std::is_same_v<Schedule, nn::OneCycleLR> ? 20 : 21;
  for (usize i = 0; i < count; ++i) {
    EXPECT_NEAR(optimizer.learning_rate(), expected[i], 1e-8) << "after " << i << " steps";
    EXPECT_EQ(schedule.get_last_lr(), optimizer.learning_rate());
    if (i + 1 == expected.size()) break;
    if constexpr (std::is_same_v<Schedule, nn::ReduceLROnPlateau>)
      schedule.step(metrics[i]);
    else
      schedule.step();
  }
}

TEST(ScheduleTorch, Rates) {
  expect_rates<nn::MultiStepLR>("multi_step",
                                nn::MultiStepOptions{.milestones = {3, 7, 7, 15}, .gamma = 0.5});
  expect_rates<nn::CosineAnnealingLR>("cosine",
                                      nn::CosineAnnealingOptions{.T_max = 8, .eta_min = 0.1});
  expect_rates<nn::OneCycleLR>("one_cycle", nn::OneCycleOptions{.max_lr = 2, .total_steps = 20});
  expect_rates<nn::OneCycleLR>("one_cycle_linear",
                               nn::OneCycleOptions{.max_lr = 2,
                                                   .total_steps = 20,
                                                   .pct_start = 0.4,
                                                   .anneal_strategy = nn::Anneal::Linear,
                                                   .div_factor = 5,
                                                   .final_div_factor = 50});
  expect_rates<nn::OneCycleLR>(
      "one_cycle_three", nn::OneCycleOptions{.max_lr = 2, .total_steps = 20, .three_phase = true});
  expect_rates<nn::ReduceLROnPlateau>("plateau",
                                      nn::ReduceLROnPlateauOptions{.factor = 0.5, .patience = 2});
  expect_rates<nn::ReduceLROnPlateau>(
      "plateau_all", nn::ReduceLROnPlateauOptions{.mode = nn::PlateauMode::Max,
                                                  .factor = 0.3,
                                                  .patience = 1,
                                                  .threshold = 0.5,
                                                  .threshold_mode = nn::Threshold::Absolute,
                                                  .cooldown = 2,
                                                  .min_lr = 0.02});
}

// The layer's parameters become noise, its results are compared, and all gradients.
template <class Layer>
void expect_layer(const std::string& name, Layer layer) {
  std::vector<Tensor> leaves = noise_tensors({{{2, 6, 4, 3}, 70}});
  u32 seed = 71;
  nn::Visitor visitor([&](const std::string&, Tensor& tensor) {
    if (!tensor.is_leaf()) return;
    tensor = Array::noise(tensor.shape().values(), seed++).tensor(dtypes::f64);
    leaves.push_back(tensor);
  });
  layer.visit(visitor);
  expect_torch("layer/" + name, layer(leaves[0]), leaves, 1e-5);
}

TEST(LayersTorch, Norms) {
  expect_layer("layer_norm", nn::LayerNorm({4, 3}));
  expect_layer("layer_norm_no_bias", nn::LayerNorm({3}, {.bias = false}));
  expect_layer("group_norm", nn::GroupNorm(3, 6));
  expect_layer("instance_norm", nn::InstanceNorm(6, {.affine = true}));
  expect_layer("rms_norm", nn::RMSNorm({4, 3}));
  const Tensor x = noise_tensors({{{2, 6, 4, 3}, 70}})[0];
  expect_torch("layer/instance_norm_plain", nn::InstanceNorm(6)(x));
  expect_torch("layer/layer_norm_2d", nn::LayerNorm2d(6)(x));
  EXPECT_TRUE(nn::state_of(*std::make_unique<nn::InstanceNorm>(6)).empty());
  EXPECT_EQ(message_of([&] { nn::LayerNorm2d(6)(x[0]); }),
            "layer norm of the channels of shape (6, 4, 3), expected 4 axes");
}

TEST(LayersTorch, BatchNorm) {
  nn::BatchNorm3d layer(6);
  {
    TrainingScope training;
    std::vector<Tensor> leaves = noise_tensors({{{2, 6, 4, 3}, 70}, {{6}, 71}, {{6}, 72}});
    layer.weight = leaves[1];
    layer.bias = leaves[2];
    expect_torch("layer/batch_norm", layer(leaves[0]), leaves, 1e-5);
  }
  expect_torch("layer/batch_norm/running_mean", layer.running_mean);
  expect_torch("layer/batch_norm/running_var", layer.running_var);
  expect_torch("layer/batch_norm/eval", layer(noise_tensors({{{2, 6, 4, 3}, 70}})[0]));
}

TEST(LayersTorch, LSTMCell) {
  nn::LSTMCell cell(3, 2);
  std::vector<Tensor> leaves = noise_tensors({{{8, 3}, 80}, {{8, 2}, 81}, {{8}, 82}, {{8}, 83}});
  cell.weight_ih = leaves[0], cell.weight_hh = leaves[1];
  cell.bias_ih = leaves[2], cell.bias_hh = leaves[3];
  const std::vector<Tensor> x = noise_tensors({{{4, 3}, 84}, {{4, 2}, 85}, {{4, 2}, 86}});
  const auto [hidden, state] = cell(x[0], x[1], x[2]);
  expect_torch("layer/lstm/hidden", hidden, leaves, 1e-5);
  expect_torch("layer/lstm/cell", state);
}

TEST(Layers, OneAxisConvolutions) {
  EXPECT_EQ(nn::Conv1d(2, 4, 3, {.padding = 1})(Tensor::ones({1, 2, 8})).shape().str(),
            "(1, 4, 8)");
  EXPECT_EQ(nn::ConvTranspose1d(2, 4, 3, {.stride = 2})(Tensor::ones({1, 2, 8})).shape().str(),
            "(1, 4, 17)");
}

}  // namespace
}  // namespace doorbell::test
