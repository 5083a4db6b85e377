// What surprises users of tracing JITs, each with an error or the right answer. The names are those
// of tinygrad's test/unit/test_jit_footguns.py, which keeps a list of its own surprises; what has
// no counterpart in C++ (keyword arguments) is not here.
#include <gtest/gtest.h>

#include "runtime/doorbell.h"
#include "tests/tensor/examples.h"

namespace doorbell::test {
namespace {

using Floats = std::vector<float>;
Tensor numbers(Floats values) {
  const i64 count = static_cast<i64>(values.size());
  return Tensor::from_data(values, {count});
}

TEST(JitFootguns, OutputBufferReuse) {
  auto f = jit([](const Tensor& x) { return x.sum().realize(); });
  const Tensor first = f(numbers({1, 1})), second = f(numbers({2, 2})), third = f(numbers({3, 3}));
  const Tensor fourth = f(numbers({4, 4}));
  EXPECT_EQ(first.item<float>(), 2);
  EXPECT_EQ(second.item<float>(), 4);
  EXPECT_EQ(third.item<float>(), 6);
  EXPECT_EQ(fourth.item<float>(), 8);
}

TEST(JitFootguns, GraphInputOutputAliasing) {
  auto step = jit([](const Tensor& x) {
    const Tensor y = (x + 1).realize();
    return (y * 2).realize();
  });
  step(numbers({10}));
  Tensor x = step(numbers({20}));
  for (int i = 0; i < 3; ++i) x = step(x);
  EXPECT_EQ(x.item<float>(), 350);
  Tensor y = numbers({100});
  for (int i = 0; i < 3; ++i) y = step(y);
  EXPECT_EQ(y.item<float>(), 814);
}

TEST(JitFootguns, MultipleOutputsSameIntermediate) {
  auto f = jit([](const Tensor& buffer, const Tensor& frame) {
    const Tensor next = Tensor::cat({buffer[{Slice(1, None)}], frame});
    return std::pair(next.contiguous(), next[{Slice(0, 1)}].contiguous());
  });
  Tensor buffer = numbers({0, 1, 2});
  const Floats firsts = {1, 2, 10, 11, 12};
  for (usize i = 0; i < 5; ++i) {
    const auto [next, first] = f(buffer, numbers({10 + static_cast<float>(i)}));
    EXPECT_EQ(first.item<float>(), firsts[i]);
    buffer = next;
  }
}

TEST(JitFootguns, IntraKernelOutputInputAliasing) {
  constexpr i64 kHalf = 1 << 16;
  auto f = jit([](const Tensor& buffer, const Tensor& more) {
    return Tensor::cat({buffer[{Slice(kHalf, None)}], more});
  });
  Tensor buffer = Tensor::zeros({2 * kHalf}).contiguous().realize();
  for (int i = 0; i < 6; ++i) {
    buffer = f(buffer, Tensor::full({kHalf}, static_cast<float>(i + 1)));
    const Tensor head = buffer[{Slice(0, kHalf)}];
    EXPECT_EQ(head.min().item<float>(), static_cast<float>(i));
    EXPECT_EQ(head.max().item<float>(), static_cast<float>(i));
  }
}

TEST(JitFootguns, SliceAssignWorksWithoutRealize) {
  Tensor cache = Tensor::zeros({4, 4});
  auto second_row = jit([&](const Tensor& row) {
    cache[{1, Ellipsis}] = row;
    return cache.sum();
  });
  auto masked = jit([&](const Tensor& mask) {
    cache.assign(doorbell::where(mask.reshape({4, 1}), 1.0, cache));
    return cache.sum();
  });
  for (i64 i = 0; i < 5; ++i) {
    const float value = static_cast<float>(i);
    cache.assign(Tensor::ones({4, 4}));
    EXPECT_EQ(second_row(Tensor::full({4}, value)).item<float>(), 12 + 4 * value);
    EXPECT_EQ((cache[{1, 2}].item<float>()), value);
    EXPECT_EQ((cache[{2, 2}].item<float>()), 1);
    cache.assign(Tensor::zeros({4, 4}));
    EXPECT_EQ(masked(Tensor::arange(4) == i % 4).item<float>(), 4);
  }
}

// Rebinding a handle from outside changes only that handle: later calls would miss it.
TEST(JitFootguns, ARebindingOfAHandleFromOutsideIsRefused) {
  Tensor state = numbers({1});
  auto f = jit([&](const Tensor& x) { state = state + x; });
  f(numbers({1}));
  EXPECT_EQ(thrown([&] { f(numbers({1})); }),
            "1 of the tensors that a jitted function made are still held outside it, where later "
            "calls would not change them; return them, or assign() to a tensor that exists before");
  EXPECT_EQ(state.item<float>(), 3);
}

TEST(JitFootguns, AnArgumentKeptOutsideIsRefused) {
  Tensor last;
  auto f = jit([&](const Tensor& x) {
    last = x;
    return x + 1;
  });
  f(numbers({1}));
  EXPECT_THROW(f(numbers({1})), Error);
}

TEST(JitFootguns, SymbolicPadViewFrozen) {
  const Variable n("jit_footgun_n", 1, 10);
  const Tensor a = Tensor::rand({3, 10});
  const Tensor zeros = Tensor::zeros({3, 10});
  auto outside = jit([](const Tensor& x) { return x + 1; });
  for (int i = 1; i < 6; ++i) {
    const Tensor part = zeros[{Ellipsis, Slice(0, n.bind(i))}];
    EXPECT_EQ(outside(part).sum(1).to_vector<float>(), Floats(3, static_cast<float>(i)));
  }
  // The value of a variable is an argument; what is bound inside would be frozen.
  auto inside =
      jit([&](const Tensor& x, const Tensor&) { return x[{Ellipsis, Slice(0, n.bind(2))}].sum(); });
  inside(a, a);
  EXPECT_EQ(thrown([&] { inside(a, a); }),
            "variable jit_footgun_n is bound inside a jitted function, where its value would be 2 "
            "for ever; pass the bound size as an argument");
  const Tensor ones = Tensor::ones({3, 10});
  auto fixed =
      jit([](const Tensor& x, const Size& size) { return x[{Ellipsis, Slice(0, size)}].sum(1); });
  for (int i = 1; i < 6; ++i) {
    EXPECT_EQ(fixed(ones, n.bind(i)).to_vector<float>(), Floats(3, static_cast<float>(i)));
  }
}

// Refused when it is compiled: values that are not tensors, in either direction.
TEST(JitFootguns, NonTensorOutputsError) {
  static_assert(detail::JitWalk<std::pair<Tensor, Tensor>>::kKnown);
  static_assert(!detail::JitWalk<std::pair<Tensor, float>>::kKnown);
  static_assert(!detail::JitWalk<std::vector<int>>::kKnown);
}

TEST(JitFootguns, DuplicateInputs) {
  auto f = jit([](const Tensor& a, const Tensor& b) { return a + b; });
  for (int i = 0; i < 4; ++i) {
    const Tensor x = numbers({1, 2, 3});
    EXPECT_EQ(f(x, x).to_vector<float>(), (Floats{2, 4, 6}));
  }
  // Captured as one tensor, called with two.
  EXPECT_EQ(f(numbers({1, 1, 1}), numbers({5, 6, 7})).to_vector<float>(), (Floats{6, 7, 8}));

  auto change = jit([](Tensor a, const Tensor& b) { a += b; });
  Tensor x = numbers({1}), y = numbers({2});
  change(x, y), change(x, y), change(x, y);
  EXPECT_EQ(x.item<float>(), 7);
  EXPECT_EQ(thrown([&] { change(x, x); }),
            "arguments 0 and 1 of a jitted function are one tensor, which the function changes; "
            "pass a clone()");
  EXPECT_EQ(x.item<float>(), 7);
}

TEST(JitFootguns, AnArgumentThatIsAlsoState) {
  Tensor state = numbers({2});
  auto read = jit([&](const Tensor& x) { return x * 10 + state; });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(read(state).item<float>(), 22);
  EXPECT_EQ(read(numbers({1})).item<float>(), 12);

  auto change = jit([&](const Tensor& x) { state += x; });
  const Tensor one = numbers({1});
  change(one), change(one), change(one);
  EXPECT_EQ(thrown([&] { change(state); }),
            "argument 0 of a jitted function is also a tensor that the function refers to and "
            "changes; pass a clone()");
  EXPECT_EQ(state.item<float>(), 5);
}

TEST(JitFootguns, TensorsInContainers) {
  auto f = jit([](const Tensor& a, const std::vector<Tensor>& more) { return a + more[0]; },
               {.max_graphs = 1});
  for (float i = 0; i < 4; ++i) {
    EXPECT_EQ(f(numbers({1}), std::vector{numbers({i})}).item<float>(), 1 + i);
  }
  EXPECT_THROW(f(numbers({1}), std::vector{numbers({1}), numbers({1})}), Error);
}

TEST(JitFootguns, NestedJit) {
  auto inner = jit([](const Tensor& t) { return t + 1; });
  auto outer = jit([&](const Tensor& t) { return inner(t) * 3; });
  for (float i = 1; i < 6; ++i) EXPECT_EQ(outer(numbers({i})).item<float>(), (i + 1) * 3);
  for (float i = 1; i < 6; ++i) EXPECT_EQ(inner(numbers({i})).item<float>(), i + 1);
}

// Part of another capture or not, a result is never a handle of an argument.
TEST(JitFootguns, NestedJitGivesNewHandles) {
  auto inner = jit([](const Tensor& t) { return t; });
  auto outer = jit([&](const Tensor& t) {
    Tensor same = inner(t);
    same += 1;
    return std::pair(same, t * 1);
  });
  for (float i = 1; i < 6; ++i) {
    const auto [changed, kept] = outer(numbers({i}));
    EXPECT_EQ(changed.item<float>(), i + 1);
    EXPECT_EQ(kept.item<float>(), i);
  }
}

TEST(JitFootguns, ImplicitInputsNeedNoRealize) {
  Tensor x = numbers({0});
  auto f = jit([&] { return x * 2; });
  for (float i = 0; i < 5; ++i) {
    x.assign(numbers({i}) + 0);
    EXPECT_EQ(f().item<float>(), i * 2);
  }
  x.replace(numbers({1, 2}));
  EXPECT_EQ(thrown([&] { f(); }),
            "a tensor that a jitted function refers to is now float32 of shape (2) on CPU, "
            "captured with float32 of shape (1) on CPU");
}

TEST(JitFootguns, ViewsWithDifferentOffsets) {
  auto f = jit([](const Tensor& a) { return a + 1; });
  const Tensor base = Tensor::arange(10).cast(dtypes::f32).realize();
  for (int i = 1; i < 6; ++i) {
    const float first = static_cast<float>(i);
    EXPECT_EQ(f(base[{Slice(i, i + 2)}]).to_vector<float>(), (Floats{first + 1, first + 2}));
  }
}

TEST(JitFootguns, ShapeDtypeAndDeviceAreThoseOfTheOnlyCapture) {
  auto f = jit([](const Tensor& a, const Tensor& b) { return a + b; }, {.max_graphs = 1});
  const Tensor a = Tensor::ones({2, 2}, {.device = "CPU"});
  for (int i = 0; i < 3; ++i) f(a, a);
  EXPECT_EQ(
      thrown([&] { f(a, Tensor::ones({4, 2}, {.device = "CPU"})); }),
      "argument 1 of a jitted function is float32 of shape (4, 2) on CPU, captured with float32 "
      "of shape (2, 2) on CPU");
  EXPECT_EQ(
      thrown([&] { f(Tensor::ones({2, 2}, {.dtype = dtypes::f64, .device = "CPU"}), a); }),
      "argument 0 of a jitted function is float64 of shape (2, 2) on CPU, captured with float32 "
      "of shape (2, 2) on CPU");
  EXPECT_EQ(
      thrown([&] { f(a, Tensor::empty({2, 2}, {.device = "CPU:1"})); }),
      "argument 1 of a jitted function is float32 of shape (2, 2) on CPU:1, captured with float32 "
      "of shape (2, 2) on CPU");
  EXPECT_EQ(f(a, a).to_vector<float>(), Floats(4, 2));
}

// A tracing JIT cannot see plain C++ values. Captured by value they cannot change either; captured
// by reference they are read when the function is captured: docs/api.md says so.
TEST(JitFootguns, PlainConstantsAreReadWhenCaptured) {
  float factor = 1;
  auto f = jit([&](const Tensor& x) { return x * factor; });
  Floats results;
  for (int i = 0; i < 4; ++i) {
    factor = static_cast<float>(i + 1);
    results.push_back(f(numbers({10})).item<float>());
  }
  EXPECT_EQ(results, (Floats{10, 20, 20, 20}));
  // As a tensor it is an argument.
  auto g = jit([](const Tensor& x, const Tensor& by) { return x * by; });
  for (float i = 1; i < 5; ++i) EXPECT_EQ(g(numbers({10}), Tensor::of(i)).item<float>(), 10 * i);
}

// A check finds it.
TEST(JitFootguns, ACheckFindsConstantsAndBranchesThatChange) {
  float factor = 1;
  auto scale = jit([&](const Tensor& x) { return x * factor; }, {.check = true});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(scale(numbers({10})).item<float>(), 10);
  factor = 2;
  EXPECT_EQ(thrown([&] { scale(numbers({10})); }),
            "a jitted function does not do what it did when it was captured: launch 0 of 1 is "
            "another kernel. What it depends on besides tensors has changed; pass it as a tensor "
            "or a bound size");
  factor = 1;
  EXPECT_EQ(scale(numbers({10})).item<float>(), 10);

  Floats data = {1, 2};
  auto add = jit([&](const Tensor& x) { return x + numbers(data); }, {.check = true});
  for (int i = 0; i < 4; ++i) add(numbers({1, 1}));
  data[1] = 3;
  EXPECT_EQ(thrown([&] { add(numbers({1, 1})); }),
            "a jitted function does not do what it did when it was captured: it makes constants of "
            "other values. What it depends on besides tensors has changed; pass it as a tensor or "
            "a bound size");

  Tensor a = numbers({1}), b = numbers({2});
  bool first = true;
  auto pick = jit([&](const Tensor& x) { return x + (first ? a : b); }, {.check = true});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pick(numbers({1})).item<float>(), 2);
  first = false;
  EXPECT_THROW(pick(numbers({1})), Error);
}

// A copy's memory is made at the capture; what lies in it there is no constant.
TEST(JitFootguns, ACheckTakesCopiesAsTheyCome) {
  auto f = jit([](const Tensor& x) { return x.clone() + Tensor::full({2}, 3, {.device = "CPU"}); },
               {.check = true});
  for (float i = 1; i < 6; ++i)
    EXPECT_EQ(f(numbers({i, 2 * i})).to_vector<float>(), (Floats{i + 3, 2 * i + 3}));
}

TEST(JitFootguns, UnrealizedConstInput) {
  auto f = jit([](const Tensor& a, const Tensor& b) { return a * b; });
  for (int i = 1; i < 5; ++i) {
    EXPECT_EQ(f(numbers({1, 2}), Tensor::full({2}, i).cast(dtypes::f32)).to_vector<float>(),
              (Floats{static_cast<float>(i), 2 * static_cast<float>(i)}));
  }
}

// Whether the scope of training is on decides which branch is taken, so it belongs to the capture.
TEST(JitFootguns, TheTrainingScopeIsPartOfTheCapture) {
  auto f = jit([](const Tensor& x) { return x.dropout(0.5); });
  const Tensor x = Tensor::ones({16});
  f(x), f(x), f(x);
  TrainingScope training;
  EXPECT_EQ(thrown([&] { f(x); }),
            "a jitted function is called within a training scope, captured outside");
}

struct Scaled {
  Tensor scale;
  Jit<std::function<Tensor(const Tensor&)>> forward;
  explicit Scaled(float by)
      : scale(numbers({by})), forward([scale = scale](const Tensor& x) { return x * scale; }) {}
};

TEST(JitFootguns, MethodsOfTwoInstances) {
  Scaled two(2), three(3);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(two.forward(numbers({5})).item<float>(), 10);
    EXPECT_EQ(three.forward(numbers({5})).item<float>(), 15);
  }
}

