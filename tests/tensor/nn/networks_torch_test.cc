// Recurrent networks, attention and clipping against PyTorch (tests/tensor/torch/make_values.py),
// and layers one after the other.
#include "tensor/nn/activations.h"
#include "tensor/nn/attention.h"
#include "tensor/nn/clip.h"
#include "tensor/nn/recurrent.h"
#include "tensor/nn/sequential.h"

#include "tests/tensor/torch_values.h"

namespace doorbell::test {
namespace {

// The layer's parameters become noise; added to `leaves`.
template <class Layer>
Layer filled(Layer layer, std::vector<Tensor>* leaves) {
  u32 seed = 101;
  nn::Visitor visitor([&](const std::string&, Tensor& tensor) {
    tensor = Array::noise(tensor.shape().values(), seed++).tensor(dtypes::f64);
    leaves->push_back(tensor);
  });
  layer.visit(visitor);
  return layer;
}

template <class Layer>
void expect_network(const std::string& name, const Layer& made) {
  SCOPED_TRACE(name);
  std::vector<Tensor> leaves = noise_tensors({{{3, 2, 4}, 100}});
  const Layer layer = filled(made, &leaves);
  const nn::RecurrentResult result = layer(leaves[0]);
  expect_torch("network/" + name, result.output, leaves, 1e-6);
  expect_torch("network/" + name + "/hidden", result.state.hidden);
  if (result.state.cell.defined()) expect_torch("network/" + name + "/cell", result.state.cell);
}

TEST(NetworksTorch, Recurrent) {
  expect_network("lstm_plain", nn::LSTM(4, 3));
  expect_network("lstm_deep", nn::LSTM(4, 3, {.num_layers = 2, .bidirectional = true}));
  expect_network("lstm_projected",
                 nn::LSTM(4, 3, {.num_layers = 2, .bidirectional = true, .proj_size = 2}));
  expect_network("lstm_batch_first", nn::LSTM(4, 3, {.bias = false, .batch_first = true}));
  expect_network("gru_plain", nn::GRU(4, 3));
  expect_network("gru_deep", nn::GRU(4, 3, {.num_layers = 2, .bidirectional = true}));
  expect_network("rnn_plain", nn::RNN(4, 3));
  expect_network("rnn_relu", nn::RNN(4, 3, {.num_layers = 2}, nn::RNNActivation::ReLU));
}

TEST(NetworksTorch, StatesAndCells) {
  const std::vector<Tensor> x = noise_tensors({{{3, 2, 4}, 100}});
  const std::vector<Tensor> state = noise_tensors({{{1, 2, 3}, 130}, {{1, 2, 3}, 131}});
  std::vector<Tensor> unused;
  const nn::LSTM lstm = filled(nn::LSTM(4, 3), &unused);
  expect_torch("network/lstm_state", lstm(x[0], {state[0], state[1]}).output, state, 1e-6);
  std::vector<Tensor> leaves{state[0]};
  const nn::GRUCell gru = filled(nn::GRUCell(4, 3), &leaves);
  expect_torch("network/gru_cell", gru(x[0][{0}], state[0][{0}]), leaves, 1e-6);
  leaves = {state[0]};
  const nn::RNNCell rnn = filled(nn::RNNCell(4, 3), &leaves);
  expect_torch("network/rnn_cell", rnn(x[0][{0}], state[0][{0}]), leaves, 1e-6);
}

TEST(Networks, WithoutABatch) {
  const nn::GRU gru(4, 3, {.num_layers = 2});
  const Tensor x = Array::noise({5, 4}, 1).tensor();
  const nn::RecurrentResult one = gru(x), several = gru(x.unsqueeze(1));
  EXPECT_EQ(one.output.shape().str(), "(5, 3)");
  EXPECT_EQ(one.state.hidden.shape().str(), "(2, 3)");
  expect_values(one.output, several.output.to_vector<double>(), 1e-6);
  EXPECT_EQ(nn::GRUCell(4, 3)(x[{0}]).shape().str(), "(3)");
}

TEST(Networks, RefuseWhatDoesNotFit) {
  const nn::LSTM lstm(4, 3);
  EXPECT_EQ(message_of([&] { lstm(Tensor::ones({2, 2, 5})); }),
            "a sequence of shape (2, 2, 5) for a recurrent network, expected 2 or 3 axes of which "
            "the last has 4 features");
  EXPECT_EQ(message_of([&] { lstm(Tensor::ones({2, 2, 4}), {Tensor::ones({1, 3, 3})}); }),
            "a hidden state of shape (1, 3, 3), expected (1, 2, 3)");
  EXPECT_EQ(message_of([] { nn::GRU(4, 0); }),
            "a recurrent network of 1 layers from 4 to 0 features, expected 1 or more of each");
  EXPECT_EQ(message_of([] { nn::GRU(4, 3, {.proj_size = 2}); }),
            "proj_size 2 of a GRU or RNN with 3 hidden features, expected an LSTM and fewer "
            "features, or 0");
  EXPECT_EQ(message_of([] { nn::LSTM(4, 3, {.proj_size = 3}); }),
            "proj_size 3 of an LSTM with 3 hidden features, expected an LSTM and fewer features, "
            "or 0");
  EXPECT_EQ(message_of([] { nn::MultiheadAttention(6, 4); }),
            "attention of 6 features with 4 heads");
  const nn::MultiheadAttention attention(4, 2);
  const Tensor x = Tensor::ones({3, 2, 4});
  EXPECT_EQ(message_of([&] { attention(x, x, x, {.attn_mask = Tensor::ones({2, 3})}); }),
            "an attention mask of shape (2, 3), expected (3, 3)");
  EXPECT_EQ(message_of([&] { attention(x, x, x, {.key_padding_mask = Tensor::ones({3, 2})}); }),
            "a key padding mask of shape (3, 2), expected (2, 3)");
}

void expect_attention(const std::string& name, const nn::AttentionCall& call,
                      const nn::MultiheadAttentionOptions& options = {}) {
  SCOPED_TRACE(name);
  std::vector<Tensor> leaves =
      noise_tensors({{{3, 2, 4}, 140}, {{5, 2, 4}, 141}, {{5, 2, 4}, 142}});
  const auto layer = filled(nn::MultiheadAttention(4, 2, options), &leaves);
  const auto [output, weights] = layer(leaves[0], leaves[1], leaves[2], call);
  expect_torch("network/attention/" + name, output, leaves, 1e-6);
  expect_torch("network/attention/" + name + "/weights", weights);
}

TEST(NetworksTorch, Attention) {
  const Tensor padding = Tensor::of({{0, 0, 1, 0, 1}, {0, 1, 0, 0, 0}}).cast(dtypes::bool_);
  const Tensor never =
      Tensor::of({{0, 1, 0, 0, 1}, {0, 0, 0, 1, 0}, {0, 0, 0, 0, 0}}).cast(dtypes::bool_);
  expect_attention("plain", {});
  expect_attention("padding", {.key_padding_mask = padding});
  expect_attention("bools", {.attn_mask = never});
  expect_attention("numbers", {.attn_mask = Array::noise({3, 5}, 143).tensor(dtypes::f64),
                               .average_attn_weights = false});
  expect_attention("bias_kv", {}, {.add_bias_kv = true});
  expect_attention("zero_attn", {.attn_mask = never}, {.add_zero_attn = true});
  const nn::MultiheadAttentionOptions both{.add_bias_kv = true, .add_zero_attn = true};
  expect_attention("both", {.key_padding_mask = padding}, both);
  expect_attention(
      "both_numbers",
      {.attn_mask = Array::noise({3, 5}, 143).tensor(dtypes::f64), .average_attn_weights = false},
      both);
  std::vector<Tensor> leaves =
      noise_tensors({{{3, 2, 4}, 140}, {{3, 6, 3}, 144}, {{3, 6, 2}, 145}});
  const nn::MultiheadAttentionOptions apart{
      .bias = false, .batch_first = true, .kdim = 3, .vdim = 2};
  const auto layer = filled(nn::MultiheadAttention(4, 2, apart), &leaves);
  expect_torch("network/attention/apart", layer(leaves[0], leaves[1], leaves[2]).first, leaves,
               1e-6);
}

TEST(ClipTorch, Norms) {
  const auto expect = [](const std::string& name, f64 norm) {
    std::vector<Tensor> parameters = noise_tensors({{{3, 2}, 150}, {{4}, 151}});
    for (usize i = 0; i < 2; ++i) {
      parameters[i].requires_grad();
      parameters[i].set_grad(Array::noise(parameters[i].shape().values(), 152 + static_cast<u32>(i))
                                 .tensor(dtypes::f64));
    }
    expect_torch("clip/" + name, nn::clip_grad_norm(parameters, 0.5, norm));
    for (usize i = 0; i < 2; ++i)
      expect_torch("clip/" + name + "/" + std::to_string(i), parameters[i].grad());
  };
  expect("two", 2);
  expect("one", 1);
  expect("three", 3);
  expect("largest", std::numeric_limits<f64>::infinity());
}

TEST(Clip, Values) {
  Tensor w = Tensor::of({1.0, 2.0, 3.0}, {.requires_grad = true});
  w.set_grad(Tensor::of({-5.0, 0.25, 5.0}));
  nn::clip_grad_value(std::vector<Tensor>{w}, 0.5);
  expect_values(w.grad(), {-0.5, 0.25, 0.5});
  EXPECT_EQ(message_of([&] { nn::clip_grad_norm(std::vector<Tensor>{w}, -1); }),
            "clip gradients to a norm of -1, expected 0 or more");
  EXPECT_EQ(message_of([&] { nn::clip_grad_value(std::vector<Tensor>{w}, -1); }),
            "clip gradients to -1, expected 0 or more");
}

TEST(Sequential, CallsAndNamesItsParts) {
  nn::Sequential net{nn::Linear(2, 3), nn::ReLU(), [](const Tensor& x) { return x * 2; },
                     nn::Sequential{nn::Linear(3, 1, {.bias = false}), nn::Sigmoid()}};
  std::vector<std::string> names;
  for (const auto& [name, tensor] : nn::state_of(net)) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "3.0.weight"}));
  const Tensor x = Tensor::ones({4, 2});
  EXPECT_EQ(net(x).shape().str(), "(4, 1)");
  nn::Sequential shared = net, own = nn::deep_copy(net);
  const std::vector<double> before = net(x).to_vector<double>();
  nn::state_of(net)[2].second.assign(Tensor::zeros({1, 3}));
  expect_values(shared(x), {0.5, 0.5, 0.5, 0.5});
  expect_values(own(x), before, 1e-6);
  EXPECT_TRUE(nn::state_of(own)[0].second.is_leaf());
  EXPECT_EQ(net.append(nn::Identity()).size(), 5u);
}

