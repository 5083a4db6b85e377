// Which graphs have equal keys, how inputs and variables are numbered, and the order for importing.
#include "core/schedule/graph_key.h"

#include <bit>

#include <gtest/gtest.h>

namespace doorbell::core {
namespace {

UOpRef buffer(std::initializer_list<i64> shape, DType dtype = dtypes::f32, i64 device = 0) {
  static i64 next = 1000;
  std::vector<i64> args{next++, 0, device};
  args.insert(args.end(), shape);
  return TensorGraph::make(Op::Buffer, dtype, {}, args);
}
UOpRef binary(Op op, const UOpRef& a, const UOpRef& b) {
  return TensorGraph::make(op, a->dtype(), {*a, *b});
}
UOpRef add(const UOpRef& a, const UOpRef& b) { return binary(Op::Add, a, b); }
UOpRef bound(const char* name, i64 value, i64 max = 10) {
  UOpRef variable = TensorGraph::make(Op::Variable, dtypes::index, {}, {intern_name(name), 1, max});
  UOpRef constant = TensorGraph::make(Op::Const, dtypes::index, {}, {value});
  return TensorGraph::make(Op::Bind, dtypes::index, {*variable, *constant});
}

// The roots are owned by the caller: the walk must not depend on how often.
GraphKey key_of(std::initializer_list<UOpRef> owned, bool with_order = false) {
  std::vector<UOp> roots;
  for (const UOpRef& root : owned) roots.push_back(*root);
  GraphKey key;
  key.walk(roots, with_order);
  return key;
}
bool same(const GraphKey& a, const GraphKey& b) {
  EXPECT_EQ(a.words == b.words, a.hash == b.hash);
  return a.words == b.words;
}

TEST(GraphKey, BuffersAreParameters) {
  UOpRef a = buffer({4, 8}), b = buffer({4, 8}), c = buffer({4, 8}), d = buffer({4, 8});
  UOpRef ab = add(a, b), cd = add(c, d);
  GraphKey first = key_of({ab}), second = key_of({cd});
  EXPECT_TRUE(same(first, second));
  EXPECT_EQ(first.inputs, (std::vector<UOp>{*a, *b}));
  EXPECT_EQ(second.inputs, (std::vector<UOp>{*c, *d}));
}

TEST(GraphKey, SharingShapeTypeAndDeviceCount) {
  UOpRef a = buffer({4, 8}), b = buffer({4, 8});
  UOpRef ab = add(a, b), aa = add(a, a), ba = add(b, a);
  EXPECT_FALSE(same(key_of({ab}), key_of({aa})));
  EXPECT_TRUE(same(key_of({ab}), key_of({ba})));
  EXPECT_EQ(key_of({aa}).inputs.size(), 1u);
  UOpRef other = buffer({8, 4}), wide = buffer({4, 8}, dtypes::f64);
  UOpRef far = buffer({4, 8}, dtypes::f32, 1);
  EXPECT_FALSE(same(key_of({aa}), key_of({add(other, other)})));
  EXPECT_FALSE(same(key_of({aa}), key_of({add(wide, wide)})));
  EXPECT_FALSE(same(key_of({aa}), key_of({add(far, far)})));
  EXPECT_FALSE(same(key_of({ab}), key_of({binary(Op::Sub, a, b)})));
}

TEST(GraphKey, SharedInteriorNodesAreNotCopies) {
  UOpRef a = buffer({4}), b = buffer({4}), c = buffer({4});
  UOpRef shared, apart;
  {
    // Both graphs have only their roots owned from outside.
    UOpRef ab = add(a, b), ac = add(a, c);
    shared = add(ab, ab);
    apart = add(ab, ac);
  }
  EXPECT_FALSE(same(key_of({shared}), key_of({apart})));
  UOpRef d = buffer({4}), e = buffer({4});
  UOpRef de = add(d, e);
  EXPECT_TRUE(same(key_of({shared}), key_of({add(de, de)})));
}

TEST(GraphKey, WhoElseHoldsANodeDoesNotCount) {
  UOpRef a = buffer({4}), b = buffer({4});
  UOpRef inner = add(a, b), use = binary(Op::Mul, inner, a);
  GraphKey held = key_of({use});
  inner = {};
  EXPECT_TRUE(same(held, key_of({use})));
}

TEST(GraphKey, ConstantsAndArgumentsCount) {
  UOpRef a = buffer({4, 8});
  UOpRef one = TensorGraph::make(Op::Const, dtypes::f32, {}, {std::bit_cast<i64>(1.0)});
  UOpRef two = TensorGraph::make(Op::Const, dtypes::f32, {}, {std::bit_cast<i64>(2.0)});
  EXPECT_FALSE(same(key_of({add(a, one)}), key_of({add(a, two)})));
  UOpRef rows = TensorGraph::make(Op::Reshape, dtypes::f32, {*a}, {32});
  UOpRef columns = TensorGraph::make(Op::Reshape, dtypes::f32, {*a}, {32, 1});
  EXPECT_FALSE(same(key_of({rows}), key_of({columns})));
}

TEST(GraphKey, RootsAreInOrderAndMayRepeat) {
  UOpRef a = buffer({4}), b = buffer({4});
  UOpRef sum = add(a, b), difference = binary(Op::Sub, a, b);
  EXPECT_FALSE(same(key_of({sum, difference}), key_of({difference, sum})));
  EXPECT_FALSE(same(key_of({sum}), key_of({sum, sum})));
  // One owner, asked for twice.
  UOp twice[] = {*sum, *sum};
  GraphKey key;
  key.walk(twice, true);
  EXPECT_EQ(key.order.size(), 3u);
  UOpRef total = add(sum, difference);
  EXPECT_FALSE(same(key_of({total}), key_of({total, sum})));
  EXPECT_EQ(key_of({total, sum}, true).order.size(), 5u);
}

TEST(GraphKey, ARealizedNodeStandsForItsBuffer) {
  UOpRef a = buffer({4}), b = buffer({4}), held = buffer({4});
  UOpRef sum = add(a, b), use = add(sum, a);
  UOpRef plain = add(held, a);
  EXPECT_FALSE(same(key_of({use}), key_of({plain})));
  TensorGraph::set_realized(*sum, *held);
  GraphKey key = key_of({use}, true);
  EXPECT_TRUE(same(key, key_of({plain})));
  EXPECT_EQ(key.inputs, (std::vector<UOp>{*held, *a}));
  ASSERT_EQ(key.order.size(), 3u);
  EXPECT_EQ(key.order[0].node, *sum);
  EXPECT_EQ(key.order[0].input, 0);
  EXPECT_EQ(key.order[1].node, *a);
  EXPECT_EQ(key.order[1].input, 1);
  EXPECT_EQ(key.order[2].node, *use);
  EXPECT_EQ(key.order[2].input, -1);
}

TEST(GraphKey, TwoNodesInOneBufferAreOneInput) {
  UOpRef a = buffer({4}), held = buffer({4});
  UOpRef sum = add(a, a), copy = TensorGraph::make(Op::Contiguous, dtypes::f32, {*sum});
  TensorGraph::set_realized(*sum, *held);
  TensorGraph::set_realized(*copy, *held);
  UOpRef use = add(sum, copy), plain = add(held, held);
  EXPECT_EQ(key_of({use}).inputs.size(), 1u);
  EXPECT_TRUE(same(key_of({use}), key_of({plain})));
}

TEST(GraphKey, BoundValuesAreNotPartOfIt) {
  UOpRef a = buffer({10});
  auto window = [&](const UOpRef& size) {
    return TensorGraph::make(Op::Shrink, dtypes::f32, {*a, *size}, {0, kDynamicDim});
  };
  UOpRef three = bound("graph_key_n", 3), four = bound("graph_key_n", 4);
  UOpRef other = bound("graph_key_m", 3), wider = bound("graph_key_n", 3, 9);
  GraphKey first = key_of({window(three)}), second = key_of({window(four)});
  EXPECT_TRUE(same(first, second));
  ASSERT_EQ(second.variables.size(), 1u);
  EXPECT_EQ(interned_name(second.variables[0].name), "graph_key_n");
  EXPECT_EQ(second.variables[0].value, 4);
  EXPECT_FALSE(same(first, key_of({window(other)})));
  EXPECT_FALSE(same(first, key_of({window(wider)})));
  EXPECT_EQ(first.conflict, -1);
  GraphKey both = key_of({window(three), window(four)});
  EXPECT_EQ(both.conflict, intern_name("graph_key_n"));
}

TEST(GraphKey, OrderIsSourcesFirst) {
  UOpRef a = buffer({4}), b = buffer({4});
  UOpRef sum = add(a, b), product = binary(Op::Mul, sum, a), last = add(product, sum);
  GraphKey key = key_of({last}, true);
  ASSERT_EQ(key.order.size(), 5u);
  UOp expected[] = {*a, *b, *sum, *product, *last};
  for (usize i = 0; i < 5; ++i) EXPECT_EQ(key.order[i].node, expected[i]) << i;
}

TEST(GraphKey, AMillionNodesDeep) {
  UOpRef a = buffer({4}), chain = a;
  for (int i = 0; i < 1'000'000; ++i) chain = TensorGraph::make(Op::Neg, dtypes::f32, {*chain});
  GraphKey key = key_of({chain}, true);
  EXPECT_EQ(key.order.size(), 1'000'001u);
  EXPECT_EQ(key.inputs.size(), 1u);
  // A wide graph that grows the table: all inputs distinct.
  std::vector<UOpRef> wide;
  UOpRef total = a;
  for (int i = 0; i < 5000; ++i) {
    wide.push_back(buffer({4}));
    total = add(total, wide.back());
  }
  EXPECT_EQ(key_of({total}).inputs.size(), 5001u);
}

TEST(GraphKey, IsReusable) {
  UOpRef a = buffer({4}), b = buffer({4});
  UOpRef sum = add(a, b), twice = add(sum, sum);
  GraphKey key;
  UOp root = *twice;
  key.walk({&root, 1});
  const std::vector<u64> words = key.words;
  for (int i = 0; i < 3; ++i) {
    key.walk({&root, 1});
    EXPECT_EQ(key.words, words);
    EXPECT_EQ(key.inputs.size(), 2u);
  }
}

}  // namespace
}  // namespace doorbell::core
