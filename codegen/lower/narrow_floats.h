// Floats for which a target has no arithmetic: their values are computed as f32 and rounded after
// every operation. A value has up to two forms, made when first needed:
//   wide    f32, equal to the value
//   stored  what memory holds: the dtype itself where the target loads and stores it (then it casts
//           it too), otherwise its bits as an unsigned integer
// decompose.h finds the nodes that need this.
#pragma once

#include "codegen/lower/op_builder.h"
#include "codegen/render/narrow_float.h"

namespace doorbell::codegen {

// Computed in f32 on this target.
inline bool is_emulated(core::DType dtype, const Caps& caps) {
  return is_narrow_float(dtype) && !caps.has(dtype);
}
// The dtype of elements in a target's memory: itself, or an unsigned integer of the same width.
core::DType stored_dtype(core::DType dtype, const Caps& caps);

// A value of a narrow dtype in one or both forms.
struct NarrowValue {
  core::UOp wide, stored;
};

// The f32 (any value) rounded to `dtype`, in stored form.
core::UOp round_to_stored(OpBuilder& builder, core::DType dtype, core::UOp f32);
// The stored form of an f32 that `dtype` can represent, or the f32 of a stored form: both exact.
core::UOp stored_from_wide(OpBuilder& builder, core::DType dtype, core::UOp wide);
core::UOp wide_from_stored(OpBuilder& builder, core::DType dtype, core::UOp stored);
// Cast of a value that is not a narrow float, rounded once, in stored form.
core::UOp cast_to_stored(OpBuilder& builder, core::DType dtype, core::UOp value);

}  // namespace doorbell::codegen
