// The registers of a wave before its first instruction, as the shader processor input (SPI) sets
// them up from the dispatch: scalar registers in the order of RSRC2's enable bits, work-item ids,
// lanes, MODE. See work_group.h and grid.h for the order.
#pragma once

#include <array>

#include "base/util/types.h"
#include "emulator/amd/compute/dispatch.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

// COMPUTE_PGM_RSRC1 to 3 in the words of a wave.
struct Resources {
  u32 vgprs = 0;         // rows that an instruction may name, of ordinary registers
  u32 accumulators = 0;  // of accumulation registers (gfx90a, gfx940)
  u32 sgprs = 0;
  u32 user_sgprs = 0;
  std::array<bool, 3> group_id{};
  bool group_info = false, scratch = false;
  u32 work_item_dimensions = 1;
  u32 mode = 0;  // MODE, as the program starts with it
};
Resources resources(const Chip& chip, const Dispatch& dispatch);

struct WaveStart {
  std::array<u32, 3> group{};       // coordinates of the group
  std::array<u32, 3> group_size{};  // work items of it in each dimension
  u32 wave = 0;                     // of the group; its lanes are work items wave * lanes and on
  u32 waves = 1;                    // in the group
  u32 scratch_slot = 0;
  u32 compute_unit = 0;
};

// Everything but the group's LDS and the memory.
void start_wave(Wave& wave, const Dispatch& dispatch, const Resources& resources,
                const WaveStart& start);

}  // namespace doorbell::emu::amdgpu
