// What a preempted queue left of its waves in one XCC's part of the save area (context_save.h has
// the layout): where each stands, and its registers. Any bytes are read or refused, never trusted.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/util/result.h"
#include "drivers/amd/hw/context_save.h"
#include "drivers/amd/hw/generation.h"

namespace doorbell::amd::hw {

struct SavedWave {
  u64 pc = 0;  // what it executes next; of a halted wave where the exception stopped it
  u32 lanes = 64;
  u64 exec = 0;
  u32 status = 0;   // gfx12: STATE_PRIV
  u32 trapsts = 0;  // gfx12: EXCP_FLAG_PRIV
  u32 mode = 0, m0 = 0;
  bool in_barrier = false;  // gfx12 does not say
  bool halted = false;      // by the kernel's trap handler
  bool memory_violation = false, illegal_instruction = false;
  bool first_of_group = false, last_of_group = false;
  std::array<u32, 16> trap_registers{};
  // Borrowed from the area. A vector register is `lanes` words; accumulation registers follow.
  std::span<const u8> vectors, scalars, lds;
  u32 vector_count = 0, accumulator_count = 0;

  // The group's coordinates and the wave's place in it, where the trap registers have them: always
  // on gfx12; before, when RUNTIME_ENABLE asked for it. [LLVM AMDGPUUsage, "Trap registers";
  // ROCdbgapi src/architecture.cpp group_ids() L2665, L7000, position_in_group() L2680, L7033]
  std::array<u32, 3> group(Generation generation) const;
  u32 position_in_group(Generation generation) const;
  u32 scalar(usize index) const;
  u32 vector(usize index, u32 lane) const;
};

// `area` begins at the XCC's header. Waves come as the control stack has them, those of a group
// behind each other. `lds_unit`: bytes that lds_size counts in.
Result<std::vector<SavedWave>> read_saved_waves(Generation generation, std::span<const u8> area,
                                                u32 lds_unit = 512);

}  // namespace doorbell::amd::hw
