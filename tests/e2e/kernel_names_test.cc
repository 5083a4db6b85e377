// What kernels of well-known functions are called, as profiles show them. A function that the
// tensor API makes in another way than codegen/lower/function_shapes.h knows fails here.
#include <gtest/gtest.h>

#include <functional>

#include "hcq/trace/trace.h"
#include "runtime/doorbell.h"
#include "tensor/engine/realize.h"

namespace doorbell {
namespace {

using Names = std::vector<std::string>;

Tensor memory(const Shape& shape) {
  Tensor t = Tensor::rand(shape);
  t.realize();
  return t;
}

// Of the kernels that `make`'s result takes, without the digits behind the sizes.
Names names_of(const std::function<Tensor()>& make) {
  hcq::Trace trace;
  hcq::Trace::set_of_process(&trace);
  make().realize();
  engine::synchronize();
  hcq::Trace::set_of_process(nullptr);
  Names names;
  for (const hcq::Trace::Span& span : trace.spans())
    if (span.category == "kernel") names.push_back(span.name.substr(0, span.name.rfind('_')));
  return names;
}

TEST(KernelNames, Products) {
  Tensor a = memory({8, 32}), b = memory({32, 16}), row = memory({16});
  EXPECT_EQ(names_of([&] { return a.matmul(b); }), (Names{"matmul_8_16_r32"}));
  EXPECT_EQ(names_of([&] { return (a.matmul(b) + row).relu(); }),
            (Names{"matmul_add_relu_8_16_r32"}));
  EXPECT_EQ(names_of([&] { return a.cast(dtypes::f16).matmul(b.cast(dtypes::f16)); }),
            (Names{"matmul_8_16_r32"}));
  Tensor column = memory({32}), other = memory({32});
  EXPECT_EQ(names_of([&] { return a.matmul(column); }), (Names{"matvec_8_r32"}));
  EXPECT_EQ(names_of([&] { return column.matmul(other); }), (Names{"dot_r32"}));
  EXPECT_EQ(names_of([&] { return (a * a.exp()).sum(1); }), (Names{"exp_mul_sum_8_r32"}));
}

TEST(KernelNames, Convolutions) {
  Tensor x = memory({2, 3, 16, 16}), w = memory({4, 3, 3, 3}), point = memory({4, 3, 1, 1});
  EXPECT_EQ(names_of([&] { return x.conv2d(w, {.padding = {1}}).relu(); }),
            (Names{"conv_relu_2_4_16_16_r3_r3_r3"}));
  EXPECT_EQ(names_of([&] { return x.conv2d(point); }), (Names{"matmul_2_4_256_r3"}));
  EXPECT_EQ(names_of([&] { return x.max_pool2d({2, 2}); }), (Names{"max_48_8_r2_r2"}));
  EXPECT_EQ(names_of([&] { return x.avg_pool2d({2, 2}); }), (Names{"mean_48_8_r2_r2"}));
}

TEST(KernelNames, Reductions) {
  Tensor x = memory({8, 32});
  EXPECT_EQ(names_of([&] { return x.softmax(-1); }), (Names{"softmax_8_32_r32_r32"}));
  EXPECT_EQ(names_of([&] { return x.log_softmax(-1); }), (Names{"log_softmax_8_32_r32_r32"}));
  EXPECT_EQ(names_of([&] { return x.sum(1); }), (Names{"sum_8_r32"}));
  EXPECT_EQ(names_of([&] { return x.mean(1); }), (Names{"mean_8_r32"}));
  EXPECT_EQ(names_of([&] { return x.max(1); }), (Names{"max_8_r32"}));
  EXPECT_EQ(names_of([&] { return x.min(1); }), (Names{"min_8_r32"}));
  EXPECT_EQ(names_of([&] { return x.prod(1); }), (Names{"prod_8_r32"}));
  EXPECT_EQ(names_of([&] { return (x > 0.5).any(1); }), (Names{"lt_any_8_r32"}));
  EXPECT_EQ(names_of([&] { return (x > 0.5).all(1); }), (Names{"lt_all_8_r32"}));
  EXPECT_EQ(names_of([&] { return x.argmax(1); }), (Names{"max_8_r32", "index_of_sub_8_r32"}));
}

TEST(KernelNames, Functions) {
  Tensor x = memory({256});
  EXPECT_EQ(names_of([&] { return x.exp(); }), (Names{"exp_256"}));
  EXPECT_EQ(names_of([&] { return x.log(); }), (Names{"log_256"}));
  EXPECT_EQ(names_of([&] { return x.exp2(); }), (Names{"exp2_256"}));
  EXPECT_EQ(names_of([&] { return x.tanh(); }), (Names{"tanh_256"}));
  EXPECT_EQ(names_of([&] { return x.erf(); }), (Names{"erf_256"}));
  EXPECT_EQ(names_of([&] { return x.gelu(); }), (Names{"gelu_256"}));
  EXPECT_EQ(names_of([&] { return x.sigmoid(); }), (Names{"sigmoid_256"}));
  EXPECT_EQ(names_of([&] { return x.silu(); }), (Names{"silu_256"}));
  EXPECT_EQ(names_of([&] { return x.relu(); }), (Names{"relu_256"}));
  EXPECT_EQ(names_of([&] { return x.abs(); }), (Names{"abs_256"}));
  EXPECT_EQ(names_of([&] { return x.rsqrt(); }), (Names{"rsqrt_256"}));
  EXPECT_EQ(names_of([&] { return x.square(); }), (Names{"square_256"}));
  EXPECT_EQ(names_of([&] { return x / (x + 1); }), (Names{"add_div_256"}));
}

TEST(KernelNames, Moves) {
  Tensor x = memory({8, 32}), rows = Tensor::of({1, 7});
  EXPECT_EQ(names_of([&] { return x.transpose().contiguous(); }), (Names{"permute_32_8"}));
  EXPECT_EQ(names_of([&] { return x.pad({{0, 0}, {1, 1}}); }), (Names{"pad_8_34"}));
  EXPECT_EQ(names_of([&] { return x.flip({0}).contiguous(); }), (Names{"flip_8_32"}));
  EXPECT_EQ(names_of([&] { return x.cast(dtypes::f16); }), (Names{"cast_256"}));
  EXPECT_EQ(names_of([&] { return Tensor::cat({x, x + 1}); }), (Names{"add_cat_16_32"}));
  EXPECT_EQ(names_of([&] { return x[{rows}]; }), (Names{"gather_2_32"}));
  EXPECT_EQ(names_of([&] { return Tensor::ones({100}).contiguous(); }), (Names{"fill_100"}));
  EXPECT_EQ(names_of([&] { return Tensor::arange(100); }), (Names{"index_100"}));
  EXPECT_EQ(names_of([&] { return Tensor::rand({100}); }), (Names{"random_100"}));
}

}  // namespace
}  // namespace doorbell
