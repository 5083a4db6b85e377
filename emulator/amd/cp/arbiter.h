// Arbiter: whether the command processor or the waves in flight of a compute queue go first.
#pragma once

#include "emulator/amd/cp/gpu_context.h"

namespace doorbell::emu::amdgpu {

// Fast mode: what is in flight goes first, so that the least memory is live. Adversarial mode: for
// some turns the waves, for some the command processor, which may get far ahead of them, and for
// some either by chance.
class Arbiter {
 public:
  bool processor_first(GpuContext& gpu) {
    if (!gpu.adversarial) return false;
    if (left_-- == 0) {
      constexpr u32 kLongest = 128;
      phase_ = static_cast<Phase>(gpu.random() % 3);
      left_ = static_cast<u32>(gpu.random() % kLongest);
    }
    return phase_ == Phase::Processor || (phase_ == Phase::Either && gpu.chance(2));
  }

 private:
  enum class Phase : u8 { Waves, Processor, Either };
  Phase phase_ = Phase::Either;
  u32 left_ = 0;  // turns of this phase
};

}  // namespace doorbell::emu::amdgpu
