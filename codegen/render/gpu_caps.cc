// The operations that LLVM and the C++ dialects both have on a GPU.
#include "codegen/render/gpu_caps.h"

namespace doorbell::codegen {

using core::Op;
using core::Scalar;

namespace {

constexpr Op kOps[] = {Op::Cast, Op::Bitcast, Op::Neg,   Op::Sqrt,  Op::Recip, Op::Trunc,
                       Op::Add,  Op::Sub,     Op::Mul,   Op::FDiv,  Op::CDiv,  Op::CMod,
                       Op::Max,  Op::CmpLt,   Op::CmpEq, Op::CmpNe, Op::And,   Op::Or,
                       Op::Xor,  Op::Shl,     Op::Shr,   Op::Where, Op::MulAcc};

}  // namespace

Caps gpu_caps() {
  Caps caps;
  for (Op op : kOps) caps.ops.set(static_cast<usize>(op));
  // bf16 and narrower are computed in f32; the renderer converts them.
  for (usize scalar = static_cast<usize>(Scalar::Bool); scalar <= static_cast<usize>(Scalar::F64);
       ++scalar) {
    caps.storage_dtypes.set(scalar);
    const bool narrow =
        scalar >= static_cast<usize>(Scalar::F8E4M3) && scalar <= static_cast<usize>(Scalar::BF16);
    if (!narrow || scalar == static_cast<usize>(Scalar::F16)) caps.dtypes.set(scalar);
  }
  caps.narrow_index = true;
  caps.has_local = true;
  caps.vector_registers = 64;  // of an item, four words each: occupancy bounds register tiles
  return caps;
}

void set_graphics_ops(Caps* caps) {
  for (Op op : kOps)
    if (op != Op::MulAcc) caps->ops.set(static_cast<usize>(op));
  for (Scalar scalar : {Scalar::Bool, Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16, Scalar::I32,
                        Scalar::U32, Scalar::I64, Scalar::U64, Scalar::F32}) {
    caps->dtypes.set(static_cast<usize>(scalar));
    caps->storage_dtypes.set(static_cast<usize>(scalar));
  }
  caps->narrow_index = true;
  caps->has_local = true;
}

}  // namespace doorbell::codegen
