// From unbounded index arithmetic to machine integers.
//
// Needs: an expanded kernel (expand.h). Guarantees: no node has dtype Index, and index arithmetic
// is of ops that the target has. Scalars become i64, or, where `caps.narrow_index` says so, i32 if
// they and what they are made of provably fit; vector index arithmetic becomes i32 where every
// value provably fits, else i64. Floor division and modulo become those of C if the dividend is
// never negative; otherwise a correction is added. An index whose bounds exceed i64 is an error.
#pragma once

#include "codegen/caps.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

core::UOp lower_index(core::Rewriter& rewriter, core::UOp sink, const Caps& caps);

}  // namespace doorbell::codegen
