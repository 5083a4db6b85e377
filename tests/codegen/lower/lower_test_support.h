// Shared by the tests of codegen/lower: a machine without the ops to be taken apart, and operands.
#pragma once

#include "codegen/caps.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::codegen {

// The ops that every target has something for, on all dtypes from Bool to u64, f32 and f64.
inline Caps basic_caps() {
  using core::Op;
  using core::Scalar;
  Caps caps;
  for (Op op :
       {Op::Cast, Op::Bitcast, Op::Neg,  Op::Sqrt, Op::Recip, Op::Trunc, Op::Add,   Op::Sub,
        Op::Mul,  Op::FDiv,    Op::CDiv, Op::CMod, Op::Max,   Op::CmpLt, Op::CmpEq, Op::CmpNe,
        Op::And,  Op::Or,      Op::Xor,  Op::Shl,  Op::Shr,   Op::Where, Op::MulAcc}) {
    caps.ops.set(static_cast<usize>(op));
  }
  for (usize s = static_cast<usize>(Scalar::Bool); s <= static_cast<usize>(Scalar::U64); ++s) {
    caps.dtypes.set(s);
  }
  caps.dtypes.set(static_cast<usize>(Scalar::F32));
  caps.dtypes.set(static_cast<usize>(Scalar::F64));
  caps.storage_dtypes = caps.dtypes;
  return caps;
}

inline void remove(Caps& caps, std::initializer_list<core::Op> ops) {
  for (core::Op op : ops) caps.ops.reset(static_cast<usize>(op));
}

// A value that a kernel would read: one element of Param `slot`.
inline core::UOp operand(core::Arena& arena, core::DType dtype, i64 slot = 0) {
  core::UOp memory = arena.make(core::Op::Param, dtype, {}, {slot, 1});
  core::UOp element = arena.make(core::Op::Index, dtype, {memory, arena.index(0)});
  return arena.make(core::Op::Load, dtype, {element});
}

}  // namespace doorbell::codegen
