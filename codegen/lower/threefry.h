// Threefry-2x32 with 20 rounds in u32 operations: no target has an instruction for it.
#pragma once

#include "codegen/lower/op_builder.h"

namespace doorbell::codegen {

// counter and key u64, low word first; u64.
core::UOp threefry(OpBuilder& builder, core::UOp counter, core::UOp key);

}  // namespace doorbell::codegen
