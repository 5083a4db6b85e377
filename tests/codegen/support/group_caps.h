// A target with work groups as tests see it: everything is native, the groups are small, so that
// kernels of a few hundred elements have several.
#pragma once

#include "codegen/caps.h"

namespace doorbell::codegen {

inline Caps group_caps() {
  Caps caps;
  caps.ops.set();
  caps.ops.reset(static_cast<usize>(core::Op::Reduce));  // linear/combined_load.h
  caps.dtypes.set();
  caps.storage_dtypes.set();
  caps.has_local = true;
  caps.narrow_index = true;
  caps.vector_bytes = 16;
  caps.vector_registers = 64;
  caps.max_local = 64;
  caps.max_local_axis[0] = caps.max_local_axis[1] = 64;
  caps.max_local_axis[2] = 4;
  caps.max_shared_bytes = 16 << 10;
  return caps;
}

}  // namespace doorbell::codegen
