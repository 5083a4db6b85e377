// The operations on a resource.
#include "emulator/amd/compute/wave_sync.h"

namespace doorbell::emu::amdgpu {

std::optional<GlobalWaveSync::Wait> GlobalWaveSync::ask(const WaveSync& what) {
  Resource& resource = resources_[what.resource];
  Wait wait{.resource = what.resource, .releases = resource.releases};
  switch (what.op) {
    case WaveSync::Op::Init: resource.counter = what.value; return std::nullopt;
    case WaveSync::Op::Barrier:
      if (resource.counter > 0) {
        --resource.counter;
        return wait;
      }
      resource.counter = what.value;
      ++resource.releases;
      return std::nullopt;
    case WaveSync::Op::SemaphoreRaise: resource.counter += what.value; return std::nullopt;
    case WaveSync::Op::SemaphoreTake:
      wait.semaphore = true;
      if (over(wait)) return std::nullopt;
      return wait;
    case WaveSync::Op::SemaphoreReleaseAll:
      // The counter becomes the number of waiting waves, and each takes one.
      resource.counter = 0;
      ++resource.releases;
      return std::nullopt;
  }
  return std::nullopt;
}

bool GlobalWaveSync::over(const Wait& wait) {
  Resource& resource = resources_[wait.resource];
  if (resource.releases != wait.releases) return true;
  if (!wait.semaphore || resource.counter <= 0) return false;
  --resource.counter;
  return true;
}

}  // namespace doorbell::emu::amdgpu
