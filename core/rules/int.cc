// The int table: two's complement integers that wrap, so only what holds modulo 2^bits. Floor
// division and comparisons do not commute with wrapping sums and are left alone, but for bounds.
#include "core/rules/interval.h"
#include "core/rules/rules.h"

namespace doorbell::core {
namespace {

using namespace pat;

UOp constant_by_bounds(const Match& match) {
  UOp node = match.node();
  if (node.vmin() != node.vmax() || !is_finite(node.vmin())) return UOp();
  return match.rewriter().constant_int(node.dtype(), node.vmin());
}

// U64 values above i64 have no bounds, so bounds say nothing about order there.
bool ordered_bounds(const Match& m) { return m.x().dtype().scalar != Scalar::U64; }
bool first_is_larger(const Match& m) { return ordered_bounds(m) && m.x().vmin() >= m.y().vmax(); }
bool second_is_larger(const Match& m) { return ordered_bounds(m) && m.x().vmax() <= m.y().vmin(); }
bool below_denominator(const Match& m) {
  return ordered_bounds(m) && m.x().vmin() >= 0 && m.x().vmax() < m.c(0);
}
bool below_width(const Match& m) {
  i64 bits = m.x().dtype().bits();
  return m.c(0) >= 0 && m.c(1) >= 0 && m.c(0) < bits && m.c(1) < bits && m.c(0) + m.c(1) < bits;
}

// An Index that a cast to int keeps the value of, or a constant as Index; null for anything else.
UOp index_behind(Rewriter& rewriter, UOp uop) {
  if (uop.is_const()) return rewriter.index(uop.const_int());
  if (!uop.is(Op::Cast) || !uop.src(0).dtype().is_index()) return UOp();
  UOp inner = uop.src(0);
  bool kept = inner.vmin() == uop.vmin() && inner.vmax() == uop.vmax() && is_finite(inner.vmin()) &&
              is_finite(inner.vmax());
  return kept ? inner : UOp();
}

// Arithmetic on casts of Index is Index arithmetic, where more is known, as long as it cannot wrap.
UOp index_under_cast(const Match& match) {
  UOp node = match.node();
  Rewriter& rewriter = match.rewriter();
  DType t = node.src(0).dtype();
  bool any_cast = node.src(0).is(Op::Cast) || node.src(1).is(Op::Cast);
  if (!any_cast || t.lanes != 1 || t.scalar == Scalar::U64) return UOp();
  UOp a = index_behind(rewriter, node.src(0));
  UOp b = a ? index_behind(rewriter, node.src(1)) : UOp();
  if (!b) return UOp();
  if (is_comparison(node.op())) return rewriter.make(node.op(), node.dtype(), {a, b});
  UOp result = rewriter.make(node.op(), dtypes::index, {a, b});
  UOp cast = rewriter.cast(result, t);
  bool kept = cast.vmin() == result.vmin() && cast.vmax() == result.vmax();
  return kept && is_finite(cast.vmin()) && is_finite(cast.vmax()) ? cast : UOp();
}

// clang-format off: * and & of patterns are operators
constexpr Rule kRules[] = {
    rw("constant-by-bounds", any_elementwise, constant_by_bounds),
    rw("add-zero", x + 0, x),
    rw("sub-zero", x - 0, x),
    rw("sub-itself", x - x, 0),
    rw("sub-constant", x - c0, x + fold(-c0)),
    rw("zero-minus", Pattern(0) - x, -x),
    rw("neg-neg", -(-x), x),
    rw("add-neg", x + -y, x - y),
    rw("sub-neg", x - -y, x + y),
    rw("mul-zero", x * 0, 0),
    rw("mul-one", x * 1, x),
    rw("mul-minus-one", x * -1, -x),
    rw("neg-mul", -(x * c0), x * fold(-c0)),
    rw("mul-neg", -x * c0, x * fold(-c0)),
    rw("reassociate-add", (x + c0) + c1, x + fold(c0 + c1)),
    rw("reassociate-mul", (x * c0) * c1, x * fold(c0 * c1)),
    rw("constants-outwards", (x + c0) + y, (x + y) + c0),
    rw("factor", x * c0 + x * c1, x * fold(c0 + c1)),
    rw("factor-one", x * c0 + x, x * fold(c0 + 1)),
    rw("double", x + x, x * 2),
    rw("floor-div-one", x / 1, x),
    rw("c-div-one", cdiv(x, 1), x),
    rw("floor-mod-one", x % 1, 0),
    rw("c-mod-one", cmod(x, 1), 0),
    rw("div-small", x / c0, 0, below_denominator),
    rw("mod-small", x % c0, x, below_denominator),
    rw("c-div-small", cdiv(x, c0), 0, below_denominator),
    rw("c-mod-small", cmod(x, c0), x, below_denominator),
    rw("mod-mod", (x % y) % y, x % y),
    rw("and-zero", x & 0, 0),
    rw("and-ones", x & -1, x),
    rw("reassociate-and", (x & c0) & c1, x & fold(c0 & c1)),
    rw("or-zero", x | 0, x),
    rw("or-ones", x | -1, -1),
    rw("reassociate-or", (x | c0) | c1, x | fold(c0 | c1)),
    rw("and-of-or", x & (x | y), x),
    rw("or-of-and", x | (x & y), x),
    rw("xor-zero", x ^ 0, x),
    rw("xor-itself", x ^ x, 0),
    rw("xor-xor", (x ^ y) ^ y, x),
    rw("reassociate-xor", (x ^ c0) ^ c1, x ^ fold(c0 ^ c1)),
    rw("shift-left-zero", x << 0, x),
    rw("shift-right-zero", x >> 0, x),
    rw("shift-left-twice", (x << c0) << c1, x << fold(c0 + c1), below_width),
    rw("shift-right-twice", (x >> c0) >> c1, x >> fold(c0 + c1), below_width),
    rw("max-first", max(x, y), x, first_is_larger),
    rw("max-second", max(x, y), y, second_is_larger),
    rw("reassociate-max", max(max(x, c0), c1), max(x, fold(max(c0, c1)))),
    rw("equals-itself", eq(x, x), 1),
    rw("differs-from-itself", ne(x, x), 0),
    rw("equal-sums", eq(x + c0, c1), eq(x, fold(c1 - c0))),
    rw("unequal-sums", ne(x + c0, c1), ne(x, fold(c1 - c0))),
    rw("truncation", trunc(x), x),
    rw("sum-of-index", any(Op::Add), index_under_cast),
    rw("difference-of-index", any(Op::Sub), index_under_cast),
    rw("product-of-index", any(Op::Mul), index_under_cast),
    rw("maximum-of-index", any(Op::Max), index_under_cast),
    rw("order-of-index", any(Op::CmpLt), index_under_cast),
    rw("equality-of-index", any(Op::CmpEq), index_under_cast),
    rw("inequality-of-index", any(Op::CmpNe), index_under_cast),
};
// clang-format on

}  // namespace

constinit const RuleTable kIntRules{"int", Domain::Int, kRules};

}  // namespace doorbell::core
