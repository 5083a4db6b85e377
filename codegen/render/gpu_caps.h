// The Caps that all GPUs with machine code of ours share. amd_caps() and nv_caps() start from them.
#pragma once

#include "codegen/caps.h"

namespace doorbell::codegen {

// Sets operations, dtypes and local memory. The caller adds sizes and limits from the chip's row.
Caps gpu_caps();

}  // namespace doorbell::codegen
