// Merges adjacent ranges that every access walks as one range, so that an elementwise kernel over a
// contiguous tensor is a single loop whatever its rank.
//
// Needs: a kernel graph in AST form. Guarantees: the same kernel with as few ranges, ids dense.
#pragma once

#include "codegen/opt/kernel_info.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

core::UOp merge_ranges(core::Rewriter& rewriter, core::UOp sink);

}  // namespace doorbell::codegen
