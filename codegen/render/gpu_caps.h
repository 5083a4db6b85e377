// What kernels may use on every GPU that we make machine code for; makers of Caps for a vendor's
// chips begin with it.
#pragma once

#include "codegen/caps.h"

namespace doorbell::codegen {

// Sets operations, dtypes and the use of local memory; everything that counts is left to the chip.
Caps gpu_caps();

}  // namespace doorbell::codegen
