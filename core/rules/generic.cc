// The table for every dtype: constant folding, constants last in commutative ops, idempotent ops,
// Where and casts. All preserve values exactly, but for the bits of a NaN.
#include "core/rewrite/match.h"
#include "core/rules/interval.h"
#include "core/rules/rules.h"

namespace doorbell::core {
namespace {

using namespace pat;

UOp fold_constants(const Match& match) {
  UOp node = match.node();
  std::array<ScalarValue, 3> args;
  for (usize i = 0; i < node.nsrc(); ++i) {
    UOp constant = constant_behind(node.src(i));
    if (!constant) return UOp();
    args[i] = {constant.dtype().scalar, constant.arg(0)};
  }
  std::optional<ScalarValue> value =
      eval(node.op(), node.dtype(), std::span(args).first(node.nsrc()));
  return value ? match.rewriter().constant(node.dtype(), *value) : UOp();
}

UOp constant_last(const Match& match) {
  UOp node = match.node();
  if (!is_commutative(node.op()) || !constant_behind(node.src(0)) || constant_behind(node.src(1)))
    return UOp();
  return match.rewriter().make(node.op(), node.dtype(), {node.src(1), node.src(0)});
}

bool is_true(const Match& m) { return m.c(0) != 0; }
bool is_false(const Match& m) { return m.c(0) == 0; }

// Significant bits, and the least and greatest exponents, of a type's values.
struct FloatRange {
  int precision, least, greatest;
};
FloatRange float_range(Scalar scalar) {
  switch (scalar) {
    case Scalar::F8E4M3: return {4, -9, 8};
    case Scalar::F8E5M2: return {3, -16, 15};
    case Scalar::F8E4M3FNUZ: return {4, -10, 7};
    case Scalar::F8E5M2FNUZ: return {3, -17, 15};
    case Scalar::F16: return {11, -24, 15};
    case Scalar::BF16: return {8, -133, 127};
    case Scalar::F32: return {24, -149, 127};
    default: return {53, -1074, 1023};
  }
}
bool is_fnuz(DType t) { return t.scalar == Scalar::F8E4M3FNUZ || t.scalar == Scalar::F8E5M2FNUZ; }
bool has_infinity(DType t) { return !is_fnuz(t) && t.scalar != Scalar::F8E4M3; }

// Every value of `from` survives the conversion to `to`.
bool lossless(DType from, DType to) {
  if (from == to || (from.is_bool() && !to.is_bool())) return true;
  if (to.is_index()) return from.is_int();
  if (from.is_index() || to.is_bool()) return false;
  if (from.is_int() && to.is_int()) {
    if (from.is_unsigned()) return to.bits() > from.bits();
    return !to.is_unsigned() && to.bits() >= from.bits();
  }
  if (from.is_int()) {
    int magnitude = from.bits() - !from.is_unsigned();
    return to.is_float() && float_range(to.scalar).precision >= magnitude &&
           float_range(to.scalar).greatest >= magnitude;
  }
  if (!from.is_float() || !to.is_float()) return false;
  FloatRange a = float_range(from.scalar), b = float_range(to.scalar);
  bool specials = (!has_infinity(from) || has_infinity(to)) && (is_fnuz(from) || !is_fnuz(to));
  // Conversion to an OCP f8 saturates infinity, so it keeps none.
  bool saturates = to.scalar == Scalar::F8E5M2 && has_infinity(from);
  return specials && !saturates && b.precision >= a.precision && b.least <= a.least &&
         b.greatest >= a.greatest;
}

bool fits(UOp value, DType t) {
  if (!t.is_int() || t.bits() == 64 || value.dtype().is_float()) return false;
  if (value.dtype().scalar == Scalar::U64) return false;
  i64 low = t.is_unsigned() ? 0 : -(i64{1} << (t.bits() - 1));
  i64 high = (i64{1} << (t.is_unsigned() ? t.bits() : t.bits() - 1)) - 1;
  return value.vmin() >= low && value.vmax() <= high;
}

UOp cast_rule(const Match& match) {
  UOp node = match.node(), x = node.src(0);
  Rewriter& rewriter = match.rewriter();
  if (x.dtype() == node.dtype()) return x;
  if (node.dtype().is_bool()) {
    UOp zero = rewriter.constant_int(x.dtype(), 0);
    if (x.dtype().is_float())
      zero = rewriter.constant(x.dtype(), ScalarValue::of_float(x.dtype(), 0));
    return rewriter.ne(x, zero);
  }
  if (!x.is(Op::Cast)) return UOp();
  UOp inner = x.src(0);
  DType a = inner.dtype(), b = x.dtype(), c = node.dtype();
  bool ints = (a.is_int() || a.is_index()) && (b.is_int() || b.is_index());
  // A narrower wrap makes the first one irrelevant.
  bool wraps_again = ints && c.is_int() && (b.is_index() || c.bits() <= b.bits());
  bool kept = lossless(a.element(), b.element()) || (ints && fits(inner, b));
  // Integers wrap, but saturate on their way back from floats.
  bool may_saturate = b.is_float() && !a.is_float() && !c.is_float();
  if (may_saturate && !lossless(a.element(), c.element()) && !fits(inner, c)) return UOp();
  return kept || wraps_again ? rewriter.cast(inner, c) : UOp();
}

UOp bitcast_rule(const Match& match) {
  UOp node = match.node(), x = node.src(0);
  if (x.dtype() == node.dtype()) return x;
  if (!x.is(Op::Bitcast)) return UOp();
  UOp inner = x.src(0);
  return match.rewriter().make(Op::Bitcast, node.dtype(), {inner});
}

// Bool cast to a number and compared with 0 or 1.
UOp compare_flag(const Match& match) {
  UOp node = match.node(), x = node.src(0), constant = constant_behind(node.src(1));
  if (!constant || !x.is(Op::Cast) || !x.src(0).dtype().is_bool() || constant.dtype().is_index())
    return UOp();
  ScalarValue one = convert(constant.dtype(), ScalarValue::of_bool(true));
  ScalarValue zero = convert(constant.dtype(), ScalarValue::of_bool(false));
  Rewriter& rewriter = match.rewriter();
  bool is_one = constant.arg(0) == one.bits, is_zero = constant.arg(0) == zero.bits;
  if (!is_one && !is_zero) return rewriter.constant_int(node.dtype(), node.is(Op::CmpNe));
  bool same = (node.is(Op::CmpEq)) == is_one;
  return same ? x.src(0) : rewriter.lnot(x.src(0));
}

// clang-format off: * and & of patterns are operators
constexpr Rule kRules[] = {
    rw("fold-constants", any_elementwise, fold_constants),
    rw("constant-last", any(Op::Add), constant_last),
    rw("constant-last", any(Op::Mul), constant_last),
    rw("constant-last", any(Op::Max), constant_last),
    rw("constant-last", any(Op::And), constant_last),
    rw("constant-last", any(Op::Or), constant_last),
    rw("constant-last", any(Op::Xor), constant_last),
    rw("constant-last", any(Op::CmpEq), constant_last),
    rw("constant-last", any(Op::CmpNe), constant_last),
    rw("flag-is", any(Op::CmpEq), compare_flag),
    rw("flag-is-not", any(Op::CmpNe), compare_flag),
    rw("max-itself", max(x, x), x),
    rw("and-itself", x & x, x),
    rw("or-itself", x | x, x),
    rw("less-than-itself", x < x, 0),
    rw("where-true", where(c0, x, y), x, is_true),
    rw("where-false", where(c0, x, y), y, is_false),
    rw("where-either", where(x, y, y), y),
    rw("where-not", where(lnot(x), y, z), where(x, z, y)),
    rw("where-then-where", where(x, where(x, y, z), w), where(x, y, w)),
    rw("where-else-where", where(x, y, where(x, z, w)), where(x, y, w)),
    rw("where-and", where(x, where(y, z, w), w), where(x & y, z, w)),
    rw("where-or", where(x, z, where(y, z, w)), where(x | y, z, w)),
    rw("cast", any(Op::Cast), cast_rule),
    rw("bitcast", any(Op::Bitcast), bitcast_rule),
};
// clang-format on

}  // namespace

constinit const RuleTable kGenericRules{"generic", Domain::Any, kRules};

const RuleSet& simplify_rules() {
  static const RuleTable* const kTables[] = {&kGenericRules, &kBoolRules,  &kIndexRules,
                                             &kIntRules,     &kFloatRules, &kRelaxedFloatRules};
  static const RuleSet* rules = new RuleSet(kTables);
  return *rules;
}

}  // namespace doorbell::core
