// Occupancy: how many waves of a kernel a GPU's SIMD holds at once. Others run while one waits for
// memory.
#pragma once

#include "codegen/caps.h"
#include "codegen/opt/kernel_info.h"
#include "codegen/opt/opt.h"

namespace doorbell::codegen {

// The resources that an item and its group need.
struct Demand {
  i64 registers = 0;    // 32-bit vector registers of an item
  i64 local_bytes = 0;  // of a group
  i64 items = 1;        // of a group
};

// Waves of a SIMD, maybe a fraction below one; 0 if the target's resources are unknown
// (Caps::simd).
f64 waves_of_simd(const Caps& caps, const Demand& demand);

// Estimates an item's 32-bit registers: for the values that the plan makes it load at once and for
// those computed from them, in the width of the arithmetic.
i64 item_registers(const KernelInfo& info, const Caps& caps, const Plan& plan);

// Whether items need so many registers, or groups so much local memory, that values are spilled or
// too few waves are left to hide latency. False if the target's resources are unknown.
bool is_crowded(const Caps& caps, const Demand& demand);

// The slowdown by memory latency of a loop whose body takes `work` cycles of an item and waits once
// for global memory, if this many waves share a SIMD; 1 means that it is hidden.
f64 stall_factor(const Caps& caps, f64 waves, f64 work);

}  // namespace doorbell::codegen
