// Layers, losses, products and optimisers at the edges: no elements, one element, no axes. Expected
// values are PyTorch's.
#include "tensor/nn/layers.h"
#include "tensor/nn/optim.h"

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

std::string shape_of(const Tensor& x) {
  x.realize();
  return x.shape().str();
}

TEST(LayersEdges, NoElements) {
  const Tensor none = Tensor::zeros({0, 2, 4, 4}), w = Tensor::ones({3, 2, 2, 2});
  EXPECT_EQ(shape_of(none.conv2d(w)), "(0, 3, 3, 3)");
  EXPECT_EQ(shape_of(none.conv_transpose2d(Tensor::ones({2, 3, 2, 2}))), "(0, 3, 5, 5)");
  EXPECT_EQ(shape_of(none.max_pool2d()), "(0, 2, 2, 2)");
  EXPECT_EQ(shape_of(none.max_pool2d_with_indices().indices), "(0, 2, 2, 2)");
  EXPECT_EQ(shape_of(none.avg_pool2d()), "(0, 2, 2, 2)");
  EXPECT_EQ(shape_of(none.interpolate({2, 8})), "(0, 2, 2, 8)");
  EXPECT_EQ(shape_of(none.layernorm()), "(0, 2, 4, 4)");
  EXPECT_EQ(shape_of(nn::GroupNorm(1, 2)(none)), "(0, 2, 4, 4)");
  const Tensor q = Tensor::ones({1, 2, 3}), k = Tensor::zeros({1, 0, 3}),
               v = Tensor::zeros({1, 0, 2});
  expect_values(q.scaled_dot_product_attention(k, v), {0, 0, 0, 0});
  EXPECT_EQ(shape_of(k.scaled_dot_product_attention(q, q)), "(1, 0, 3)");
}

TEST(LayersEdges, LossesOfNothing) {
  const Tensor x = Tensor::zeros({0, 3}), labels = Tensor::zeros({0}, {.dtype = dtypes::i32});
  EXPECT_TRUE(std::isnan(x.cross_entropy(labels).item<float>()));
  EXPECT_EQ(x.cross_entropy(labels, {.reduction = Reduction::Sum}).item<float>(), 0);
  EXPECT_EQ(shape_of(x.cross_entropy(labels, {.reduction = Reduction::None})), "(0)");
  EXPECT_EQ(x.binary_crossentropy(x, {.reduction = Reduction::Sum}).item<float>(), 0);
}

TEST(LayersEdges, ProductsOfNothingAndOfNumbers) {
  const Tensor a = Tensor::ones({2, 0}), b = Tensor::ones({0, 3});
  expect_values(a.matmul(b), {0, 0, 0, 0, 0, 0});
  expect_values(Tensor::einsum("ij,jk->ik", {a, b}), {0, 0, 0, 0, 0, 0});
  expect_values(Tensor::einsum(",->", {Tensor::of(2.0), Tensor::of(3.0)}), {6});
  expect_values(Tensor::einsum("...,i->i...", {Tensor::of(2.0), Tensor::of({1.0, 3.0})}), {2, 6});
  expect_values(Tensor::einsum("i->", {Tensor::ones({0})}), {0});
}

TEST(LayersEdges, DecompositionsOfNothingAndOfOne) {
  EXPECT_EQ(shape_of(Tensor::zeros({0, 3}).qr().R), "(0, 3)");
  EXPECT_EQ(shape_of(Tensor::zeros({3, 0}).qr().Q), "(3, 0)");
  expect_exact(Tensor::zeros({2, 0}).qr(QrMode::Complete).Q, {{2, 2}, {1, 0, 0, 1}});
  const SVD none = Tensor::zeros({0, 2}).svd();
  EXPECT_EQ(shape_of(none.U), "(0, 0)");
  EXPECT_EQ(shape_of(none.S), "(0)");
  expect_exact(none.Vh, {{2, 2}, {1, 0, 0, 1}});
  const Tensor one = Tensor::of({{-3.0}});
  expect_values(one.qr().Q, {1});
  expect_values(one.qr().R, {-3});
  expect_values(one.svd().S, {3});
}

TEST(LayersEdges, ParametersOfOneElementAndOfNone) {
  Tensor number = Tensor::of(2.0, {.requires_grad = true});
  Tensor none = Tensor::zeros({0, 3}, {.requires_grad = true});
  nn::AdamW optimizer(std::vector<Tensor>{number, none}, 0.5, {.weight_decay = 0});
  (number * 3 + none.sum()).backward();
  optimizer.step();
  expect_values(number, {1.5}, 1e-4);
  EXPECT_EQ(none.shape().str(), "(0, 3)");
}

TEST(LayersEdges, HalvesStayHalves) {
  for (const DType dtype : {dtypes::f16, dtypes::bf16}) {
    const Tensor x = Tensor::ones({1, 2, 4, 4}, {.dtype = dtype}), q = x[0];
    EXPECT_EQ(x.conv2d(Tensor::ones({3, 2, 2, 2}, {.dtype = dtype})).dtype(), dtype);
    EXPECT_EQ(x.avg_pool2d().dtype(), dtype);
    EXPECT_EQ(x.interpolate({2, 2}, {.mode = Resample::Linear}).dtype(), dtype);
    EXPECT_EQ(x.layernorm().dtype(), dtype);
    EXPECT_EQ(q.scaled_dot_product_attention(q, q).dtype(), dtype);
    EXPECT_EQ(q.cross_entropy(Tensor::zeros({2, 4}, {.dtype = dtypes::i32})).dtype(), dtype);
    expect_values(x.conv2d(Tensor::ones({1, 2, 4, 4}, {.dtype = dtype})), {32});
  }
}

}  // namespace
}  // namespace doorbell::test
