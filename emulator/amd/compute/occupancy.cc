// [LLVM lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp, IsaInfo: getEUsPerCU(),
// getMaxWorkGroupsPerCU(), getVGPRAllocGranule(), getNumWavesPerEUWithNumVGPRs(); AMDGPUUsage,
// WGP_MODE: waves of a group are on both units of a work-group processor, which share their LDS]
#include "emulator/amd/compute/occupancy.h"

#include <algorithm>

namespace doorbell::emu::amdgpu {

u64 max_resident_groups(const Chip& chip, const ComputeUnits& units, const Dispatch& dispatch) {
  constexpr u32 kBarriersPerUnit = 16, kWgpMode = 1u << 29;
  const Resources needs = resources(chip, dispatch);
  const u64 lanes = dispatch.wave32 ? 32 : 64;
  const u64 granule = dispatch.wave32 ? chip.vgpr_granule_32 : chip.vgpr_granule_64;
  const u64 registers = (needs.vgprs + needs.accumulators + granule - 1) / granule * granule;
  const u64 waves_per_simd =
      std::min<u64>(units.waves_per_simd, units.vgpr_bytes / (registers * lanes * sizeof(u32)));
  const u64 waves = waves_per_group(dispatch);
  // Resources that the waves of a group share.
  const bool pairs = chip.generation != Generation::Gfx9 && (dispatch.rsrc1 & kWgpMode) != 0;
  const u64 together = pairs ? 2 : 1;
  u64 groups = waves_per_simd * units.simds * together / std::max<u64>(waves, 1);
  if (waves > 1) groups = std::min(groups, kBarriersPerUnit * together);
  if (dispatch.lds_bytes > 0)
    groups = std::min(groups, u64{chip.lds_bytes} * together / dispatch.lds_bytes);
  return std::max<u64>(1, groups * (units.count / together));
}

}  // namespace doorbell::emu::amdgpu
