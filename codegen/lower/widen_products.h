// Computes products of narrow floats that are only summed in f32. Otherwise each product would be
// rounded to the narrow dtype, which matrix instructions do not do, and which takes instructions
// where the target computes in f32.
#pragma once

#include "codegen/caps.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

// sum of f32(x * y) becomes sum of f32(x) * f32(y), where the target has a tensor core of the
// dtype or no arithmetic of it. Relaxes rounding: the result is nearer to the exact one. Needs a
// kernel before decomposition.
core::UOp widen_products(core::Rewriter& rewriter, core::UOp sink, const Caps& caps);

}  // namespace doorbell::codegen
