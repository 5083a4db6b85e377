// Products and attention against triple loops.
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

TEST(LinearAlgebra, MatrixTimesMatrix) {
  const Array a = Array::noise({5, 7}, 1), b = Array::noise({7, 3}, 2);
  expect_close(a.tensor().matmul(b.tensor()), Array::make({5, 3}, [&](const Place& at) {
                 double sum = 0;
                 for (i64 k = 0; k < 7; ++k) sum += a.at({at[0], k}) * b.at({k, at[1]});
                 return sum;
               }));
}

TEST(LinearAlgebra, VectorsOnEitherSide) {
  const Array m = Array::noise({4, 3}, 1), u = Array::noise({4}, 2), v = Array::noise({3}, 3);
  const auto row = [&](i64 i) {
    double sum = 0;
    for (i64 k = 0; k < 3; ++k) sum += m.at({i, k}) * v.at({k});
    return sum;
  };
  expect_close(m.tensor().matmul(v.tensor()),
               Array::make({4}, [&](auto& at) { return row(at[0]); }));
  expect_close(u.tensor().matmul(m.tensor()), Array::make({3}, [&](const Place& at) {
                 double sum = 0;
                 for (i64 k = 0; k < 4; ++k) sum += u.at({k}) * m.at({k, at[0]});
                 return sum;
               }));
  expect_close(Tensor::of({1.0, 2.0}).dot(Tensor::of({3.0, 4.0})), {{}, {11}});
}

TEST(LinearAlgebra, LeadingAxesBroadcast) {
  const Array a = Array::noise({2, 1, 3, 4}, 1), b = Array::noise({5, 4, 2}, 2);
  expect_close(a.tensor().matmul(b.tensor()), Array::make({2, 5, 3, 2}, [&](const Place& at) {
                 double sum = 0;
                 for (i64 k = 0; k < 4; ++k)
                   sum += a.at({at[0], 0, at[2], k}) * b.at({at[1], k, at[3]});
                 return sum;
               }));
}

TEST(LinearAlgebra, DtypesAndRefusals) {
  const Tensor half = Tensor::ones({2, 4096}, {.dtype = dtypes::f16});
  const Tensor product = half.matmul(half.transpose());
  EXPECT_EQ(product.dtype(), dtypes::f16);
  expect_values(product, {4096, 4096, 4096, 4096});  // summed in f32
  EXPECT_EQ(Tensor::ones({1, 2}, {.dtype = dtypes::i8})
                .matmul(Tensor::ones({2, 1}, {.dtype = dtypes::i8}))
                .dtype(),
            dtypes::i8);
  EXPECT_EQ(message_of([&] { half.matmul(half); }),
            "cannot multiply shapes (2, 4096) and (2, 4096)");
  EXPECT_EQ(message_of([&] { half.matmul(Tensor::of(1)); }),
            "product of shapes (2, 4096) and (), expected an axis or more");
  expect_values(Tensor::ones({2, 0}).matmul(Tensor::ones({0, 1})), {0, 0});
}

// (1 + 2^-7)^2 is 1 + 2^-6 + 2^-14, of which bf16 holds 1 + 2^-6.
TEST(LinearAlgebra, ProductsOfNarrowFloatsAreNotRounded) {
  const float x = 1 + 0x1p-7f;
  const Tensor a = Tensor::from_data(std::vector<float>{x, 1}, {1, 2}).cast(dtypes::bf16);
  const Tensor b =
      Tensor::from_data(std::vector<float>{x, -(1 + 0x1p-6f)}, {2, 1}).cast(dtypes::bf16);
  EXPECT_EQ(a.matmul(b).item<float>(), 0x1p-14f);
}

TEST(LinearAlgebra, LinearAddsABias) {
  const Tensor x = Tensor::of({{1.0, 2.0}});
  expect_values(x.linear(Tensor::of({{1.0, 0.0}, {0.0, 10.0}}), Tensor::of({0.5, -1.0})),
                {1.5, 19});
}

// Softmax of scaled scores times values; `allowed` says which keys a query sees.
Array attention(const Array& q, const Array& k, const Array& v, bool (*allowed)(i64, i64)) {
  const i64 keys = k.shape[1], width = q.shape[2];
  return Array::make({q.shape[0], q.shape[1], v.shape[2]}, [=, &q, &k, &v](const Place& at) {
    double sum = 0, total = 0;
    for (i64 j = 0; j < keys; ++j) {
      if (!allowed(at[1], j)) continue;
      double score = 0;
      for (i64 c = 0; c < width; ++c) score += q.at({at[0], at[1], c}) * k.at({at[0], j, c});
      const double weight = std::exp(score / std::sqrt(double(width)));
      sum += weight;
      total += weight * v.at({at[0], j, at[2]});
    }
    return total / sum;
  });
}

TEST(LinearAlgebra, Attention) {
  const Array q = Array::noise({2, 3, 4}, 1), k = Array::noise({2, 3, 4}, 2),
              v = Array::noise({2, 3, 5}, 3);
  const Tensor tq = q.tensor(), tk = k.tensor(), tv = v.tensor();
  const auto all = [](i64, i64) { return true; };
  const auto before = [](i64 i, i64 j) { return j <= i; };
  expect_close(tq.scaled_dot_product_attention(tk, tv), attention(q, k, v, all));
  expect_close(tq.scaled_dot_product_attention(tk, tv, {.is_causal = true}),
               attention(q, k, v, before));
  const Tensor mask = Tensor::ones({3, 3}, {.dtype = dtypes::bool_}).tril();
  expect_close(tq.scaled_dot_product_attention(tk, tv, mask), attention(q, k, v, before));
  const Tensor added = doorbell::where(mask, 0.0, -INFINITY);
  expect_close(tq.scaled_dot_product_attention(tk, tv, added), attention(q, k, v, before));
  EXPECT_EQ(message_of([&] { tq.scaled_dot_product_attention(tk, tv, mask, {.is_causal = true}); }),
            "attention with a mask and is_causal = true, expected one of them");
}

}  // namespace
}  // namespace doorbell::test
