// Losses and Einstein sums against PyTorch, with gradients (tests/tensor/torch/make_values.py).
#include "tests/tensor/torch_values.h"

namespace doorbell::test {
namespace {

constexpr std::pair<const char*, Reduction> kReductions[] = {
    {"mean", Reduction::Mean}, {"sum", Reduction::Sum}, {"none", Reduction::None}};

Tensor class_weights() {
  Array weight = Array::noise({5}, 13);
  for (double& value : weight.values) value = std::abs(value) + 0.1;
  return weight.tensor(dtypes::f64);
}

Tensor sizes_of_noise(const std::vector<i64>& shape, u32 seed) {
  return Array::noise(shape, seed).tensor(dtypes::f64).abs();
}

const Nested kLabels = {{1, 4, -100}, {0, 2, 4}, {3, -100, 1}, {4, 4, 0}};

TEST(LossTorch, CrossEntropy) {
  const Tensor labels = Tensor::of(kLabels), clamped = labels.maximum(0);
  for (const auto& [name, reduction] : kReductions) {
    for (const char* smoothing : {"0.0", "0.2"}) {
      for (bool weighted : {false, true}) {
        for (i64 ignored : {-100, 4}) {
          if (ignored == 4 && reduction != Reduction::Mean) continue;
          const std::vector<Tensor> x = noise_tensors({{{4, 5, 3}, 14}});
          const LossOptions options{.reduction = reduction,
                                    .label_smoothing = std::strtod(smoothing, nullptr),
                                    .ignore_index = ignored};
          const Tensor loss = x[0].cross_entropy(ignored == -100 ? labels : clamped,
                                                 weighted ? class_weights() : Tensor(), options);
          expect_torch(fmt::format("cross_entropy/{}/{}/{}/{}", name, smoothing,
                                   weighted ? "weighted" : "plain", ignored),
                       loss, x);
        }
      }
    }
    const std::vector<Tensor> x = noise_tensors({{{4, 5}, 15}});
    const Tensor shares = Array::noise({4, 5}, 16).tensor(dtypes::f64).softmax(1);
    expect_torch(fmt::format("cross_entropy/shares/{}", name),
                 x[0].cross_entropy(shares, class_weights(),
                                    {.reduction = reduction, .label_smoothing = 0.1}),
                 x);
  }
  expect_torch("cross_entropy/one_axis",
               Array::noise({5}, 15).tensor(dtypes::f64).cross_entropy(Tensor::of(3)));
  // A logit of minus infinity is no trouble for the other classes.
  expect_values(Tensor::of({{-INFINITY, 0.0f, 1.0f}}).cross_entropy(Tensor::of({1})), {1.3132617});
}

TEST(LossTorch, NegativeLogLikelihood) {
  for (const auto& [name, reduction] : kReductions) {
    const std::vector<Tensor> x = noise_tensors({{{4, 5, 3}, 14}});
    expect_torch(fmt::format("nll/{}", name),
                 x[0].nll_loss(Tensor::of(kLabels), class_weights(), {.reduction = reduction}), x);
  }
  const Tensor x = Tensor::ones({2, 3});
  EXPECT_EQ(message_of([&] { x.nll_loss(Tensor::of({1, 2}), Tensor::ones({2})); }),
            "class weights of shape (2) for logits of shape (2, 3)");
  EXPECT_EQ(message_of([&] { x.nll_loss(Tensor::of({1, 2}), {.label_smoothing = 0.5}); }),
            "nll_loss with label smoothing of 0.5, which it lacks");
}

TEST(LossTorch, IgnoringNothing) {
  const Tensor x = Array::noise({2, 3}, 1).tensor(), labels = Tensor::of({1, -100});
  const double first = -x.log_softmax()[{0, 1}].item<double>();
  expect_values(x.cross_entropy(labels), {first});
  expect_values(x.cross_entropy(labels, {.ignore_index = std::nullopt}), {first / 2});
  // Unsigned labels cannot be -100: 156 would be its bits.
  const Tensor wide = Array::noise({1, 200}, 2).tensor();
  expect_values(wide.cross_entropy(Tensor::of({156}, {.dtype = dtypes::u8})),
                {-wide.log_softmax()[{0, 156}].item<double>()});
}

TEST(LossTorch, Binary) {
  for (const auto& [name, reduction] : kReductions) {
    const Tensor y = sizes_of_noise({4, 5}, 17), w = sizes_of_noise({5}, 18);
    const std::vector<Tensor> x = noise_tensors({{{4, 5}, 15}});
    expect_torch(fmt::format("bce_logits/{}", name),
                 (5 * x[0]).binary_crossentropy_logits(y, w, sizes_of_noise({5}, 19),
                                                       {.reduction = reduction}),
                 x);
    expect_torch(fmt::format("bce/{}", name),
                 (x[0].abs() * 0.9 + 0.05).binary_crossentropy(y, w, {.reduction = reduction}), x);
  }
  const Tensor ends = Tensor::of({0.0, 1.0, 0.0, 1.0}, {.requires_grad = true});
  const Tensor loss =
      ends.binary_crossentropy(Tensor::of({0.0, 1.0, 1.0, 0.25}), {.reduction = Reduction::None});
  expect_torch("bce/ends", loss);
  loss.sum().backward();
  EXPECT_TRUE(ends.grad().isfinite().all().item<bool>());
}

using Shapes = std::vector<std::vector<i64>>;

TEST(EinsumTorch, Formulas) {
  const std::pair<const char*, Shapes> cases[] = {
      {"ij,jk->ik", {{2, 3}, {3, 4}}},
      {"ij,jk", {{2, 3}, {3, 4}}},
      {"ba", {{2, 3}}},
      {"bA", {{2, 3}}},
      {"ii", {{3, 3}}},
      {"iijj->ij", {{2, 2, 3, 3}}},
      {"iji->j", {{2, 3, 2}}},
      {"i,j", {{2}, {3}}},
      {"i,i->", {{3}, {3}}},
      {"ij->", {{2, 3}}},
      {"...ij,...jk->...ik", {{2, 1, 2, 3}, {4, 3, 2}}},
      {"...ij,...jk", {{5, 2, 3}, {3, 2}}},
      {"i...,i", {{2, 3, 4}, {2}}},
      {"...i->...", {{2, 3, 4}}},
      {"...ii->...i", {{2, 3, 3}}},
      {"ab,bc,cd,de->ae", {{2, 3}, {3, 4}, {4, 2}, {2, 3}}},
      {"a,b,c->cab", {{2}, {3}, {4}}},
      {"ij , jk -> k i", {{2, 3}, {3, 4}}},
      {"bhqd,bhkd->bhqk", {{1, 2, 3, 4}, {1, 2, 5, 4}}},
      {"ij,j->i", {{3, 1}, {4}}},
      {"abc,acd,ad->bd", {{2, 3, 4}, {2, 4, 3}, {2, 3}}},
  };
  for (const auto& [formula, shapes] : cases) {
    std::vector<Tensor> leaves;
    for (usize i = 0; i < shapes.size(); ++i)
      leaves.push_back(Array::noise(shapes[i], 30 + static_cast<u32>(i)).tensor(dtypes::f64));
    expect_torch(std::string("einsum/") + formula, Tensor::einsum(formula, leaves), leaves);
  }
}

TEST(EinsumTorch, Refusals) {
  const Tensor x = Tensor::ones({2, 3});
  const auto message = [&](const char* formula) {
    return message_of([&] { Tensor::einsum(formula, {x, x}); });
  };
  EXPECT_EQ(message("ij,ji"), "einsum \"ij,ji\": axis j has sizes 3 and 2");
  EXPECT_EQ(message("ij"), "einsum \"ij\" of 2 operands");
  EXPECT_EQ(message("i,ij"), "einsum \"i,ij\": \"i\" names an operand of shape (2, 3)");
  EXPECT_EQ(message("ij,ij->k"),
            "einsum \"ij,ij->k\": the result names an axis that no operand has, or one twice");
  EXPECT_EQ(message("ij,ij->->"), "einsum \"ij,ij->->\": expected letters, commas, ... and one ->");
  EXPECT_EQ(message("...i...,ij"), "einsum \"...i...,ij\": ... stands twice");
}

}  // namespace
}  // namespace doorbell::test
