// COMPUTE_TMPRING_SIZE as each generation counts it: up to gfx10 the waves of an XCC, from gfx11 on
// those of each of its shader engines. [gc_*_sh_mask.h COMPUTE_TMPRING_SIZE; Mesa ac_gpu_info.c
// scratch_wavesize_granularity; ROCr amd_aql_queue.cpp FillComputeTmpRingSize_Gfx11]
#pragma once

#include <array>

#include "drivers/amd/hw/compute_registers.h"

namespace doorbell::emu::amdgpu {

struct ScratchRing {
  u32 waves = 0, wave_bytes = 0;  // of an XCC
  u32 unit = 0;                   // of wave_bytes
  u64 bytes() const { return u64{waves} * wave_bytes; }
};

// `engines` of an XCC.
inline ScratchRing scratch_ring(amd::hw::Generation generation, u32 engines, u32 tmpring_size) {
  namespace hw = amd::hw;
  std::array<u32, 1> words{tmpring_size};
  auto ring = [](const auto& record, u32 counts) {
    constexpr u32 kUnit = std::decay_t<decltype(record)>::kUnit;
    return ScratchRing{record.waves * counts, record.wave_size * kUnit, kUnit};
  };
  switch (generation) {
    case hw::Generation::Gfx11: return ring(decode<hw::ComputeTmpringSizeGfx11>(words), engines);
    case hw::Generation::Gfx12: return ring(decode<hw::ComputeTmpringSizeGfx12>(words), engines);
    default: return ring(decode<hw::ComputeTmpringSizeGfx9>(words), 1);
  }
}

}  // namespace doorbell::emu::amdgpu
