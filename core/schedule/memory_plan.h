// The memory planner: places a schedule's temporaries, so that those alive at different times share
// memory. The engine allocates the one block per device.
#pragma once

#include <span>

#include "core/schedule/kernel.h"

namespace doorbell::core {

inline constexpr i64 kPlanAlignment = 256;

// Needs items in execution order, each naming the buffers it touches. Writes the offset of each
// temporary that an item names, and temporary_bytes. With `reuse` false none share memory.
void plan_memory(Schedule* schedule, bool reuse = true);

// The planner itself, for one device: a block lives from item `first` to item `last`, inclusive.
struct PlannedBlock {
  i64 bytes;
  u32 first, last;
  i64 offset = -1;
};
// Writes offsets and returns the size of the whole.
i64 place_blocks(std::span<PlannedBlock> blocks);

}  // namespace doorbell::core
