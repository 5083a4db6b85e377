// Dispatch: one grid of work groups as the command processor hands it to the shader processor input
// (SPI): the state of the COMPUTE_ registers at DISPATCH_DIRECT, or what the packet processor
// derives from an AQL packet and its kernel descriptor. See grid.h for how it runs.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/util/types.h"

namespace doorbell::emu {
class RaceTask;
}

namespace doorbell::emu::amdgpu {

class GlobalWaveSync;

struct Dispatch {
  std::string kernel;                   // for reports: a name, or empty
  u64 code = 0;                         // the first instruction
  u32 rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;  // COMPUTE_PGM_RSRC1 to 3, the code object's layout
  bool wave32 = false;                  // DISPATCH_INITIATOR.CS_W32_EN; never on gfx9
  std::vector<u32> user_sgprs;          // at least RSRC2.USER_SGPR of them

  std::array<u32, 3> groups{1, 1, 1};       // work groups in each dimension
  std::array<u32, 3> first_group{0, 0, 0};  // COMPUTE_START_X, Y, Z
  std::array<u32, 3> group_size{1, 1, 1};   // work items of a group in each dimension
  // Work items of the last group of each dimension if the grid is not a multiple of the group;
  // otherwise 0.
  std::array<u32, 3> partial_size{0, 0, 0};

  u32 lds_bytes = 0;  // LDS of a group: RSRC2's granulated size in bytes

  // Scratch: a ring of `scratch_waves` slots, `scratch_wave_bytes` each, from `scratch_base`. A
  // wave that needs scratch does not start before a slot is free. With architected flat scratch
  // (gfx940, gfx11 on) the address of the slot goes into FLAT_SCRATCH; otherwise its offset goes
  // into an SGPR.
  u64 scratch_base = 0;
  u32 scratch_wave_bytes = 0, scratch_waves = 0;

  // A chip of several XCCs runs one dispatch on all: this one takes group number i when
  // i % xcc_count == xcc % xcc_count; a single XCC takes all groups.
  u32 xcc = 0, xcc_count = 1;

  GlobalWaveSync* wave_sync = nullptr;  // of the process, borrowed; null: none

  // What it is among other agents (emulator/core/races), on all of its XCCs; null: races are not
  // judged.
  std::shared_ptr<RaceTask> task{};
};

u32 waves_per_group(const Dispatch& dispatch);

// The values that a kernel descriptor may request in user SGPRs.
struct UserSgprSources {
  std::array<u32, 4> private_segment_buffer{};  // the scratch buffer's resource descriptor
  u64 dispatch_packet = 0, queue = 0, kernel_arguments = 0, dispatch_id = 0;
  u64 flat_scratch_init = 0;      // gfx9, gfx10: address of the scratch ring
  u32 private_segment_bytes = 0;  // of one work item
};

// The user SGPRs in the order of KERNEL_CODE_PROPERTIES' enable bits; followed by the kernel
// argument words that the descriptor preloads (gfx90a, gfx940 on), from `preload`. [LLVM
// AMDGPUUsage, "Initial Kernel Execution State"]
std::vector<u32> user_sgprs(u16 kernel_code_properties, const UserSgprSources& sources,
                            const std::vector<u32>& preload = {});

}  // namespace doorbell::emu::amdgpu
