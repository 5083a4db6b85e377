// REWRITE_TRACE=1: every firing of a rule as a line of the log, expressions as short formulas. For
// the complete text form of graphs see core/uop/print.h.
#pragma once

#include <string>

#include "core/rewrite/rule.h"

namespace doorbell::core {

// "Add(Mul(r0, 4), r1)": down to a few levels, "..." below them.
std::string formula(UOp uop, int levels = 4);

// A Rewriter::Trace that logs.
void log_firing(void* context, const Rule& rule, UOp before, UOp after);

}  // namespace doorbell::core
