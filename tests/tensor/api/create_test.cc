// Making tensors: of memory, of files, like others, and of chance by weight.
#include <cmath>
#include <cstdio>
#include <fstream>

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

TEST(Create, FromBlobIsTheCallersMemory) {
  std::vector<float> memory = {1, 2, 3, 4};
  const Tensor x = Tensor::from_blob(memory.data(), dtypes::f32, {2, 2});
  EXPECT_EQ(x.sum().item<float>(), 10);
  memory[3] = 40;  // seen by what is computed from now on
  const Tensor first = x[{0, 0}];
  EXPECT_EQ(x.sum().item<float>() + first.item<float>(), 47);
  EXPECT_EQ(message_of([&] {
              Tensor::from_blob(memory.data(), dtypes::f32, {4}, {.dtype = dtypes::f16});
            }),
            "memory of float32 as a tensor of float16; cast the tensor");
}

TEST(Create, FromFileReadsItsBytes) {
  const std::string path = testing::TempDir() + "doorbell_create_test.bin";
  std::ofstream(path, std::ios::binary) << "\x01\x02\x80\x3f\x07\x08";
  expect_values(Tensor::from_file(path), {1, 2, 128, 63, 7, 8});
  expect_values(Tensor::from_file(path, {.dtype = dtypes::u16}), {0x0201, 0x3f80, 0x0807});
  EXPECT_EQ(message_of([&] { Tensor::from_file(path, {.dtype = dtypes::f32}); }),
            path + " has 6 bytes, not a multiple of the 4 of float32");
  std::remove(path.c_str());
  EXPECT_NE(message_of([&] { Tensor::from_file(path); }), "nothing was thrown");
}

TEST(Create, LikeOthers) {
  const Tensor x = Tensor::zeros({2, 3}, {.dtype = dtypes::f64});
  EXPECT_EQ(x.ones_like().dtype(), dtypes::f64);
  EXPECT_EQ(x.full_like(2.9, {.dtype = dtypes::i8}).dtype(), dtypes::i8);
  EXPECT_EQ(x.full_like(2.9, {.dtype = dtypes::i8}).sum().item<int>(), 12);
  EXPECT_EQ(x.empty_like().nbytes(), 48);
  EXPECT_EQ(x.rand_like({.dtype = dtypes::f32}).dtype(), dtypes::f32);
  EXPECT_TRUE(x.ones_like({.requires_grad = true}).is_leaf());
  const Tensor drawn = x.randint_like(3, 5, {.dtype = dtypes::i64});
  EXPECT_TRUE(((drawn >= 3) & (drawn < 5)).all().item<bool>());
}

// PyTorch's values: read without a kernel, too, they are those of the dtype.
TEST(Create, ConstantsAreRoundedToTheirDtype) {
  const std::pair<DType, f64> tenths[] = {{dtypes::f16, 0.0999755859375},
                                          {dtypes::bf16, 0.10009765625},
                                          {dtypes::f32, 0.10000000149011612},
                                          {dtypes::f64, 0.1}};
  for (const auto& [dtype, tenth] : tenths) {
    const Tensor x = Tensor::full({2}, 0.1, {.dtype = dtype});
    EXPECT_EQ(x.to_vector<f64>(), std::vector<f64>(2, tenth));
    EXPECT_EQ(x.cast(dtypes::f64).to_vector<f64>(), std::vector<f64>(2, tenth));
    EXPECT_EQ(x.zeros_like().full_like(0.1).to_vector<f64>(), std::vector<f64>(2, tenth));
  }
  EXPECT_TRUE(std::isinf(Tensor::full({1}, 70000, {.dtype = dtypes::f16}).item<f64>()));
}

