// The reduce table: ranges of one value, ranges the value does not vary with, and collapse_sum.
#include "core/rules/reduce.h"

#include "core/rewrite/match.h"
#include "core/rules/rules.h"
#include "core/rules/validity.h"

namespace doorbell::core {
namespace {

u64 mask_of(UOp range) { return u64{1} << (range.range_id() & 63); }

UOp reduce_over(Rewriter& rewriter, UOp reduce, UOp value, std::span<const UOp> ranges) {
  if (ranges.empty()) return value;
  std::vector<UOp> srcs = {value};
  srcs.insert(srcs.end(), ranges.begin(), ranges.end());
  return rewriter.make(Op::Reduce, reduce.dtype(), srcs, reduce.args());
}

// A Range of size 1 is the constant 0, and repeats nothing.
UOp drop_constant_ranges(const Match& match) {
  UOp node = match.node();
  std::vector<UOp> kept = {node.src(0)};
  for (UOp range : node.srcs().subspan(1)) {
    if (!range.is_const()) kept.push_back(range);
  }
  if (kept.size() == node.nsrc()) return UOp();
  if (kept.size() == 1 && node.is(Op::Reduce)) return node.src(0);
  return match.rewriter().with_srcs(node, kept);
}

// n equal values combined.
UOp repeated(Rewriter& rewriter, Op op, UOp value, UOp size) {
  DType t = value.dtype();
  if (op == Op::Add && !t.is_bool()) {
    UOp count = rewriter.cast(size, t.element());
    if (t.lanes > 1) count = rewriter.make(Op::Splat, t, {count});
    return rewriter.mul(value, count);
  }
  bool idempotent = op == Op::Max || op == Op::And || op == Op::Or || op == Op::Add;
  // A reduction of no values is the identity.
  return idempotent && size.vmin() > 0 ? value : UOp();
}

UOp drop_unused_ranges(const Match& match) {
  UOp node = match.node(), value = node.src(0);
  Rewriter& rewriter = match.rewriter();
  std::vector<UOp> kept;
  for (UOp range : node.srcs().subspan(1)) {
    if (!range.is(Op::Range)) return UOp();
    UOp next;
    if (!(value.range_mask() & mask_of(range)))
      next = repeated(rewriter, node.reduce_op(), value, range.src(0));
    if (next)
      value = next;
    else
      kept.push_back(range);
  }
  if (kept.size() + 1 == node.nsrc()) return UOp();
  return reduce_over(rewriter, node, value, kept);
}

UOp collapse_ranges(const Match& match) {
  UOp node = match.node();
  if (node.reduce_op() != Op::Add || node.dtype() != node.src(0).dtype()) return UOp();
  std::span<const UOp> ranges = node.srcs().subspan(1);
  for (usize i = 0; i < ranges.size(); ++i) {
    UOp sum = collapse_sum(match.rewriter(), node.src(0), ranges[i]);
    if (!sum) continue;
    std::vector<UOp> others(ranges.begin(), ranges.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    return reduce_over(match.rewriter(), node, sum, others);
  }
  return UOp();
}

constexpr Rule kRules[] = {
    rw("reduce-constant-ranges", any(Op::Reduce), drop_constant_ranges),
    rw("end-constant-ranges", any(Op::End), drop_constant_ranges),
    rw("reduce-unused-ranges", any(Op::Reduce), drop_unused_ranges)
        .relaxing("rounding: n * x for the sum of n times x"),
    rw("collapse-sum", any(Op::Reduce), collapse_ranges)
        .relaxing("rounding; 0 * infinity in masked products; sign of zero"),
};

}  // namespace

constinit const RuleTable kReduceRules{"reduce", Domain::Any, kRules};

const RuleSet& kernel_rules() {
  static const RuleTable* const kTables[] = {&kGenericRules,  &kBoolRules,  &kIndexRules,
                                             &kIntRules,      &kFloatRules, &kRelaxedFloatRules,
                                             &kValidityRules, &kReduceRules};
  static const RuleSet* rules = new RuleSet(kTables);
  return *rules;
}

}  // namespace doorbell::core
