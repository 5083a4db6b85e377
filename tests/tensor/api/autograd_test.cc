// Leaves, backward, and what assignment, realisation and lifetimes mean for them.
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

Tensor leaf(const Nested& values) { return Tensor::of(values, {.requires_grad = true}); }

TEST(Autograd, BackwardFillsMarkedLeavesOnly) {
  Tensor w = leaf({1.0, 2.0});
  const Tensor x = Tensor::of({3.0, 4.0});
  (w * x).sum().backward();
  expect_values(w.grad(), {3, 4});
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(w.grad().needs_grad());
}

TEST(Autograd, GradientsAddUp) {
  Tensor w = leaf({1.0, 2.0});
  (w * 2).sum().backward();
  (w * 3).sum().backward();
  expect_values(w.grad(), {5, 5});
  w.zero_grad();
  EXPECT_FALSE(w.grad().defined());
  ((w + w) * w).sum().backward();
  expect_values(w.grad(), {4, 8});
}

TEST(Autograd, EqualLeavesAreApart) {
  Tensor a = Tensor::zeros({2}, {.requires_grad = true}),
         b = Tensor::zeros({2}, {.requires_grad = true});
  (a * 2 + b * 3).sum().backward();
  expect_values(a.grad(), {2, 2});
  expect_values(b.grad(), {3, 3});
}

TEST(Autograd, RealizingInBetweenChangesNothing) {
  Tensor w = leaf({1.0, 2.0});
  const Tensor hidden = w * w;
  expect_values(hidden, {1, 4});
  const Tensor loss = (hidden * hidden).sum();
  loss.realize();
  w.realize();
  loss.backward();
  expect_values(w.grad(), {4, 32});
}

TEST(Autograd, AssignmentAfterUseKeepsTheOldValueInTheGraph) {
  Tensor w = leaf({1.0, 2.0});
  const Tensor loss = (w * w).sum();
  {
    NoGradScope no_grad;
    w.assign(Tensor::of({10.0, 20.0}));
  }
  loss.backward();
  expect_values(w.grad(), {2, 4});
  expect_values(w, {10, 20});
  EXPECT_TRUE(w.is_leaf());
  (w * 1).sum().backward();
  expect_values(w.grad(), {3, 5});
}

TEST(Autograd, DetachAndNoGradForget) {
  Tensor w = leaf({1.0, 2.0});
  const Tensor held = w.detach() * 5;
  EXPECT_FALSE(held.needs_grad());
  (held * w).sum().backward();
  expect_values(w.grad(), {5, 10});
  {
    NoGradScope no_grad;
    EXPECT_FALSE((w * 2).needs_grad());
  }
  EXPECT_TRUE((w * 2).needs_grad());
  EXPECT_EQ(message_of([&] { held.sum().backward(); }),
            "backward from a tensor that no marked tensor leads to; mark with requires_grad");
}

TEST(Autograd, RefusalsSayWhy) {
  Tensor w = leaf({1.0, 2.0});
  EXPECT_EQ(message_of([&] { (w * 2).backward(); }),
            "gradient of a tensor of shape (2), expected a scalar or an upstream gradient");
  EXPECT_EQ(message_of([&] { (w * 2).requires_grad(); }),
            "requires_grad of a tensor computed from marked ones; detach it first");
  EXPECT_EQ(message_of([] { Tensor::of({1}).requires_grad(); }),
            "requires_grad of int32, expected a float dtype");
  EXPECT_EQ(message_of([&] { w.set_grad(Tensor::of({1.0})); }),
            "gradient of shape (1) for a tensor of shape (2)");
}

// As PyTorch's with materialize_grads.
TEST(Autograd, TargetsOutsideTheGraphHaveZeros) {
  const Tensor w = leaf({1.0, 2.0}), other = Tensor::of({{1.0, 2.0, 3.0}}, {.dtype = dtypes::f16});
  const std::vector<Tensor> found = (w * 2).sum().gradient({other, w, w.detach()});
  EXPECT_EQ(found[0].dtype(), dtypes::f16);
  EXPECT_EQ(found[0].shape(), other.shape());
  expect_values(found[0], {0, 0, 0});
  expect_values(found[1], {2, 2});
  expect_values(found[2], {0, 0});
}

