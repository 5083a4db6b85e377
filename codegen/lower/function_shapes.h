// Recognises well-known functions in a kernel's graph, and names single operations: queries about
// one node and the few below it. For which of them name a kernel see operation_words.h.
//
// The tensor API makes these functions from the operations of the IR. If that changes, the kernel
// is named after the operations instead, and a test fails.
#pragma once

#include "codegen/lower/operation_words.h"

namespace doorbell::codegen {

bool is_number(core::UOp u, f64 value);  // a constant near it, also if rounded to a 16-bit float
bool is_exp(core::UOp u);
bool is_log(core::UOp u);
bool is_sigmoid(core::UOp u);
bool is_absolute(core::UOp u);
bool is_sum(core::UOp u);
bool is_sum_of_exp(core::UOp u);
bool is_not(core::UOp u);
bool is_random(core::UOp u);  // Threefry's result, or some of its bits
bool finds_any(core::UOp u);  // a reduction of Bools
core::UOp without_cast(core::UOp u);

inline constexpr OperationWord kNoWord = {"", WordRank::Arithmetic};
// The word for the operation by itself.
OperationWord plain_word(core::Op op);
const char* reduction_word(core::UOp reduce);

}  // namespace doorbell::codegen
