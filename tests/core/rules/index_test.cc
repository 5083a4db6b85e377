// Index arithmetic: reshape round trips, convolution indices, divisions and comparisons, with the
// expected forms written out.
#include <gtest/gtest.h>

#include "core/rules/rules.h"

namespace doorbell::core {
namespace {

struct IndexRules : ::testing::Test {
  Arena arena;
  Rewriter r{arena, simplify_rules()};
  UOp range(i64 id, i64 size) { return arena.range(id, AxisType::Loop, size); }
  UOp variable(i64 id, i64 low, i64 high) {
    return arena.make(Op::Variable, dtypes::index, {}, {id, low, high});
  }
  UOp index(i64 v) { return arena.index(v); }
  bool is_constant(UOp u, i64 v) { return u.is_const(v); }
  // Row-major.
  UOp flatten(std::vector<std::pair<UOp, i64>> axes) {
    UOp flat = index(0);
    for (auto& [at, size] : axes) flat = r.add(r.mul(flat, size), at);
    return flat;
  }
  std::vector<UOp> unflatten(UOp flat, std::vector<i64> sizes) {
    std::vector<UOp> axes(sizes.size());
    i64 stride = 1;
    for (usize i = sizes.size(); i-- > 0;) {
      UOp at = r.floordiv(flat, stride);
      axes[i] = r.floormod(at, sizes[i]);
      stride *= sizes[i];
    }
    return axes;
  }
};

// Sums grow term by term without being taken apart where they are in order (a, then b, then
// constants); a difference always is taken apart. Both give one node.
TEST_F(IndexRules, ASumInOrderIsWhatTakingItApartGives) {
  UOp i = range(0, 12), j = range(1, 8), one = range(2, 1);
  const std::vector<UOp> terms = {i,
                                  j,
                                  one,
                                  index(0),
                                  index(7),
                                  r.mul(i, 3),
                                  r.mul(j, -2),
                                  r.mul(i, j),
                                  r.mul(r.mul(i, j), 5),
                                  r.floormod(i, 4),
                                  r.floordiv(i, 4),
                                  r.mul(r.floordiv(i, 4), 4),
                                  r.mul(r.floormod(j, 2), 4),
                                  r.add(i, j),
                                  r.add(r.mul(j, 4), -7)};
  const usize count = terms.size();
  for (usize at = 0; at < count * count * count; ++at) {
    const UOp a = terms[at % count], b = terms[at / count % count], c = terms[at / count / count];
    const UOp grown = r.add(r.add(a, b), c);
    const UOp apart = r.sub(r.sub(a, r.mul(b, -1)), r.mul(c, -1));
    EXPECT_EQ(grown, apart) << at;
  }
  EXPECT_EQ(r.add(r.floormod(i, 4), r.mul(r.floordiv(i, 4), 4)), i);
}

TEST_F(IndexRules, FlattenThenUnflattenGivesTheAxes) {
  UOp i = range(0, 4), j = range(1, 6), k = range(2, 5);
  UOp flat = flatten({{i, 4}, {j, 6}, {k, 5}});
  EXPECT_EQ(unflatten(flat, {4, 6, 5}), (std::vector{i, j, k}));
}

TEST_F(IndexRules, UnflattenThenFlattenGivesTheIndex) {
  UOp i = range(0, 120);
  for (std::vector<i64> sizes :
       {std::vector<i64>{4, 6, 5}, {120}, {2, 60}, {60, 2}, {2, 3, 4, 5}}) {
    std::vector<UOp> axes = unflatten(i, sizes);
    std::vector<std::pair<UOp, i64>> pairs;
    for (usize a = 0; a < axes.size(); ++a) pairs.push_back({axes[a], sizes[a]});
    EXPECT_EQ(flatten(pairs), i);
  }
}

TEST_F(IndexRules, ReshapesThroughOtherShapesComeBack) {
  UOp i = range(0, 8), j = range(1, 12), k = range(2, 3);
  std::vector<UOp> axes = {i, j, k};
  std::vector<i64> sizes = {8, 12, 3};
  for (std::vector<i64> shape : {std::vector<i64>{4, 72},
                                 {288},
                                 {16, 6, 3},
                                 {2, 4, 36},
                                 {96, 3},
                                 {8, 4, 9},
                                 {32, 9},
                                 {8, 12, 3}}) {
    std::vector<std::pair<UOp, i64>> pairs;
    for (usize a = 0; a < axes.size(); ++a) pairs.push_back({axes[a], sizes[a]});
    axes = unflatten(flatten(pairs), shape);
    sizes = shape;
  }
  EXPECT_EQ(axes, (std::vector{i, j, k}));
}

TEST_F(IndexRules, SymbolicReshapeRoundTrip) {
  UOp n = variable(1, 1, 100);
  UOp i = range(0, 4), j = arena.range(1, AxisType::Loop, n);
  UOp flat = r.add(r.mul(i, n), j);
  EXPECT_EQ(r.floordiv(flat, n), i);
  EXPECT_EQ(r.floormod(flat, n), j);
}

TEST_F(IndexRules, SumsHaveOneForm) {
  UOp i = range(0, 10), j = range(1, 10);
  UOp a = r.add(r.add(r.mul(j, 3), 5), i), b = r.add(r.add(i, r.mul(j, 2)), r.add(j, 5));
  EXPECT_EQ(a, b);
  EXPECT_TRUE(a.src(1).is_const(5));           // the constant last
  EXPECT_EQ(a.src(0), r.add(i, r.mul(j, 3)));  // the outer range first
  EXPECT_EQ(r.sub(a, b), index(0));
  EXPECT_EQ(r.mul(r.add(i, 2), 3), r.add(r.mul(i, 3), 6));
}

TEST_F(IndexRules, DividesSums) {
  UOp a = range(0, 10), b = range(1, 100), c = range(2, 6);
  // (a*6 + b) // 3 = a*2 + b // 3
  EXPECT_EQ(r.floordiv(r.add(r.mul(a, 6), b), 3), r.add(r.mul(a, 2), r.floordiv(b, 3)));
  // (a*6 + b) % 6 = b % 6
  EXPECT_EQ(r.floormod(r.add(r.mul(a, 6), b), 6), r.floormod(b, 6));
  // (b // 4) // 5 = b // 20
  EXPECT_EQ(r.floordiv(r.floordiv(b, 4), 5), r.floordiv(b, 20));
  // (b % 24) // 6 = (b // 6) % 4
  EXPECT_EQ(r.floordiv(r.floormod(b, 24), 6), r.floormod(r.floordiv(b, 6), 4));
  // (a*6 + c) // 12 = a // 2, as c < 6
  EXPECT_EQ(r.floordiv(r.add(r.mul(a, 6), c), 12), r.floordiv(a, 2));
  // (a*4 + 2) // 8 = a // 2
  EXPECT_EQ(r.floordiv(r.add(r.mul(a, 4), 2), 8), r.floordiv(a, 2));
  // (b % 24) % 6 = b % 6
  EXPECT_EQ(r.floormod(r.floormod(b, 24), 6), r.floormod(b, 6));
}

TEST_F(IndexRules, QuotientAndRemainderMeet) {
  UOp b = range(0, 100), x = r.add(r.mul(range(1, 7), 5), b);
  for (i64 c : {2, 3, 5, 8, 10, 64}) {
    UOp quotient = r.mul(r.floordiv(x, c), c);
    EXPECT_EQ(r.add(quotient, r.floormod(x, c)), x) << c;
    EXPECT_EQ(r.add(r.mul(quotient, 7), r.mul(r.floormod(x, c), 7)), r.mul(x, 7)) << c;
  }
  // (b // 4 % 5) * 4 + b % 4 = b % 20
  UOp joined = r.add(r.mul(r.floormod(r.floordiv(b, 4), 5), 4), r.floormod(b, 4));
  EXPECT_EQ(joined, r.floormod(b, 20));
}

TEST_F(IndexRules, QuotientAndRemainderMeetThoughShifted) {
  UOp x = range(0, 101);
  UOp y = r.add(x, -50), quotient = r.floordiv(y, 3);
  // (x - 50) % 3 + ((x - 50) // 3 % 5) * 3 = (x - 50) % 15 = (x + 10) % 15
  UOp joined = r.add(r.floormod(y, 3), r.mul(r.floormod(quotient, 5), 3));
  EXPECT_EQ(joined, r.floormod(r.add(x, 10), 15));
  EXPECT_EQ(r.add(r.floormod(y, 3), r.mul(quotient, 3)), y);
}

TEST_F(IndexRules, DividesByFactorsOfTheTerms) {
  UOp a = range(0, 3), b = range(1, 32), c = range(2, 2);
  // 160a + 5b + 4c + 1 over 60: over 5 it is 32a + b + c, as 4c + 1 < 5 or is 5.
  UOp x = r.add(r.add(r.add(r.mul(a, 160), r.mul(b, 5)), r.mul(c, 4)), 1);
  UOp inner = r.add(r.add(r.mul(a, 8), b), c);
  EXPECT_EQ(r.floordiv(x, 60), r.add(r.mul(a, 2), r.floordiv(inner, 12)));
}

TEST_F(IndexRules, SymbolicDenominators) {
  UOp n = variable(1, 1, 100), i = range(0, 8), j = arena.range(1, AxisType::Loop, n),
      k = range(2, 4);
  UOp row = r.mul(n, 4);
  UOp flat = r.add(r.add(r.mul(i, row), r.mul(j, 4)), k);
  EXPECT_EQ(r.floordiv(flat, row), i);
  EXPECT_EQ(r.floormod(flat, row), r.add(r.mul(j, 4), k));
  EXPECT_EQ(r.floormod(r.floordiv(flat, 4), n), j);
  UOp whole = arena.range(3, AxisType::Loop, row);
  EXPECT_TRUE(r.floordiv(r.floordiv(whole, 4), n).is_const(0));
  EXPECT_TRUE(r.lt(j, n).is_const(1));
  EXPECT_TRUE(r.lt(r.add(r.mul(j, 4), k), row).is_const(1));
  EXPECT_FALSE(r.lt(r.add(j, 1), n).is_const());
  UOp x = r.add(range(4, 4), 20), y = r.add(range(5, 3), 8);  // 20..23 over 8..10
  EXPECT_TRUE(r.floordiv(x, y).is_const(2));
}

TEST_F(IndexRules, FlipsWithinOnePeriodLoseTheModulo) {
  UOp i = range(0, 4);
  EXPECT_EQ(r.floormod(r.add(r.mul(i, 3), 3), 4), r.add(r.mul(i, -1), 3));
}

// Convolution by pooling with reshapes: x[o + k] read through the repeat-and-shear trick of
// (k * (o_count + 1) + o) on a row of size i = o_count + k_count - 1, repeated.
TEST_F(IndexRules, PooledConvolutionIndexIsASum) {
  const i64 in = 8, k_count = 3, o_count = 6;
  UOp o = range(0, o_count), k = range(1, k_count);
  // The row is repeated k_count times, cut to k_count * (in + 1), reshaped, and cut to o_count.
  UOp flat = r.add(r.mul(k, in + 1), o);
  EXPECT_EQ(r.floormod(flat, in), r.add(o, k));
}

TEST_F(IndexRules, ComparisonsDropFactorsAndSmallTerms) {
  UOp x = range(0, 100), y = range(1, 4);
  UOp sum = r.add(r.mul(x, 4), y);
  EXPECT_EQ(r.lt(sum, 40), r.lt(x, 10));
  EXPECT_EQ(r.lt(r.mul(x, 3), 10), r.lt(x, 4));
  EXPECT_EQ(r.lt(r.add(x, 5), 9), r.lt(x, 4));
  EXPECT_EQ(r.lt(r.floordiv(x, 8), 3), r.lt(x, 24));
  EXPECT_EQ(r.ge(r.floordiv(x, 8), 3), r.ge(x, 24));
  EXPECT_TRUE(r.lt(x, 100).is_const(1));
  EXPECT_TRUE(r.lt(x, 0).is_const(0));
  EXPECT_TRUE(r.ge(x, 0).is_const(1));
  EXPECT_EQ(r.lnot(r.lt(x, 7)), r.ge(x, 7));
  EXPECT_EQ(r.ge(x, 7), r.lt(index(6), x));
  EXPECT_TRUE(r.eq(r.mul(x, 2), index(5)).is_const(0));
  EXPECT_TRUE(r.ne(r.add(x, 1), index(0)).is_const(1));
}

TEST_F(IndexRules, ConditionsMerge) {
  UOp x = range(0, 100), y = range(1, 100);
  UOp below5 = r.lt(x, 5), below9 = r.lt(x, 9), other = r.lt(y, 3);
  EXPECT_EQ(r.land(below5, below9), below5);
  EXPECT_EQ(r.lor(below5, below9), below9);
  EXPECT_TRUE(r.land(below5, r.ge(x, 5)).is_const(0));
  EXPECT_TRUE(r.lor(below5, r.ge(x, 5)).is_const(1));
  EXPECT_EQ(r.land(r.land(other, below9), below5), r.land(below5, other));
  EXPECT_EQ(r.land(other, r.lor(other, below9)), other);
  EXPECT_EQ(r.lnot(r.lnot(other)), other);
}

TEST_F(IndexRules, OverflowingConstantsAreLeftAlone) {
  UOp n = variable(1, 0, kPlusInf);
  i64 huge = i64{1} << 62;
  UOp product = r.mul(r.mul(n, huge), 4);
  EXPECT_FALSE(product.is_const());
  UOp sum = r.add(r.add(n, huge), huge);
  EXPECT_TRUE(sum.is(Op::Add));
  EXPECT_TRUE(sum.src(1).is_const(huge));
}

TEST_F(IndexRules, MaximaUseBounds) {
  UOp x = range(0, 10), y = r.add(range(1, 5), 9);
  EXPECT_EQ(r.max(x, y), y);
  EXPECT_EQ(r.max(x, r.add(x, 1)), r.add(x, 1));
  EXPECT_EQ(r.max(r.max(x, index(3)), index(5)), r.max(x, index(5)));
  EXPECT_EQ(r.min(x, index(20)), x);
  EXPECT_EQ(r.min(x, index(4)).vmax(), 4);
}

TEST_F(IndexRules, RangesOfSizeOneVanish) {
  UOp i = range(0, 1), j = range(1, 4);
  EXPECT_EQ(r.add(r.mul(i, 4), j), j);
  EXPECT_TRUE(r.rewrite(i).is_const(0));
}

}  // namespace
}  // namespace doorbell::core
