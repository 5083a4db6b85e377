// Reductions without loops: the shapes that arange, triangles, one-hot products and gathers have,
// and random masked sums against the loop evaluated.
#include "core/rules/reduce.h"

#include <random>

#include <gtest/gtest.h>

#include "core/eval/eval_graph.h"
#include "core/uop/print.h"

namespace doorbell::core {
namespace {

struct ReduceRules : ::testing::Test {
  Arena arena;
  Rewriter r{arena, kernel_rules()};
  UOp range(i64 id, i64 size, AxisType type = AxisType::Loop) {
    return arena.range(id, type, size);
  }
  UOp sum(UOp value, std::initializer_list<UOp> ranges, Op op = Op::Add) {
    std::vector<UOp> srcs{value};
    srcs.insert(srcs.end(), ranges);
    return r.make(Op::Reduce, value.dtype(), srcs, std::array<i64, 2>{static_cast<i64>(op), 0});
  }
  UOp i32(i64 v) { return arena.const_int(dtypes::i32, v); }
  UOp f32(f64 v) { return arena.const_float(dtypes::f32, v); }
  UOp load(i64 slot, DType t, i64 count, UOp at) {
    UOp param = arena.make(Op::Param, t, {}, {slot, count});
    UOp index = r.make(Op::Index, t, {param, at});
    return r.make(Op::Load, t, {index});
  }
};

TEST_F(ReduceRules, UnusedRangesMultiply) {
  UOp k = range(0, 5), x = load(0, dtypes::f32, 1, arena.index(0));
  EXPECT_EQ(sum(x, {k}), r.mul(x, f32(5)));
  EXPECT_EQ(sum(x, {k}, Op::Max), x);
  UOp n = arena.make(Op::Variable, dtypes::index, {}, {3, 0, 9});
  UOp maybe_none = arena.range(1, AxisType::Reduce, n);
  EXPECT_TRUE(sum(x, {maybe_none}, Op::Max).is(Op::Reduce));  // of nothing: -inf, not x
}

TEST_F(ReduceRules, ARangeOfOneValueIsNoLoop) {
  UOp one = range(0, 1), k = range(1, 4), x = load(0, dtypes::f32, 4, k);
  UOp reduced = sum(x, {k, one});
  UOp rewritten = r.rewrite(reduced);
  ASSERT_TRUE(rewritten.is(Op::Reduce));
  EXPECT_EQ(rewritten.nsrc(), 2u);
}

// arange(n) as the sum of ones up to i: sum_k [k < i + 1] - 1 = i.
TEST_F(ReduceRules, ArangeIsItsIndex) {
  UOp i = range(0, 10), k = range(1, 10, AxisType::Reduce);
  UOp counted = sum(r.where(r.lt(k, r.add(i, 1)), i32(1), i32(0)), {k});
  EXPECT_EQ(counted, r.cast(r.add(i, 1), dtypes::i32));
  EXPECT_EQ(r.add(counted, -1), r.cast(i, dtypes::i32));
  // start 3, step 2, counted from the end: sum_k [9 - i <= k] * 2 + 1 = 2 i + 3
  UOp flipped = r.sub(arena.index(9), i);
  UOp from_end = sum(r.where(r.ge(k, flipped), i32(2), i32(0)), {k});
  EXPECT_EQ(r.add(from_end, 1), r.cast(r.add(r.mul(i, 2), 3), dtypes::i32));
  UOp floats = sum(r.where(r.lt(k, r.add(i, 1)), f32(1), f32(0)), {k});
  EXPECT_EQ(floats, r.cast(r.add(i, 1), dtypes::f32));
}

// As padding and reshaping write a triangle of ones: row and column of a flat index.
TEST_F(ReduceRules, ArangeThroughAShearedTriangle) {
  const i64 n = 6;
  UOp i = range(0, n), k = range(1, n, AxisType::Reduce);
  UOp flat = r.add(r.mul(i, n + n - 1), k);  // rows of 2n - 1: n zeros, then ones
  UOp column = r.floormod(flat, 2 * n - 1);
  UOp inside = r.ge(r.add(column, i), n - 1);
  UOp counted = sum(r.where(inside, i32(1), i32(0)), {k});
  EXPECT_EQ(counted, r.cast(r.add(i, 1), dtypes::i32));
}

TEST_F(ReduceRules, OneHotProductIsAGatedLoad) {
  UOp i = range(0, 4), j = range(1, 8), k = range(2, 50, AxisType::Reduce);
  UOp id = load(1, dtypes::i32, 4, i);
  UOp hot = r.cast(r.eq(id, r.cast(k, dtypes::i32)), dtypes::f32);
  UOp weight = load(2, dtypes::f32, 400, r.add(r.mul(k, 8), j));
  UOp gathered = sum(r.mul(hot, weight), {k});
  std::string text = print(arena, gathered);
  EXPECT_EQ(text.find("Reduce"), std::string::npos) << text;
  EXPECT_EQ(gathered.range_mask() & 4, 0u) << text;
  float weights[400];
  for (int v = 0; v < 400; ++v) weights[v] = static_cast<float>(v);
  doorbell::i32 ids[4] = {7, 49, -1, 50};
  GraphProgram program(gathered);
  program.set_memory(1, ids, 4);
  program.set_memory(2, weights, 400);
  const f64 expected[4] = {7 * 8 + 3, 49 * 8 + 3, 0, 0};
  for (i64 row = 0; row < 4; ++row) {
    program.set(i, row);
    program.set(j, 3);
    program.run();
    EXPECT_EQ(program.value(gathered)->as_float(), expected[row]);
  }
}

TEST_F(ReduceRules, AnIndexKnownInBoundsNeedsNoGate) {
  UOp i = range(0, 4), k = range(1, 4, AxisType::Reduce);
  UOp x = load(1, dtypes::f32, 4, k);
  EXPECT_EQ(sum(r.where(r.eq(k, i), x, f32(0)), {k}), load(1, dtypes::f32, 4, i));
}

TEST_F(ReduceRules, OtherRangesStay) {
  UOp i = range(0, 4), k = range(1, 4, AxisType::Reduce), m = range(2, 3, AxisType::Reduce);
  UOp x = load(1, dtypes::f32, 12, r.add(r.mul(k, 3), m));
  UOp result = sum(r.where(r.eq(k, i), x, f32(0)), {k, m});
  UOp y = load(1, dtypes::f32, 12, r.add(r.mul(i, 3), m));
  EXPECT_EQ(result, sum(y, {m}));
}

TEST_F(ReduceRules, AnInnerLoopOverTheSameRangeIsNotCaptured) {
  // sum_k [k == m] sum_m x[k + m], the m inside another than the m outside.
  UOp k = range(1, 4, AxisType::Reduce), m = range(2, 4, AxisType::Reduce);
  UOp inner = sum(load(1, dtypes::f32, 8, r.add(k, m)), {m});
  UOp value = r.where(r.eq(k, m), inner, f32(0));
  UOp result = sum(value, {k});
  EXPECT_TRUE(result.is(Op::Reduce)) << print(arena, result);
}

TEST_F(ReduceRules, ALoopThatComputesIsKept) {
  UOp k = range(1, 4, AxisType::Reduce);
  EXPECT_TRUE(sum(load(1, dtypes::f32, 4, k), {k}).is(Op::Reduce));
  UOp gated = r.where(r.lt(k, 2), load(1, dtypes::f32, 4, k), f32(0));
  EXPECT_TRUE(sum(gated, {k}).is(Op::Reduce));
}

// Masked sums of constants, products and one-hot reads, as written and as rewritten.
TEST(ReduceFuzz, CollapsedSumsHaveTheSameValues) {
  int collapsed = 0;
  for (u64 seed = 1; seed <= 4000; ++seed) {
    std::mt19937_64 random(seed);
    auto pick = [&](i64 n) { return static_cast<i64>(random() % static_cast<u64>(n)); };
    Arena arena;
    Rewriter r(arena, kernel_rules());
    UOp i = arena.range(0, AxisType::Loop, 1 + pick(6));
    UOp k = arena.range(1, AxisType::Reduce, 1 + pick(9));
    UOp m = arena.range(2, AxisType::Reduce, 1 + pick(3));
    UOp param = arena.make(Op::Param, dtypes::i32, {}, {0, 64});
    auto load = [&](UOp at) {
      UOp index = arena.make(Op::Index, dtypes::i32, {param, at});
      return arena.make(Op::Load, dtypes::i32, {index});
    };
    auto make = [&](Op op, DType t, std::initializer_list<UOp> srcs) {
      return arena.make(op, t, srcs);
    };
    auto linear = [&](bool with_k) {
      UOp sum = make(Op::Mul, dtypes::index, {i, arena.index(pick(7) - 3)});
      UOp other = make(Op::Mul, dtypes::index, {m, arena.index(pick(3) - 1)});
      sum = make(Op::Add, dtypes::index, {sum, other});
      if (with_k) {
        UOp term = make(Op::Mul, dtypes::index, {k, arena.index(pick(5) - 2)});
        sum = make(Op::Add, dtypes::index, {sum, term});
      }
      return make(Op::Add, dtypes::index, {sum, arena.index(pick(15) - 7)});
    };
    auto clause = [&] {
      i64 kind = pick(6);
      if (kind == 0) {  // one-hot of a loaded value
        UOp value = load(i), at = make(Op::Cast, dtypes::i32, {k});
        return make(Op::CmpEq, dtypes::bool_, {value, at});
      }
      UOp left = linear(true), right = linear(pick(2));
      UOp c = make(kind == 1 ? Op::CmpEq : Op::CmpLt, dtypes::bool_, {left, right});
      if (kind != 2) return c;
      return make(Op::CmpNe, dtypes::bool_, {c, arena.const_int(dtypes::bool_, 1)});
    };
    UOp condition = clause();
    for (i64 n = pick(3); n > 0; --n)
      condition = make(Op::And, dtypes::bool_, {condition, clause()});
    auto factor = [&] {
      if (pick(2)) return arena.const_int(dtypes::i32, pick(7) - 2);
      UOp at = pick(2) ? make(Op::Add, dtypes::index, {i, arena.index(3)})
                       : make(Op::Add, dtypes::index, {k, m});
      return load(at);
    };
    UOp zero = arena.const_int(dtypes::i32, 0), value;
    switch (pick(4)) {
      case 0: value = make(Op::Where, dtypes::i32, {condition, factor(), zero}); break;
      case 1: value = make(Op::Where, dtypes::i32, {condition, zero, factor()}); break;
      case 2: value = make(Op::Where, dtypes::i32, {condition, factor(), factor()}); break;
      default: {
        UOp flag = make(Op::Cast, dtypes::i32, {condition}), by = factor();
        value = make(Op::Mul, dtypes::i32, {flag, by});
      }
    }
    if (pick(3) == 0) value = make(Op::Add, dtypes::i32, {value, factor()});
    UOp written =
        arena.make(Op::Reduce, dtypes::i32, {value, k, m}, {static_cast<i64>(Op::Add), 0});
    UOp simple = r.rewrite(written);
    collapsed +=
        !(simple.range_mask() & 6) && print(arena, simple).find("Reduce") == std::string::npos;
    doorbell::i32 memory[64];
    for (doorbell::i32& v : memory) v = static_cast<doorbell::i32>(pick(14) - 3);
    GraphProgram program(std::array{written, simple});
    program.set_memory(0, memory, 64);
    for (i64 at = 0; at < i.src(0).const_int(); ++at) {
      program.set(i, at);
      program.run();
      ASSERT_EQ(program.value(written)->bits, program.value(simple)->bits)
          << "seed " << seed << " i = " << at << "\n"
          << print(arena, written) << "\n"
          << print(arena, simple);
    }
  }
  EXPECT_GT(collapsed, 500);
}

}  // namespace
}  // namespace doorbell::core
