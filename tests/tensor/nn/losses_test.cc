// Losses as objects. Expected values are those of torch.nn's objects of the same names.
#include "tensor/nn/losses.h"

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

struct Losses : ::testing::Test {
  const Tensor x = Tensor::of({{0.5, -1.0, 2.0}, {1.5, 0.25, -0.5}});
  const Tensor target = Tensor::of({{1.0, 0.0, 0.5}, {0.0, 1.0, 0.25}});
  const Tensor classes = Tensor::of({2, 0}), weight = Tensor::of({1.0, 2.0, 0.5});
};

TEST_F(Losses, OfDistances) {
  expect_values(nn::MSELoss()(x, target), {1.145833});
  expect_values(nn::L1Loss(Reduction::Sum)(x, target), {6});
  expect_values(nn::SmoothL1Loss(0.5)(x, target), {0.75});
  expect_values(nn::HuberLoss(0.75)(x, target), {0.473958});
}

TEST_F(Losses, OfProbabilities) {
  const Tensor logs = x.log_softmax(1), more = target + 0.25;
  expect_values(nn::KLDivLoss(Reduction::Sum)(logs, more), {5.7367}, 1e-4);
  expect_values(nn::KLDivLoss(Reduction::Sum, true)(logs, more.log()), {5.7367}, 1e-4);
  expect_values(nn::CrossEntropyLoss({.label_smoothing = 0.1}, weight)(x, classes), {0.5742}, 1e-4);
  expect_values(nn::NLLLoss({}, weight)(logs, classes), {0.3151}, 1e-4);
  expect_values(nn::BCELoss(Reduction::Mean, weight)(x.sigmoid(), target), {0.8028}, 1e-4);
  expect_values(nn::BCEWithLogitsLoss(Reduction::Mean, weight, Tensor::of({2.0}))(x, target),
                {1.0994}, 1e-4);
}

}  // namespace
}  // namespace doorbell::test