TEST(JitFootguns, SideEffectsHappenOnlyInTheFirstTwoCalls) {
  int calls = 0;
  auto f = jit([&](const Tensor& x) {
    ++calls;
    return x * 2;
  });
  for (int i = 0; i < 5; ++i) f(numbers({1}));
  EXPECT_EQ(calls, 2);
}

TEST(JitFootguns, NothingRealized) {
  auto f = jit([](const Tensor&, const Tensor&) { return Tensor(); });
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(f(numbers({1}), numbers({2})).defined());
}

const char* const kReadInside =
    "the values of a tensor are read inside a function that jit captures, which later calls would "
    "not do again; do it outside";

TEST(JitFootguns, ItemBakesInValues) {
  auto f = jit([](const Tensor& x) { return Tensor::zeros({x.sum().item<i64>()}); });
  f(numbers({1, 1, 1}));
  EXPECT_EQ(thrown([&] { f(numbers({1, 1, 1})); }), kReadInside);
}

TEST(JitFootguns, ToVectorBakesInValues) {
  auto f = jit([](const Tensor& x) { return numbers(x.to_vector<float>()); });
  f(numbers({1, 2}));
  EXPECT_EQ(thrown([&] { f(numbers({1, 2})); }), kReadInside);
  auto print = jit([](const Tensor& x) {
    (void)x.str();
    return x;
  });
  print(numbers({1, 2}));
  EXPECT_EQ(thrown([&] { print(numbers({1, 2})); }), kReadInside);
  auto seed = jit([] { Tensor::manual_seed(1); });
  seed();
  EXPECT_EQ(thrown([&] { seed(); }),
            "the random stream is seeded inside a function that jit captures, which later calls "
            "would not do again; do it outside");
}

