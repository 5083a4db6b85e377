// Random expressions over ints, floats and bools with casts between them, simplified by all rules
// that promise to preserve values, against the expressions evaluated as written.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "core/eval/eval_graph.h"
#include "core/rules/rules.h"
#include "core/uop/print.h"

namespace doorbell::core {
namespace {

const RuleSet& exact_rules() {
  static const RuleTable* const kTables[] = {&kGenericRules, &kBoolRules, &kIndexRules, &kIntRules,
                                             &kFloatRules};
  static const RuleSet rules(kTables);
  return rules;
}

struct Pair {
  UOp written, simple;
};

class Generator {
 public:
  explicit Generator(u64 seed) : random_(seed), rewriter_(arena_, exact_rules()) {}

  DType any_dtype() {
    static constexpr DType kTypes[] = {dtypes::i32, dtypes::f32,  dtypes::bool_,  dtypes::i8,
                                       dtypes::u8,  dtypes::i64,  dtypes::u64,    dtypes::f16,
                                       dtypes::f64, dtypes::bf16, dtypes::f8e5m2, dtypes::index,
                                       dtypes::u32, dtypes::i16,  dtypes::f8e4m3};
    return kTypes[pick(15)];
  }

  Pair expression(DType t, int depth) {
    if (depth == 0 || pick(8) == 0) return pick(3) ? leaf(t) : constant(t);
    switch (pick(8)) {
      case 0: {
        DType from = any_dtype();
        // Values near the ends of i64 may leave it on another way than the one written.
        if (t.is_index() && (from.is_float() || from.bits() == 64)) from = dtypes::i32;
        return make(Op::Cast, t, {expression(from, depth - 1)});
      }
      case 1: {
        Pair condition = expression(dtypes::bool_, depth - 1);
        Pair yes = expression(t, depth - 1), no = expression(t, depth - 1);
        return make(Op::Where, t, {condition, yes, no});
      }
      default: break;
    }
    Op op = operation(t);
    if (is_comparison(op)) {
      DType from = any_dtype();
      Pair a = expression(from, depth - 1),
           b = pick(3) ? expression(from, depth - 1) : constant(from);
      return make(op, t, {a, b});
    }
    Pair a = expression(t, depth - 1);
    if (group_of(op) == OpGroup::Unary) return make(op, t, {a});
    Pair b = pick(2) ? expression(t, depth - 1) : pick(5) == 0 ? a : constant(t);
    return make(op, t, {a, b});
  }

  ::testing::AssertionResult agree(Pair pair) {
    GraphProgram program(std::array{pair.written, pair.simple});
    for (int point = 0; point < 6; ++point) {
      for (UOp leaf : leaves_) program.set(leaf, value(leaf.dtype()));
      program.run();
      auto a = program.value(pair.written), b = program.value(pair.simple);
      if (!a || (b && a->identical(*b))) continue;
      return ::testing::AssertionFailure() << print(arena_, pair.written) << "\n"
                                           << print(arena_, pair.simple);
    }
    return ::testing::AssertionSuccess();
  }

  i64 pick(i64 count) { return static_cast<i64>(random_() % static_cast<u64>(count)); }
  Rewriter& rewriter() { return rewriter_; }

 private:
  Op operation(DType t) {
    static constexpr Op kInt[] = {Op::Add,  Op::Sub,  Op::Mul, Op::FloorDiv, Op::FloorMod,
                                  Op::CDiv, Op::CMod, Op::Max, Op::And,      Op::Or,
                                  Op::Xor,  Op::Shl,  Op::Shr, Op::Neg};
    static constexpr Op kFloat[] = {Op::Add, Op::Sub,   Op::Mul,  Op::FDiv,  Op::Max,
                                    Op::Neg, Op::Recip, Op::Sqrt, Op::Trunc, Op::Mul};
    static constexpr Op kBool[] = {Op::And,   Op::Or,    Op::Xor, Op::CmpLt, Op::CmpEq,
                                   Op::CmpNe, Op::CmpLt, Op::Max, Op::Add,   Op::Mul};
    static constexpr Op kIndex[] = {Op::Add, Op::Sub, Op::Mul, Op::FloorDiv, Op::FloorMod, Op::Max};
    if (t.is_bool()) return kBool[pick(10)];
    if (t.is_float()) return kFloat[pick(10)];
    return t.is_index() ? kIndex[pick(6)] : kInt[pick(14)];
  }
  ScalarValue value(DType t) {
    if (t.is_bool()) return ScalarValue::of_bool(pick(2));
    if (t.is_index()) return ScalarValue::index(pick(41) - 20);
    if (t.is_float()) {
      const f64 inf = std::numeric_limits<f64>::infinity();
      const f64 special[] = {0.0, -0.0, 1, -1, inf, -inf, std::nan(""), 1e30};
      return ScalarValue::of_float(
          t, pick(3) ? static_cast<f64>(pick(129) - 64) / 8 : special[pick(8)]);
    }
    const i64 special[] = {0, 1, -1, 127, -128, 255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return ScalarValue::of_int(t, pick(3) ? pick(25) - 12 : special[pick(10)]);
  }
  Pair constant(DType t) {
    static constexpr f64 kPlain[] = {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0};
    ScalarValue v = t.is_float() && pick(2)        ? ScalarValue::of_float(t, kPlain[pick(7)])
                    : t.is_float() || pick(3) == 0 ? value(t)
                                                   : ScalarValue::of_int(t, pick(5) - 1);
    UOp made = arena_.make(Op::Const, t, {}, {v.bits});
    return {made, made};
  }
  Pair leaf(DType t) {
    i64 low = kMinusInf, high = kPlusInf;
    if (t.is_index()) low = -20, high = 20;
    if (t.is_bool()) low = 0, high = 1;
    if (t.is_int() && t.bits() < 64) {
      low = t.is_unsigned() ? 0 : -(i64{1} << (t.bits() - 1));
      high = (i64{1} << (t.is_unsigned() ? t.bits() : t.bits() - 1)) - 1;
    }
    i64 name = intern_name("v" + std::to_string(pick(3)));
    UOp made = arena_.make(Op::Variable, t, {}, {name, low, high});
    bool known = false;
    for (UOp leaf : leaves_) known |= leaf == made;
    if (!known) leaves_.push_back(made);
    return {made, rewriter_.rewrite(made)};
  }
  Pair make(Op op, DType t, std::vector<Pair> srcs) {
    std::vector<UOp> written, simple;
    for (const Pair& src : srcs) {
      written.push_back(src.written);
      simple.push_back(src.simple);
    }
    return {arena_.make(op, t, written), rewriter_.make(op, t, simple)};
  }

  std::mt19937_64 random_;
  Arena arena_;
  Rewriter rewriter_;
  std::vector<UOp> leaves_;
};

TEST(ValueFuzz, SimplifiedExpressionsHaveTheSameValues) {
  u64 firings = 0, stops = 0;
  for (u64 seed = 1; seed <= 3000; ++seed) {
    Generator generator(seed);
    for (int i = 0; i < 30; ++i) {
      Pair pair =
          generator.expression(generator.any_dtype(), 2 + static_cast<int>(generator.pick(3)));
      ASSERT_TRUE(generator.agree(pair)) << "seed " << seed << " expression " << i;
    }
    firings += generator.rewriter().firings();
    stops += generator.rewriter().depth_stops();
  }
  EXPECT_GT(firings, 50000u);
  EXPECT_EQ(stops, 0u);
}

}  // namespace
}  // namespace doorbell::core
