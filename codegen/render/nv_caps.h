// What NVIDIA's chips offer a kernel: Caps from a chip's row in drivers/nv/hw/isa/chip.h.
#pragma once

#include "codegen/caps.h"
#include "drivers/nv/hw/isa/chip.h"

namespace doorbell::codegen {

// Whichever compiler makes the code. `multiprocessors` are those of the GPU at hand, of which a
// smaller part or a partition has fewer; 0: the chip's.
Caps nv_caps(const nv::hw::Chip& chip, i64 multiprocessors = 0);

}  // namespace doorbell::codegen
