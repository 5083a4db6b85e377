// How many waves of a kernel a GPU's SIMD holds at once: others run while one waits for memory.
#pragma once

#include "codegen/caps.h"
#include "codegen/opt/kernel_info.h"
#include "codegen/opt/opt.h"

namespace doorbell::codegen {

// What an item and its group take.
struct Demand {
  i64 registers = 0;    // 32-bit vector registers of an item
  i64 local_bytes = 0;  // of a group
  i64 items = 1;        // of a group
};

// Waves of a SIMD, at least a part of one; 0 where the target does not say (Caps::simd).
f64 waves_of_simd(const Caps& caps, const Demand& demand);

// 32-bit registers of an item, about: what the plan makes it load at once and what it computes of
// that, widened to what arithmetic takes.
i64 item_registers(const KernelInfo& info, const Caps& caps, const Plan& plan);

// Whether items take so many registers, or their groups so much local memory, that values would be
// kept in memory, or that too few waves are left to hide waits. False where the target has not said
// what it has.
bool is_crowded(const Caps& caps, const Demand& demand);

// The time of a loop whose body takes `work` cycles of an item and waits once for global memory,
// over the time without the wait, where so many waves share a SIMD.
f64 stall_factor(const Caps& caps, f64 waves, f64 work);

}  // namespace doorbell::codegen
