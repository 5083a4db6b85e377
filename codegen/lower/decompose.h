// The pass after which a kernel has only operations and dtypes that its target supports.
//
// Needs: a kernel graph of scalar values (core/schedule/kernel.h, before or after loops are split;
// not after they are unrolled into vectors). Guarantees: the same kernel, in which
// - elementwise ops are in caps.ops, but for Index arithmetic, which is not touched, and for Cast,
//   Bitcast, Where and the logic of Bools, which every target has;
// - arithmetic is on dtypes of caps.dtypes (Bool and Index apart); narrower floats are f32, rounded
//   after each operation, and exist only as operands of Load, Store, Cast and Bitcast;
// - memory has elements of caps.storage_dtypes: Params of others are unsigned integers as wide.
// Integers and f64 that caps.dtypes lacks cannot be emulated: they fail a CHECK. Shift amounts and
// divisors are not changed: renderers give them the meaning of core/eval.
#pragma once

#include "codegen/caps.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

core::UOp decompose(core::Rewriter& rewriter, core::UOp sink, const Caps& caps);

}  // namespace doorbell::codegen
