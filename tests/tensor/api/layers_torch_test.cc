// Convolution, pooling, resampling, padding and attention, with all their options and gradients,
// against PyTorch (tests/tensor/torch/make_values.py).
#include "tests/tensor/torch_values.h"

namespace doorbell::test {
namespace {

using Shape_ = std::vector<i64>;

void expect_convolution(const std::string& name, const Shape_& x, const Shape_& w, i64 out,
                        const Conv2dOptions& options) {
  const std::vector<Tensor> t = noise_tensors({{x, 1}, {w, 2}, {{out}, 3}});
  expect_torch("conv/" + name, t[0].conv2d(t[1], t[2], options), t);
}

TEST(LayersTorch, Convolution) {
  expect_convolution("plain", {2, 4, 5, 6}, {6, 4, 3, 2}, 6, {});
  expect_convolution("all", {2, 4, 7, 6}, {6, 2, 3, 2}, 6,
                     {.stride = {2, 1}, .padding = {1, 2}, .dilation = {2, 1}, .groups = 2});
  expect_convolution("one_axis", {1, 2, 9}, {3, 2, 4}, 3, {.stride = 2, .padding = 3});
  expect_convolution("three_axes", {1, 2, 3, 4, 3}, {2, 1, 2, 2, 2}, 2,
                     {.padding = 1, .groups = 2});
  expect_convolution("same", {1, 2, 5, 6}, {3, 2, 2, 3}, 3, {.dilation = {3, 2}, .same = true});
  const Tensor x = Tensor::ones({1, 1, 4, 4});
  EXPECT_EQ(message_of([&] { x.conv2d(x, {.stride = 2, .same = true}); }),
            "a convolution to the same sizes with stride 2, expected stride 1");
}

void expect_transposed(const std::string& name, const Shape_& x, const Shape_& w, i64 out,
                       const ConvTranspose2dOptions& options) {
  const std::vector<Tensor> t = noise_tensors({{x, 1}, {w, 2}, {{out}, 3}});
  expect_torch("conv_transpose/" + name, t[0].conv_transpose2d(t[1], t[2], options), t);
}

TEST(LayersTorch, TransposedConvolution) {
  expect_transposed("plain", {2, 4, 3, 2}, {4, 3, 2, 3}, 3, {});
  expect_transposed("all", {1, 4, 3, 4}, {4, 3, 3, 2}, 6,
                    {.stride = {2, 3},
                     .padding = {1, 2},
                     .output_padding = {1, 2},
                     .groups = 2,
                     .dilation = {2, 1}});
  expect_transposed("one_axis", {1, 2, 4}, {2, 3, 3}, 3,
                    {.stride = 2, .padding = 1, .output_padding = 1});
  const Tensor x = Tensor::ones({1, 1, 4, 4});
  EXPECT_EQ(message_of([&] { x.conv_transpose2d(x, {.stride = 2, .output_padding = 2}); }),
            "output padding of 2 with stride 2 and dilation 1, expected less than one of both");
}

TEST(LayersTorch, MaxPool) {
  const auto expect = [](const std::string& name, const PoolOptions& options) {
    const std::vector<Tensor> x = noise_tensors({{{2, 2, 7, 8}, 4}});
    const Pooled pooled = x[0].max_pool2d_with_indices({3, 2}, options);
    EXPECT_EQ(pooled.indices.dtype(), dtypes::i32);
    expect_torch("max_pool/" + name + "/indices", pooled.indices);
    expect_torch("max_pool/" + name, pooled.values, 1e-8);
    expect_torch("max_pool/" + name, x[0].max_pool2d({3, 2}, options), x);
  };
  expect("plain", {});
  expect("padded", {.stride = {2, 1}, .padding = {1, 1}});
  expect("ceil", {.stride = 2, .padding = 1, .ceil_mode = true});
  expect("dilated", {.stride = 1, .dilation = {2, 1}, .ceil_mode = true});
}

// torch.nn.functional.max_pool1d of the same: the first of equals, and NaN before all.
TEST(LayersTorch, MaxPoolIndicesOfEqualsAndNan) {
  const float nan = NAN, least = -INFINITY;
  const Tensor x = Tensor::of({{{1.0, 1.0, nan, 5.0, least, least}}});
  const Pooled pooled = x.max_pool2d_with_indices({2});
  expect_values(pooled.values, {1, nan, least});
  expect_values(pooled.indices, {0, 2, 4});
  expect_values(Tensor::of({{{3, 3, -7, 2}}}).max_pool2d_with_indices({2}).indices, {0, 3});
}

TEST(LayersTorch, AveragePool) {
  const auto expect = [](const std::string& name, const PoolOptions& options) {
    const std::vector<Tensor> x = noise_tensors({{{2, 2, 7, 8}, 4}});
    expect_torch("avg_pool/" + name, x[0].avg_pool2d({3, 2}, options), x);
  };
  expect("plain", {});
  expect("padded", {.stride = {2, 1}, .padding = {1, 1}});
  expect("not_counted", {.stride = 2, .padding = 1, .count_include_pad = false});
  expect("ceil", {.stride = 2, .padding = 1, .ceil_mode = true});
  expect("ceil_not_counted",
         {.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false});
  expect("divisor", {.stride = 2, .padding = 1, .divisor_override = 5});
  EXPECT_EQ(message_of([] { Tensor::ones({4}).avg_pool2d({2}, {.divisor_override = 0}); }),
            "divisor_override is 0, expected another number");
}

TEST(LayersTorch, MaxUnpool) {
  const std::vector<Tensor> x = noise_tensors({{{1, 2, 6, 4}, 5}, {{1, 2, 6, 5}, 5}});
  const Pooled even = x[0].max_pool2d_with_indices(), odd = x[1].max_pool2d_with_indices();
  expect_torch("max_unpool/plain", even.values.max_unpool2d(even.indices), std::span(x).first(1));
  expect_torch("max_unpool/sized",
               odd.values.max_unpool2d(odd.indices, {2, 2}, {.output_size = {6, 5}}), 1e-8);
  EXPECT_EQ(message_of([&] { even.values.max_unpool2d(even.indices[0]); }),
            "indices of shape (2, 3, 2) to unpool shape (1, 2, 3, 2) over 2 axes");
}

const std::pair<std::string, InterpolateOptions> kResampling[] = {
    {"nearest", {}},
    {"nearest-exact", {.mode = Resample::NearestExact}},
    {"area", {.mode = Resample::Area}},
    {"bilinear", {.mode = Resample::Linear}},
    {"bilinear/corners", {.mode = Resample::Linear, .align_corners = true}},
    {"bicubic", {.mode = Resample::Bicubic}},
    {"bicubic/corners", {.mode = Resample::Bicubic, .align_corners = true}},
};

TEST(LayersTorch, Interpolation) {
  for (const auto& [name, options] : kResampling) {
    // One element is apart only where corners are aligned.
    const Shape_ last = options.align_corners ? Shape_{1, 1} : Shape_{5, 7};
    for (const Shape_& to : {Shape_{3, 4}, Shape_{8, 11}, last}) {
      const std::vector<Tensor> x = noise_tensors({{{1, 2, 5, 7}, 6}});
      expect_torch(fmt::format("interpolate/{}/{}x{}", name, to[0], to[1]),
                   x[0].interpolate(to, options), x, 1e-5);  // places are f32
    }
  }
  const std::vector<Tensor> x = noise_tensors({{{1, 1, 2, 3, 2}, 7}, {{1, 2, 4}, 7}});
  expect_torch("interpolate/trilinear", x[0].interpolate({3, 5, 4}, {.mode = Resample::Linear}),
               1e-5);
  expect_torch("interpolate/linear",
               x[1].interpolate({6}, {.mode = Resample::Linear, .align_corners = true}), 1e-5);
  EXPECT_EQ(message_of([&] { x[1].interpolate({6}, {.align_corners = true}); }),
            "interpolation of shape (1, 2, 4) with corners aligned, expected linear or bicubic");
}

TEST(LayersTorch, InterpolationByFactors) {
  const std::vector<f64> factors[] = {{1.7, 0.55}, {0.4, 2.0}, {1.05, 3.3}};
  for (const auto& [name, mode] : kResampling) {
    for (const std::vector<f64>& factor : factors) {
      for (const bool again : {false, true}) {
        InterpolateOptions options = mode;
        options.recompute_scale_factor = again;
        const std::vector<Tensor> x = noise_tensors({{{1, 2, 5, 7}, 6}});
        expect_torch(fmt::format("interpolate_by/{}{}/{}", name, again ? "/again" : "", factor[0]),
                     x[0].interpolate_by(factor, options), x, 1e-5);
      }
    }
  }
  EXPECT_EQ(message_of([] { Tensor::ones({1, 1, 4}).interpolate_by({0.2}); }),
            "interpolation from 4 to 0 elements, expected 1 or more of both");
  EXPECT_EQ(message_of([] { Tensor::ones({1, 1, 4}).interpolate_by({-1.0}); }),
            "interpolation of 4 elements by -1");
}

TEST(LayersTorch, Padding) {
  const std::pair<std::string, PadMode> modes[] = {{"reflect", PadMode::Reflect},
                                                   {"replicate", PadMode::Replicate},
                                                   {"circular", PadMode::Circular}};
  for (const auto& [name, mode] : modes) {
    const std::vector<Tensor> x = noise_tensors({{{1, 2, 4, 3}, 8}});
    expect_torch("pad/" + name, x[0].pad({{0, 0}, {0, 0}, {3, 2}, {2, 1}}, {.mode = mode}), x);
  }
}

TEST(LayersTorch, Attention) {
  const Tensor mask = Tensor::of(
      {{true, false, true, true}, {false, false, false, false}, {true, true, true, false}});
  const auto expect = [](const std::string& name, const Tensor& mask,
                         const AttentionOptions& options, i64 heads = 4) {
    const std::vector<Tensor> t =
        noise_tensors({{{2, 4, 3, 5}, 10}, {{2, heads, 4, 5}, 11}, {{2, heads, 4, 6}, 12}});
    expect_torch("attention/" + name, t[0].scaled_dot_product_attention(t[1], t[2], mask, options),
                 t);
  };
  expect("plain", {}, {});
  expect("causal", {}, {.is_causal = true});
  expect("scale", {}, {.scale = 0.3});
  expect("bools", mask, {});
  expect("numbers", Array::noise({3, 4}, 20).tensor(dtypes::f64), {});
  expect("grouped", {}, {.enable_gqa = true}, 2);
  const Tensor q = Tensor::ones({4, 3, 5}), k = Tensor::ones({3, 3, 5});
  EXPECT_EQ(message_of([&] { q.scaled_dot_product_attention(k, k, {.enable_gqa = true}); }),
            "heads of shape (3, 3, 5) do not divide those of queries of shape (4, 3, 5)");
}

TEST(Attention, DropsSharesInTraining) {
  Tensor::manual_seed(3);
  const Tensor q = Tensor::zeros({1, 1, 64}), v = Tensor::ones({1, 64, 1});
  const Tensor k = Tensor::zeros({1, 64, 64});
  expect_values(q.scaled_dot_product_attention(k, v, {.dropout_p = 0.5}), {1});
  TrainingScope training;
  const double mean = q.scaled_dot_product_attention(k, v, {.dropout_p = 0.5}).item<double>();
  EXPECT_NEAR(mean, 1, 0.5);
  EXPECT_NE(mean, 1);
}

TEST(Sequential, AppliesInOrder) {
  const auto twice = [](const Tensor& x) { return x * 2; };
  const auto more = [](const Tensor& x) { return x + 1; };
  expect_values(Tensor::of({1, 2}).sequential({twice, more}), {3, 5});
  expect_values(Tensor::of({1, 2}).sequential({}), {1, 2});
}

}  // namespace
}  // namespace doorbell::test