TEST(Modules, CopiesKeepTiesAndLeaves) {
  struct Tied {
    nn::Linear a{2, 2}, b{2, 2};
    void visit(nn::Visitor& v) {
      v("a", a);
      v("b", b);
    }
  } tied;
  tied.b.weight = tied.a.weight;
  Tied copy = nn::deep_copy(tied);
  EXPECT_EQ(nn::parameters_of(copy).size(), 3u);
  copy.a.weight.assign(Tensor::zeros({2, 2}));
  expect_values(copy.b.weight, {0, 0, 0, 0});
  EXPECT_NE(tied.a.weight.to_vector<double>(), (std::vector<double>{0, 0, 0, 0}));
}

// By hand: what each gives for -2, 0.5 and 3.
TEST(Modules, Activations) {
  const Tensor x = Tensor::of({{-2.0, 0.5, 3.0}});
  expect_values(nn::ReLU()(x), {0, 0.5, 3});
  expect_values(nn::ReLU6()(x * 3), {0, 1.5, 6});
  expect_values(nn::LeakyReLU(0.1)(x), {-0.2, 0.5, 3}, 1e-6);
  expect_values(nn::Hardtanh()(x), {-1, 0.5, 1});
  expect_values(nn::Identity()(x), {-2, 0.5, 3});
  expect_values(nn::Sigmoid()(x * 0), {0.5, 0.5, 0.5});
  expect_values(nn::Softmax()(x * 0), {1.0 / 3, 1.0 / 3, 1.0 / 3}, 1e-6);
  expect_values(nn::Softsign()(x), {-2.0 / 3, 1.0 / 3, 0.75}, 1e-6);
  EXPECT_EQ(nn::Flatten()(Tensor::ones({2, 3, 4})).shape().str(), "(2, 12)");
  expect_values(nn::MaxPool2d({2, 2})(Tensor::arange(16.0).reshape({1, 1, 4, 4})), {5, 7, 13, 15});
  expect_values(nn::AvgPool2d({2, 2})(Tensor::arange(16.0).reshape({1, 1, 4, 4})),
                {2.5, 4.5, 10.5, 12.5});
}

}  // namespace
}  // namespace doorbell::test
