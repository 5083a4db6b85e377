// Simplifying expressions where a condition is known to hold: the gates of masked loads and stores.
// A condition is a conjunction of bounds on Index expressions in the form index_compare.cc gives
// them.
#pragma once

#include "core/rewrite/rewriter.h"

namespace doorbell::core {

// An expression that equals `expression` wherever the Bool `valid` is true, and is no larger. Loads
// inside are left as they are: they happen whether `valid` holds or not.
UOp simplify_given(Rewriter& rewriter, UOp expression, UOp valid);

// The same condition with fewer or simpler clauses: each is simplified under the others.
UOp simplify_valid(Rewriter& rewriter, UOp valid);

// Gated Index: its condition and, under it, its element index. Loads lose gates that are always
// true, and are their alternative where the gate is never true.
extern const RuleTable kValidityRules;

}  // namespace doorbell::core
