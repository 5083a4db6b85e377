// What a tile in local memory holds of an operand: its elements as they lie in global memory, or
// what the reduction makes of each alone, computed once for the group instead of by every item.
#pragma once

#include "codegen/opt/kernel_info.h"

namespace doorbell::codegen::detail {

struct StagedValue {
  core::UOp value;
  f64 cost = 0;  // of making it of an element, in additions

  i64 bytes() const { return value.dtype().bytes(); }
};

// The value that the kernel makes of `load` and constants, if all that it reads of the load goes
// through it and it costs more than a few additions; else the load, at no cost.
StagedValue staged_value(const KernelInfo& info, core::UOp load);

}  // namespace doorbell::codegen::detail
