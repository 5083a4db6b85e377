// States of optimisers as values and as files, groups of parameters, and what is refused. Against
// PyTorch: files that it wrote, with what its training came to (tests/tensor/io/make_files.py).
#include <algorithm>
#include <cstdio>

#include "tensor/io/files.h"
#include "tensor/io/optim_file.h"
#include "tensor/jit/jit.h"
#include "tensor/nn/layers.h"
#include "tensor/nn/optim.h"

#include "tests/support/golden.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

std::string data(const std::string& name) {
  return testing::source_path("tests/tensor/io/data/" + name);
}

std::vector<Tensor> leaves() {
  return {Array::noise({2, 2}, 3).tensor().requires_grad(),
          Array::noise({2}, 4).tensor().requires_grad()};
}

void train(nn::Optimizer& optimizer, int steps) {
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    Tensor loss;
    for (const Tensor& p : optimizer.parameters()) {
      const Tensor part = (0.5 * (p - 1).square() + p * p * p / 6).sum();
      loss = loss.defined() ? loss + part : part;
    }
    loss.backward();
    optimizer.step();
  }
}

// The model's tensors of a checkpoint, and what they have to be in the end.
template <class Optimizer>
void resume(const std::string& file, Optimizer& optimizer, const std::vector<Tensor>& w) {
  const nn::NamedTensors saved = io::torch_load(data(file));
  const auto named = [&](const std::string& name) {
    return std::find_if(saved.begin(), saved.end(),
                        [&](const auto& one) { return one.first == name; })
        ->second;
  };
  for (usize i = 0; i < w.size(); ++i) Tensor(w[i]).assign(named("model." + std::to_string(i)));
  optimizer.load_state_dict(io::load_optimizer(data(file), "optimizer"));
  train(optimizer, 3);
  for (usize i = 0; i < w.size(); ++i)
    expect_values(w[i], named("expected." + std::to_string(i)).template to_vector<double>(), 2e-6);
}

TEST(OptimState, GoesOnFromPyTorchsFiles) {
  {
    const std::vector<Tensor> w = leaves();
    nn::AdamW optimizer({{{w[0]}}, {{w[1]}}});
    resume("adamw.pt", optimizer, w);
    EXPECT_EQ(optimizer.learning_rate(0), 0.1);
    EXPECT_EQ(optimizer.learning_rate(1), 0.2);
  }
  const std::vector<Tensor> w = leaves();
  nn::SGD optimizer(w, 5.0);
  resume("sgd.pt", optimizer, w);
  EXPECT_EQ(nn::to_string(optimizer.options()[1].second), "0.9") << "momentum";
}

template <class Optimizer, class Options>
void expect_saved(const Options& options, const std::vector<Tensor>& first,
                  const std::vector<Tensor>& second) {
  SCOPED_TRACE(__PRETTY_FUNCTION__);
  const std::string path = ::testing::TempDir() + "doorbell_optimizer.safetensors";
  Optimizer optimizer(first, 0.1, options);
  train(optimizer, 3);
  io::save_optimizer(path, optimizer.state_dict());
  for (usize i = 0; i < first.size(); ++i) Tensor(second[i]).assign(first[i].detach());
  train(optimizer, 3);
  Optimizer other(second, 7.0);
  other.load_state_dict(io::load_optimizer(path));
  train(other, 3);
  for (usize i = 0; i < first.size(); ++i)
    expect_values(second[i], first[i].template to_vector<double>(), 1e-6);
  std::remove(path.c_str());
}

TEST(OptimState, GoesOnFromOurFiles) {
  expect_saved<nn::SGD>(nn::SGDOptions{.momentum = 0.9, .nesterov = true}, leaves(), leaves());
  expect_saved<nn::LARS>(nn::LARSOptions{}, leaves(), leaves());
  expect_saved<nn::Adam>(nn::AdamOptions{.betas = {0.8, 0.9}}, leaves(), leaves());
  expect_saved<nn::AdamW>(nn::AdamOptions{.weight_decay = 0.5}, leaves(), leaves());
  expect_saved<nn::LAMB>(nn::LAMBOptions{}, leaves(), leaves());
  expect_saved<nn::Muon>(nn::MuonOptions{.ns_coefficients = {3, -4, 2}, .ns_steps = 3},
                         {leaves()[0]}, {leaves()[0]});
}

TEST(OptimState, RefusesOtherFiles) {
  const std::vector<Tensor> w = leaves();
  nn::Adam optimizer(w);
  const auto load = [&](const std::string& name, const std::string& key) {
    return message_of([&] { optimizer.load_state_dict(io::load_optimizer(data(name), key)); });
  };
  EXPECT_EQ(load("adamw.pt", "model"),
            data("adamw.pt") +
                ": no state and param_groups inside, expected the state of an "
                "optimiser");
  EXPECT_EQ(load("adamw.pt", "else"),
            data("adamw.pt") + ": no else inside, expected the state of an optimiser");
  EXPECT_EQ(load("adamw.pt", "optimizer"), "the state has 2 groups of parameters, the optimiser 1");
  EXPECT_EQ(load("sgd.pt", "optimizer"), "Adam has no option momentum, which is 0.9 here");
  EXPECT_EQ(optimizer.learning_rate(), 1e-3) << "nothing changes";
}

