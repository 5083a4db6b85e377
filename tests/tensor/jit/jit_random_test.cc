// Random functions over arguments, state and random draws: called through jit, with the state
// changed in between, they give what plain calls of the same body give. On interpreted kernels.
#include <gtest/gtest.h>

#include <random>

#include "runtime/doorbell.h"
#include "tests/tensor/engine/interpreter_device.h"

namespace doorbell::test {
namespace {

using Floats = std::vector<float>;
constexpr usize kStates = 3, kLocals = 4, kSteps = 8, kCalls = 5;

struct Step {
  int what;
  usize a, b, state;
};

struct Program {
  std::vector<Step> steps;
  std::vector<usize> outputs;

  explicit Program(u32 seed) {
    std::mt19937 random(seed);
    auto below = [&](usize n) { return static_cast<usize>(random() % n); };
    for (usize i = 0; i < kSteps; ++i) {
      steps.push_back({static_cast<int>(below(8)), below(kLocals + kStates),
                       below(kLocals + kStates), below(kStates)});
    }
    for (usize i = 0; i < 1 + below(3); ++i) outputs.push_back(below(kLocals + kStates));
  }

  std::vector<Tensor> run(std::vector<Tensor>& states, const std::vector<Tensor>& arguments) const {
    std::vector<Tensor> locals{arguments[0], arguments[1], arguments[0] * 0.5, arguments[1] + 1};
    auto value = [&](usize i) { return i < kLocals ? locals[i] : states[i - kLocals]; };
    for (const Step& step : steps) {
      const Tensor a = value(step.a), b = value(step.b);
      Tensor& local = locals[step.a % kLocals];
      switch (step.what) {
        case 0: local = a + b; break;
        case 1: local = a * 0.25 - b; break;
        case 2: local = a.flip(0).maximum(b); break;
        case 3: states[step.state].assign(a * 0.5 + b); break;
        case 4: states[step.state].assign(b); break;
        case 5: local = (a + b.sum() * 0.125).realize(); break;
        case 6: local = a + Tensor::rand({4}); break;
        default: Tensor::realize({a, b}); break;
      }
    }
    std::vector<Tensor> results;
    for (usize output : outputs) results.push_back(value(output));
    return results;
  }
};

// All that can be seen in kCalls calls. Between them one state gets a new value, stored or lazy.
std::vector<Floats> seen(const Program& program, bool with_jit, u32 seed) {
  Tensor::manual_seed(seed);
  std::mt19937 random(seed);
  auto fresh = [&] {
    Floats values;
    for (int i = 0; i < 4; ++i) values.push_back(static_cast<float>(random() % 64) / 8);
    return Tensor::from_data(values, {4});
  };
  std::vector<Tensor> states{fresh(), fresh(), fresh()};
  auto body = [&](const std::vector<Tensor>& arguments) { return program.run(states, arguments); };
  auto captured = jit(body);
  std::vector<Floats> all;
  std::vector<Tensor> kept;
  for (usize call = 0; call < kCalls; ++call) {
    const Tensor first = fresh();
    const std::vector<Tensor> arguments{first, random() % 4 == 0 ? first : fresh() + 1};
    for (const Tensor& output : with_jit ? captured(arguments) : body(arguments))
      kept.push_back(output.clone());
    for (const Tensor& state : states) all.push_back(state.to_vector<float>());
    const Tensor changed = fresh();
    if (random() % 2 == 0) states[random() % kStates].assign(changed * 2);
  }
  // Read last: later calls must not have changed them.
  for (const Tensor& output : kept) all.push_back(output.to_vector<float>());
  return all;
}

TEST(JitRandom, FunctionsGiveWhatPlainCallsGive) {
  engine::InterpreterScope scope;
  for (u32 seed = 0; seed < 150; ++seed) {
    const Program program(seed);
    EXPECT_EQ(seen(program, false, seed), seen(program, true, seed)) << "seed " << seed;
  }
}

// Out of memory in a replay: nothing has changed, and the next call works.
TEST(JitRandom, AReplayWithoutMemoryChangesNothing) {
  engine::InterpreterScope scope;
  Tensor state = Tensor::zeros({1024}).contiguous().realize();
  auto f = jit([&](const Tensor& x) {
    state.assign(state + x + Tensor::rand({1024}).ceil());
    return state.sum();
  });
  const Tensor one = Tensor::ones({1024}).contiguous().realize();
  std::vector<Tensor> kept;  // so that no memory is spare
  for (int i = 0; i < 3; ++i) kept.push_back(f(one)), kept.push_back(state.clone());
  EXPECT_EQ(state.max().item<float>(), 6);
  engine::device().allocator().flush();
  engine::InterpreterMemory::limit = 1024;
  EXPECT_THROW(f(one), Error);
  engine::InterpreterMemory::limit = INT64_MAX;
  EXPECT_EQ(state.max().item<float>(), 6);
  EXPECT_EQ(f(one).item<float>(), 1024 * 8);
}

}  // namespace
}  // namespace doorbell::test
