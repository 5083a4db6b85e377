// Random functions of tensors with a symbolic axis: jitted once and called with several sizes, they
// give what plain calls with constant shapes give. On interpreted kernels, and a few compiled.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/doorbell.h"
#include "tests/tensor/engine/interpreter_device.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

constexpr usize kLocals = 3, kSteps = 7;
constexpr i64 kLargest = 7;

struct Step {
  int what;
  usize a, b;
};

// Steps over locals of shape (n, 3), whatever n is.
struct Program {
  std::vector<Step> steps;

  explicit Program(u32 seed) {
    std::mt19937 random(seed);
    for (usize i = 0; i < kSteps; ++i)
      steps.push_back({static_cast<int>(random() % 13), random() % kLocals, random() % kLocals});
  }

  static Tensor apply(int what, const Tensor& a, const Tensor& b) {
    const Size n = a.size(0);
    switch (what) {
      case 0: return a + b;
      case 1: return (a * 0.5 - b).maximum(-2).minimum(2);
      case 2: return a.flip(0).maximum(b);
      case 3: return a - b.sum(0, {.keepdim = true}) * 0.125;
      case 4: return a - b.sum(1, {.keepdim = true}) * 0.125;
      case 5: return a.flatten().flip(0).reshape({n, 3}) + b;
      case 6: return Tensor::cat({a, b}, 0).flip(0)[{Slice(0, n)}];
      case 7: return Tensor::cat({a, b}, 1)[{Ellipsis, Slice(2, 5)}];
      case 8: return a.transpose(0, 1).contiguous().reshape({n, 3});
      case 9: return a.matmul(b.transpose(0, 1)).matmul(a) * 0.0625;
      case 10: return a.softmax(0) + b;
      case 11: {
        Tensor changed = a.clone();
        changed[{Slice(n - 1, n), Slice(1, 3)}] = b[{Slice(0, 1), Slice(0, 2)}];
        return changed;
      }
      default: return (a + b).realize();
    }
  }

  std::pair<Tensor, Tensor> run(const Tensor& x, const Tensor& y) const {
    std::vector<Tensor> locals{x, y, x * 0.25};
    for (const Step& step : steps)
      locals[step.a] = apply(step.what, locals[step.a], locals[step.b]);
    return {locals[0] - locals[2], locals[1].sum(0)};
  }
};

void expect_same(const Tensor& symbolic, const Tensor& plain) {
  const std::vector<float> a = symbolic.to_vector<float>(), e = plain.to_vector<float>();
  ASSERT_EQ(a.size(), e.size());
  for (usize i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], e[i], 1e-4 * (1 + std::abs(e[i]))) << "element " << i;
}

void compare(u32 seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Program program(seed);
  const Variable n("symbolic_random_n", 1, kLargest);
  auto f = jit([&](const Tensor& x, const Tensor& y) { return program.run(x, y); });
  const Tensor x = Array::noise({kLargest, 3}, 2 * seed).tensor().realize();
  const Tensor y = Array::noise({kLargest, 3}, 2 * seed + 1).tensor().realize();
  for (const i64 size : {3, 5, 1, 7, 4}) {
    SCOPED_TRACE("size " + std::to_string(size));
    const auto part = [&](const Tensor& of, const Size& to) { return of[{Slice(0, to)}]; };
    const auto [first, second] = f(part(x, n.bind(size)), part(y, n.bind(size)));
    const auto [plain_first, plain_second] = program.run(part(x, size), part(y, size));
    expect_same(first, plain_first);
    expect_same(second, plain_second);
  }
}

TEST(SymbolicRandom, FunctionsGiveWhatConstantShapesGive) {
  engine::InterpreterScope scope;
  for (u32 seed = 0; seed < 150 && !::testing::Test::HasFailure(); ++seed) compare(seed);
}

TEST(SymbolicRandom, CompiledToo) {
  for (u32 seed = 1000; seed < 1003 && !::testing::Test::HasFailure(); ++seed) compare(seed);
}

}  // namespace
}  // namespace doorbell::test