TEST(JitFootguns, MaskedSelectStaticSizeJittable) {
  auto f = jit([](const Tensor& x, const Tensor& mask) { return x.masked_select(mask, 4, -1); });
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(f(numbers({1, 2, 3, 4}), Tensor::of({true, false, true, false})).to_vector<float>(),
              (Floats{1, 3, -1, -1}));
    EXPECT_EQ(f(numbers({5, 6, 7, 8}), Tensor::of({false, true, true, true})).to_vector<float>(),
              (Floats{6, 7, 8, -1}));
  }
}

TEST(JitFootguns, RandomRegenerates) {
  auto f = jit([](const Tensor& x) { return x + Tensor::rand({3}); });
  std::vector<Floats> results;
  for (int i = 0; i < 7; ++i) results.push_back(f(numbers({0, 0, 0})).to_vector<float>());
  for (usize i = 0; i < results.size(); ++i)
    for (usize j = 0; j < i; ++j) EXPECT_NE(results[i], results[j]);
}

TEST(JitFootguns, GradientsDoNotFlowThrough) {
  Tensor w = numbers({2}).requires_grad();
  auto f = jit([](const Tensor& x) { return x * 2; });
  EXPECT_EQ(thrown([&] { f(w * 3); }),
            "argument 0 of a jitted function was computed from marked tensors, and gradients do "
            "not flow into the function; detach it");
  auto loss = jit([&](const Tensor& x) { return (w * x).sum(); });
  for (int i = 0; i < 4; ++i) {
    const Tensor result = loss(numbers({3}));
    EXPECT_EQ(result.item<float>(), 6);
    EXPECT_THROW(result.backward(), Error);
  }
}

}  // namespace
}  // namespace doorbell::test
