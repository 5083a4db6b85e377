// The derivative of every op against central differences.
#include <algorithm>

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

struct GradientCase {
  const char* name;
  Function function;
  std::vector<Array> inputs;
};

Array positive(std::vector<i64> shape, u32 seed) {
  Array array = Array::noise(std::move(shape), seed);
  for (double& value : array.values) value = std::abs(value) + 0.5;
  return array;
}

const Array kA = Array::noise({2, 3}, 1), kB = Array::noise({2, 3}, 2), kRow = Array::noise({3}, 3);
using Ts = const std::vector<Tensor>&;

const std::vector<GradientCase>& cases() {
  static const std::vector<GradientCase> all = {
      {"add_broadcast", [](Ts t) { return t[0] + t[1]; }, {kA, kRow}},
      {"sub_broadcast", [](Ts t) { return t[0] - t[1]; }, {kRow, kA}},
      {"mul_broadcast", [](Ts t) { return t[0] * t[1]; }, {kA, kRow}},
      {"mul_scalar_tensor", [](Ts t) { return t[0] * t[1]; }, {kA, Array::noise({}, 4)}},
      {"mul_self", [](Ts t) { return t[0] * t[0]; }, {kA}},
      {"div", [](Ts t) { return t[0] / t[1]; }, {kA, positive({3}, 4)}},
      {"maximum", [](Ts t) { return t[0].maximum(t[1]); }, {kA, kB}},
      {"minimum", [](Ts t) { return t[0].minimum(t[1]); }, {kA, kB}},
      {"pow", [](Ts t) { return doorbell::pow(t[0], t[1]); }, {positive({2, 3}, 5), kRow}},
      {"pow_number", [](Ts t) { return t[0].pow(3) + t[0].pow(1.5); }, {positive({2, 3}, 5)}},
      {"where", [](Ts t) { return doorbell::where(t[0] < t[1], t[0] * 2, t[1]); }, {kA, kRow}},
      {"neg_abs", [](Ts t) { return (-t[0]).abs(); }, {kA}},
      {"exp", [](Ts t) { return t[0].exp() + t[0].exp2(); }, {kA}},
      {"log", [](Ts t) { return t[0].log() + t[0].log2() + t[0].log1p(); }, {positive({2, 3}, 5)}},
      {"sin_cos_tan", [](Ts t) { return t[0].sin() + t[0].cos() * t[0].tan(); }, {kA}},
      {"sqrt_rsqrt", [](Ts t) { return t[0].sqrt() + t[0].rsqrt(); }, {positive({2, 3}, 5)}},
      {"reciprocal", [](Ts t) { return t[0].reciprocal(); }, {positive({2, 3}, 5)}},
      {"tanh_sigmoid", [](Ts t) { return t[0].tanh() * t[0].sigmoid(); }, {kA}},
      {"activations",
       [](Ts t) {
         return t[0].relu() + t[0].silu() + t[0].softplus() + t[0].elu() + t[0].leaky_relu();
       },
       {kA}},
      {"gelu", [](Ts t) { return t[0].gelu(Gelu::Tanh) + t[0].quick_gelu() + t[0].mish(); }, {kA}},
      {"clamp", [](Ts t) { return t[0].clamp({.min = -0.4, .max = 0.3}); }, {kA}},
      {"sum_axis", [](Ts t) { return t[0].sum(1); }, {kA}},
      {"sum_all_keepdim", [](Ts t) { return t[0].sum({}, {.keepdim = true}) * t[0]; }, {kA}},
      {"mean_var", [](Ts t) { return t[0].mean(0) + t[0].var(0) + t[0].std(0); }, {kA}},
      {"max_axis", [](Ts t) { return t[0].max(1); }, {kA}},
      {"min_all", [](Ts t) { return t[0].min(); }, {kA}},
      {"prod", [](Ts t) { return t[0].prod(1); }, {kA}},
      {"prod_with_zero", [](Ts t) { return t[0].prod(); }, {{{3}, {0.5, 0, 2}}}},
      {"softmax", [](Ts t) { return t[0].softmax(1) + t[0].log_softmax(0); }, {kA}},
      {"logsumexp", [](Ts t) { return t[0].logsumexp(1); }, {kA}},
      {"cumsum_cumprod", [](Ts t) { return t[0].cumsum(1) + t[0].cumprod(1); }, {kA}},
      {"movement",
       [](Ts t) { return t[0].reshape({3, 2}).permute({1, 0}).flip(1).expand({4, 2, 3}); },
       {kA}},
      {"pad_shrink", [](Ts t) { return t[0].pad({{1, 0}, {-1, 2}}, {.value = 3}); }, {kA}},
      {"strided_slices", [](Ts t) { return t[0][{Slice(None, None, -1), Slice(0, 3, 2)}]; }, {kA}},
      {"picked_rows", [](Ts t) { return t[0][Tensor::of({1, 0, 1})]; }, {kA}},
      {"gather_scatter",
       [](Ts t) {
         const Tensor index = Tensor::of({{0, 2}, {1, 1}});
         return t[0].gather(1, index).sum() + t[0].scatter_add(1, index, t[1]);
       },
       {kA, Array::noise({2, 2}, 6)}},
      {"cat_stack",
       [](Ts t) {
         return Tensor::cat({t[0], t[1], t[0]}, 0).sum(0) +
                Tensor::stack({t[0], t[1]}).prod(0).sum(0);
       },
       {kA, kB}},
      {"matmul", [](Ts t) { return t[0].matmul(t[1].transpose()); }, {kA, kB}},
      {"matmul_batched",
       [](Ts t) { return t[0].matmul(t[1]); },
       {Array::noise({2, 1, 2, 3}, 1), Array::noise({2, 3, 2}, 2)}},
      // Of stride 1: the input's gradient is found as a convolution.
      {"conv2d_stride_1",
       [](Ts t) { return t[0].conv2d(t[1], {.padding = {1, 0}, .dilation = {1, 2}, .groups = 2}); },
       {Array::noise({2, 2, 4, 5}, 11), Array::noise({4, 1, 2, 3}, 12)}},
      {"conv2d_1d_3d",
       [](Ts t) {
         const Tensor volume = t[0].reshape({1, 2, 2, 3, 4}).conv2d(t[2]);
         return t[0].conv2d(t[1]).sum() * volume;
       },
       {Array::noise({1, 2, 24}, 11), Array::noise({1, 2, 3}, 12),
        Array::noise({2, 2, 2, 2, 2}, 13)}},
      {"conv2d_of_one_input_twice",
       [](Ts t) { return t[0].conv2d(t[1]) * t[0].conv2d(t[1] * 2) + t[0].conv2d(t[1]).exp(); },
       {Array::noise({1, 2, 3, 4}, 11), Array::noise({1, 2, 2, 3}, 12)}},
      {"conv2d_of_its_own_output",
       [](Ts t) { return t[0].conv2d(t[1]).conv2d(t[1]); },
       {Array::noise({1, 1, 5, 5}, 11), Array::noise({1, 1, 2, 2}, 12)}},
      {"conv2d_by_values_of_the_input",
       [](Ts t) { return t[0].conv2d(t[0][{Slice(), Slice(), Slice(0, 2), Slice(0, 2)}]); },
       {Array::noise({1, 1, 4, 4}, 11)}},
      {"conv2d",
       [](Ts t) { return t[0].conv2d(t[1], t[2], {.stride = {2, 1}, .padding = 1, .groups = 2}); },
       {Array::noise({1, 2, 4, 3}, 1), Array::noise({2, 1, 3, 2}, 2), Array::noise({2}, 3)}},
      {"max_pool",
       [](Ts t) { return t[0].max_pool2d({2, 2}, {.stride = 1}); },
       {Array::noise({1, 1, 3, 4}, 1)}},
      {"avg_pool",
       [](Ts t) { return t[0].avg_pool2d({2, 2}, {.padding = 1}); },
       {Array::noise({1, 1, 3, 4}, 1)}},
      {"layernorm", [](Ts t) { return t[0].layernorm(-1); }, {kA}},
      {"attention",
       [](Ts t) { return t[0].scaled_dot_product_attention(t[1], t[1], {.is_causal = true}); },
       {Array::noise({1, 3, 2}, 1), Array::noise({1, 3, 2}, 2)}},
      {"cross_entropy",
       [](Ts t) { return t[0].cross_entropy(Tensor::of({2, 0}), {.label_smoothing = 0.1}); },
       {kA}},
      {"sparse_cross_entropy",
       [](Ts t) { return t[0].sparse_categorical_crossentropy(Tensor::of({2, 0})); },
       {kA}},
      {"binary_logits",
       [](Ts t) { return t[0].binary_crossentropy_logits(Tensor::of({1.0, 0.0, 1.0})); },
       {kA}},
      {"contiguous_clone", [](Ts t) { return t[0].contiguous() * t[0].clone(); }, {kA}},
  };
  return all;
}

