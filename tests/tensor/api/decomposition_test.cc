// QR, singular values and the Newton-Schulz iteration: against PyTorch where the result is unique
// (tests/tensor/torch/make_values.py), else by what they promise.
#include "tests/tensor/torch_values.h"

namespace doorbell::test {
namespace {

void expect_orthogonal(const Tensor& x) {
  const i64 n = x.size(-1).value();
  const Tensor product = x.transpose().matmul(x);
  EXPECT_TRUE(product.allclose(Tensor::eye(n, {.dtype = x.dtype()}).expand(product.shape()),
                               {.atol = 1e-5}))
      << product;
}

TEST(QR, AgreesWithPyTorchSignsIncluded) {
  const std::pair<const char*, std::vector<i64>> cases[] = {{"square", {4, 4}},
                                                            {"tall", {2, 5, 3}},
                                                            {"wide", {3, 5}},
                                                            {"column", {3, 1}},
                                                            {"row", {1, 3}}};
  for (const auto& [name, shape] : cases) {
    const Tensor x = Array::noise(shape, 40).tensor(dtypes::f64);
    const QR reduced = x.qr(), complete = x.qr(QrMode::Complete);
    const std::string prefix = std::string("qr/") + name;
    expect_torch(prefix + "/reduced/Q", reduced.Q);
    expect_torch(prefix + "/reduced/R", reduced.R);
    expect_torch(prefix + "/complete/Q", complete.Q);
    expect_torch(prefix + "/complete/R", complete.R);
  }
  const std::vector<Tensor> x = noise_tensors({{{4, 3}, 41}});
  expect_torch("qr/gradient/R", x[0].qr().R, x, 1e-5);
}

TEST(SVD, TakesApartAndPutsTogether) {
  const std::pair<const char*, std::vector<i64>> cases[] = {
      {"square", {4, 4}}, {"tall", {2, 5, 3}}, {"wide", {3, 5}}};
  for (const auto& [name, shape] : cases) {
    SCOPED_TRACE(name);
    const Tensor x = Array::noise(shape, 40).tensor();
    for (bool full : {false, true}) {
      const SVD parts = x.svd(full);
      const i64 m = x.size(-2).value(), n = x.size(-1).value(), k = std::min(m, n);
      EXPECT_EQ(parts.U.size(-1).value(), full ? m : k);
      EXPECT_EQ(parts.Vh.size(-2).value(), full ? n : k);
      expect_torch(std::string("svd/") + name + "/S", parts.S, 1e-5);
      expect_orthogonal(parts.U);
      expect_orthogonal(parts.Vh.transpose());
      const Tensor u = parts.U[{Ellipsis, Slice(0, k)}];
      const Tensor v = parts.Vh[{Ellipsis, Slice(0, k), Slice()}];
      EXPECT_TRUE((u * parts.S.unsqueeze(-2)).matmul(v).allclose(x, {.atol = 1e-5}));
    }
  }
}

// Where singular values are 0 there still are vectors.
TEST(SVD, OfMatricesWithoutFullRank) {
  const Tensor x = Tensor::of({{1.0, 2.0, 2.0}, {2.0, 4.0, 4.0}, {0.0, 0.0, 0.0}, {2.0, 4.0, 4.0}});
  const SVD parts = x.svd();
  expect_values(parts.S, {9, 0, 0}, 1e-5, 1e-5);
  expect_orthogonal(parts.U);
  expect_orthogonal(parts.Vh.transpose());
  const SVD none = Tensor::zeros({2, 3}).svd(false);
  expect_values(none.S, {0, 0});
  expect_orthogonal(none.U);
  expect_orthogonal(none.Vh.transpose());
}

TEST(Decomposition, RefusesWhatIsNoMatrixOfFloats) {
  EXPECT_EQ(message_of([] { Tensor::ones({3}).qr(); }),
            "QR of shape (3) and dtype float32, expected float32 or float64 matrices");
  EXPECT_EQ(
      message_of([] { Tensor::of({{1, 2}}).svd(); }),
      "singular values of shape (1, 2) and dtype int32, expected float32 or float64 matrices");
}

TEST(NewtonSchulz, AgreesWithPyTorchsMuon) {
  const std::vector<Tensor> x = noise_tensors({{{3, 5}, 60}, {{4, 2}, 61}});
  expect_torch("newton_schulz/wide", x[0].newton_schulz(5, {3.4445, -4.775, 2.0315}));
  expect_torch("newton_schulz/tall", x[1].newton_schulz(8, {2.0, -1.5, 0.5}));
  expect_values(Tensor::zeros({2, 2}).newton_schulz(2, {1.5, -0.5}), {0, 0, 0, 0});
  EXPECT_EQ(message_of([] { Tensor::ones({3}).newton_schulz(5, {1.0}); }),
            "5 Newton-Schulz steps of 1 coefficients on shape (3)");
}

}  // namespace
}  // namespace doorbell::test
