// SharedMemory: host memory that every open AMD GPU of the process sees; see
// hcq/memory/shared_memory.h.
#pragma once

#include "drivers/amd/kernel/kfd_gpu.h"
#include "hcq/memory/shared_memory.h"

namespace doorbell::amd {

class SharedMemory final : public hcq::SharedMemory<KfdGpu, KfdMemory, MemoryRequest> {
 public:
  SharedMemory()
      : hcq::SharedMemory<KfdGpu, KfdMemory, MemoryRequest>(
            {.kind = MemoryKind::Host, .what = "signals and staged copies"}) {}
};

}  // namespace doorbell::amd
