// Integer division and its relatives, every pair of i8 and of u8, and what becomes of constants.
#include <gtest/gtest.h>

#include <cmath>

#include "codegen/lower/op_builder.h"
#include "core/rules/rules.h"
#include "core/uop/print.h"
#include "tests/codegen/lower/batch_eval.h"
#include "tests/codegen/lower/lower_test_support.h"

namespace doorbell::codegen {
namespace {

using core::DType;
using core::Op;
using core::UOp;
namespace dtypes = core::dtypes;

// What ops.def says, from real division: of numbers this small a quotient of doubles rounds
// rightly.
int expected(Op op, int x, int y) {
  if (y == 0) return 0;
  bool floors = op == Op::FloorDiv || op == Op::FloorMod;
  f64 quotient = static_cast<f64>(x) / y;
  int whole = static_cast<int>(floors ? std::floor(quotient) : std::trunc(quotient));
  return op == Op::FloorDiv || op == Op::CDiv ? whole : x - y * whole;
}

template <class T>
void check_every_pair(Op op, const Caps& caps) {
  core::Arena arena;
  core::Rewriter rewriter(arena, core::simplify_rules());
  OpBuilder builder(rewriter, caps);
  const DType t = std::is_signed_v<T> ? dtypes::i8 : dtypes::u8;
  UOp x = operand(arena, t, 0), y = operand(arena, t, 1);
  UOp root = builder.make(op, t, {x, y});
  Batch xs, ys;
  for (u64 i = 0; i < 65536; ++i) {
    xs.push_back(i & 255);
    ys.push_back(i >> 8);
  }
  Batch out = batch_eval(arena, root, {{x.id(), xs}, {y.id(), ys}}, false);
  for (usize i = 0; i < xs.size(); ++i) {
    T a = static_cast<T>(xs[i]), b = static_cast<T>(ys[i]), got = static_cast<T>(out[i]);
    ASSERT_EQ(got, static_cast<T>(expected(op, a, b)))
        << core::name_of(op) << " " << +a << " " << +b;
  }
}

TEST(Divide, EveryPairOfBytes) {
  for (Op op : {Op::FloorDiv, Op::FloorMod, Op::CDiv, Op::CMod}) {
    check_every_pair<i8>(op, basic_caps());
    check_every_pair<u8>(op, basic_caps());
  }
}

TEST(Divide, EveryPairOfBytesWithoutCMod) {
  Caps caps = basic_caps();
  remove(caps, {Op::CMod, Op::Sub, Op::Neg, Op::CmpEq});
  for (Op op : {Op::FloorDiv, Op::FloorMod, Op::CMod}) {
    check_every_pair<i8>(op, caps);
    check_every_pair<u8>(op, caps);
  }
}

template <class T>
void check_constant_divisor(Op op, i64 divisor) {
  core::Arena arena;
  core::Rewriter rewriter(arena, core::simplify_rules());
  Caps caps = basic_caps();
  OpBuilder builder(rewriter, caps);
  const DType t = std::is_signed_v<T> ? dtypes::i8 : dtypes::u8;
  UOp x = operand(arena, t);
  UOp root = builder.make(op, t, {x, rewriter.constant_int(t, divisor)});
  Batch xs;
  for (u64 i = 0; i < 256; ++i) xs.push_back(i);
  Batch out = batch_eval(arena, root, {{x.id(), xs}}, false);
  for (usize i = 0; i < xs.size(); ++i) {
    T a = static_cast<T>(xs[i]), b = static_cast<T>(divisor), got = static_cast<T>(out[i]);
    ASSERT_EQ(got, static_cast<T>(expected(op, a, b)))
        << core::name_of(op) << " " << +a << " " << +b;
  }
}

TEST(Divide, EveryConstant) {
  for (Op op : {Op::FloorDiv, Op::FloorMod, Op::CDiv, Op::CMod}) {
    for (i64 divisor = -128; divisor < 128; ++divisor) check_constant_divisor<i8>(op, divisor);
    for (i64 divisor = 0; divisor < 256; ++divisor) check_constant_divisor<u8>(op, divisor);
  }
}

// One node for each, and which.
std::string decomposed(Op op, DType t, UOp (*left)(core::Arena&, DType), i64 right) {
  core::Arena arena;
  core::Rewriter rewriter(arena, core::simplify_rules());
  Caps caps = basic_caps();
  OpBuilder builder(rewriter, caps);
  UOp x = left(arena, t);
  UOp root = builder.make(op, t, {x, rewriter.constant_int(t, right)});
  return std::string(core::name_of(root.op())) + " " + std::to_string(root.src(1).const_int());
}
UOp any_value(core::Arena& arena, DType t) { return operand(arena, t); }
UOp non_negative(core::Arena& arena, DType t) {
  return arena.make(Op::Cast, t, {arena.range(0, core::AxisType::Loop, 1000)});
}

TEST(Divide, PowersOfTwoAreShiftsAndMasks) {
  EXPECT_EQ(decomposed(Op::FloorDiv, dtypes::i32, any_value, 8), "Shr 3");
  EXPECT_EQ(decomposed(Op::FloorMod, dtypes::i32, any_value, 8), "And 7");
  EXPECT_EQ(decomposed(Op::CDiv, dtypes::u32, any_value, 8), "Shr 3");
  EXPECT_EQ(decomposed(Op::CMod, dtypes::u64, any_value, 8), "And 7");
  EXPECT_EQ(decomposed(Op::CDiv, dtypes::i32, non_negative, 16), "Shr 4");
  EXPECT_EQ(decomposed(Op::Mul, dtypes::i32, any_value, 64), "Shl 6");
}

TEST(Divide, WhatIsNoPowerOfTwoStays) {
  EXPECT_EQ(decomposed(Op::CDiv, dtypes::i32, any_value, 8), "CDiv 8");  // rounds to zero
  EXPECT_EQ(decomposed(Op::CDiv, dtypes::u32, any_value, 7), "CDiv 7");
  EXPECT_EQ(decomposed(Op::FloorDiv, dtypes::i32, non_negative, 7), "CDiv 7");
  EXPECT_EQ(decomposed(Op::FloorMod, dtypes::i32, non_negative, 7), "CMod 7");
  EXPECT_EQ(decomposed(Op::Mul, dtypes::i32, any_value, 6), "Mul 6");
}

}  // namespace
}  // namespace doorbell::codegen
