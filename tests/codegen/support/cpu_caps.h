// A CPU as tests of blocks and vectors see it: everything is native, and masks cost nothing.
#pragma once

#include "codegen/caps.h"

namespace doorbell::codegen {

inline Caps cpu_caps(int vector_bytes) {
  Caps caps;
  caps.ops.set();
  caps.dtypes.set();
  caps.storage_dtypes.set();
  caps.masked_access = true;
  caps.vector_bytes = vector_bytes;
  return caps;
}

}  // namespace doorbell::codegen
