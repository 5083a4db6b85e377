// Every rule in the notation, by itself: its left side is built with random constants and leaves of
// each dtype of its domain, the rule applied, and both sides evaluated. Rules that relax nothing
// must agree to the bit (any NaN is any NaN); the others on ordinary values, nearly.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "core/eval/eval_graph.h"
#include "core/rewrite/match.h"
#include "core/rules/reduce.h"
#include "core/rules/rules.h"
#include "core/uop/print.h"

namespace doorbell::core {
namespace {

using pat::Cell;

const RuleSet& no_rules() {
  static const RuleSet rules{std::span<const RuleTable* const>()};
  return rules;
}

class Sides {
 public:
  Sides(const Rule& rule, DType dtype, u64 seed)
      : rule_(rule), random_(seed), rewriter_(arena_, no_rules()) {
    // A comparison's domain is that of its operands.
    DType t = is_comparison(rule.root) ? dtypes::bool_ : dtype;
    left_ = build(static_cast<u8>(rule.left.count - 1), t, dtype);
    if (left_) right_ = Matcher(rule, left_, rewriter_).apply();
  }

  bool applies() const { return static_cast<bool>(right_); }

  ::testing::AssertionResult agree() {
    GraphProgram program(std::array{left_, right_});
    for (int point = 0; point < 30; ++point) {
      for (UOp leaf : leaves_) program.set(leaf, value(leaf.dtype()));
      program.run();
      auto a = program.value(left_), b = program.value(right_);
      if (!a) continue;
      if (b && (rule_.relaxes.empty() ? a->identical(*b) : close(*a, *b))) continue;
      return ::testing::AssertionFailure()
             << pat::to_string(rule_.left) << " -> " << pat::to_string(rule_.right) << " for "
             << left_.dtype().str() << "\n"
             << print(arena_, left_) << "\n"
             << print(arena_, right_);
    }
    return ::testing::AssertionSuccess();
  }

 private:
  i64 pick(i64 count) { return static_cast<i64>(random_() % static_cast<u64>(count)); }

  bool close(ScalarValue a, ScalarValue b) const {
    if (!a.is_float()) return a.bits == b.bits;
    f64 tolerance = DType{a.scalar, 1}.bits() <= 8 ? 0.5 : 0.02;
    return std::fabs(a.as_float() - b.as_float()) <= tolerance * std::fabs(a.as_float());
  }

