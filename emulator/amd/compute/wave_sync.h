// GlobalWaveSync: the counters by which waves of any groups of a process wait for each other on one
// GPU: barriers and semaphores. They keep their values from one dispatch to the next. See
// work_group.h and grid.h for the waves that wait. [CDNA3 and RDNA2 ISA documents, DS_GWS_*]
#pragma once

#include <array>
#include <optional>

#include "base/util/types.h"
#include "emulator/amd/isa/exit.h"

namespace doorbell::emu::amdgpu {

// Thread safety: the GPU's thread only.
class GlobalWaveSync {
 public:
  // What a wave waits for.
  struct Wait {
    u32 resource = 0;
    bool semaphore = false;
    u64 releases = 0;  // of its resource, when it began
  };

  // Performs an instruction's operation; returns whether its wave has to wait.
  std::optional<Wait> ask(const WaveSync& what);
  // Whether a wait is over. Call it until it returns true: it then takes one from a semaphore.
  bool over(const Wait& wait);

 private:
  struct Resource {
    i64 counter = 0;
    u64 releases = 0;  // how often all waiting waves were released
  };
  std::array<Resource, 64> resources_;
};

}  // namespace doorbell::emu::amdgpu
