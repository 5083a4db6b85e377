// Which bits of a register have a field, so that they may be written other than 0.
#pragma once

#include "drivers/amd/hw/bare/registers.h"

namespace doorbell::emu::amdgpu {

u32 defined_bits(amd::hw::Reg reg, amd::hw::BareChip chip);
// Of the register CP_MQD_BASE_ADDR + index.
u32 defined_queue_bits(u32 index, amd::hw::BareChip chip);

}  // namespace doorbell::emu::amdgpu
