// Reductions that need no loop: over ranges the value does not vary with, and sums over a range
// that only conditions look at (arange, one-hot, gather). Kernel form: Reduce(value, ranges...).
#pragma once

#include "core/rewrite/rewriter.h"

namespace doorbell::core {

// The sum over `range` of `value` without a loop over it; null where there is none. Relaxes float
// rounding (n * x for x + ... + x), and 0 * infinity in masked products, as reordering sums does.
UOp collapse_sum(Rewriter& rewriter, UOp value, UOp range);

// For Reduce, and End whose ranges have one value.
extern const RuleTable kReduceRules;

// All simplifications a kernel wants: simplify_rules, kReduceRules and those of validity.h. They
// include simplify_rules, so a Rewriter with these may follow one without on the same arena.
const RuleSet& kernel_rules();

}  // namespace doorbell::core
