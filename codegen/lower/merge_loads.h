// Scalar loads of neighbouring elements become one vector load and its lanes. Unrolling an axis
// along which memory is contiguous makes such loads; expand.h has made the vectors of the plan
// already.
//
// Needs: an expanded kernel. Guarantees: the same values; a vector that is made here lies at a
// multiple of its lanes, counted from the start of the memory.
#pragma once

#include "codegen/caps.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

core::UOp merge_loads(core::Rewriter& rewriter, core::UOp sink, const Caps& caps);

}  // namespace doorbell::codegen
