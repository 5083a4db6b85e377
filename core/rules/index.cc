// The index table: integers without bound, so all of the algebra of the integers holds; what does
// not fit i64 makes a rule decline. Sums, quotients and comparisons are normal forms worked out by
// code (index_sum.cc, index_divmod.cc, index_compare.cc); here is what the notation says.
#include "core/rules/index_rules.h"
#include "core/rules/rules.h"

namespace doorbell::core {
namespace {

using namespace pat;

// The value has one value only. Whatever the op.
UOp constant_by_bounds(const Match& match) {
  UOp node = match.node();
  if (node.vmin() != node.vmax() || !is_finite(node.vmin())) return UOp();
  return match.rewriter().constant_int(node.dtype(), node.vmin());
}

bool shift_fits(const Match& m) { return m.c(0) >= 0 && m.c(0) < 62; }
// For x that is not negative C's division is floor division.
bool not_negative_over_positive(const Match& m) { return m.x().vmin() >= 0 && m.c(0) > 0; }
bool is_low_mask(const Match& m) { return m.c(0) > 0 && ((m.c(0) + 1) & m.c(0)) == 0; }

// clang-format off: * and & of patterns are operators
constexpr Rule kRules[] = {
    rw("constant-by-bounds", any_elementwise, constant_by_bounds),
    rw("constant-range", any(Op::Range), constant_by_bounds),
    rw("sum", any(Op::Add), rules::sum_rule),
    rw("difference", any(Op::Sub), rules::sum_rule),
    rw("negation", any(Op::Neg), rules::sum_rule),
    rw("multiply-add", any(Op::MulAcc), rules::sum_rule),
    rw("product", any(Op::Mul), rules::product_rule),
    rw("quotient", any(Op::FloorDiv), rules::floordiv_rule),
    rw("remainder", any(Op::FloorMod), rules::floormod_rule),
    rw("c-quotient", cdiv(x, c0), x / c0, not_negative_over_positive),
    rw("c-remainder", cmod(x, c0), x % c0, not_negative_over_positive),
    rw("shift-left", x << c0, x * fold(Pattern(1) << c0), shift_fits),
    rw("shift-right", x >> c0, x / fold(Pattern(1) << c0), shift_fits),
    rw("low-bits", x & c0, x % fold(c0 + 1), is_low_mask),
    rw("truncation", trunc(x), x),
    rw("less", any(Op::CmpLt), rules::less_rule),
    rw("equal", any(Op::CmpEq), rules::equal_rule),
    rw("not-equal", any(Op::CmpNe), rules::equal_rule),
    rw("maximum", any(Op::Max), rules::max_rule),
    rw("maximum-constants", max(max(x, c0), c1), max(x, fold(max(c0, c1)))),
};
// clang-format on

}  // namespace

constinit const RuleTable kIndexRules{"index", Domain::Index, kRules};

}  // namespace doorbell::core