class Gradient : public testing::TestWithParam<usize> {};

TEST_P(Gradient, MatchesCentralDifferences) {
  const GradientCase& c = cases()[GetParam()];
  expect_gradient(c.function, c.inputs);
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::Range<usize>(0, cases().size()),
                         [](const auto& info) { return std::string(cases()[info.param].name); });

TEST(GradientValue, TiesShareEvenly) {
  const Tensor x = Tensor::of({1.0, 3.0, 3.0}), y = Tensor::of({1.0, 2.0, 4.0});
  expect_values(x.max().gradient({x})[0], {0, 0.5, 0.5});
  expect_values(x.maximum(y).sum().gradient({x})[0], {0.5, 1, 0});
}

TEST(GradientValue, KinksFollowPyTorch) {
  const Tensor x = Tensor::of({-1.0, 0.0, 2.0});
  expect_values(x.relu().sum().gradient({x})[0], {0, 0, 1});
  expect_values(x.abs().sum().gradient({x})[0], {-1, 0, 1});
  expect_values(x.maximum(0).sum().gradient({x})[0], {0, 0.5, 1});
  expect_values(x.clamp({.min = 0}).sum().gradient({x})[0], {0, 0, 1});
  expect_values(x.clamp({.max = 2}).sum().gradient({x})[0], {1, 1, 0});
  expect_values(x.leaky_relu(0.25).sum().gradient({x})[0], {0.25, 0.25, 1});
  expect_values(x.elu(2).sum().gradient({x})[0], {2 * std::exp(-1.0), 2, 1});
  expect_values(x.floor().sum().gradient({x})[0], {0, 0, 0});
  expect_values(x.sign().sum().gradient({x})[0], {0, 0, 0});
}

