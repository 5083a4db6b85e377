// The rule tables, by domain, and the sets that passes use. For how rules are written see
// core/rewrite/rule.h; each table's file describes it.
#pragma once

#include "core/rewrite/rewriter.h"
#include "core/rewrite/rule.h"

namespace doorbell::core {

extern const RuleTable kGenericRules;  // any dtype: constants, casts, Where
extern const RuleTable kIndexRules;    // unbounded integers
extern const RuleTable kIntRules;      // wrapping integers
extern const RuleTable kBoolRules;
extern const RuleTable kFloatRules;         // value-preserving but for the NaN's bits
extern const RuleTable kRelaxedFloatRules;  // each says what it relaxes

// The simplifications that hold everywhere; what Rewriters usually run with.
const RuleSet& simplify_rules();

}  // namespace doorbell::core
