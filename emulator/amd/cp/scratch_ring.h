// COMPUTE_TMPRING_SIZE as each generation counts it. [gc_*_sh_mask.h COMPUTE_TMPRING_SIZE; Mesa
// ac_gpu_info.c scratch_wavesize_granularity]
#pragma once

#include <array>

#include "drivers/amd/hw/compute_registers.h"

namespace doorbell::emulator::amd {

struct ScratchRing {
  u32 waves = 0, wave_bytes = 0;
};

inline ScratchRing scratch_ring(::doorbell::amd::hw::Generation generation, u32 tmpring_size) {
  namespace hw = ::doorbell::amd::hw;
  std::array<u32, 1> words{tmpring_size};
  auto ring = [](const auto& record) {
    return ScratchRing{record.waves, record.wave_size * std::decay_t<decltype(record)>::kUnit};
  };
  switch (generation) {
    case hw::Generation::Gfx11: return ring(decode<hw::ComputeTmpringSizeGfx11>(words));
    case hw::Generation::Gfx12: return ring(decode<hw::ComputeTmpringSizeGfx12>(words));
    default: return ring(decode<hw::ComputeTmpringSizeGfx9>(words));
  }
}

}  // namespace doorbell::emulator::amd
