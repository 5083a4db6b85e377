// Simplification under gates: the clauses and indices that padded convolutions and gathers have,
// and random conditions against evaluation.
#include "core/rules/validity.h"

#include <random>

#include <gtest/gtest.h>

#include "core/eval/eval_graph.h"
#include "core/rules/reduce.h"
#include "core/rules/rules.h"
#include "core/uop/print.h"

namespace doorbell::core {
namespace {

struct Validity : ::testing::Test {
  Arena arena;
  Rewriter r{arena, kernel_rules()};
  UOp range(i64 id, i64 size) { return arena.range(id, AxisType::Loop, size); }
};

TEST_F(Validity, BoundsOfOneTermDropDivisionsAndModuli) {
  UOp x = range(0, 20);
  UOp below = r.lt(x, 5);
  EXPECT_EQ(simplify_given(r, r.floormod(x, 5), below), x);
  EXPECT_TRUE(simplify_given(r, r.floordiv(x, 5), below).is_const(0));
  EXPECT_EQ(simplify_given(r, r.floormod(x, 10), r.ge(x, 10)), r.add(x, -10));
}

TEST_F(Validity, BoundsOfASumAreUsedInsideLargerSums) {
  UOp a = range(0, 10), b = range(1, 10), c = range(2, 3);
  UOp valid = r.lt(r.add(a, b), 4);  // a + b < 4
  UOp sum = r.add(r.add(r.mul(a, 3), r.mul(b, 3)), c);
  EXPECT_EQ(simplify_given(r, r.floormod(sum, 12), valid), sum);
}

// A convolution of a 4 x 4 image padded by 1: the index divides into row and column only where
// valid.
TEST_F(Validity, PaddedConvolutionIndexIsLinear) {
  UOp oy = range(0, 4), ox = range(1, 4), ky = range(2, 3), kx = range(3, 3);
  UOp y = r.add(r.add(oy, ky), -1), x = r.add(r.add(ox, kx), -1);
  UOp valid = r.land(r.land(r.ge(y, 0), r.lt(y, 4)), r.land(r.ge(x, 0), r.lt(x, 4)));
  UOp flat = r.add(r.mul(y, 4), x);
  UOp round_trip = r.add(r.mul(r.floormod(r.floordiv(flat, 4), 4), 4), r.floormod(flat, 4));
  EXPECT_EQ(simplify_given(r, round_trip, valid), flat);
}

TEST_F(Validity, ImpliedClausesAreDropped) {
  UOp x = range(0, 20), y = range(1, 20);
  UOp sum = r.lt(r.add(x, y), 30);
  UOp both = r.land(r.lt(x, 5), r.land(r.lt(y, 5), sum));
  EXPECT_EQ(simplify_valid(r, both), r.land(r.lt(x, 5), r.lt(y, 5)));
  UOp never = r.land(r.lt(x, 5), r.ge(r.add(r.mul(x, 2), r.mul(y, 0)), 12));
  EXPECT_TRUE(simplify_valid(r, never).is_const(0));
}

TEST_F(Validity, GatedLoadsFollowTheirGates) {
  UOp x = range(0, 20), p = arena.make(Op::Param, dtypes::f32, {}, {0, 8});
  UOp other = arena.const_float(dtypes::f32, 3);
  UOp gated = r.make(Op::Index, dtypes::f32, {p, r.floormod(x, 8), r.lt(x, 8)});
  EXPECT_EQ(gated.src(1), x);
  UOp always = r.make(Op::Index, dtypes::f32, {p, x, r.boolean(true)});
  EXPECT_EQ(always.nsrc(), 2u);
  EXPECT_EQ(r.make(Op::Load, dtypes::f32, {always, other}).nsrc(), 1u);
  UOp never = r.make(Op::Index, dtypes::f32, {p, x, r.boolean(false)});
  EXPECT_EQ(r.make(Op::Load, dtypes::f32, {never, other}), other);
}

TEST(ValidityFuzz, SimplifiedExpressionsAgreeWhereValid) {
  int changed = 0, points = 0;
  for (u64 seed = 1; seed <= 4000; ++seed) {
    std::mt19937_64 random(seed);
    auto pick = [&](i64 n) { return static_cast<i64>(random() % static_cast<u64>(n)); };
    Arena arena;
    Rewriter r(arena, simplify_rules());
    std::array<UOp, 4> ranges;
    for (i64 id = 0; id < 4; ++id)
      ranges[static_cast<usize>(id)] = arena.range(id, AxisType::Loop, 2 + pick(12));
    auto linear = [&] {
      UOp sum = r.index(pick(9) - 4);
      for (UOp range : ranges) {
        if (pick(2))
          sum = r.add(sum, r.mul(range, std::array<i64, 6>{1, 1, 2, 4, -1,
                                                           3}[static_cast<usize>(pick(6))]));
      }
      return sum;
    };
    auto expression = [&] {
      UOp e = linear();
      for (i64 n = pick(3); n > 0; --n)
        e = pick(2) ? r.floordiv(e, 2 + pick(7)) : r.floormod(e, 2 + pick(11));
      return r.add(e, r.mul(r.floormod(linear(), 2 + pick(6)), 2));
    };
    auto clause = [&] {
      UOp e = pick(3) ? linear() : r.add(ranges[0], ranges[1]);
      if (pick(8) == 0) return r.eq(e, r.index(pick(10)));
      return pick(2) ? r.lt(e, pick(14)) : r.ge(e, pick(10) - 3);
    };
    UOp valid = clause();
    for (i64 n = pick(3); n > 0; --n) valid = r.land(valid, clause());
    UOp written = expression();
    UOp simple = simplify_given(r, written, valid), fewer = simplify_valid(r, valid);
    changed += simple != written || fewer != valid;
    GraphProgram program(std::array{valid, fewer, written, simple});
    for (int point = 0; point < 40; ++point) {
      for (UOp range : ranges) program.set(range, pick(range.src(0).const_int()));
      program.run();
      bool holds = program.value(valid)->as_bool();
      ASSERT_EQ(holds, program.value(fewer)->as_bool()) << "seed " << seed << "\n"
                                                        << print(arena, valid) << "\n"
                                                        << print(arena, fewer);
      if (!holds) continue;
      ++points;
      ASSERT_EQ(program.value(written)->bits, program.value(simple)->bits)
          << "seed " << seed << "\n"
          << print(arena, valid) << "\n"
          << print(arena, written) << "\n"
          << print(arena, simple);
    }
  }
  EXPECT_GT(changed, 500);
  EXPECT_GT(points, 20000);
}

}  // namespace
}  // namespace doorbell::core
