// Layers, state by name, and what training changes.
#include "tensor/nn/layers.h"

#include <tuple>

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

struct Net {
  nn::Linear first{4, 3}, second{3, 2, {.bias = false}};
  std::vector<nn::LayerNorm> norms{nn::LayerNorm({3})};
  Tensor operator()(const Tensor& x) const { return second(norms[0](first(x)).relu()); }
  void visit(nn::Visitor& v) {
    v("first", first);
    v("second", second);
    v("norms", norms);
  }
};

TEST(Module, StateIsNamedInOrder) {
  Net net;
  std::vector<std::string> names;
  for (auto& [name, tensor] : nn::state_of(net)) names.push_back(name);
  const std::vector<std::string> expected = {"first.weight", "first.bias", "second.weight",
                                             "norms.0.weight", "norms.0.bias"};
  EXPECT_EQ(names, expected);
  EXPECT_EQ(nn::parameters_of(net).size(), 5u);
  nn::BatchNorm batch(2);
  EXPECT_EQ(nn::state_of(batch).size(), 5u);
  EXPECT_EQ(nn::parameters_of(batch).size(), 2u);
}

TEST(Module, LoadingChecksEverythingFirst) {
  nn::Linear from(2, 2), into(2, 2);
  const std::vector<float> before = into.weight.to_vector<float>();
  nn::NamedTensors state = nn::state_of(from);
  state[1].second = Tensor::zeros({3});
  EXPECT_EQ(message_of([&] { nn::load_state(into, state); }),
            "a state that does not fit the model; tensors that do not fit: bias has shape (3), "
            "expected (2)");
  EXPECT_EQ(into.weight.to_vector<float>(), before);
  state.pop_back();
  EXPECT_EQ(message_of([&] { nn::load_state(into, state); }),
            "a state that does not fit the model; missing: bias");
  EXPECT_EQ(nn::load_state(into, state, {.strict = false}).missing_keys,
            std::vector<std::string>{"bias"});
  state = nn::state_of(from);
  state.emplace_back("other", Tensor::of(1.0));
  EXPECT_EQ(message_of([&] { nn::load_state(into, state); }),
            "a state that does not fit the model; unexpected: other");
  EXPECT_EQ(nn::load_state(into, state, {.strict = false}).unexpected_keys,
            std::vector<std::string>{"other"});
  EXPECT_EQ(into.weight.to_vector<float>(), from.weight.to_vector<float>());
  EXPECT_TRUE(into.weight.is_leaf());
}

TEST(Layers, LinearAndConvolution) {
  nn::Linear linear(2, 3);
  NoGradScope no_grad;
  linear.weight.assign(Tensor::of({{1.0, 2.0}, {0.0, 1.0}, {-1.0, 0.0}}));
  linear.bias.assign(Tensor::of({0.5, 0.0, 1.0}));
  expect_values(linear(Tensor::of({{1.0, 10.0}})), {21.5, 10, 0});
  nn::Conv2d convolution(1, 2, {2, 2}, {.stride = 2}, {.bias = false});
  convolution.weight.assign(Tensor::of({{{{1.0, 1.0}, {1.0, 1.0}}}, {{{0.0, 0.0}, {0.0, 2.0}}}}));
  expect_values(convolution(Tensor::arange(16).cast(dtypes::f32).reshape({1, 1, 4, 4})),
                {10, 18, 42, 50, 10, 14, 26, 30});
  EXPECT_EQ(message_of([] { nn::Conv2d(3, 4, {1, 1}, {.groups = 2}); }),
            "3 to 4 channels in 2 groups, expected channels that the groups divide");
}

TEST(Layers, InitialWeightsAreWithinTheBound) {
  nn::Linear linear(100, 50);
  const double most = linear.weight.abs().max().item<double>();
  EXPECT_LE(most, 0.1);
  EXPECT_GT(most, 0.095);
  EXPECT_EQ(linear.weight.shape().str(), "(50, 100)");
}