// Values that marked leaves lead to in name only.
TEST(Autograd, FlatFunctionsFillZeros) {
  const struct {
    const char* name;
    std::function<Tensor(const Tensor&)> function;
  } cases[] = {
      {"power 0", [](const Tensor& x) { return x.pow(0); }},
      {"power 0.0", [](const Tensor& x) { return x.pow(0.0); }},
      {"nothing selected", [](const Tensor& x) { return x[Slice(1, 1)]; }},
      {"nothing picked",
       [](const Tensor& x) { return x[Tensor::zeros({0}, {.dtype = dtypes::i32})]; }},
      {"repeated 0 times", [](const Tensor& x) { return x.repeat({0}); }},
      {"product of nothing", [](const Tensor& x) { return x[Slice(2, 2)].prod(); }},
      {"matrices of nothing",
       [](const Tensor& x) {
         return x.reshape({2, 1})[{Slice(), Slice(1, 1)}].matmul(Tensor::ones({0, 3}));
       }},
      {"sign of copysign", [](const Tensor& x) { return Tensor::of({3.0, -4.0}).copysign(x); }},
      {"sign", [](const Tensor& x) { return x.sign(); }},
      {"floor", [](const Tensor& x) { return x.floor(); }},
      {"ceil", [](const Tensor& x) { return x.ceil(); }},
      {"trunc", [](const Tensor& x) { return x.trunc(); }},
      {"round", [](const Tensor& x) { return x.round(); }},
      {"whole quotient", [](const Tensor& x) { return x.div(3, Rounding::Floor); }},
      {"norm of power 0", [](const Tensor& x) { return x.detach() * 0 + x.normalize(0, 0) * 0; }},
      {"scattered nowhere",
       [](const Tensor& x) {
         const Tensor nowhere = Tensor::zeros({0}, {.dtype = dtypes::i32});
         return Tensor::ones({2}).scatter(0, nowhere, x[Slice(0, 0)]);
       }},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const Tensor x = leaf({1.5, -2.0});
    const Tensor y = c.function(x);
    EXPECT_TRUE(y.needs_grad());
    y.sum().backward();
    ASSERT_TRUE(x.grad().defined());
    expect_values(x.grad(), {0, 0});
  }
  const Tensor none = Tensor::zeros({0, 2}, {.requires_grad = true});
  (none * 2).sum().backward();
  EXPECT_EQ(none.grad().shape(), Shape({0, 2}));
}

TEST(Autograd, GradientLeavesGradAlone) {
  Tensor w = leaf({2.0});
  expect_values((w * w).gradient({w})[0], {4});
  EXPECT_FALSE(w.grad().defined());
  const Tensor hidden = w * 3, y = hidden * hidden;
  expect_values(y.gradient({hidden})[0], {12});
  expect_values(y.gradient({hidden, w})[1], {36});
}

TEST(Autograd, DeadLeavesAreNoTrouble) {
  Tensor loss;
  {
    const Tensor w = leaf({1.0, 2.0});
    loss = (w * w).sum();
  }
  loss.backward();
  expect_values(loss, {5});
}

TEST(Autograd, NothingIsLeaked) {
  const i64 before = core::TensorGraph::live_nodes();
  {
    Tensor w = leaf({1.0, 2.0});
    for (int i = 0; i < 3; ++i) {
      (w * w).sum().backward();
      NoGradScope no_grad;
      w.assign(w - 0.1 * w.grad());
      w.set_grad((w * w).detach());
    }
    Tensor self = leaf({1.0});
    self.set_grad(self * 2);  // a gradient that mentions its leaf
  }
  EXPECT_EQ(core::TensorGraph::live_nodes(), before);
}

TEST(Autograd, DeepGraphs) {
  constexpr int kDepth = 1'000'000;
  Tensor w = Tensor::of(1.0, {.requires_grad = true});
  Tensor x = w;
  for (int i = 0; i < kDepth; ++i) x = x + 1;
  x.backward();
  EXPECT_TRUE(w.grad().uop()->is_const());  // one, passed down a million times
}

