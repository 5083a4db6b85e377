// The GPUs that an emulated machine may have: what RM tells of each. The emulator's own table; a
// driver's capabilities are no source.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu::nvgpu {

struct Model {
  std::string_view name;   // "sm_86"
  std::string_view board;  // "Emulated GeForce RTX 3090"
  u32 chip;                // 86: the architecture of its code
  u16 device_id;           // PCI
  u32 sm_version;          // NV2080_CTRL_GR_INFO_SM_VERSION_*
  u32 gpcs, tpcs_per_gpc, sms_per_tpc, warps_per_sm;
  u32 shared_kib;         // of an SM, what blocks reserve included
  u32 qmd_major;          // the newest version of descriptors that the compute class takes
  unsigned address_bits;  // of addresses in semaphores' methods
  u64 memory_bytes;
  std::span<const u32> classes;  // as NV0080_CTRL_CMD_GPU_GET_CLASSLIST lists them
};

// "sm_86,sm_90"; Invalid for a name that is not known, with those that are.
Result<std::vector<const Model*>> parse_models(std::string_view text);

}  // namespace doorbell::emu::nvgpu