TEST(GradientValue, OfGradients) {
  const Tensor x = Tensor::of({0.5, -1.0});
  const Tensor first = (x * x * x).sum().gradient({x})[0];
  expect_values(first.sum().gradient({x})[0], {3, -6});
  const Tensor third = x.sin().sum().gradient({x})[0].sum().gradient({x})[0].sum().gradient({x})[0];
  expect_values(third, {-std::cos(0.5), -std::cos(1.0)});
}

TEST(GradientValue, CastsKeepTheLeafsDtype) {
  const Tensor x = Tensor::of({1.0, 2.0}, {.dtype = dtypes::f16});
  const Tensor gradient = (x.cast(dtypes::f32) * 3).sum().gradient({x})[0];
  EXPECT_EQ(gradient.dtype(), dtypes::f16);
  expect_values(gradient, {3, 3});
}

TEST(GradientValue, UpstreamIsMultipliedIn) {
  const Tensor x = Tensor::of({1.0, 2.0}), y = x * x;
  expect_values(y.gradient({x}, Tensor::of({10.0, 100.0}))[0], {20, 400});
  EXPECT_EQ(message_of([&] { y.gradient({x}); }),
            "gradient of a tensor of shape (2), expected a scalar or an upstream gradient");
  EXPECT_EQ(message_of([&] { y.gradient({x}, Tensor::of(1.0)); }),
            "upstream gradient of shape () for a tensor of shape (2)");
}

}  // namespace
}  // namespace doorbell::test