  ScalarValue value(DType t) {
    if (t.is_float()) {
      if (!rule_.relaxes.empty())
        return ScalarValue::of_float(t, 0.5 + static_cast<f64>(pick(28)) / 8);
      const f64 inf = std::numeric_limits<f64>::infinity();
      const f64 special[] = {0.0, -0.0, 1, -1, inf, -inf, std::nan(""), 1e30, -65504, 0x1p-149};
      if (pick(2)) return ScalarValue::of_float(t, special[pick(10)]);
      return ScalarValue::of_float(t, static_cast<f64>(pick(4001) - 2000) / 64);
    }
    if (t.is_bool()) return ScalarValue::of_bool(pick(2));
    if (t.is_index()) return ScalarValue::index(pick(201) - 100);
    const i64 special[] = {0, 1, -1, 127, -128, 255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return ScalarValue::of_int(t, pick(2) ? special[pick(10)] : pick(101) - 50);
  }

  ScalarValue constant_value(DType t) {
    if (t.is_float())
      return ScalarValue::of_float(t, std::ldexp(pick(2) ? 1 : 3, static_cast<int>(pick(6)) - 3));
    if (t.is_bool()) return ScalarValue::of_bool(pick(2));
    return pick(3) ? ScalarValue::of_int(t, pick(9)) : value(t);
  }

  UOp leaf(DType t) {
    i64 low = kMinusInf, high = kPlusInf;
    if (t.is_index()) low = -100, high = 100;
    if (t.is_bool()) low = 0, high = 1;
    if (t.is_int() && t.bits() < 64) {
      low = t.is_unsigned() ? 0 : -(i64{1} << (t.bits() - 1));
      high = (i64{1} << (t.is_unsigned() ? t.bits() : t.bits() - 1)) - 1;
    }
    i64 name = intern_name("v" + std::to_string(leaves_.size()));
    UOp made = arena_.make(Op::Variable, t, {}, {name, low, high});
    leaves_.push_back(made);
    return made;
  }

  // A name that may be negative or not; some conditions want small values.
  UOp name_leaf(DType t) {
    UOp made = leaf(t);
    if (t.is_index() || (t.is_int() && pick(2))) {
      UOp modulus = arena_.const_int(t, 1 + pick(20)), offset = arena_.const_int(t, pick(60));
      made = arena_.make(Op::FloorMod, t, {made, modulus});
      return pick(2) ? made : arena_.make(Op::Add, t, {made, offset});
    }
    return made;
  }

  // `t` is the cell's dtype, `operand` that of a comparison's sources.
  UOp build(u8 at, DType t, DType operand) {
    const Cell& cell = rule_.left.cells[at];
    if (cell.kind == Cell::Kind::Literal) {
      f64 real = cell.real ? std::bit_cast<f64>(cell.bits) : static_cast<f64>(cell.bits);
      if (cell.boolean) t = dtypes::bool_;
      ScalarValue v =
          t.is_float() ? ScalarValue::of_float(t, real) : ScalarValue::of_int(t, cell.bits);
      return arena_.make(Op::Const, t, {}, {v.bits});
    }
    if (cell.kind == Cell::Kind::Name) {
      if (!names_[cell.name]) names_[cell.name] = name_leaf(t);
      return names_[cell.name].dtype() == t ? names_[cell.name] : UOp();
    }
    if (cell.kind == Cell::Kind::Constant) {
      if (!constants_[cell.name])
        constants_[cell.name] = arena_.make(Op::Const, t, {}, {constant_value(t).bits});
      return constants_[cell.name].dtype() == t ? constants_[cell.name] : UOp();
    }
    bool negation = cell.op == Op::CmpNe && rule_.left.cells[cell.srcs[1]].boolean;
    bool bitwise = cell.op == Op::And || cell.op == Op::Or || cell.op == Op::Xor;
    if (bitwise && t.is_float()) return UOp();
    std::vector<UOp> srcs;
    for (u8 i = 0; i < cell.nsrc; ++i) {
      bool logical = negation || (cell.op == Op::Where && i == 0);
      DType wanted = logical ? dtypes::bool_ : is_comparison(cell.op) ? operand : t;
      UOp src = build(cell.srcs[i], wanted, operand);
      if (!src) return UOp();
      srcs.push_back(src);
    }
    return arena_.make(cell.op, is_comparison(cell.op) ? dtypes::bool_ : t, srcs);
  }

  const Rule& rule_;
  std::mt19937_64 random_;
  Arena arena_;
  Rewriter rewriter_;
  std::array<UOp, pat::kNames> names_, constants_;
  std::vector<UOp> leaves_;
  UOp left_, right_;
};

std::vector<DType> dtypes_of(Domain domain) {
  std::vector<DType> ints = {dtypes::i8,  dtypes::u8,  dtypes::i16, dtypes::u16,
                             dtypes::i32, dtypes::u32, dtypes::i64, dtypes::u64};
  std::vector<DType> floats = {dtypes::f32,    dtypes::f64,    dtypes::f16,       dtypes::bf16,
                               dtypes::f8e4m3, dtypes::f8e5m2, dtypes::f8e4m3fnuz};
  switch (domain) {
    case Domain::Index: return {dtypes::index};
    case Domain::Bool: return {dtypes::bool_};
    case Domain::Int: return ints;
    case Domain::Float: return floats;
    default: break;
  }
  ints.insert(ints.end(), floats.begin(), floats.end());
  ints.push_back(dtypes::index);
  ints.push_back(dtypes::bool_);
  return ints;
}

TEST(RuleFuzz, BothSidesAgree) {
  int rules = 0;
  for (const RuleTable* table : kernel_rules().tables()) {
    for (const Rule& rule : table->rules) {
      if (rule.code) continue;
      ++rules;
      int applied = 0;
      for (DType t : dtypes_of(table->domain)) {
        for (u64 seed = 1; seed <= 60; ++seed) {
          Sides sides(rule, t, seed);
          if (!sides.applies()) continue;
          ++applied;
          ASSERT_TRUE(sides.agree()) << table->name << "/" << rule.name << " seed " << seed;
        }
      }
      EXPECT_GT(applied, 5) << table->name << "/" << rule.name << " hardly ever applies";
    }
  }
  EXPECT_GT(rules, 90);
}

TEST(RuleTables, NamesAreUniquePerOpAndFloatRulesSayWhatTheyRelax) {
  for (const Rule& rule : kRelaxedFloatRules.rules) EXPECT_FALSE(rule.relaxes.empty()) << rule.name;
  for (const Rule& rule : kFloatRules.rules) EXPECT_TRUE(rule.relaxes.empty()) << rule.name;
}

}  // namespace
}  // namespace doorbell::core
