// Losses against their definitions.
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

const Array kLogits = Array::noise({4, 5}, 3);
const std::vector<i64> kLabels = {1, 4, 0, 4};

double log_softmax(i64 row, i64 column) {
  double sum = 0;
  for (i64 i = 0; i < 5; ++i) sum += std::exp(kLogits.at({row, i}));
  return kLogits.at({row, column}) - std::log(sum);
}

// -log p of the label, mixed with the mean over classes.
std::vector<double> losses(double smoothing) {
  std::vector<double> result;
  for (i64 row = 0; row < 4; ++row) {
    double uniform = 0;
    for (i64 i = 0; i < 5; ++i) uniform -= log_softmax(row, i) / 5;
    const double sharp = -log_softmax(row, kLabels[static_cast<usize>(row)]);
    result.push_back((1 - smoothing) * sharp + smoothing * uniform);
  }
  return result;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Tensor labels() { return Tensor::from_data(kLabels, {4}); }

TEST(Loss, CrossEntropyOfClassNumbers) {
  const Tensor x = kLogits.tensor();
  for (double smoothing : {0.0, 0.3}) {
    SCOPED_TRACE(smoothing);
    const std::vector<double> each = losses(smoothing);
    expect_values(
        x.cross_entropy(labels(), {.reduction = Reduction::None, .label_smoothing = smoothing}),
        each);
    expect_values(x.cross_entropy(labels(), {.label_smoothing = smoothing}), {mean(each)});
    expect_values(x.sparse_categorical_crossentropy(labels(), {.label_smoothing = smoothing}),
                  {mean(each)});
    expect_values(x.sparse_categorical_crossentropy(
                      labels(), {.reduction = Reduction::Sum, .label_smoothing = smoothing}),
                  {4 * mean(each)});
  }
}

TEST(Loss, CrossEntropyOfProbabilities) {
  Array wanted = Array::noise({4, 5}, 8);
  for (double& value : wanted.values) value = std::abs(value);
  double sum = 0;
  for (i64 row = 0; row < 4; ++row)
    for (i64 i = 0; i < 5; ++i) sum -= wanted.at({row, i}) * log_softmax(row, i);
  expect_values(kLogits.tensor().cross_entropy(wanted.tensor()), {sum / 4});
}

TEST(Loss, IgnoredLabelsDoNotCount) {
  const std::vector<double> each = losses(0);
  const Tensor x = kLogits.tensor();
  expect_values(x.sparse_categorical_crossentropy(labels(), {.ignore_index = 4}),
                {(each[0] + each[2]) / 2});
  expect_values(x.log_softmax().nll_loss(labels(), {.ignore_index = 4}), {(each[0] + each[2]) / 2});
  expect_values(x.log_softmax().nll_loss(labels()), {mean(each)});
}

TEST(Loss, ClassesOnAxisOneOfImages) {
  const Array x = Array::noise({2, 3, 2, 2}, 4);
  const Tensor y = Tensor::of({{{0, 1}, {2, 0}}, {{1, 1}, {0, 2}}});
  const std::vector<i64> flat = {0, 1, 2, 0, 1, 1, 0, 2};
  double sum = 0;
  for (i64 n = 0; n < 8; ++n) {
    const auto logit = [&](i64 c) { return x.at({n / 4, c, n / 2 % 2, n % 2}); };
    sum += std::log(std::exp(logit(0)) + std::exp(logit(1)) + std::exp(logit(2))) -
           logit(flat[static_cast<usize>(n)]);
  }
  expect_values(x.tensor().cross_entropy(y), {sum / 8});
}

TEST(Loss, BinaryCrossEntropyAndItsLogits) {
  const std::vector<double> p = {0.1, 0.5, 0.9}, y = {0, 1, 1};
  double sum = 0;
  std::vector<float> logits;
  for (usize i = 0; i < 3; ++i) {
    sum -= y[i] * std::log(p[i]) + (1 - y[i]) * std::log(1 - p[i]);
    logits.push_back(static_cast<float>(std::log(p[i] / (1 - p[i]))));
  }
  const Tensor labels = Array{{3}, y}.tensor();
  expect_values(Array{{3}, p}.tensor().binary_crossentropy(labels), {sum / 3});
  expect_values(Tensor::from_data(logits, {3}).binary_crossentropy_logits(labels), {sum / 3});
  expect_values(Tensor::of({1000.0}).binary_crossentropy_logits(Tensor::of({0.0})), {1000});
}

TEST(Loss, WrongLabelsAreRefused) {
  EXPECT_EQ(message_of([] { kLogits.tensor().cross_entropy(Tensor::of({1, 2})); }),
            "labels of shape (2) for logits of shape (4, 5), expected (4)");
  EXPECT_EQ(message_of([] { kLogits.tensor().cross_entropy(labels(), {.label_smoothing = 2}); }),
            "label smoothing of 2, expected 0 to 1");
  EXPECT_EQ(message_of([] { kLogits.tensor().cross_entropy(labels().cast(dtypes::f32)); }),
            "class numbers have dtype float32, expected integers");
}

}  // namespace
}  // namespace doorbell::test
