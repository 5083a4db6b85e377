// Convolution, pooling and normalisation against loops over windows.
#include <algorithm>

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

struct ConvolutionCase {
  std::vector<i64> x, w;
  i64 stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  i64 groups = 1;
};

double padded_at(const Array& x, const Place& at) {
  for (usize i = 0; i < at.size(); ++i) {
    if (at[i] < 0 || at[i] >= x.shape[i]) return 0;
  }
  return x.at(at);
}

Array convolve(const Array& x, const Array& w, const ConvolutionCase& c) {
  i64 out[2];
  for (int i = 0; i < 2; ++i) {
    const i64 reach = c.dilation[i] * (c.w[2 + i] - 1) + 1;
    out[i] = (c.x[2 + i] + 2 * c.padding[i] - reach) / c.stride[i] + 1;
  }
  const i64 per_group = c.w[0] / c.groups;
  return Array::make({c.x[0], c.w[0], out[0], out[1]}, [=, &x, &w](const Place& at) {
    double sum = 0;
    for (i64 channel = 0; channel < c.w[1]; ++channel) {
      for (i64 i = 0; i < c.w[2]; ++i) {
        for (i64 j = 0; j < c.w[3]; ++j) {
          const i64 row = at[2] * c.stride[0] + i * c.dilation[0] - c.padding[0];
          const i64 column = at[3] * c.stride[1] + j * c.dilation[1] - c.padding[1];
          const i64 in = at[1] / per_group * c.w[1] + channel;
          sum += padded_at(x, {at[0], in, row, column}) * w.at({at[1], channel, i, j});
        }
      }
    }
    return sum;
  });
}

class Convolution : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(Convolution, MatchesLoops) {
  const ConvolutionCase& c = GetParam();
  const Array x = Array::noise(c.x, 1), w = Array::noise(c.w, 2), bias = Array::noise({c.w[0]}, 3);
  const Conv2dOptions options{.stride = {c.stride[0], c.stride[1]},
                              .padding = {c.padding[0], c.padding[1]},
                              .dilation = {c.dilation[0], c.dilation[1]},
                              .groups = c.groups};
  Array expected = convolve(x, w, c);
  expect_close(x.tensor().conv2d(w.tensor(), options), expected, 1e-5, 1e-5);
  expected =
      Array::make(expected.shape, [&](auto& at) { return expected.at(at) + bias.at({at[1]}); });
  expect_close(x.tensor().conv2d(w.tensor(), bias.tensor(), options), expected, 1e-5, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Convolution,
    testing::Values(ConvolutionCase{.x = {1, 1, 5, 5}, .w = {1, 1, 3, 3}},
                    ConvolutionCase{.x = {2, 3, 6, 7}, .w = {4, 3, 3, 2}},
                    ConvolutionCase{.x = {1, 2, 5, 5}, .w = {3, 2, 1, 1}},
                    ConvolutionCase{.x = {1, 2, 7, 8}, .w = {2, 2, 3, 3}, .stride = {2, 3}},
                    ConvolutionCase{.x = {1, 2, 5, 6}, .w = {2, 2, 3, 3}, .padding = {1, 2}},
                    ConvolutionCase{.x = {1, 2, 9, 9}, .w = {2, 2, 3, 2}, .dilation = {2, 3}},
                    ConvolutionCase{.x = {1, 4, 5, 5}, .w = {6, 2, 3, 3}, .groups = 2},
                    ConvolutionCase{.x = {1, 4, 5, 5}, .w = {4, 1, 3, 3}, .groups = 4},
                    ConvolutionCase{.x = {2, 4, 11, 8},
                                    .w = {4, 2, 3, 2},
                                    .stride = {3, 2},
                                    .padding = {2, 1},
                                    .dilation = {2, 1},
                                    .groups = 2}));

TEST(Convolution1d, AndThree) {
  const Array x = Array::noise({1, 2, 6}, 1), w = Array::noise({3, 2, 3}, 2);
  expect_close(x.tensor().conv2d(w.tensor()), Array::make({1, 3, 4}, [&](const Place& at) {
                 double sum = 0;
                 for (i64 c = 0; c < 2; ++c)
                   for (i64 i = 0; i < 3; ++i) sum += x.at({0, c, at[2] + i}) * w.at({at[1], c, i});
                 return sum;
               }));
  EXPECT_EQ(Tensor::ones({1, 1, 4, 4, 4}).conv2d(Tensor::ones({2, 1, 2, 2, 2})).shape().str(),
            "(1, 2, 3, 3, 3)");
}

TEST(ConvolutionErrors, NameBothShapes) {
  const Tensor x = Tensor::ones({1, 3, 4, 4});
  EXPECT_EQ(message_of([&] { x.conv2d(Tensor::ones({2, 2, 3, 3})); }),
            "input of shape (1, 3, 4, 4) does not match weights of shape (2, 2, 3, 3) in 1 groups");
  EXPECT_EQ(message_of([&] { x.conv2d(Tensor::ones({2, 3, 5, 3})); }),
            "kernel size 5 (stride 1, dilation 1) on an axis of 4 (padding included)");
  EXPECT_EQ(message_of([&] { x.conv2d(Tensor::ones({2, 3, 3, 3}), {.stride = {1, 2, 3}}); }),
            "stride names 3 axes, expected 2");
  EXPECT_EQ(message_of([&] { x.conv2d(Tensor::ones({2, 3, 3, 3}), Tensor::ones({3})); }),
            "bias of shape (3) for an output of shape (1, 2, 2, 2)");
}

struct TransposedCase {
  std::vector<i64> x, w;
  i64 stride[2] = {1, 1}, padding[2] = {0, 0}, extra[2] = {0, 0}, dilation[2] = {1, 1};
  i64 groups = 1;