TEST(OptimState, KeepsWhatItWasGiven) {
  const std::vector<Tensor> w = leaves();
  nn::Adam optimizer(w, 0.1);
  train(optimizer, 2);
  const nn::OptimizerState state = optimizer.state_dict();
  train(optimizer, 2);
  ASSERT_EQ(state.state.at(1)[0].first, "step");
  expect_values(state.state.at(1)[0].second, {2});
  expect_values(optimizer.state_dict().state.at(1)[0].second, {4});
  EXPECT_EQ(state.param_groups[0].params, (std::vector<i64>{0, 1}));
  EXPECT_EQ(state.param_groups[0].options[0].first, "lr");
}

TEST(OptimGroups, HaveOptionsOfTheirOwn) {
  const std::vector<Tensor> w{Tensor::ones({2}, {.requires_grad = true}),
                              Tensor::ones({2}, {.requires_grad = true}),
                              Tensor::ones({2}, {.requires_grad = true})};
  nn::SGD optimizer({{{w[0]}, 0.5}, {{w[1]}, 0.25, {.momentum = 0.9}}});
  optimizer.add_param_group({{w[2]}, 1.0});
  for (int step = 0; step < 2; ++step) {
    optimizer.zero_grad();
    (w[0] + w[1] + w[2]).sum().backward();
    optimizer.step();
  }
  expect_values(w[0], {0, 0});
  expect_values(w[1], {0.275, 0.275});
  expect_values(w[2], {-1, -1});
  optimizer.set_option(1, "lr", 1.0);
  optimizer.set_learning_rate(0.125, 2);
  EXPECT_EQ(optimizer.learning_rate(1), 1.0);
  EXPECT_EQ(optimizer.learning_rate(2), 0.125);
  EXPECT_EQ(message_of([&] { optimizer.set_option(0, "weight_decay", -1.0); }),
            "a weight decay of -1");
  EXPECT_EQ(message_of([&] { optimizer.set_option(0, "speed", 1.0); }), "SGD has no option speed");
  EXPECT_EQ(message_of([&] { optimizer.set_option(0, "nesterov", true); }),
            "nesterov with a momentum of 0, expected another");
  EXPECT_EQ(message_of([&] { optimizer.add_param_group({{w[0]}}); }),
            "a parameter of shape (2) is given to an optimiser twice");
  EXPECT_EQ(optimizer.group_count(), 3u);
}

TEST(OptimGroups, StepsAreReplayed) {
  const std::vector<Tensor> w = leaves();
  nn::Adam optimizer({{{w[0]}, 0.5}, {{w[1]}, 0.25, {.betas = {0.5, 0.5}}}});
  std::vector<std::vector<double>> expected;
  {
    const std::vector<Tensor> plain = leaves();
    nn::Adam other({{{plain[0]}, 0.5}, {{plain[1]}, 0.25, {.betas = {0.5, 0.5}}}});
    train(other, 5);
    for (const Tensor& p : plain) expected.push_back(p.to_vector<double>());
  }
  auto step = jit([&](const Tensor&) { train(optimizer, 1); });
  for (int i = 0; i < 5; ++i) step(Tensor::ones({1}).realize());
  for (usize i = 0; i < w.size(); ++i) expect_values(w[i], expected[i], 1e-6);
}

TEST(OptimState, RefusesWhatCannotBeMeant) {
  const std::vector<Tensor> w{Tensor::ones({2, 2}, {.requires_grad = true})};
  const std::vector<Tensor> twice{w[0], w[0]};
  EXPECT_EQ(message_of([&] { nn::SGD{twice}; }),
            "a parameter of shape (2, 2) is given to an optimiser twice");
  EXPECT_EQ(message_of([&] { nn::SGD(w, 0.1, {.weight_decay = -0.5}); }), "a weight decay of -0.5");
  EXPECT_EQ(message_of([&] { nn::LARS(w, 0.1, {.weight_decay = -0.5}); }),
            "a weight decay of -0.5");
  EXPECT_EQ(message_of([&] { nn::Adam(w, 0.1, {.weight_decay = -0.5}); }),
            "a weight decay of -0.5");
  EXPECT_EQ(message_of([&] { nn::LAMB(w, 0.1, {.weight_decay = -0.5}); }),
            "a weight decay of -0.5");
  EXPECT_EQ(message_of([&] { nn::Muon(w, 0.1, {.weight_decay = -0.5}); }),
            "a weight decay of -0.5");
  EXPECT_EQ(message_of([&] { nn::Adam(w, 0.1, {.eps = -1}); }), "an eps of -1");
}

TEST(OptimState, TiedParametersAreOne) {
  struct Tied {
    nn::Embedding embedding{4, 3};
    nn::Linear head{3, 4, {.bias = false}};
    void visit(nn::Visitor& v) {
      v("embedding", embedding);
      v("head", head);
    }
  } tied;
  tied.head.weight = tied.embedding.weight;
  EXPECT_EQ(nn::state_of(tied).size(), 2u);
  EXPECT_EQ(nn::parameters_of(tied).size(), 1u);
}

}  // namespace
}  // namespace doorbell::test
