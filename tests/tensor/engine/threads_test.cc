// Several threads with tensors, gradients and jitted functions of their own, over graphs and memory
// that all of them read: one plan cache, one kernel cache, the devices' queues. Run under the
// thread sanitizer by `scripts/test --tsan`.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/doorbell.h"
#include "tensor/engine/realize.h"

namespace doorbell::test {
namespace {

using Floats = std::vector<float>;

// Runs `work(0 .. 3)` on four threads at once; each says what it found wrong.
template <class Work>
void on_four_threads(const Work& work) {
  std::vector<std::string> wrong(4);
  std::vector<std::thread> threads;
  for (usize t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      try {
        wrong[t] = work(static_cast<int>(t));
      } catch (const Error& error) {
        wrong[t] = error.message;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<std::string>(4));
}

// Another handle of the same value.
Tensor same(const core::UOpRef& node) { return Tensor::from_uop(node); }

std::string difference(const Tensor& actual, const Floats& expected) {
  const Floats values = actual.to_vector<float>();
  if (values == expected) return "";
  std::string text = "got";
  for (const float value : values) text += " " + std::to_string(value);
  return text;
}

TEST(Threads, RealizeSharedAndOwnGraphs) {
  const Tensor a = Tensor::of({1.0, 2.0, 3.0}), b = Tensor::of({4.0, 5.0, 6.0});
  const core::UOpRef stored = a.uop();
  for (int round = 0; round < 5; ++round) {
    // The first thread realises it.
    const core::UOpRef lazy = (a * b + round).uop();
    on_four_threads([&](int t) {
      for (int turn = 0; turn < 10; ++turn) {
        const Tensor shared = same(lazy), own = shared * t + same(stored);
        const float r = static_cast<float>(round), f = static_cast<float>(t);
        std::string wrong = difference(own, {(4 + r) * f + 1, (10 + r) * f + 2, (18 + r) * f + 3});
        if (wrong.empty()) wrong = difference(shared, {4 + r, 10 + r, 18 + r});
        if (!wrong.empty()) return wrong;
      }
      return std::string();
    });
  }
}

// Each thread forgets the caches now and then, so that plans and kernels go while others use them.
TEST(Threads, RealizeWhileCachesAreCleared) {
  const core::UOpRef base = Tensor::of({1.0, 2.0, 3.0, 4.0}).uop();
  on_four_threads([&](int t) {
    for (int turn = 0; turn < 12; ++turn) {
      if (turn % 4 == t) engine::clear_schedule_cache();
      const std::string wrong =
          difference((same(base) + turn).sum(), {10 + 4 * static_cast<float>(turn)});
      if (!wrong.empty()) return wrong;
    }
    return std::string();
  });
}

TEST(Threads, JittedFunctionsOfTheirOwn) {
  const core::UOpRef shared = Tensor::of({1.0, 2.0, 3.0, 4.0}).uop();
  on_four_threads([&](int t) {
    const Variable length("threads_length", 1, 4);
    const Tensor weight = same(shared);
    auto scale = jit([=](const Tensor& x) { return ((x * t).contiguous() + weight).realize(); });
    auto head = jit([](const Tensor& x, const Size& n) { return x[{Slice(0, n)}] * 2; });
    for (int turn = 0; turn < 30; ++turn) {
      const float v = static_cast<float>(turn), f = static_cast<float>(t);
      const Tensor x = Tensor::full({4}, turn).contiguous();
      std::string wrong = difference(scale(x), {v * f + 1, v * f + 2, v * f + 3, v * f + 4});
      const i64 n = (turn + t) % 4 + 1;
      if (wrong.empty())
        wrong = difference(head(x, length.bind(n)), Floats(static_cast<usize>(n), 2 * v));
      if (!wrong.empty()) return wrong;
    }
    return std::string();
  });
}

// Optimisers of one's own, the same steps everywhere: equal threads end with equal weights.
TEST(Threads, TrainAtOnce) {
  std::vector<Floats> weights(4);
  on_four_threads([&](int t) {
    Tensor weight = Tensor::of({0.5, -1.0, 2.0});
    weight.requires_grad();
    const std::vector<Tensor> parameters{weight};
    nn::SGD optimizer(parameters, 0.1);
    const Tensor x = Tensor::of({1.0, 2.0, -1.0});
    auto step = jit([&](const Tensor& input) {
      optimizer.zero_grad();
      const Tensor loss = (input * weight).sum().square();
      loss.backward();
      optimizer.step();
      return loss;
    });
    for (int turn = 0; turn < 8; ++turn) step(x);
    weights[static_cast<usize>(t)] = weight.to_vector<float>();
    return std::string();
  });
  for (usize t = 1; t < 4; ++t) EXPECT_EQ(weights[t], weights[0]);
  EXPECT_NE(weights[0], (Floats{0.5, -1.0, 2.0}));
}

TEST(Threads, DevicesAndCopies) {
  on_four_threads([](int t) {
    const std::string device = t % 2 == 0 ? "CPU" : "CPU:1";
    for (int turn = 0; turn < 20; ++turn) {
      const Tensor x = Tensor::full({3}, turn, {.dtype = dtypes::f32, .device = device});
      const Tensor there = (x + t).contiguous().to(t % 2 == 0 ? "CPU:1" : "CPU") * 2;
      const std::string wrong = difference(there, Floats(3, 2 * static_cast<float>(turn + t)));
      if (!wrong.empty()) return wrong;
    }
    return std::string();
  });
}

}  // namespace
}  // namespace doorbell::test
