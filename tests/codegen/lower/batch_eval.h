// Evaluates an elementwise graph for many values of its leaves at once, in the machine's
// arithmetic: fast enough for sweeps of a million arguments. Written apart from core/eval and from
// the code under test.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/uop/arena.h"

namespace doorbell::codegen {

// Values as raw bits of the dtype, zero-extended.
using Batch = std::vector<u64>;

// `leaves` by node id. MulAcc rounds once if `fused`, twice otherwise.
Batch batch_eval(core::Arena& arena, core::UOp root, const std::map<u32, Batch>& leaves,
                 bool fused);

}  // namespace doorbell::codegen
