// The interpreter on small kernels whose results are written down by hand.
#include "core/eval/interpret.h"

#include <gtest/gtest.h>

#include "base/util/error.h"
#include "core/eval/eval_graph.h"

namespace doorbell::core {
namespace {

struct Graph {
  Arena arena;
  UOp param(i64 slot, DType t, i64 count) { return arena.make(Op::Param, t, {}, {slot, count}); }
  UOp range(i64 id, i64 size, AxisType type = AxisType::Loop) {
    return arena.range(id, type, size);
  }
  UOp add(UOp a, UOp b) { return arena.make(Op::Add, a.dtype(), {a, b}); }
  UOp mul(UOp a, UOp b) { return arena.make(Op::Mul, a.dtype(), {a, b}); }
  UOp index(UOp p, UOp at) { return arena.make(Op::Index, p.dtype(), {p, at}); }
  UOp load(UOp p, UOp at) { return arena.make(Op::Load, p.dtype(), {index(p, at)}); }
  UOp store(UOp p, UOp at, UOp v) {
    return arena.make(Op::Store, dtypes::void_, {index(p, at), v});
  }
  UOp sum(UOp v, UOp r) {
    return arena.make(Op::Reduce, v.dtype(), {v, r}, {static_cast<i64>(Op::Add), 0});
  }
  UOp end(UOp s, std::initializer_list<UOp> ranges) {
    std::vector<UOp> srcs{s};
    srcs.insert(srcs.end(), ranges);
    return arena.make(Op::End, dtypes::void_, srcs);
  }
  UOp sink(std::initializer_list<UOp> ends) { return arena.make(Op::Sink, dtypes::void_, ends); }
};

TEST(Interpret, MultipliesMatrices) {
  Graph g;
  UOp i = g.range(0, 2), j = g.range(1, 2), k = g.range(2, 3, AxisType::Reduce);
  UOp a = g.param(1, dtypes::f32, 6), b = g.param(2, dtypes::f32, 6),
      c = g.param(0, dtypes::f32, 4);
  UOp product = g.mul(g.load(a, g.add(g.mul(i, g.arena.index(3)), k)),
                      g.load(b, g.add(g.mul(k, g.arena.index(2)), j)));
  UOp sink =
      g.sink({g.end(g.store(c, g.add(g.mul(i, g.arena.index(2)), j), g.sum(product, k)), {i, j})});
  f32 out[4] = {}, x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {7, 8, 9, 10, 11, 12};
  interpret(sink, std::array<void*, 3>{out, x, y}, {}, {});
  EXPECT_EQ(out[0], 58);
  EXPECT_EQ(out[1], 64);
  EXPECT_EQ(out[2], 139);
  EXPECT_EQ(out[3], 154);
}

// The inner sum runs inside the outer one and both use the same Range and the same load.
TEST(Interpret, KeepsNestedLoopsOverOneRangeApart) {
  Graph g;
  UOp i = g.range(0, 2), k = g.range(1, 3, AxisType::Reduce), m = g.range(2, 2, AxisType::Reduce);
  UOp x = g.param(1, dtypes::i32, 3), out = g.param(0, dtypes::i32, 2);
  UOp v = g.load(x, k);
  UOp total = g.sum(g.add(v, g.arena.make(Op::Cast, dtypes::i32, {g.add(i, m)})), k);
  // total = 6 + 3 (i + m); summed over k and m: 6 (12 + 6 i + 3)
  UOp outer = g.sum(g.sum(g.mul(v, total), k), m);
  UOp both = g.arena.make(Op::Reduce, dtypes::i32, {g.mul(v, total), k, m},
                          {static_cast<i64>(Op::Add), 0});
  for (UOp value : {outer, both}) {
    UOp sink = g.sink({g.end(g.store(out, i, value), {i})});
    i32 result[2] = {}, values[3] = {1, 2, 3};
    interpret(sink, std::array<void*, 2>{result, values}, {}, {});
    EXPECT_EQ(result[0], 90);
    EXPECT_EQ(result[1], 126);
  }
}

TEST(Interpret, GatesMaskLoadsAndStores) {
  Graph g;
  UOp i = g.range(0, 4), x = g.param(1, dtypes::f32, 2), out = g.param(0, dtypes::f32, 4);
  UOp gate = g.arena.make(Op::CmpLt, dtypes::bool_, {i, g.arena.index(2)});
  UOp load = g.arena.make(
      Op::Load, dtypes::f32,
      {g.arena.make(Op::Index, dtypes::f32, {x, i, gate}), g.arena.const_float(dtypes::f32, -1)});
  UOp late = g.arena.make(Op::CmpLt, dtypes::bool_, {g.arena.index(0), i});
  UOp store = g.arena.make(Op::Store, dtypes::void_,
                           {g.arena.make(Op::Index, dtypes::f32, {out, i, late}), load});
  f32 result[4] = {9, 9, 9, 9}, values[2] = {5, 6};
  interpret(g.sink({g.end(store, {i})}), std::array<void*, 2>{result, values}, {}, {});
  EXPECT_EQ(result[0], 9);
  EXPECT_EQ(result[1], 6);
  EXPECT_EQ(result[2], -1);
  EXPECT_EQ(result[3], -1);
}

TEST(Interpret, RefusesAnIndexOutsideTheParam) {
  Graph g;
  UOp i = g.range(0, 3), out = g.param(0, dtypes::i32, 2);
  UOp sink = g.sink({g.end(g.store(out, i, g.arena.const_int(dtypes::i32, 1)), {i})});
  i32 result[3] = {};
  EXPECT_THROW(interpret(sink, std::array<void*, 1>{result}, {}, {}), InternalError);
}

TEST(Interpret, BindsVariables) {
  Graph g;
  UOp n = g.arena.make(Op::Variable, dtypes::index, {}, {77, 1, 4});
  UOp i = g.arena.range(0, AxisType::Loop, n), out = g.param(0, dtypes::i32, 4);
  UOp value = g.arena.make(Op::Cast, dtypes::i32, {g.mul(i, n)});
  UOp sink = g.sink({g.end(g.store(out, i, value), {i})});
  i32 result[4] = {-1, -1, -1, -1};
  interpret(sink, std::array<void*, 1>{result}, std::array<i64, 1>{77}, std::array<i64, 1>{3});
  EXPECT_EQ(result[0], 0);
  EXPECT_EQ(result[2], 6);
  EXPECT_EQ(result[3], -1);
}

TEST(Interpret, AnEmptyReductionIsTheIdentity) {
  Graph g;
  UOp n = g.arena.make(Op::Variable, dtypes::index, {}, {5, 0, 4});
  UOp k = g.arena.range(0, AxisType::Reduce, n), out = g.param(0, dtypes::i32, 1);
  UOp value = g.sum(g.arena.const_int(dtypes::i32, 3), k);
  UOp sink = g.sink({g.end(g.store(out, g.arena.index(0), value), {})});
  i32 result[1] = {9};
  interpret(sink, std::array<void*, 1>{result}, std::array<i64, 1>{5}, std::array<i64, 1>{0});
  EXPECT_EQ(result[0], 0);
  interpret(sink, std::array<void*, 1>{result}, std::array<i64, 1>{5}, std::array<i64, 1>{4});
  EXPECT_EQ(result[0], 12);
}

TEST(Evaluate, TakesOnlyTheBranchThatHasAValue) {
  Graph g;
  UOp i = g.range(0, 10);
  UOp big = g.mul(g.add(i, g.arena.index(INT64_MAX - 2)), g.arena.index(1));
  UOp small = g.arena.make(Op::CmpLt, dtypes::bool_, {i, g.arena.index(3)});
  UOp either = g.arena.make(Op::Where, dtypes::index, {small, big, i});
  auto at = [&](i64 v) {
    return evaluate(either, std::array{std::pair{i, ScalarValue::index(v)}});
  };
  EXPECT_EQ(at(2)->as_int(), INT64_MAX);
  EXPECT_EQ(at(9)->as_int(), 9);
  EXPECT_FALSE(evaluate(big, std::array{std::pair{i, ScalarValue::index(9)}}));
}

}  // namespace
}  // namespace doorbell::core
