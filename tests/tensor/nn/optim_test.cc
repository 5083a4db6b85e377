// Optimisers against their update rules written as loops over doubles.
#include "tensor/nn/optim.h"

#include "tensor/nn/layers.h"

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

// The gradient of 0.5 x^2 + 3 x.
double slope_of(double x) { return x + 3; }
Tensor loss_of(const Tensor& x) { return (0.5 * x * x + 3 * x).sum(); }

constexpr int kSteps = 5;
const std::vector<double> kStart = {1, -2, 0.5};

template <class Optimizer, class Options>
std::vector<double> run(const Options& options) {
  Tensor x = Array{{3}, kStart}.tensor().requires_grad();
  Optimizer optimizer(std::vector<Tensor>{x}, 0.1, options);
  for (int i = 0; i < kSteps; ++i) {
    optimizer.zero_grad();
    loss_of(x).backward();
    optimizer.step();
    EXPECT_TRUE(x.is_realized());
  }
  return x.to_vector<double>();
}

template <class Rule>
std::vector<double> loop(Rule make_rule) {
  std::vector<double> result;
  for (double x : kStart) {
    auto rule = make_rule();
    for (int step = 1; step <= kSteps; ++step) x = rule(x, slope_of(x), step);
    result.push_back(x);
  }
  return result;
}

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (usize i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 2e-6) << i;
}

TEST(Optim, PlainDescentWithWeightDecay) {
  expect_near(run<nn::SGD>(nn::SGDOptions{.weight_decay = 0.2}),
              loop([] { return [](double x, double g, int) { return x - 0.1 * (g + 0.2 * x); }; }));
}

TEST(Optim, MomentumAndNesterov) {
  for (bool nesterov : {false, true}) {
    expect_near(run<nn::SGD>(nn::SGDOptions{.momentum = 0.9, .nesterov = nesterov}), loop([=] {
                  return [=, v = 0.0](double x, double g, int) mutable {
                    v = 0.9 * v + g;
                    return x - 0.1 * (nesterov ? g + 0.9 * v : v);
                  };
                }));
  }
}

auto adam_rule(double decay, bool decoupled) {
  return [=] {
    return [=, m = 0.0, v = 0.0](double x, double g, int step) mutable {
      if (decoupled)
        x -= 0.1 * decay * x;
      else
        g += decay * x;
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      const double mean = m / (1 - std::pow(0.9, step)), variance = v / (1 - std::pow(0.999, step));
      return x - 0.1 * mean / (std::sqrt(variance) + 1e-8);
    };
  };
}

TEST(Optim, Adam) {
  // 1 - 0.999^n in f32 leaves four digits: the bound is wider than elsewhere.
  const auto near = [](const std::vector<double>& actual, const std::vector<double>& expected) {
    for (usize i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 2e-4) << i;
  };
  near(run<nn::Adam>(nn::AdamOptions{}), loop(adam_rule(0, false)));
  near(run<nn::Adam>(nn::AdamOptions{.weight_decay = 0.3}), loop(adam_rule(0.3, false)));
  near(run<nn::AdamW>(nn::AdamOptions{.weight_decay = 0.3}), loop(adam_rule(0.3, true)));
}

TEST(Optim, LearningRateChanges) {
  Tensor x = Tensor::of({1.0}, {.requires_grad = true});
  nn::SGD optimizer(std::vector<Tensor>{x}, 0.5);
  (x * 1).sum().backward();
  optimizer.step();
  expect_values(x, {0.5});
  optimizer.set_learning_rate(0.25);
  optimizer.step();
  expect_values(x, {0.25});
  EXPECT_EQ(optimizer.learning_rate(), 0.25);
}

TEST(Optim, ParametersWithoutGradientStay) {
  Tensor x = Tensor::of({1.0}, {.requires_grad = true}),
         y = Tensor::of({2.0}, {.requires_grad = true});
  nn::SGD optimizer(std::vector<Tensor>{x, y}, 0.5);
  EXPECT_EQ(message_of([&] { optimizer.step(); }), "step without gradients; call backward first");
  x.sum().backward();
  optimizer.step();
  expect_values(x, {0.5});
  expect_values(y, {2});
}

TEST(Optim, RefusesWhatCannotLearn) {
  EXPECT_EQ(message_of([] { nn::SGD(std::vector<Tensor>{}, 0.1); }),
            "an optimiser without parameters, expected one or more");
  EXPECT_EQ(message_of([] { nn::SGD(std::vector<Tensor>{Tensor::ones({2})}, 0.1); }),
            "a parameter of shape (2) is not marked requires_grad");
}

TEST(Optim, RunningStatisticsAreRealizedWithTheStep) {
  nn::BatchNorm norm(2);
  nn::SGD optimizer(nn::parameters_of(norm), 0.1);
  TrainingScope training;
  i64 nodes = 0;
  for (int i = 0; i < 4; ++i) {
    optimizer.zero_grad();
    norm(Tensor::ones({3, 2})).sum().backward();
    optimizer.step();
    EXPECT_TRUE(norm.running_mean.is_realized());
    optimizer.zero_grad();
    if (i == 1) nodes = core::TensorGraph::live_nodes();
  }
  EXPECT_LE(core::TensorGraph::live_nodes(), nodes);  // steps leave nothing behind
  EXPECT_EQ(norm.num_batches_tracked.item<int>(), 4);
}

TEST(Optim, LearnsALine) {
  Tensor::manual_seed(1);
  const Tensor x = Tensor::linspace(-1, 1, 16).unsqueeze(1), y = 3 * x - 0.5;
  Tensor w = Tensor::zeros({1, 1}, {.requires_grad = true}),
         b = Tensor::zeros({1}, {.requires_grad = true});
  nn::SGD optimizer(std::vector<Tensor>{w, b}, 0.5);
  for (int i = 0; i < 40; ++i) {
    optimizer.zero_grad();
    (x.matmul(w) + b - y).square().mean().backward();
    optimizer.step();
  }
  expect_values(w, {3}, 1e-3);
  expect_values(b, {-0.5}, 1e-3);
}

}  // namespace
}  // namespace doorbell::test
