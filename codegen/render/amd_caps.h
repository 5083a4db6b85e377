// What AMD's chips offer a kernel: Caps from a chip's row in drivers/amd/hw/isa/chip.h.
#pragma once

#include "codegen/caps.h"
#include "drivers/amd/hw/isa/chip.h"

namespace doorbell::codegen {

// Whichever compiler makes the code. `compute_units` are those of the GPU at hand, of which a
// smaller part or a partition has fewer; 0: the chip's.
Caps amd_caps(const amd::hw::Chip& chip, i64 compute_units = 0);

}  // namespace doorbell::codegen
