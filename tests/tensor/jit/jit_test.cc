// jit(f): every call gives what a plain call would, whatever happens between the calls. The
// foot-guns have tests of their own in jit_footguns_test.cc.
#include "tensor/jit/jit.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/device/counters.h"
#include "runtime/doorbell.h"
#include "tests/tensor/examples.h"

namespace doorbell::test {
namespace {

using Floats = std::vector<float>;
Tensor numbers(Floats values) {
  const i64 count = static_cast<i64>(values.size());
  return Tensor::from_data(values, {count});
}

TEST(Jit, ElementwiseReplaysWithNewArguments) {
  int runs = 0;
  auto f = jit([&](const Tensor& a, const Tensor& b) {
    ++runs;
    return a * 2 + b;
  });
  for (float i = 0; i < 5; ++i) {
    const Tensor result = f(numbers({i, 1, 2}), numbers({10, 20, i}));
    EXPECT_EQ(result.to_vector<float>(), (Floats{2 * i + 10, 22, 4 + i})) << i;
  }
  EXPECT_EQ(runs, 2);
}

TEST(Jit, ReplaySchedulesNothingAndMakesNoNodesButResults) {
  auto f = jit([](const Tensor& a) {
    const Tensor doubled = (a * 2).realize();
    return (doubled + 1).realize();
  });
  const Tensor a = numbers({1, 2}).realize();
  f(a), f(a);
  const i64 found = core::counters.schedules_found, made = core::counters.schedules_made;
  const i64 nodes = core::TensorGraph::made_nodes(), kernels = core::counters.kernels;
  const Tensor result = f(a);
  EXPECT_EQ(core::counters.schedules_found, found);
  EXPECT_EQ(core::counters.schedules_made, made);
  EXPECT_EQ(core::TensorGraph::made_nodes(), nodes + 1);
  EXPECT_EQ(core::counters.kernels, kernels + 2);
  EXPECT_EQ(f.launches(), 2u);
  EXPECT_EQ(result.to_vector<float>(), (Floats{3, 5}));
}

// Eight intermediates of 4 KiB, of which two are alive at once.
TEST(Jit, IntermediatesOfAllRealisationsShareMemory) {
  auto f = jit([](const Tensor& a) {
    Tensor x = a;
    for (int i = 0; i < 9; ++i) x = (x + 1).realize();
    return x;
  });
  const Tensor a = Tensor::zeros({1024}).contiguous().realize();
  f(a), f(a);
  EXPECT_EQ(f.launches(), 9u);
  EXPECT_EQ(f.arena_bytes(), 2 * 4096);
  EXPECT_EQ(f(a).to_vector<float>(), Floats(1024, 9));
}

TEST(Jit, SeveralOutputsInTuplesVectorsAndPairs) {
  auto f = jit([](const std::vector<Tensor>& in, const std::pair<Tensor, Tensor>& more) {
    return std::tuple(in[0] + in[1], std::vector<Tensor>{in[0] * more.first, more.second - 1});
  });
  for (float i = 1; i < 5; ++i) {
    const auto [sum, rest] =
        f(std::vector{numbers({i}), numbers({2})}, std::pair(numbers({3}), numbers({i})));
    EXPECT_EQ(sum.item<float>(), i + 2);
    EXPECT_EQ(rest[0].item<float>(), i * 3);
    EXPECT_EQ(rest[1].item<float>(), i - 1);
  }
}

struct Carry {
  Tensor value, count, missing;
  void visit(nn::Visitor& visitor) {
    visitor("value", value);
    visitor("count", count);
    visitor("missing", missing);
  }
};

TEST(Jit, StructsGoInAndOut) {
  auto f =
      jit([](const Carry& in, const Tensor& x) { return Carry{in.value + x, in.count + 1, {}}; });
  Carry carry{numbers({0, 0}), Tensor::of(0), {}};
  for (int i = 0; i < 5; ++i) carry = f(carry, numbers({1, 2}));
  EXPECT_EQ(carry.value.to_vector<float>(), (Floats{5, 10}));
  EXPECT_EQ(carry.count.item<int>(), 5);
  EXPECT_FALSE(carry.missing.defined());
}

TEST(Jit, StateIsReadLiveAndChanged) {
  Tensor total = numbers({0, 0}), scale = numbers({1, 1});
  auto add = jit([&](const Tensor& x) { total.assign(total + x * scale); });
  add(numbers({1, 2}));
  add(numbers({1, 2}));
  add(numbers({1, 2}));
  EXPECT_EQ(total.to_vector<float>(), (Floats{3, 6}));
  scale.assign(numbers({10, 10}));
  add(numbers({1, 2}));
  EXPECT_EQ(total.to_vector<float>(), (Floats{13, 26}));
  total.assign(numbers({100, 100}));  // and lazily
  total += 1;
  add(numbers({1, 2}));
  EXPECT_EQ(total.to_vector<float>(), (Floats{111, 121}));
}

TEST(Jit, StateKeepsItsOldValuesForWhoeverHasThem) {
  Tensor total = numbers({0});
  auto add = jit([&](const Tensor& x) {
    total += x;
    return total;
  });
  std::vector<Tensor> outputs;
  for (float i = 1; i < 6; ++i) outputs.push_back(add(numbers({i})));
  const Floats expected = {1, 3, 6, 10, 15};
  for (usize i = 0; i < 5; ++i) EXPECT_EQ(outputs[i].item<float>(), expected[i]);
}

TEST(Jit, TwoStatesAreSwapped) {
  Tensor a = numbers({1}), b = numbers({2});
  auto swap = jit([&] {
    const Tensor old = a.clone();  // detach() would share a's elements
    a.assign(b);
    b.assign(old);
  });
  for (int i = 1; i < 6; ++i) {
    swap();
    EXPECT_EQ(a.item<float>(), i % 2 == 1 ? 2 : 1);
    EXPECT_EQ(b.item<float>(), i % 2 == 1 ? 1 : 2);
  }
}

TEST(Jit, TwoFunctionsShareState) {
  Tensor weight = numbers({1});
  auto learn = jit([&](const Tensor& x) { weight += x; });
  auto use = jit([&](const Tensor& x) { return weight * x; });
  float expected = 1;
  for (float i = 1; i < 6; ++i) {
    learn(numbers({i}));
    expected += i;
    EXPECT_EQ(use(numbers({2})).item<float>(), expected * 2);
  }
}

TEST(Jit, RandomDrawsAreThoseOfPlainCalls) {
  auto body = [](const Tensor& x) {
    const Tensor first = Tensor::rand({3});
    (void)Tensor::rand({5});  // drawn and not used: the stream moves on all the same
    return std::pair(x + first, Tensor::randn({2, 2}));
  };
  const Tensor x = numbers({0, 0, 0});
  std::vector<Floats> plain, jitted;
  Tensor::manual_seed(7);
  for (int i = 0; i < 5; ++i) {
    const auto [a, b] = body(x);
    plain.push_back(a.to_vector<float>());
    plain.push_back(b.to_vector<float>());
  }
  auto f = jit(body);
  Tensor::manual_seed(7);
  for (int i = 0; i < 5; ++i) {
    const auto [a, b] = f(x);
    jitted.push_back(a.to_vector<float>());
    jitted.push_back(b.to_vector<float>());
  }
  EXPECT_EQ(plain, jitted);
  EXPECT_NE(plain[4], plain[8]);
  Tensor::manual_seed(7);
  EXPECT_EQ(f(x).first.to_vector<float>(), plain[0]);
}

struct Net {
  nn::Conv2d conv{1, 4, {3, 3}};
  nn::BatchNorm norm{4};
  nn::Linear last{4 * 3 * 3, 10};
  Tensor operator()(const Tensor& x) {
    const Tensor hidden = norm(conv(x)).relu().max_pool2d();
    return last(hidden.flatten(1).dropout(0.25));
  }
  void visit(nn::Visitor& visitor) {
    visitor("conv", conv);
    visitor("norm", norm);
    visitor("last", last);
  }
};

struct Trained {
  std::vector<Floats> losses, state;
};

Trained train(bool with_jit, bool check = false) {
  Tensor::manual_seed(3);
  Net net;
  nn::Adam optimizer(nn::parameters_of(net), 0.01);
  TrainingScope training;
  auto body = [&](const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = net(x).cross_entropy(y);
    loss.backward();
    optimizer.step();
    return loss.detach();
  };
  auto step = jit(body, {.check = check});
  Trained result;
  for (int i = 0; i < 5; ++i) {
    const Tensor x = Tensor::rand({8, 1, 8, 8}).realize();
    const Tensor y = Tensor::randint(0, 10, {8}).realize();
    const Tensor loss = with_jit ? step(x, y) : body(x, y);
    result.losses.push_back(loss.to_vector<float>());
  }
  for (const auto& [name, tensor] : nn::state_of(net))
    result.state.push_back(tensor.to_vector<float>());
  return result;
}

TEST(Jit, ATrainingStepGivesTheSameBits) {
  const Trained plain = train(false), jitted = train(true);
  EXPECT_EQ(plain.losses, jitted.losses);
  EXPECT_NE(plain.losses[2], plain.losses[3]);
  EXPECT_EQ(plain.state, jitted.state);
  const Trained checked = train(true, true);
  EXPECT_EQ(checked.losses, plain.losses);
  EXPECT_EQ(checked.state, plain.state);
}

// Gradients are state too: of captured tensors, and of arguments.
TEST(Jit, GradientsAreFilledAndAccumulate) {
  Tensor w = numbers({1, 2}).requires_grad();
  auto f = jit([&](const Tensor& x) { (w * x).sum().backward(); });
  Tensor x = numbers({3, 4});
  f(x);
  EXPECT_EQ(w.grad().to_vector<float>(), (Floats{3, 4}));
  for (int i = 2; i < 6; ++i) {
    f(x);
    const float n = static_cast<float>(i);
    EXPECT_EQ(w.grad().to_vector<float>(), (Floats{3 * n, 4 * n}));
  }
  w.zero_grad();
  EXPECT_EQ(thrown([&] { f(x); }),
            "a tensor of shape (2) has no gradient when a jitted function reads it, captured with "
            "one; call zero_grad() in the function, or before each call");

  auto g = jit([](const Tensor& v) { (v * v).sum().backward(); });
  for (float i = 1; i < 5; ++i) {
    Tensor v = numbers({i}).requires_grad();
    g(v);
    EXPECT_EQ(v.grad().item<float>(), 2 * i);
  }
}

TEST(Jit, TheLearningRateIsState) {
  Tensor w = numbers({0}).requires_grad();
  nn::SGD optimizer(std::vector<Tensor>{w}, 1);
  auto f = jit([&] {
    optimizer.zero_grad();
    (w * 1).sum().backward();
    optimizer.step();
  });
  float expected = 0;
  for (const float rate : {1.f, 2.f, 4.f, 8.f, 16.f}) {
    optimizer.set_learning_rate(rate);
    f();
    expected -= rate;
    EXPECT_EQ(w.item<float>(), expected);
  }
}

// Without zero_grad a step inside uses the sum of all gradients so far.
TEST(Jit, AGradientThatIsAddedToIsKept) {
  Floats values[2];
  for (const bool with_jit : {false, true}) {
    Tensor w = numbers({1, 2}).requires_grad();
    nn::SGD optimizer(std::vector<Tensor>{w}, 0.5);
    auto body = [&](const Tensor& x) {
      (w * w * x).sum().backward();
      optimizer.step();
    };
    auto f = jit(body);
    for (float i = 1; i < 6; ++i)
      with_jit ? f(numbers({i, 1}) * 0.125) : body(numbers({i, 1}) * 0.125);
    values[with_jit] = w.to_vector<float>();
    const Floats gradient = w.grad().to_vector<float>();
    values[with_jit].insert(values[with_jit].end(), gradient.begin(), gradient.end());
  }
  EXPECT_EQ(values[0], values[1]);
}

TEST(Jit, AGradientFromOutsideIsReadAndStays) {
  Tensor w = numbers({1, 2}).requires_grad();
  auto descend = jit([&] {
    NoGradScope no_grad;
    w.assign(w - w.grad());
  });
  for (float i = 1; i < 6; ++i) {
    w.zero_grad();
    (w * i).sum().backward();
    descend();
    EXPECT_EQ(w.grad().to_vector<float>(), (Floats{i, i}));
  }
  EXPECT_EQ(w.to_vector<float>(), (Floats{-14, -13}));
  w.set_grad(numbers({1, 1}));
  descend();
  EXPECT_EQ(w.to_vector<float>(), (Floats{-15, -14}));
}

// Values that only an optimiser's step inside used are not stored.
TEST(Jit, AGradientUsedInsideIsNotKept) {
  Tensor w = numbers({1, 2}).requires_grad();
  nn::SGD optimizer(std::vector<Tensor>{w}, 0.5);
  auto f = jit([&](const Tensor& x) {
    optimizer.zero_grad();
    (w * x).sum().backward();
    optimizer.step();
  });
  const Tensor x = numbers({2, 4});
  for (int i = 0; i < 4; ++i) f(x);
  EXPECT_EQ(w.to_vector<float>(), (Floats{-3, -6}));
  EXPECT_EQ(f.launches(), 1u);
  const char* const message =
      "a jitted function used the gradient of a tensor of shape (2) itself and did not keep it; "
      "return the gradient, or call zero_grad()";
  EXPECT_EQ(thrown([&] { w.grad(); }), message);
  EXPECT_EQ(thrown([&] { (w * x).sum().backward(); }), message);
  w.zero_grad();
  (w * x).sum().backward();
  EXPECT_EQ(w.grad().to_vector<float>(), (Floats{2, 4}));
}

TEST(Jit, AnArgumentThatIsChangedIsTheCallers) {
  auto f = jit([](Tensor x) { x += 1; });
  Tensor a = numbers({0});
  for (int i = 0; i < 5; ++i) f(a);
  EXPECT_EQ(a.item<float>(), 5);
  Tensor b = numbers({7});
  f(b);
  EXPECT_EQ(b.item<float>(), 8);
}

TEST(Jit, AnArgumentGivenBackIsANewHandle) {
  auto f = jit([](const Tensor& x) { return x; });
  for (int i = 0; i < 4; ++i) {
    Tensor a = numbers({1});
    Tensor b = f(a);
    a += 1;
    EXPECT_EQ(b.item<float>(), 1);
    EXPECT_EQ(a.item<float>(), 2);
  }
}

TEST(Jit, NoArgumentsAndNoOutputs) {
  Tensor n = Tensor::of(0);
  auto f = jit([&] { n += 1; });
  for (int i = 0; i < 4; ++i) f();
  EXPECT_EQ(n.item<int>(), 4);
  auto nothing = jit([](const Tensor&) {});
  for (int i = 0; i < 4; ++i) nothing(n);
}

TEST(Jit, TensorsWithoutElements) {
  auto f = jit([](const Tensor& x) { return Tensor::cat({x, x}); });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(f(Tensor::zeros({0, 3})).shape().str(), "(0, 3)");
  }
}

// The call that fails changes nothing that a plain call would not have changed, and the next one
// captures.
TEST(Jit, AnExceptionLeavesItUncaptured) {
  Tensor state = numbers({1});
  bool fails = false;
  auto f = jit([&](const Tensor& x) {
    state.assign(state + x);
    if (fails) throw std::runtime_error("no");
    return state * 2;
  });
  const Tensor x = numbers({1});
  EXPECT_EQ(f(x).item<float>(), 4);
  fails = true;
  EXPECT_THROW(f(x), std::runtime_error);
  EXPECT_EQ(state.item<float>(), 3);
  fails = false;
  for (float i = 4; i < 8; ++i) EXPECT_EQ(f(x).item<float>(), 2 * i);
}

TEST(Jit, ResetCapturesAgain) {
  float factor = 2;
  auto f = jit([&](const Tensor& x) { return x * factor; });
  const Tensor x = numbers({1});
  for (int i = 0; i < 3; ++i) f(x);
  factor = 3;
  EXPECT_EQ(f(x).item<float>(), 2);
  f.reset();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(f(x).item<float>(), 3);
}

TEST(Jit, ABoundSizeIsAnArgument) {
  const Variable length("jit_length", 1, 8);
  const Tensor x = numbers({1, 2, 3, 4, 5, 6, 7, 8});
  auto f = jit([&](const Tensor& of, const Size& n) { return of[{Slice(0, n)}].sum(); });
  for (int n = 1; n <= 8; ++n) {
    EXPECT_EQ(f(x, length.bind(n)).item<float>(), static_cast<float>(n * (n + 1) / 2));
  }
  const Variable other("jit_other", 1, 8);
  EXPECT_THROW(f(x, other.bind(2)), Error);
  EXPECT_THROW(f(x, Size(3)), Error);
}

TEST(Jit, TwoThreadsReplayTwoFunctions) {
  auto work = [](float scale) {
    auto f = jit([=](const Tensor& x) { return ((x * scale).contiguous() + 1).sum(); });
    const Tensor x = numbers({1, 2, 3});
    for (int i = 0; i < 200; ++i) ASSERT_EQ(f(x).item<float>(), scale * 6 + 3);
  };
  std::thread other(work, 2.0f);
  work(5);
  other.join();
}

TEST(Jit, OneFunctionIsCalledByTwoThreads) {
  auto f = jit([](const Tensor& x) { return ((x * 2).contiguous() + 1).sum(); });
  auto work = [&](float value) {
    for (int i = 0; i < 200; ++i) ASSERT_EQ(f(numbers({value, 1})).item<float>(), 2 * value + 4);
  };
  std::thread other(work, 2.0f);
  work(5);
  other.join();
}

TEST(Jit, CopiesBetweenDevicesAreReplayed) {
  auto f = jit([](const Tensor& x) { return (x.to("CPU:1") * 2).to("CPU") + 1; });
  for (float i = 0; i < 5; ++i) {
    const Tensor x = Tensor::from_data(Floats{i, 1}, {2}, {.device = "CPU"});
    EXPECT_EQ(f(x).to_vector<float>(), (Floats{2 * i + 1, 3}));
  }
}

TEST(Jit, NullReplaysToo) {
  auto f = jit([](const Tensor& x) { return (x + 1).contiguous() * 2; });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(f(Tensor::empty({4}, {.device = "NULL"})).device(), "NULL");
  }
}

}  // namespace
}  // namespace doorbell::test
