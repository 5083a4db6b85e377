// How many kernels common pieces of networks are, against tinygrad's on the same shapes: never
// more. Its counts are literals, printed by tests/e2e/tinygrad_kernel_counts.py at tinygrad commit
// a9069c177 (2026-08-22).
#include <gtest/gtest.h>

#include <functional>

#include "core/device/counters.h"
#include "runtime/doorbell.h"
#include "tensor/nn/layers.h"
#include "tensor/nn/optim.h"

namespace doorbell {
namespace {

struct Counts {
  i64 ours, tinygrads;
};

Tensor memory(const Shape& shape) {
  Tensor t = Tensor::rand(shape);
  t.realize();
  return t;
}

template <class Module>
Module filled(Module module) {
  for (auto& [name, tensor] : nn::state_of(module)) tensor.realize();
  return module;
}

// Realizes what `make` gives and compares the number of kernels launched for it.
void expect_kernels(Counts expected, const std::function<std::vector<Tensor>()>& make) {
  ASSERT_LE(expected.ours, expected.tinygrads);
  std::vector<Tensor> results = make();
  const i64 before = core::counters.kernels;
  Tensor::realize(results);
  EXPECT_EQ(core::counters.kernels - before, expected.ours);
}

// A row is one kernel: its reductions and what is made of them.
TEST(KernelCounts, Softmax) {
  Tensor x = memory({64, 128});
  expect_kernels({.ours = 1, .tinygrads = 3}, [&] { return std::vector{x.softmax(-1)}; });
  expect_kernels({.ours = 1, .tinygrads = 3}, [&] { return std::vector{x.log_softmax(-1)}; });
}

TEST(KernelCounts, Norms) {
  Tensor x = memory({64, 128});
  nn::LayerNorm layer = filled(nn::LayerNorm({128}));
  nn::RMSNorm rms = filled(nn::RMSNorm({128}));
  expect_kernels({.ours = 1, .tinygrads = 3}, [&] { return std::vector{layer(x)}; });
  expect_kernels({.ours = 1, .tinygrads = 2}, [&] { return std::vector{rms(x)}; });
}

// Scores, the softmax of their rows, and the product with the values.
TEST(KernelCounts, Attention) {
  Tensor q = memory({4, 8, 64, 32}), k = memory({4, 8, 64, 32}), v = memory({4, 8, 64, 32});
  expect_kernels({.ours = 3, .tinygrads = 4},
                 [&] { return std::vector{q.scaled_dot_product_attention(k, v)}; });
  expect_kernels({.ours = 3, .tinygrads = 4}, [&] {
    return std::vector{q.scaled_dot_product_attention(k, v, {.is_causal = true})};
  });
}

TEST(KernelCounts, ConvolutionNormAndActivation) {
  Tensor image = memory({8, 16, 28, 28});
  nn::Conv2d conv = filled(nn::Conv2d(16, 32, {3, 3}));
  nn::BatchNorm norm = filled(nn::BatchNorm(32));
  expect_kernels({.ours = 1, .tinygrads = 1},
                 [&] { return std::vector{norm(conv(image)).relu()}; });
  TrainingScope training;
  expect_kernels({.ours = 4, .tinygrads = 6}, [&] {
    return std::vector{norm(conv(image)).relu(), norm.running_mean, norm.running_var};
  });
}

// The step alone: its gradients are in memory.
void expect_adam_kernels(Counts expected, const Shape& shape, usize count) {
  ASSERT_LE(expected.ours, expected.tinygrads);
  std::vector<Tensor> weights;
  for (usize i = 0; i < count; ++i) weights.push_back(memory(shape).requires_grad());
  nn::Adam optimizer(weights);
  i64 kernels = 0;
  for (int step = 0; step < 2; ++step) {  // the first makes the state
    optimizer.zero_grad();
    std::vector<Tensor> gradients;
    for (Tensor& w : weights) {
      w.backward(memory(shape));
      gradients.push_back(w.grad());
    }
    Tensor::realize(gradients);
    const i64 before = core::counters.kernels;
    optimizer.step();
    kernels = core::counters.kernels - before;
  }
  EXPECT_EQ(kernels, expected.ours);
}

TEST(KernelCounts, Adam) {
  expect_adam_kernels({.ours = 2, .tinygrads = 6}, {256, 256}, 1);
  // What the steps share, and one kernel of twelve outputs.
  expect_adam_kernels({.ours = 2, .tinygrads = 18}, {64, 64}, 4);
}

}  // namespace
}  // namespace doorbell