TEST(Layers, BatchNormLearnsStatisticsInTraining) {
  nn::BatchNorm norm(1);
  const Tensor x = Tensor::of({{1.0}, {2.0}, {3.0}, {6.0}});  // mean 3, biased variance 3.5
  expect_values(norm(x), {1, 2, 3, 6}, 1e-4);  // nothing learned yet: mean 0, variance 1
  {
    TrainingScope training;
    const double scale = std::sqrt(3.5 + 1e-5);
    expect_values(norm(x), {-2 / scale, -1 / scale, 0, 3 / scale});
  }
  expect_values(norm.running_mean, {0.3});
  expect_values(norm.running_var, {0.9 + 0.1 * 3.5 * 4 / 3});
  EXPECT_EQ(norm.num_batches_tracked.item<int>(), 1);
  EXPECT_FALSE(norm.running_mean.needs_grad());
}

TEST(Layers, OtherNorms) {
  const Tensor x = Tensor::of({{1.0, 3.0, 10.0, 20.0}});
  expect_values(nn::LayerNorm({2})(x.reshape({2, 2})), {-1, 1, -1, 1}, 1e-4);
  expect_values(nn::GroupNorm(2, 4)(x), {-1, 1, -1, 1}, 1e-4);
  expect_values(nn::RMSNorm({2})(Tensor::of({3.0, 4.0})),
                {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)});
  EXPECT_EQ(message_of([&] { nn::LayerNorm({3})(x); }),
            "layer norm over (3) of a tensor of shape (1, 4)");
}

TEST(Layers, TransposedConvolutionAndInstanceNorm) {
  nn::ConvTranspose2d layer(1, 2, {2}, {.stride = 2});
  NoGradScope no_grad;
  layer.weight.assign(Tensor::of({{{1.0, 10.0}, {2.0, 0.0}}}));
  layer.bias.assign(Tensor::of({0.0, 0.5}));
  expect_values(layer(Tensor::of({{{1.0, 3.0}}})), {1, 10, 3, 30, 2.5, 0.5, 6.5, 0.5});
  expect_values(nn::InstanceNorm(2)(Tensor::of({{{1.0, 3.0}, {10.0, 20.0}}})), {-1, 1, -1, 1},
                1e-4);
}

TEST(Layers, LSTMCellFollowsItsEquations) {
  nn::LSTMCell layer(1, 1);
  NoGradScope no_grad;
  layer.weight_ih.assign(Tensor::of({{0.5}, {-0.25}, {1.0}, {0.75}}));
  layer.weight_hh.assign(Tensor::of({{0.1}, {0.2}, {0.3}, {0.4}}));
  layer.bias_ih.assign(Tensor::of({0.01, 0.02, 0.03, 0.04}));
  layer.bias_hh.assign(Tensor::zeros({4}));
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  double h = 0, c = 0;
  Tensor hidden, cell;
  for (double x : {1.0, -2.0}) {
    const double i = sigmoid(0.5 * x + 0.1 * h + 0.01), f = sigmoid(-0.25 * x + 0.2 * h + 0.02);
    const double g = std::tanh(x + 0.3 * h + 0.03), o = sigmoid(0.75 * x + 0.4 * h + 0.04);
    c = f * c + i * g;
    h = o * std::tanh(c);
    std::tie(hidden, cell) = layer(Tensor::full({1, 1}, x), hidden, cell);
    expect_values(hidden, {h});
    expect_values(cell, {c});
  }
}

TEST(Layers, EmbeddingPicksRowsAndSpreadsGradients) {
  nn::Embedding table(4, 2);
  const std::vector<float> rows = table.weight.to_vector<float>();
  expect_values(table(Tensor::of({3, 0})), {rows[6], rows[7], rows[0], rows[1]});
  table(Tensor::of({{1, 1}, {2, 1}})).sum().backward();
  expect_values(table.weight.grad(), {0, 0, 3, 3, 1, 1, 0, 0});
}

TEST(Layers, GradientsReachAllParameters) {
  Net net;
  net(Tensor::ones({5, 4})).sum().backward();
  for (Tensor& parameter : nn::parameters_of(net)) {
    EXPECT_EQ(parameter.grad().shape(), parameter.shape());
  }
}

}  // namespace
}  // namespace doorbell::test
