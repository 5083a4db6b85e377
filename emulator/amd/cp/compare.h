// The comparisons of WAIT_REG_MEM and POLL_REGMEM, which are the same. [nvd.h
// WAIT_REG_MEM_FUNCTION; sdma_v6_0_0_pkt_open.h POLL_REGMEM_HEADER func]
#pragma once

#include "drivers/amd/hw/pm4/memory.h"

namespace doorbell::emu::amdgpu {

inline bool holds(amd::hw::Compare function, u64 value, u64 reference) {
  using amd::hw::Compare;
  switch (function) {
    case Compare::Always: return true;
    case Compare::Less: return value < reference;
    case Compare::LessEqual: return value <= reference;
    case Compare::Equal: return value == reference;
    case Compare::NotEqual: return value != reference;
    case Compare::GreaterEqual: return value >= reference;
    case Compare::Greater: return value > reference;
  }
  return true;  // 7 is reserved, and refused before
}

// Whether numbers are compared by order of which some bit in the middle does not count.
inline bool skips_bits(amd::hw::Compare function, u64 mask) {
  using amd::hw::Compare;
  const bool by_order = function == Compare::Less || function == Compare::LessEqual ||
                        function == Compare::GreaterEqual || function == Compare::Greater;
  return by_order && (mask & (mask + 1)) != 0;
}

// How long waits rest between two looks, in 16 clocks. [rules.def AMD-WAIT-003]
constexpr bool is_wait_interval(u32 interval) { return interval == 4; }
constexpr bool is_copy_engine_interval(u32 interval) { return interval == 4 || interval == 10; }
constexpr bool is_acquire_interval(u32 interval) { return interval == 0 || interval == 10; }

}  // namespace doorbell::emu::amdgpu
