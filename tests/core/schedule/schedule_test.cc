// What the scheduler makes of small graphs: how many kernels, and that they compute the right
// values.
#include "core/schedule/schedule.h"

#include <gtest/gtest.h>

#include "core/uop/print.h"
#include "tests/core/schedule/tensor_reference.h"

namespace doorbell::core {
namespace {
using namespace test;  // NOLINT

void expect_matches(std::initializer_list<UOpRef> roots, usize kernels,
                    const ScheduleOptions& options = {}) {
  Scheduled got = schedule_and_run(roots, options);
  EXPECT_EQ(got.kernels, kernels);
  ASSERT_EQ(got.outputs.size(), roots.size());
  usize i = 0;
  for (const UOpRef& root : roots) expect_equal(got.outputs[i++], reference(*root));
}

TEST(Schedule, ElementwiseIsOneKernel) {
  UOpRef a = buffer({8, 4}), b = buffer({8, 4});
  expect_matches({unary(Op::Neg, mul(add(a, b), a))}, 1);
}

TEST(Schedule, BroadcastsWithoutExpand) {
  UOpRef a = buffer({8, 1}), b = buffer({4}), c = buffer({2, 8, 4});
  expect_matches({add(mul(a, b), c)}, 1);
}

TEST(Schedule, ReductionWithEpilogue) {
  UOpRef a = buffer({6, 10});
  expect_matches({unary(Op::Neg, sum(a, 2))}, 1);
  expect_matches({reduce(Op::Max, a, 1)}, 1);
  expect_matches({sum(a, 3)}, 1);
}

TEST(Schedule, Matmul) {
  UOpRef a = buffer({5, 7}), b = buffer({7, 6});
  expect_matches({matmul(a, b)}, 1);
}

TEST(Schedule, SoftmaxIsThreeKernels) { expect_matches({softmax(buffer({4, 9}))}, 3); }

UOpRef layernorm(const UOpRef& x) {
  i64 n = x->dim(1).value();
  UOpRef mean = mul(sum(x, 2), constant(1.0 / static_cast<f64>(n)));
  UOpRef centred = binary(Op::Sub, x, mean);
  UOpRef variance = mul(sum(mul(centred, centred), 2), constant(1.0 / static_cast<f64>(n)));
  UOpRef scale = unary(Op::Recip, unary(Op::Sqrt, add(variance, constant(1e-5))));
  return add(mul(mul(centred, scale), buffer({n})), buffer({n}));
}

TEST(Schedule, LayernormIsThreeKernels) { expect_matches({layernorm(buffer({4, 16}))}, 3); }

TEST(Schedule, RowsFuseWhereOutputLoopsNest) {
  ScheduleOptions rows;
  rows.fuse_rows = true;
  expect_matches({softmax(buffer({20, 9}))}, 1, rows);
  expect_matches({layernorm(buffer({20, 16}))}, 1, rows);
  UOpRef e = unary(Op::Exp2, mul(buffer({20, 9}), constant(0.125)));
  expect_matches({binary(Op::FDiv, e, sum(e, 2))}, 1, rows);
  // Over the first axis, the rows are inner loops: every element would need its column's sum.
  UOpRef a = buffer({20, 9});
  expect_matches({mul(a, expand(sum(a, 1), {20, 9}))}, 2, rows);
  // A matrix product keeps its loop to itself.
  UOpRef b = buffer({20, 5}), c = buffer({5, 9});
  UOpRef product = matmul(b, c);
  expect_matches({softmax(product)}, 2, rows);
  expect_matches({mul(product, expand(sum(b, 2), {20, 9}))}, 2, rows);
}

// 3x3 convolution with padding, spelled with movement ops only.
UOpRef conv(const UOpRef& x, const UOpRef& w) {
  Sizes s = shape_of(*x), k = shape_of(*w);  // [n, c, h, w], [o, c, 3, 3]
  i64 n = s[0], c = s[1], h = s[2], v = s[3], o = k[0];
  UOpRef p = pad(x, {{0, 0}, {0, 0}, {1, 1}, {1, 1}});
  // Windows: repeat 3 times along each axis, cut so that every repeat is shifted by one more.
  p = expand(reshape(p, {n, c, 1, h + 2, 1, v + 2}), {n, c, 3, h + 2, 3, v + 2});
  p = reshape(p, {n, c, 3 * (h + 2), 3 * (v + 2)});
  p = pad(p, {{0, 0}, {0, 0}, {0, 3}, {0, 3}});
  p = shrink(p, {{0, n}, {0, c}, {0, 3 * (h + 3)}, {0, 3 * (v + 3)}});
  p = reshape(p, {n, c, 3, h + 3, 3, v + 3});
  p = shrink(p, {{0, n}, {0, c}, {0, 3}, {0, h}, {0, 3}, {0, v}});
  p = reshape(permute(p, {0, 1, 3, 5, 2, 4}), {n, 1, c, h, v, 3, 3});
  p = expand(p, {n, o, c, h, v, 3, 3});
  UOpRef weights = expand(reshape(w, {1, o, c, 1, 1, 3, 3}), {n, o, c, h, v, 3, 3});
  return reshape(sum(mul(p, weights), 1 << 2 | 1 << 5 | 1 << 6), {n, o, h, v});
}

TEST(Schedule, Convolution) {
  UOpRef x = buffer({2, 3, 5, 4}), w = buffer({4, 3, 3, 3});
  expect_matches({conv(x, w)}, 1);
  // The activation goes with the first convolution; the second reads memory.
  UOpRef w2 = buffer({2, 4, 3, 3});
  expect_matches({conv(binary(Op::Max, conv(x, w), constant(0)), w2)}, 2);
}

// A pooled convolution: small ones stay one kernel, large ones keep their outputs in parallel.
TEST(Schedule, LargeNestedReductionsAreStored) {
  UOpRef x = buffer({2, 3, 5, 4}), w = buffer({4, 3, 3, 3});
  UOpRef pooled = sum(binary(Op::Max, conv(x, w), constant(0)), 12);
  expect_matches({pooled}, 1);
  ScheduleOptions apart;
  apart.max_nested_work = 100;
  expect_matches({pooled}, 2, apart);
}

// A border around what is made of a reduction, and reductions side by side: none is computed where
// it has no elements.
TEST(Schedule, PaddedReductionsAreStored) {
  UOpRef a = buffer({8, 40}), b = buffer({40, 8}), c = buffer({40, 8});
  UOpRef activation = binary(Op::Max, matmul(a, b), constant(0));
  expect_matches({pad(activation, {{1, 1}, {1, 1}})}, 2);
  UOpRef left = pad(matmul(a, b), {{0, 0}, {0, 8}}), right = pad(matmul(a, c), {{0, 0}, {8, 0}});
  expect_matches({add(left, right)}, 1);  // they are small
  UOpRef d = buffer({64, 64}), e = buffer({64, 64}), f = buffer({64, 64});
  left = pad(matmul(d, e), {{0, 0}, {0, 64}}), right = pad(matmul(d, f), {{0, 0}, {64, 0}});
  expect_matches({add(left, right)}, 3);
}

// A contraction reads an operand again and again: it is made once, unless it is of one value.
TEST(Schedule, OperandsOfContractionsAreOfOneValue) {
  UOpRef a = buffer({8, 9}), b = buffer({8, 9}), w = buffer({9, 7});
  expect_matches({matmul(binary(Op::Max, a, constant(0)), w)}, 1);
  expect_matches({matmul(mul(a, b), w)}, 2);
}

// A kernel has one plan of tiles: large products that are added are a kernel each.
TEST(Schedule, LargeProductsAreKernelsOfTheirOwn) {
  const auto sum_of_products = [](i64 n, i64 depth) {
    return add(matmul(buffer({n, n}), buffer({n, n})),
               matmul(buffer({n, depth}), buffer({depth, n})));
  };
  expect_matches({sum_of_products(8, 8)}, 1);
  EXPECT_EQ(kernel_count({sum_of_products(512, 512)}, {}), 2u);
  EXPECT_EQ(kernel_count({sum_of_products(512, 8)}, {}), 1u);
}

// Two products read a value in another order than it is made in: it is stored in theirs.
TEST(Schedule, ValuesAreStoredInTheOrderOfTheirReaders) {
  UOpRef x = buffer({3, 4, 5}), y = buffer({3, 4, 5}), z = buffer({3, 4, 5}), w = buffer({3, 4, 5});
  UOpRef all = add(mul(x, y), mul(z, w));
  UOpRef moved = reshape(permute(all, {1, 0, 2}), {4, 15});
  UOpRef v = buffer({15, 6}), u = buffer({6, 4});
  Scheduled got = schedule_and_run({matmul(moved, v), matmul(u, moved)});
  ASSERT_EQ(got.kernels, 3u);
  expect_equal(got.outputs[0], reference(*matmul(moved, v)));
  const std::string text =
      print(*got.schedule.items[1].ast->arena, got.schedule.items[1].ast->sink);
  EXPECT_EQ(text.find("FloorDiv"), std::string::npos) << text;
}

// The sums of a row that are far longer than the row are a kernel of their own.
TEST(Schedule, LongReductionsAreNotOfARow) {
  ScheduleOptions rows;
  rows.fuse_rows = true;
  UOpRef x = buffer({64, 4}), long_rows = buffer({64, 4096}), short_rows = buffer({64, 32});
  expect_matches({mul(x, sum(short_rows, 2))}, 1, rows);
  expect_matches({mul(x, sum(long_rows, 2))}, 2, rows);
}

TEST(Schedule, MovesFuse) {
  UOpRef a = buffer({4, 6});
  expect_matches({shrink(flip(permute(a, {1, 0}), 1), {{1, 5}, {0, 3}})}, 1);
  expect_matches({add(pad(a, {{1, 2}, {0, 3}}), constant(1))}, 1);
}

TEST(Schedule, ConsumersThatReadAlikeShare) {
  UOpRef a = buffer({4, 4});
  UOpRef e = unary(Op::Exp2, mul(a, constant(0.125)));
  expect_matches({add(e, mul(e, e))}, 1);
}

TEST(Schedule, ConsumersThatReadDifferentlyComputeCheapValuesAgain) {
  UOpRef a = buffer({4, 4});
  UOpRef d = add(a, a);
  expect_matches({add(d, permute(d, {1, 0}))}, 1);
}

TEST(Schedule, ReductionWithTwoReadersIsStored) {
  UOpRef a = buffer({6, 6, 5});
  UOpRef s = reshape(sum(a, 4), {6, 6});
  expect_matches({add(s, permute(s, {1, 0}))}, 2);
}

TEST(Schedule, ContiguousIsStored) {
  UOpRef a = buffer({4, 4});
  expect_matches({permute(contiguous(add(a, a)), {1, 0})}, 2);
  // What is stored already is not stored again.
  expect_matches({add(contiguous(a), a)}, 1);
  expect_matches({add(contiguous(reshape(a, {16})), constant(1))}, 1);
}

TEST(Schedule, SeveralRoots) {
  UOpRef a = buffer({4, 4});
  UOpRef d = add(a, a), e = mul(d, a);
  expect_matches({d, sum(e, 1)}, 2);
  // The same node twice; a view of another root; an input; a constant.
  expect_matches({d, d}, 1);
  expect_matches({d, reshape(d, {16})}, 1);
  expect_matches({a}, 1);
  expect_matches({expand(reshape(constant(2), {1, 1}), {3, 2})}, 1);
}

// One step of an optimiser: three values of the same shape, from the same memory and one another.
TEST(Schedule, ElementwiseKernelsOverTheSameMemoryMerge) {
  UOpRef w = buffer({4, 4}), g = buffer({4, 4}), m = buffer({4, 4}), v = buffer({4, 4});
  UOpRef m1 = add(mul(m, constant(0.9)), mul(g, constant(0.1)));
  UOpRef v1 = add(mul(v, constant(0.99)), mul(mul(g, g), constant(0.01)));
  UOpRef scale = unary(Op::Recip, add(unary(Op::Sqrt, v1), constant(1e-8)));
  UOpRef w1 = binary(Op::Sub, w, mul(m1, scale));
  expect_matches({w1, m1, v1}, 1);
  Scheduled got = schedule_and_run({w1, m1, v1});
  EXPECT_EQ(got.schedule.items[0].ast->output_count, 3u);
  EXPECT_EQ(got.schedule.items[0].buffers.size(), 7u);
  ScheduleOptions apart;
  apart.merge_kernels = false;
  expect_matches({w1, m1, v1}, 3, apart);
  // Of several parameters in one kernel, as far as its limit of buffers allows.
  UOpRef more[4];
  for (UOpRef& x : more) x = buffer({4, 4});
  UOpRef other = add(mul(more[0], constant(0.9)), mul(more[1], constant(0.1)));
  UOpRef w2 = binary(Op::Sub, more[2], mul(other, more[3]));
  expect_matches({w1, m1, v1, w2, other}, 1);
  ScheduleOptions few;
  few.max_buffers = 8;
  expect_matches({w1, m1, v1, w2, other}, 2, few);
  // What takes longer than its launch merges over the same memory only; nor do other loops merge.
  UOpRef large = buffer({65537}), apart_from = buffer({65537});
  EXPECT_EQ(schedule_and_run({add(large, large), mul(apart_from, apart_from)}).kernels, 2u);
  expect_matches({add(w, w), mul(buffer({4, 5}), constant(2))}, 2);
  // Not where a value is read elsewhere than it was stored, or after a reduction of it.
  expect_matches({m1, add(m1, permute(m1, {1, 0}))}, 2);
  expect_matches({m1, mul(m1, sum(m1, 3))}, 3);
}

// The sums that a norm's gradients need, and what is made of them.
TEST(Schedule, ReductionsOfTheSameElementsMerge) {
  ScheduleOptions apart;
  apart.merge_kernels = false;
  UOpRef x = buffer({6, 10}), g = buffer({6, 10});
  UOpRef bias = sum(g, 2), weight = sum(mul(x, g), 2);
  expect_matches({bias, weight}, 1);
  expect_matches({bias, weight}, 2, apart);
  expect_matches({bias, weight, mul(bias, weight)}, 1);
  // One needs the other's result; they run over other loops, or over other elements.
  UOpRef centred = binary(Op::Sub, x, sum(x, 2));
  expect_matches({sum(x, 2), sum(mul(centred, centred), 2)}, 2);
  expect_matches({sum(x, 1), sum(x, 2)}, 2);
  expect_matches({sum(x, 2), sum(mul(g, buffer({6, 10})), 2)}, 2);
  // Products have plans of their own.
  UOpRef b = buffer({10, 7});
  expect_matches({matmul(x, b), matmul(g, b)}, 2);
}

// A product is stored with what is made of it.
TEST(Schedule, ContractionsTakeInWhatIsMadeOfTheirResults) {
  UOpRef x = buffer({6, 10}), y = buffer({10, 7}), m = buffer({6, 7}), w = buffer({6, 7});
  UOpRef product = matmul(x, y);
  UOpRef m1 = add(mul(m, constant(0.9)), mul(product, constant(0.1)));
  UOpRef v1 = mul(product, product), w1 = binary(Op::Sub, w, mul(m1, v1));
  expect_matches({m1, v1, w1}, 1);
  expect_matches({product, m1, v1, w1}, 1);
  // Not what reads it elsewhere, reduces it, needs what is stored later, or reads its operands.
  UOpRef z = matmul(permute(y, {1, 0}), permute(x, {1, 0}));
  expect_matches({product, add(m, permute(z, {1, 0}))}, 2);
  expect_matches({product, sum(product, 2)}, 2);
  expect_matches({product, add(product, expand(sum(product, 3), {6, 7}))}, 3);
  UOpRef square = buffer({6, 6});
  expect_matches({matmul(square, square), mul(square, square)}, 2);
}

// What only the merged kernel would read is not stored.
TEST(Schedule, MergedTemporariesAreNotStored) {
  UOpRef inputs[4];
  for (UOpRef& input : inputs) input = buffer({4, 4});
  UOpRef big = add(add(inputs[0], inputs[1]), add(inputs[2], inputs[3]));
  UOpRef stored = contiguous(big);
  UOpRef root = mul(stored, inputs[0]);
  Scheduled got = schedule_and_run({root});
  ASSERT_EQ(got.kernels, 1u);
  EXPECT_EQ(got.schedule.items[0].buffers.size(), 5u);
  expect_equal(got.outputs[0], reference(*root));
}

TEST(Schedule, AssignIsAFreshValue) {
  UOpRef a = buffer({4, 4}), b = buffer({4, 4});
  UOpRef version = assign(a, add(permute(a, {1, 0}), b));
  expect_matches({version, add(permute(version, {1, 0}), a)}, 2);
}

TEST(Schedule, CopiesReadMemory) {
  UOpRef a = buffer({4, 4}), b = buffer({4, 4}, dtypes::f32, 1);
  UOpRef moved = copy(add(a, a), 1);
  Scheduled got = schedule_and_run({add(moved, b)});
  EXPECT_EQ(got.kernels, 2u);
  EXPECT_EQ(got.copies, 1u);
  EXPECT_EQ(got.schedule.items[1].device, 1);
  EXPECT_EQ(got.schedule.items[2].device, 1);
  expect_equal(got.outputs[0], reference(*add(moved, b)));
  // To where it is already, and of constants, nothing is copied.
  EXPECT_EQ(schedule_and_run({add(copy(a, 0), constant(1))}).copies, 0u);
  EXPECT_EQ(schedule_and_run({add(b, copy(constant(1), 1))}).copies, 0u);
}

TEST(Schedule, LongReductionIsSplit) {
  UOpRef a = buffer({1 << 16});
  expect_matches({sum(a, 1)}, 2);
  ScheduleOptions whole;
  whole.split_reduce = false;
  expect_matches({sum(a, 1)}, 1, whole);
  // Enough results keep the target busy by themselves.
  ScheduleOptions busy;
  busy.split_below = 4;
  UOpRef rows = buffer({4, 1 << 16});
  expect_matches({sum(rows, 2)}, 2);
  expect_matches({sum(rows, 2)}, 1, busy);
  // Broadcast data is not worth splitting.
  expect_matches({sum(expand(reshape(buffer({4}), {4, 1}), {4, 1 << 16}), 2)}, 1);
}

TEST(Schedule, DepthOfAProductIsSplit) {
  std::vector<ProductShape> asked;
  ScheduleOptions options;
  i64 parts = 1;
  options.depth_parts = [&](const ProductShape& product) {
    asked.push_back(product);
    return parts;
  };
  UOpRef a = buffer({5, 12}), b = buffer({12, 6});
  expect_matches({matmul(a, b)}, 1, options);
  parts = 4;
  expect_matches({matmul(a, b)}, 2, options);
  expect_matches({unary(Op::Neg, matmul(a, permute(buffer({6, 12}), {1, 0})))}, 2, options);
  ASSERT_EQ(asked.size(), 3u);
  for (const ProductShape& p : asked) {
    EXPECT_EQ(p.batches, 1);
    EXPECT_EQ(p.rows, 5);
    EXPECT_EQ(p.columns, 6);
    EXPECT_EQ(p.depth, 12);
    EXPECT_EQ(p.operand, dtypes::f32);
    EXPECT_EQ(p.sum, dtypes::f32);
    EXPECT_TRUE(p.rows_by_depth);
  }
  EXPECT_FALSE(asked[0].columns_by_depth);
  EXPECT_TRUE(asked[2].columns_by_depth);
  // Products of the same rows, and sums of several axes, are not asked about.
  UOpRef x = buffer({4, 8}), y = buffer({4, 8});
  expect_matches({sum(mul(x, y), 2)}, 1, options);
  expect_matches({sum(mul(x, buffer({4, 1})), 3)}, 1, options);
  EXPECT_EQ(asked.size(), 3u);
}

TEST(Schedule, EmptyValues) {
  UOpRef a = buffer({4, 0}), b = buffer({4, 1});
  expect_matches({add(a, constant(1))}, 0);
  expect_matches({add(sum(a, 2), b)}, 1);
}

TEST(Schedule, EqualKernelsAreShared) {
  UOpRef a = buffer({4, 9}), b = buffer({4, 9});
  Scheduled got = schedule_and_run({softmax(a), softmax(b)});
  ASSERT_EQ(got.kernels, 6u);
  EXPECT_EQ(got.schedule.items[0].ast, got.schedule.items[3].ast);
  EXPECT_EQ(got.schedule.items[2].ast, got.schedule.items[5].ast);
  EXPECT_NE(got.schedule.items[0].ast, got.schedule.items[1].ast);
}

TEST(Schedule, KeysAreOfStructure) {
  UOpRef a = buffer({4, 9}), b = buffer({4, 9}), c = buffer({9, 4});
  auto first = [](const UOpRef& root) { return schedule_and_run({root}).schedule.items[0].ast; };
  auto x = first(add(a, b)), y = first(add(b, a)), z = first(add(c, c));
  EXPECT_EQ(x->key, y->key);
  EXPECT_TRUE(same_kernel(*x, *y));
  EXPECT_NE(x->key, z->key);
  EXPECT_FALSE(same_kernel(*x, *z));
}

TEST(Schedule, SymbolicWindow) {
  UOpRef a = buffer({10, 4}), n = variable("n", 6, 10), start = variable("start", 2, 4);
  // Rows start .. start + n of a, doubled and summed over the rows.
  UOp srcs[] = {*a, *start, *n};
  i64 args[] = {kDynamicDim + 0, kDynamicDim + 1, 0, 4};
  UOpRef window = TensorGraph::make(Op::Shrink, dtypes::f32, srcs, args);
  UOpRef doubled = add(window, window);
  UOpRef total = sum(doubled, 1);
  Scheduled got = schedule_and_run({total});
  EXPECT_EQ(got.kernels, 1u);
  std::map<i64, i64> variables{{intern_name("n"), 6}, {intern_name("start"), 2}};
  expect_equal(got.outputs[0], reference(*total, variables));
  EXPECT_EQ(got.schedule.items[0].ast->variables.size(), 2u);
}

TEST(Schedule, ManyBuffersAreCut) {
  UOpRef total = buffer({4});
  for (int i = 0; i < 99; ++i) total = add(total, buffer({4}));
  Scheduled got = schedule_and_run({total});
  for (const ScheduleItem& item : got.schedule.items) EXPECT_LE(item.buffers.size(), 31u);
  EXPECT_EQ(got.kernels, 4u);
  expect_equal(got.outputs[0], reference(*total));
}

// A table looked up by a one-hot product: the sum over all rows becomes one load, and no arange or
// one-hot matrix is stored.
TEST(Schedule, EmbeddingIsAGather) {
  UOpRef table = buffer({32768, 4}), rows = buffer({3}, dtypes::i32);
  UOpRef ids = reshape(arange(32768), {1, 32768, 1});
  UOpRef hit = binary(Op::CmpEq, reshape(rows, {3, 1, 1}), ids);
  UOpRef one_hot = where(hit, constant(1), constant(0));
  UOpRef product = mul(one_hot, reshape(table, {1, 32768, 4}));
  UOpRef found = reshape(sum(product, 2), {3, 4});
  UOp root = *found;
  Schedule schedule = make_schedule({&root, 1});
  ASSERT_EQ(schedule.items.size(), 1u);
  std::string text = print(*schedule.items[0].ast->arena, schedule.items[0].ast->sink);
  EXPECT_EQ(text.find("Reduce"), std::string::npos) << text;
}

TEST(Schedule, KernelText) {
  UOpRef a = buffer({4, 6});
  Scheduled got = schedule_and_run({sum(mul(a, a), 2)});
  EXPECT_EQ(print(*got.schedule.items[0].ast->arena, got.schedule.items[0].ast->sink),
            "%0 = Param:f32 {0, 4}\n"
            "%1 = Const:index 4\n"
            "%2 = Range:index(%1) {0, loop}\n"
            "%3 = Index:f32(%0, %2)\n"
            "%4 = Param:f32 {1, 24}\n"
            "%5 = Const:index 6\n"
            "%6 = Mul:index(%2, %5)\n"
            "%7 = Range:index(%5) {1, reduce}\n"
            "%8 = Add:index(%6, %7)\n"
            "%9 = Index:f32(%4, %8)\n"
            "%10 = Load:f32(%9)\n"
            "%11 = Mul:f32(%10, %10)\n"
            "%12 = Reduce:f32(%11, %7) {Add, 0}\n"
            "%13 = Store:void(%3, %12)\n"
            "%14 = End:void(%13, %2)\n"
            "%15 = Sink:void(%14)\n");
}

// A value read both inside and outside a reduction, at a place that does not vary with its loop,
// but masked by a condition that does: the mask stays inside.
TEST(Schedule, MaskStaysInsideItsLoop) {
  UOpRef a = buffer({3});
  UOpRef one = shrink(a, {{1, 2}});
  UOpRef padded = pad(one, {{2, 3}});
  expect_matches({binary(Op::Sub, sum(padded, 1), one)}, 1);
}

}  // namespace
}  // namespace doorbell::core
