// The shapes that well-known functions have in a kernel's graph, and what single operations are
// called: questions about one node and the few below it. For which of them a kernel is named after
// see operation_words.h.
//
// The tensor API makes these functions from the operations of the IR; where it makes one in another
// way, the function goes by the names of its operations, which tests tell.
#pragma once

#include "codegen/lower/operation_words.h"

namespace doorbell::codegen {

bool is_number(core::UOp u, f64 value);  // a constant near it: what a 16-bit float holds of it, too
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
// The operation's own word, where it is not part of something larger.
OperationWord plain_word(core::Op op);
const char* reduction_word(core::UOp reduce);

}  // namespace doorbell::codegen
