// What AMD's chips offer a kernel: Caps from a chip's row in drivers/amd/hw/isa/chip.h.
#pragma once

#include "codegen/caps.h"
#include "drivers/amd/hw/isa/chip.h"

namespace doorbell::codegen {

// For every compiler. `compute_units` are those of the GPU, of which a smaller product or a
// partition has fewer than the chip; 0: those of the chip.
Caps amd_caps(const amd::hw::Chip& chip, i64 compute_units = 0);

}  // namespace doorbell::codegen