TEST(Assign, RefusesToLoseGradientsInALeaf) {
  Tensor z = Tensor::zeros({3}, {.requires_grad = true});
  const Tensor x = leaf({1.0, 2.0}), plain = Tensor::of({1.0, 2.0});
  const std::string message =
      "a leaf of shape (3) that requires grad is written, and gradients of the value of shape (3) "
      "would be lost; write with gradients switched off, or into a clone()";
  EXPECT_EQ(message_of([&] { z[Slice(0, 2)] = x; }), message);
  EXPECT_EQ(message_of([&] { z[Slice(0, 2)] = plain; }), message);  // the third element has some
  EXPECT_EQ(message_of([&] { z[Slice(0, 2)] += x; }), message);
  EXPECT_EQ(message_of([&] { z[Tensor::of({1, 0})] = 3; }), message);
  EXPECT_EQ(message_of([&] { z[z == 0] = 3; }), message);
  EXPECT_EQ(message_of([&] { z += 1; }), message);
  EXPECT_EQ(message_of([&] { z.assign(x.pad({{0, 1}})); }), message);
  EXPECT_EQ(message_of([&] { z.replace(x.sum()); }),
            "a leaf of shape (3) that requires grad is written, and gradients of the value of "
            "shape () would be lost; write with gradients switched off, or into a clone()");
  expect_values(z, {0, 0, 0});
  EXPECT_TRUE(z.is_leaf());
  {
    NoGradScope no_grad;
    z[Slice(0, 2)] = x;
    z += 1;
  }
  expect_values(z, {2, 3, 1});
  z.assign(Tensor::of({4.0, 5.0, 6.0}));  // nothing to lose
  expect_values(z, {4, 5, 6});
  Tensor copy = z.clone();
  copy[Slice(0, 2)] = x * 2;
  copy.sum().backward();
  expect_values(x.grad(), {2, 2});
  expect_values(z.grad(), {0, 0, 1});
}

TEST(Assign, RefusesOtherShapes) {
  Tensor x = Tensor::zeros({2});
  EXPECT_EQ(message_of([&] { x.assign(Tensor::zeros({3})); }),
            "cannot assign float32 of shape (3) to float32 of shape (2)");
  x.assign(Tensor::of(-1));  // broadcast and converted, as by PyTorch's copy_
  expect_values(x, {-1, -1});
  x += 2;
  x *= Tensor::of({2.0, 3.0});
  expect_values(x, {2, 3});
  x.replace(Tensor::of({1, 2, 3}));
  expect_values(x, {1, 2, 3});
}

TEST(Assign, LongChainsRealizedEachStepStayShort) {
  Tensor x = Tensor::zeros({2});
  x.realize();
  const i64 before = core::TensorGraph::live_nodes();
  for (int i = 0; i < 50; ++i) (x += 1).realize();
  expect_values(x, {50, 50});
  EXPECT_LE(core::TensorGraph::live_nodes(), before + 2);
}

// The gradient of a maximum finds it among the values, also where a GPU that computes these again
// rounds them otherwise: log_softmax(cumsum(log_softmax(x))).min().
TEST(Autograd, MaximaOfWhatIsComputedAgain) {
  for (const bool stores : {false, true}) {
    const auto kept = [&](const Tensor& x) { return stores ? x.contiguous() : x; };
    Tensor x = Tensor::of({0.18557465076446533f, 0.6494998931884766f});
    x.requires_grad();
    const Tensor y = kept(kept(kept(x.log_softmax(0)).cumsum(0)).log_softmax(0));
    y.min(0).sum().backward();
    const std::vector<f32> slopes = x.grad().to_vector<f32>();
    EXPECT_NEAR(slopes[0], -0.2391996f, 1e-6);  // PyTorch 2.15
    EXPECT_NEAR(slopes[1], 0.2391996f, 1e-6);
  }
}

}  // namespace
}  // namespace doorbell::test