TEST(Create, RandomBitsHaveAllBits) {
  Tensor::manual_seed(3);
  const Tensor bits = Tensor::random_bits({1000});
  EXPECT_EQ(bits.dtype(), dtypes::u32);
  // Each bit is set about half of the time: 500 of 1000, deviation 15.8.
  for (i64 bit : {0, 1, 15, 30, 31}) {
    EXPECT_NEAR(((bits >> bit) & 1).sum().item<int>(), 500, 80) << bit;
  }
  EXPECT_EQ(Tensor::random_bits({4}, {.dtype = dtypes::u8}).nbytes(), 4);
  EXPECT_EQ(message_of([] { Tensor::random_bits({4}, {.dtype = dtypes::i32}); }),
            "random bits of int32, expected unsigned integers");
}

TEST(Create, MultinomialDrawsByWeight) {
  Tensor::manual_seed(5);
  const Tensor weights = Tensor::of({{0.0, 1.0, 3.0, 0.0}, {2.0, 0.0, 0.0, 2.0}});
  const Tensor drawn = weights.multinomial(2000, true);
  EXPECT_EQ(drawn.shape().str(), "(2, 2000)");
  EXPECT_EQ(drawn.dtype(), dtypes::i32);
  const std::vector<int> counts = drawn.one_hot(4).sum(1).to_vector<int>();
  const double expected[] = {0, 500, 1500, 0, 1000, 0, 0, 1000};
  for (usize i = 0; i < 8; ++i) EXPECT_NEAR(counts[i], expected[i], expected[i] > 0 ? 90 : 0) << i;
  // Without replacement: each place once, and those of weight 0 last.
  const Tensor all = Tensor::of({1.0, 0.0, 5.0, 2.0}).multinomial(4);
  expect_values(all.sort().values, {0, 1, 2, 3});
  EXPECT_EQ(all[3].item<int>(), 1);
  EXPECT_EQ(message_of([] { Tensor::ones({3}).multinomial(4); }),
            "multinomial of 4 draws without replacement from float32 weights of shape (3)");
}

TEST(Create, ScaledUniformIsWithinItsBound) {
  Tensor::manual_seed(6);
  const Tensor x = Tensor::scaled_uniform({10, 10});
  EXPECT_LE(x.abs().max().item<float>(), 0.1F);
  EXPECT_GT(x.abs().max().item<float>(), 0.08F);
}

// einops' documentation.
TEST(Create, RearrangeRefusesWhatItCannotRead) {
  const Tensor x = Tensor::zeros({4, 6});
  const auto message = [&](const char* formula, const AxisSizes& sizes = {}) {
    return message_of([&] { x.rearrange(formula, sizes); });
  };
  EXPECT_EQ(message("a b"), "rearrange \"a b\": no ->");
  EXPECT_EQ(message("a -> a"), "rearrange \"a -> a\": 1 axes for shape (4, 6)");
  EXPECT_EQ(message("a b -> a"),
            "rearrange \"a b -> a\": the sides must name the same axes, each once");
  EXPECT_EQ(message("(a b) c -> a b c"),
            "rearrange \"(a b) c -> a b c\": more than one size of a bracket is left open");
  EXPECT_EQ(message("(a b) c -> a b c", {{"a", 3}}),
            "rearrange \"(a b) c -> a b c\": sizes of (3, -1) for an axis of 4");
  EXPECT_EQ(message("a b -> b a", {{"c", 3}}), "rearrange \"a b -> b a\": no axis c");
  EXPECT_EQ(message("(a b -> b a"), "rearrange \"(a b -> b a\": brackets do not match");
  EXPECT_EQ(message("a 1 -> a"), "rearrange \"a 1 -> a\": an axis of 6 is named 1");
  EXPECT_EQ(message("a & -> a"), "rearrange \"a & -> a\": '&' is no name");
  EXPECT_EQ(x.rearrange("a ... -> ... a").shape().str(), "(6, 4)");
  EXPECT_EQ(x.rearrange("(a1 a2) b -> (a2 b) 1 a1", {{"a1", 2}}).shape().str(), "(12, 1, 2)");
  EXPECT_EQ(x.rearrange("... -> (...)").shape().str(), "(24)");
}

}  // namespace
}  // namespace doorbell::test
