// The Caps that all GPUs with machine code of ours share, from which amd_caps() and nv_caps()
// start; and those of GPUs whose own compiler takes a text.
#pragma once

#include "codegen/caps.h"

namespace doorbell::codegen {

// Sets operations, dtypes and local memory. The caller adds sizes and limits from the chip's row.
Caps gpu_caps();
// Sets the same of what all languages of graphics interfaces have (OpenCL C, WGSL, MSL): integers,
// f32, and no fused multiply-add.
void set_graphics_ops(Caps* caps);

}  // namespace doorbell::codegen
