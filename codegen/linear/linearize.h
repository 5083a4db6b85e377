// From graph to list: every node into the innermost loop it depends on, loops in the order of their
// range ids.
//
// Needs: a lowered kernel: each Range closed by one End, ids in nesting order. Guarantees: the
// order of codegen/linear/program.h; an End closes exactly one Range; what does not vary with a
// loop stands before it (loop-invariant code motion for free).
#pragma once

#include <vector>

#include "core/uop/arena.h"

namespace doorbell::codegen {

std::vector<core::UOp> linearize(core::Arena& arena, core::UOp sink);

}  // namespace doorbell::codegen
