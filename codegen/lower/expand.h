// Unrolling and vectorising: ranges that the opts marked become straight-line code.
//
// Needs: a kernel graph after apply.h: Upcast and Unroll ranges of constant size, at most one
// Vector range in any node. Guarantees: only Loop and Reduce ranges remain, each closed by one End;
// no Reduce remains (registers accumulate in its place); values that vary with a Vector range are
// vectors of its size; Loads and Stores of consecutive lanes are vector accesses, others are taken
// apart by lane. Addresses and gates are still Index arithmetic (lower_index.h ends that).
#pragma once

#include "codegen/caps.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

core::UOp expand(core::Rewriter& rewriter, core::UOp sink, const Caps& caps);

}  // namespace doorbell::codegen