  ConvTranspose2dOptions options() const {
    return {.stride = {stride[0], stride[1]},
            .padding = {padding[0], padding[1]},
            .output_padding = {extra[0], extra[1]},
            .groups = groups,
            .dilation = {dilation[0], dilation[1]}};
  }
};

Array transposed(const Array& x, const Array& w, const TransposedCase& c) {
  i64 out[2];
  for (int i = 0; i < 2; ++i) {
    out[i] = (x.shape[2 + i] - 1) * c.stride[i] - 2 * c.padding[i] +
             c.dilation[i] * (w.shape[2 + i] - 1) + c.extra[i] + 1;
  }
  const i64 in_group = x.shape[1] / c.groups, of_group = w.shape[1];
  return Array::make({x.shape[0], of_group * c.groups, out[0], out[1]}, [=, &x, &w](auto& at) {
    double sum = 0;
    for (i64 n = 0; n < in_group; ++n) {
      const i64 channel = at[1] / of_group * in_group + n;
      for (i64 i = 0; i < w.shape[2]; ++i) {
        for (i64 j = 0; j < w.shape[3]; ++j) {
          const i64 row = at[2] + c.padding[0] - i * c.dilation[0];
          const i64 column = at[3] + c.padding[1] - j * c.dilation[1];
          if (row % c.stride[0] != 0 || column % c.stride[1] != 0) continue;
          sum += padded_at(x, {at[0], channel, row / c.stride[0], column / c.stride[1]}) *
                 w.at({channel, at[1] % of_group, i, j});
        }
      }
    }
    return sum;
  });
}

class TransposedConvolution : public testing::TestWithParam<TransposedCase> {};

TEST_P(TransposedConvolution, MatchesLoops) {
  const TransposedCase& c = GetParam();
  const Array x = Array::noise(c.x, 1), w = Array::noise(c.w, 2);
  expect_close(x.tensor().conv_transpose2d(w.tensor(), c.options()), transposed(x, w, c), 1e-5,
               1e-5);
}

// The result is linear in the input, and a convolution with the same weights is its transpose.
TEST_P(TransposedConvolution, HasTheConvolutionAsGradient) {
  const TransposedCase& c = GetParam();
  const Array w = Array::noise(c.w, 2);
  const Tensor x = Array::noise(c.x, 1).tensor();
  const Tensor result = x.conv_transpose2d(w.tensor(), c.options());
  const Array upstream = Array::noise(result.shape().values(), 3);
  const Tensor gradient = result.gradient({x}, upstream.tensor())[0];
  ConvolutionCase same{.x = upstream.shape, .w = c.w, .groups = c.groups};
  for (int i = 0; i < 2; ++i) {
    same.stride[i] = c.stride[i], same.padding[i] = c.padding[i], same.dilation[i] = c.dilation[i];
  }
  expect_close(gradient, convolve(upstream, w, same), 1e-5, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Phases, TransposedConvolution,
    testing::Values(
        TransposedCase{.x = {1, 2, 3, 4}, .w = {2, 3, 3, 2}},
        TransposedCase{.x = {2, 2, 3, 4}, .w = {2, 3, 3, 3}, .stride = {2, 2}, .padding = {1, 1}},
        TransposedCase{.x = {1, 2, 4, 3},
                       .w = {2, 3, 3, 3},
                       .stride = {2, 2},
                       .padding = {1, 1},
                       .extra = {1, 1}},
        // Phases without taps.
        TransposedCase{.x = {1, 2, 3, 4}, .w = {2, 3, 1, 1}, .stride = {2, 2}, .extra = {1, 1}},
        // As many taps in each phase: of one kernel.
        TransposedCase{.x = {1, 4, 3, 2}, .w = {4, 2, 2, 2}, .stride = {2, 2}, .groups = 2},
        TransposedCase{.x = {1, 2, 3, 4}, .w = {2, 3, 4, 4}, .stride = {2, 2}, .padding = {1, 3}},
        TransposedCase{.x = {1, 1, 2, 2},
                       .w = {1, 2, 5, 6},
                       .stride = {5, 6},
                       .padding = {2, 0},
                       .extra = {3, 1}},
        // Taps that meet the same phase, or each phase out of order.
        TransposedCase{.x = {1, 4, 3, 4},
                       .w = {4, 3, 3, 2},
                       .stride = {2, 3},
                       .padding = {1, 0},
                       .extra = {1, 2},
                       .dilation = {2, 1},
                       .groups = 2},
        TransposedCase{.x = {1, 2, 3, 3},
                       .w = {2, 1, 4, 3},
                       .stride = {4, 3},
                       .padding = {3, 1},
                       .dilation = {6, 2}},
        TransposedCase{.x = {1, 1, 3, 2},
                       .w = {1, 1, 3, 2},
                       .stride = {5, 4},
                       .padding = {2, 0},
                       .dilation = {3, 5}}));

TEST(TransposedConvolutionErrors, NameTheNumbers) {
  const Tensor x = Tensor::ones({1, 1, 3, 3});
  EXPECT_EQ(message_of([&] { x.conv_transpose2d(Tensor::ones({1, 1, 2, 2}), {.stride = {1, 0}}); }),
            "kernel size 2, stride 0 and dilation 1, expected 1 or more");
}

const Array kImage = Array::noise({2, 2, 7, 8}, 5);

// Folds windows of 3 x 2 with stride (2, 3), places outside left out; counts what is inside.
Array pool(i64 rows, i64 columns, i64 padding, double (*finish)(const std::vector<double>&)) {
  return Array::make({2, 2, rows, columns}, [=](const Place& at) {
    std::vector<double> seen;
    for (i64 i = 0; i < 3; ++i) {
      for (i64 j = 0; j < 2; ++j) {
        const Place place{at[0], at[1], at[2] * 2 + i - padding, at[3] * 3 + j - padding};
        if (place[2] >= 0 && place[2] < 7 && place[3] >= 0 && place[3] < 8)
          seen.push_back(kImage.at(place));
      }
    }
    return finish(seen);
  });
}
double most(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}
double total(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum;
}
double average(const std::vector<double>& values) { return total(values) / double(values.size()); }
double of_six(const std::vector<double>& values) { return total(values) / 6; }

// Whatever kernels round its elements, each window finds one that is its maximum.
TEST(Pooling, EveryWindowPassesItsGradientOn) {
  const Tensor a = Array::noise({2, 3, 15, 17}, 1).tensor(),
               b = Array::noise({3, 1, 1}, 2).tensor();
  const Tensor c = Array::noise({2, 3, 15, 17}, 3).tensor();
  const Tensor pooled = (a * b + c).exp().max_pool2d({3, 3}, {.stride = 2, .padding = 1});
  const Tensor gradient = pooled.log().gradient({c}, Tensor::ones({2, 3, 8, 9}))[0];
  EXPECT_NEAR(gradient.sum().item<float>(), 2 * 3 * 8 * 9, 1e-3);
}

TEST(Pooling, MaxAndAverage) {
  const Tensor x = kImage.tensor();
  expect_exact(x.max_pool2d({3, 2}, {.stride = {2, 3}}), pool(3, 3, 0, most));
  expect_exact(x.max_pool2d({3, 2}, {.stride = {2, 3}, .padding = 1}), pool(4, 3, 1, most));
  expect_close(x.avg_pool2d({3, 2}, {.stride = {2, 3}}), pool(3, 3, 0, average));
  expect_close(x.avg_pool2d({3, 2}, {.stride = {2, 3}, .padding = 1}), pool(4, 3, 1, of_six));
  expect_close(x.avg_pool2d({3, 2}, {.stride = {2, 3}, .padding = 1, .count_include_pad = false}),
               pool(4, 3, 1, average));
  EXPECT_EQ(x.max_pool2d().shape().str(), "(2, 2, 3, 4)");
  expect_values(Tensor::of({{{{1, 2}, {3, 4}}}}).max_pool2d(), {4});
}

TEST(Pooling, CeilModeKeepsWindowsThatStartInside) {
  const Tensor x = Tensor::arange(1, 6).cast(dtypes::f32).reshape({1, 1, 5});
  expect_values(x.max_pool2d({2}, {.ceil_mode = true}), {2, 4, 5});
  expect_values(x.avg_pool2d({2}, {.ceil_mode = true}), {1.5, 3.5, 5});
  expect_values(x.max_pool2d({2}), {2, 4});
  // The last window would start in the right padding: PyTorch leaves it out.
  expect_values(x.max_pool2d({2}, {.stride = 2, .padding = 1, .ceil_mode = true}), {1, 3, 5});
}

TEST(Normalisation, LayerAndBatch) {
  const Array x = Array::noise({3, 4, 5}, 9);
  expect_close(x.tensor().layernorm(-1),
               Array::make({3, 4, 5},
                           [&](const Place& at) {
                             double mean = 0, variance = 0;
                             for (i64 i = 0; i < 5; ++i) mean += x.at({at[0], at[1], i}) / 5;
                             for (i64 i = 0; i < 5; ++i)
                               variance += std::pow(x.at({at[0], at[1], i}) - mean, 2) / 5;
                             return (x.at(at) - mean) / std::sqrt(variance + 1e-5);
                           }),
               1e-5, 1e-5);
  const Array weight = Array::noise({4}, 1), bias = Array::noise({4}, 2),
              mean = Array::noise({4}, 3);
  const Array invstd = Array::noise({4}, 4);
  expect_close(x.tensor().batchnorm(weight.tensor(), bias.tensor(), mean.tensor(), invstd.tensor()),
               Array::make({3, 4, 5}, [&](const Place& at) {
                 const Place c{at[1]};
                 return (x.at(at) - mean.at(c)) * invstd.at(c) * weight.at(c) + bias.at(c);
               }));
}

}  // namespace
}  // namespace doorbell::test
