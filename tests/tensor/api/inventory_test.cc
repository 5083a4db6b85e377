// An inventory: every method that tinygrad's Tensor has, called by its name here or by the name it
// has here, so that none is lost. What the methods give is the other tests' matter; of these only
// the shape is looked at.
//
// Not here: those of the graph inside (uop, alu, call, as_param, custom_kernel, callify,
// schedule_linear, linear_with_vars, ufix, invalids), those of the network and of state files (io's
// and nn's tests name them), decode_hevc_frame, and shard, shard_, shard_like (of several devices).
#include <gtest/gtest.h>

#include "tensor/api/tensor.h"

namespace doorbell::test {
namespace {

struct Called {
  const char* name;
  Tensor result;
  const char* shape;
};

void expect_shapes(const std::vector<Called>& all) {
  for (const Called& called : all) {
    EXPECT_EQ(called.result.shape().str(), called.shape) << called.name;
  }
}

TEST(Inventory, Creation) {
  const Tensor x = Tensor::ones({2, 3});
  const std::vector<float> numbers(6);
  expect_shapes({
      {"Tensor(scalar)", Tensor::of(3), "()"},
      {"Tensor(list)", Tensor::of({{1, 2}, {3, 4}}), "(2, 2)"},
      {"Tensor(bytes)", Tensor::from_bytes(std::as_bytes(std::span(numbers)), dtypes::f32, {6}),
       "(6)"},
      {"Tensor(numpy)", Tensor::from_data(numbers, {2, 3}), "(2, 3)"},
      {"empty", Tensor::empty({2, 3}), "(2, 3)"},
      {"empty_like", x.empty_like(), "(2, 3)"},
      {"full", Tensor::full({2, 3}, 7), "(2, 3)"},
      {"full_like", x.full_like(7), "(2, 3)"},
      {"const", Tensor::full({}, 7), "()"},
      {"const_like", x.const_like(7), "(2, 3)"},
      {"zeros", Tensor::zeros({2, 3}), "(2, 3)"},
      {"zeros_like", x.zeros_like(), "(2, 3)"},
      {"ones", Tensor::ones({2, 3}), "(2, 3)"},
      {"ones_like", x.ones_like(), "(2, 3)"},
      {"arange", Tensor::arange(1, 7, 2), "(3)"},
      {"linspace", Tensor::linspace(0, 1, 5), "(5)"},
      {"eye", Tensor::eye(2, 3), "(2, 3)"},
  });
}

TEST(Inventory, Random) {
  Tensor::manual_seed(1);
  const Tensor x = Tensor::ones({2, 3});
  expect_shapes({
      {"rand", Tensor::rand({2, 3}), "(2, 3)"},
      {"rand_like", x.rand_like(), "(2, 3)"},
      {"randn", Tensor::randn({2, 3}), "(2, 3)"},
      {"randn_like", x.randn_like(), "(2, 3)"},
      {"randint", Tensor::randint(0, 9, {2, 3}), "(2, 3)"},
      {"randint_like", x.randint_like(9, {.dtype = dtypes::i32}), "(2, 3)"},
      {"normal", Tensor::normal({2, 3}, 1, 2), "(2, 3)"},
      {"uniform", Tensor::uniform({2, 3}, 1, 2), "(2, 3)"},
      {"scaled_uniform", Tensor::scaled_uniform({2, 3}), "(2, 3)"},
      {"glorot_uniform", Tensor::glorot_uniform({2, 3}), "(2, 3)"},
      {"kaiming_uniform", Tensor::kaiming_uniform({2, 3}), "(2, 3)"},
      {"kaiming_normal", Tensor::kaiming_normal({2, 3}), "(2, 3)"},
      {"randperm", Tensor::randperm(5), "(5)"},
      {"multinomial", x.multinomial(4, true), "(2, 4)"},
      {"random_bits", Tensor::random_bits({2, 3}), "(2, 3)"},
      {"threefry",
       Tensor::zeros({4}, {.dtype = dtypes::u64})
           .threefry(Tensor::zeros({1}, {.dtype = dtypes::u64})),
       "(4)"},
      {"dropout", x.dropout(), "(2, 3)"},
  });
}

TEST(Inventory, Movement) {
  const Tensor x = Tensor::ones({2, 3}), v = Tensor::ones({4});
  expect_shapes({
      {"reshape", x.reshape({3, -1}), "(3, 2)"},
      {"view", x.view({6}), "(6)"},
      {"permute", x.permute({1, 0}), "(3, 2)"},
      {"transpose", x.transpose(0, 1), "(3, 2)"},
      {"T", x.T(), "(3, 2)"},
      {"flip", x.flip(0), "(2, 3)"},
      {"expand", x.expand({5, -1, -1}), "(5, 2, 3)"},
      {"shrink", x.shrink({{0, 1}, {1, 3}}), "(1, 2)"},
      {"shrink_to", x.shrink_to({1, -1}), "(1, 3)"},
      {"pad_to", x.pad_to({-1, 5}), "(2, 5)"},
      {"pad", x.pad({{1, 0}, {0, 2}}), "(3, 5)"},
      {"pad reflect", x.pad({{1, 0}, {0, 2}}, {.mode = PadMode::Reflect}), "(3, 5)"},
      {"pad replicate", x.pad({{1, 0}, {0, 2}}, {.mode = PadMode::Replicate}), "(3, 5)"},
      {"pad circular", x.pad({{1, 0}, {0, 2}}, {.mode = PadMode::Circular}), "(3, 5)"},
      {"squeeze", x.unsqueeze(0).squeeze(0), "(2, 3)"},
      {"unsqueeze", x.unsqueeze(-1), "(2, 3, 1)"},
      {"flatten", x.flatten(), "(6)"},
      {"unflatten", x.unflatten(1, {3, 1}), "(2, 3, 1)"},
      {"rearrange", x.rearrange("a b -> (b a)"), "(6)"},
      {"repeat", x.repeat({2, 1}), "(4, 3)"},
      {"repeat_interleave", x.repeat_interleave(2, 1), "(2, 6)"},
      {"roll", x.roll(1, 0), "(2, 3)"},
      {"split", x.split(2, 1)[0], "(2, 2)"},
      {"chunk", x.chunk(2, 1)[1], "(2, 1)"},
      {"stack", Tensor::stack({x, x}), "(2, 2, 3)"},
      {"cat", Tensor::cat({x, x}), "(4, 3)"},
      {"meshgrid", meshgrid({v, v})[0], "(4, 4)"},
      {"diag", v.diag(), "(4, 4)"},
      {"diagonal", x.diagonal(), "(2)"},
      {"triu", x.triu(), "(2, 3)"},
      {"tril", x.tril(), "(2, 3)"},
      {"unfold", x.unfold(1, 2, 1), "(2, 2, 2)"},
      {"movedim", x.movedim({0}, {1}), "(3, 2)"},
      {"outer", v.outer(v), "(4, 4)"},
  });
  EXPECT_EQ(x.ndim(), 2);
  EXPECT_EQ(x.numel(), 6);
  EXPECT_EQ(x.size(1).value(), 3);
  EXPECT_EQ(x.max_shape().str(), "(2, 3)");
  EXPECT_EQ(x.nbytes(), 24);
}

TEST(Inventory, Elementwise) {
  const Tensor x = Tensor::ones({2, 3}), i = Tensor::ones({2, 3}, {.dtype = dtypes::i32});
  const std::vector<Tensor> all = {
      x.neg(), x.logical_not(), i.bitwise_not(), x.reciprocal(), x.sqrt(), x.rsqrt(), x.square(),
      x.abs(), x.sign(), x.exp(), x.exp2(), x.log(), x.log2(), x.log10(), x.sin(), x.cos(), x.tan(),
      x.asin(), x.acos(), x.atan(), x.sinh(), x.cosh(), x.tanh(), x.asinh(), x.acosh(), x.atanh(),
      x.erf(), x.floor(), x.ceil(), x.trunc(), x.round(), x.isnan(), x.isinf(), x.isfinite(),
      x.nan_to_num(), x.detach(), x.contiguous(), x.contiguous_backward(),
      // activations
      x.relu(), x.relu6(), x.elu(), x.celu(), x.selu(), x.gelu(), x.quick_gelu(), x.silu(),
      x.swish(), x.mish(), x.sigmoid(), x.logsigmoid(), x.hardsigmoid(), x.hardswish(),
      x.hardtanh(), x.leaky_relu(), x.softplus(), x.softsign(),
      // two and three operands
      x.add(x), x.sub(x), x.mul(x), x.div(x, Rounding::Trunc), x.mod(x), x.fmod(x), x.pow(x),
      x.maximum(x), x.minimum(x), i.bitwise_and(i), i.bitwise_or(i), i.bitwise_xor(i), i.lshift(i),
      i.rshift(i), x.copysign(x), x.logaddexp(x), x.atan2(x), x.hypot(x), x.nextafter(x), x.eq(x),
      x.ne(x), x.isclose(x), x.bool_().where(x, 0), x.lerp(x, 0.5), x.clamp({.min = 0}),
      x.clip({.max = 2}), x.masked_fill(x.bool_(), 1), x.usum({x, 1}), x.uprod({x, 1}),
      // dtypes
      x.cast(dtypes::f16), x.bitcast(dtypes::i32), x.float_(), x.half(), x.double_(), x.bfloat16(),
      x.int_(), x.short_(), x.long_(), x.bool_()};
  for (const Tensor& tensor : all) EXPECT_EQ(tensor.shape().str(), "(2, 3)");
  EXPECT_EQ(x.element_size(), 4);
  EXPECT_TRUE(x.is_floating_point());
}

TEST(Inventory, Operators) {
  const Tensor x = Tensor::ones({2}), i = Tensor::ones({2}, {.dtype = dtypes::i32});
  const std::vector<Tensor> all = {x + 1,  1 + x,  x - 1,  1 - x,  x * 2,    2 * x,  x / 2,  2 / x,
                                   x % 2,  2 % x,  i & 1,  1 & i,  i | 1,    1 | i,  i ^ 1,  1 ^ i,
                                   i << 1, 1 << i, i >> 1, 1 >> i, x < 1,    1 < x,  x <= 1, 1 <= x,
                                   x > 1,  1 > x,  x >= 1, 1 >= x, x == 1,   1 == x, x != 1, 1 != x,
                                   ~i,     -x,     +x,     !x,     pow(2, x)};
  for (const Tensor& tensor : all) EXPECT_EQ(tensor.shape().str(), "(2)");
  Tensor y = x.clone(), j = i.clone();
  y += 1, y -= 2, y *= 3, y /= 4, y %= 5;
  j &= 7, j |= 8, j ^= 3, j <<= 2, j >>= 1;
  EXPECT_EQ(y.shape().str(), "(2)");
  EXPECT_EQ(j.to_vector<int>(), (std::vector<int>{20, 20}));  // ((1 & 7 | 8) ^ 3) << 2 >> 1
}

TEST(Inventory, ReductionsAndOrder) {
  const Tensor x = Tensor::ones({2, 3});
  const Tensor index = Tensor::zeros({2, 3}, {.dtype = dtypes::i32});
  expect_shapes({
      {"sum", x.sum(), "()"},
      {"prod", x.prod(0), "(3)"},
      {"max", x.max(1, {.keepdim = true}), "(2, 1)"},
      {"min", x.min(1), "(2)"},
      {"mean", x.mean({0, 1}), "()"},
      {"any", x.any(), "()"},
      {"all", x.all(1), "(2)"},
      {"var", x.var(), "()"},
      {"var_mean", x.var_mean(1).first, "(2)"},
      {"std", x.std(0), "(3)"},
      {"std_mean", x.std_mean(0).second, "(3)"},
      {"logsumexp", x.logsumexp(0), "(3)"},
      {"argmax", x.argmax(1), "(2)"},
      {"argmin", x.argmin(), "()"},
      {"softmax", x.softmax(), "(2, 3)"},
      {"log_softmax", x.log_softmax(0), "(2, 3)"},
      {"softmin", x.softmin(), "(2, 3)"},
      {"cumsum", x.cumsum(1), "(2, 3)"},
      {"cumprod", x.cumprod(1), "(2, 3)"},
      {"cummax", x.cummax(1).values, "(2, 3)"},
      {"cummin", x.cummin(1).indices, "(2, 3)"},
      {"logcumsumexp", x.logcumsumexp(1), "(2, 3)"},
      {"normalize", x.normalize(), "(2, 3)"},
      {"norm", x.norm(2, 1), "(2)"},
      {"median", x.median(1).values, "(2)"},
      {"unique", x.unique().values, "(1)"},
      {"searchsorted", x.searchsorted(x), "(2, 3)"},
      {"diff", x.diff(), "(2, 2)"},
      {"sort", x.sort().values, "(2, 3)"},
      {"argsort", x.argsort(), "(2, 3)"},
      {"topk", x.topk(2).indices, "(2, 2)"},
      {"gather", x.gather(1, index), "(2, 3)"},
      {"scatter", x.scatter(1, index, 1), "(2, 3)"},
      {"scatter_reduce", x.scatter_reduce(1, index, x, Combine::Mean), "(2, 3)"},
      {"masked_select", x.masked_select(x == 1), "(6)"},
      {"masked_select size", x.masked_select(x == 1, 4), "(4)"},
      {"nonzero", x.nonzero(), "(6, 2)"},
      {"nonzero size", x.nonzero(4, -1), "(4, 2)"},
      {"one_hot", index.one_hot(5), "(2, 3, 5)"},
      {"isin", x.isin(x), "(2, 3)"},
  });
  EXPECT_TRUE(x.allclose(x));
  EXPECT_EQ(x.sum().item<int>(), 6);
}

TEST(Inventory, Handles) {
  Tensor x = Tensor::zeros({2, 3}, {.requires_grad = true});
  const Tensor loss = (x * 2).sum();
  loss.backward();
  EXPECT_EQ(x.grad().shape().str(), "(2, 3)");
  EXPECT_EQ(loss.gradient({x})[0].shape().str(), "(2, 3)");
  EXPECT_TRUE(x.is_leaf());  // is_param; requires_grad is is_param_
  Tensor y = x.detach().clone();
  y.realize();
  y.assign(y + 1).replace(y * 2).to_(y.device());
  EXPECT_EQ(y.to(y.device()).to_vector<float>(), std::vector<float>(6, 2.0F));
  EXPECT_EQ(y.to_bytes().size(), 24u);
  EXPECT_EQ(y.dtype(), dtypes::f32);
  std::vector<float> memory(6, 1.0F);
  EXPECT_EQ(Tensor::from_blob(memory.data(), dtypes::f32, {6}).sum().item<float>(), 6);
  static_assert(!std::is_convertible_v<Tensor, bool>);
  static_assert(!std::is_constructible_v<bool, Tensor>);
}

}  // namespace
}  // namespace doorbell::test
