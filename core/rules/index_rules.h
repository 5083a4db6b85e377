// Inside core/rules: the code rules of the index table, one file per group of ops.
#pragma once

#include "core/rules/linear_form.h"

namespace doorbell::core::rules {

// index_sum.cc
UOp simplify_sum(Rewriter& rewriter, LinearForm form);  // null where the form is invalid
// An upper limit of the sum that keeps symbolic sizes: a Range is at most its size minus one.
LinearForm symbolic_limit(Rewriter& rewriter, const LinearForm& form);
UOp sum_rule(const Match& match);
UOp product_rule(const Match& match);

// index_divmod.cc
UOp floordiv_rule(const Match& match);
UOp floormod_rule(const Match& match);

// index_compare.cc
UOp less_rule(const Match& match);
UOp equal_rule(const Match& match);  // CmpEq and CmpNe
UOp max_rule(const Match& match);

}  // namespace doorbell::core::rules
