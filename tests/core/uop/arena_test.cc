// Identity, bounds, range masks and order of arena nodes.
#include "core/uop/arena.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace doorbell::core {
namespace {

TEST(Arena, EqualPartsAreOneNode) {
  Arena a;
  UOp x = a.index(3), y = a.index(4);
  EXPECT_EQ(a.make(Op::Add, dtypes::index, {x, y}), a.make(Op::Add, dtypes::index, {x, y}));
  EXPECT_NE(a.make(Op::Add, dtypes::index, {x, y}), a.make(Op::Add, dtypes::index, {y, x}));
  EXPECT_NE(a.make(Op::Const, dtypes::i32, {}, {3}), x);
}

TEST(Arena, KeepsIdentityWhenItGrows) {
  Arena a;
  std::vector<UOp> nodes;
  for (i64 i = 0; i < 10000; ++i) nodes.push_back(a.index(i));
  for (i64 i = 0; i < 10000; ++i) ASSERT_EQ(a.index(i), nodes[static_cast<usize>(i)]);
  EXPECT_EQ(a.node_count(), 10000u);
}

TEST(Arena, BoundsFollowTheArithmetic) {
  Arena a;
  UOp r = a.range(0, AxisType::Loop, 10);
  EXPECT_EQ(r.vmin(), 0);
  EXPECT_EQ(r.vmax(), 9);
  UOp scaled = a.make(Op::Mul, dtypes::index, {r, a.index(-3)});
  EXPECT_EQ(scaled.vmin(), -27);
  EXPECT_EQ(scaled.vmax(), 0);
  UOp floored = a.make(Op::FloorDiv, dtypes::index, {scaled, a.index(4)});
  EXPECT_EQ(floored.vmin(), -7);  // floor(-27 / 4)
  EXPECT_EQ(a.make(Op::CDiv, dtypes::index, {scaled, a.index(4)}).vmin(), -6);
  UOp less = a.make(Op::CmpLt, dtypes::bool_, {r, a.index(10)});
  EXPECT_EQ(less.vmin(), 1);
  UOp mixed = a.make(Op::Xor, dtypes::index, {r, a.index(17)});  // below 32
  EXPECT_EQ(mixed.vmin(), 0);
  EXPECT_EQ(mixed.vmax(), 31);
  EXPECT_EQ(a.make(Op::Xor, dtypes::index, {r, a.index(-2)}).vmin(), kMinusInf);
}

TEST(Arena, WrappingIntsThatMayOverflowAreUnbounded) {
  Arena a;
  UOp big = a.make(Op::Cast, dtypes::i32, {a.range(0, AxisType::Loop, i64{1} << 31)});
  EXPECT_EQ(big.vmax(), 2147483647);
  UOp doubled = a.make(Op::Add, dtypes::i32, {big, big});
  EXPECT_EQ(doubled.vmin(), -2147483648);
}

// All small ranges of both operands: bounds hold what division gives, and are met at both ends
// where the quotient is concerned.
TEST(Arena, BoundsOfDivisionByAVariable) {
  Arena a;
  const i64 x_name = intern_name("bounds_x"), y_name = intern_name("bounds_y");
  const auto variable = [&](i64 name, i64 lo, i64 hi) {
    return a.make(Op::Variable, dtypes::index, {}, {name, lo, hi});
  };
  for (const Op op : {Op::FloorDiv, Op::CDiv, Op::FloorMod, Op::CMod})
    for (i64 x_lo = -7; x_lo <= 7; ++x_lo)
      for (i64 x_hi = x_lo; x_hi <= 7; ++x_hi)
        for (i64 y_lo = 1; y_lo <= 3; ++y_lo)
          for (i64 y_hi = y_lo + 1; y_hi <= 5; ++y_hi) {
            i64 least = 100, most = -100;
            for (i64 x = x_lo; x <= x_hi; ++x)
              for (i64 y = y_lo; y <= y_hi; ++y) {
                i64 value = op == Op::CDiv || op == Op::FloorDiv ? x / y : x % y;
                if (op == Op::FloorDiv && x % y < 0) --value;
                if (op == Op::FloorMod && x % y < 0) value += y;
                least = std::min(least, value);
                most = std::max(most, value);
              }
            const UOp node = a.make(op, dtypes::index,
                                    {variable(x_name, x_lo, x_hi), variable(y_name, y_lo, y_hi)});
            const bool is_quotient = op == Op::FloorDiv || op == Op::CDiv;
            ASSERT_LE(node.vmin(), least) << name_of(op) << x_lo << ".." << x_hi << " " << y_hi;
            ASSERT_GE(node.vmax(), most) << name_of(op) << x_lo << ".." << x_hi << " " << y_hi;
            ASSERT_GE(node.vmin(), is_quotient ? least : -y_hi) << name_of(op);
            ASSERT_LE(node.vmax(), is_quotient ? most : y_hi) << name_of(op);
          }
  const UOp open =
      a.make(Op::Mul, dtypes::index, {variable(x_name, 1, kPlusInf - 1), variable(y_name, 1, 9)});
  EXPECT_EQ(a.make(Op::FloorDiv, dtypes::index, {a.index(-5), open}).vmin(), -5);
  EXPECT_EQ(a.make(Op::FloorDiv, dtypes::index, {a.index(-5), open}).vmax(), -1);
  EXPECT_EQ(a.make(Op::FloorMod, dtypes::index, {a.index(5), open}).vmax(), 5);
}

TEST(Arena, IndexBoundsSaturate) {
  Arena a;
  UOp r = a.range(0, AxisType::Loop, i64{1} << 62);
  UOp product = a.make(Op::Mul, dtypes::index, {r, a.index(8)});
  EXPECT_EQ(product.vmin(), 0);
  EXPECT_EQ(product.vmax(), kPlusInf);
}

TEST(Arena, ReduceClosesItsRanges) {
  Arena a;
  UOp i = a.range(0, AxisType::Loop, 4), k = a.range(1, AxisType::Reduce, 8);
  UOp sum = a.make(Op::Add, dtypes::index, {i, k});
  EXPECT_EQ(sum.range_mask(), 3u);
  UOp reduced = a.make(Op::Reduce, dtypes::index, {sum, k}, {static_cast<i64>(Op::Add), 0});
  EXPECT_EQ(reduced.range_mask(), 1u);
}

// The size of k varies with i: the last row of blocks may have fewer.
TEST(Arena, AnEndClosesRangesWhoseSizesVaryWithOthersThatItCloses) {
  Arena a;
  UOp i = a.range(0, AxisType::Loop, 4), k = a.range(1, AxisType::Loop, i);
  UOp memory = a.make(Op::DefinePrivate, dtypes::index, {}, {0, 4});
  UOp at = a.make(Op::Index, dtypes::index, {memory, k});
  UOp store = a.make(Op::Store, dtypes::void_, {at, k});
  EXPECT_EQ(a.make(Op::End, dtypes::void_, {store, k}).range_mask(), 1u);
  EXPECT_EQ(a.make(Op::End, dtypes::void_, {store, i, k}).range_mask(), 0u);
}

TEST(Arena, OrderPutsSourcesFirstOnADeepChain) {
  Arena a;
  UOp x = a.range(0, AxisType::Loop, 2);
  for (int i = 0; i < 1000000; ++i) x = a.make(Op::Neg, dtypes::index, {x});
  std::vector<UOp> order = topological_order(a, {&x, 1});
  ASSERT_EQ(order.size(), 1000002u);
  EXPECT_EQ(order.back(), x);
  EXPECT_EQ(order[1].op(), Op::Range);
}

}  // namespace
}  // namespace doorbell::core
