// SharedMemory: host memory that every open NVIDIA GPU of the process sees; see
// hcq/memory/shared_memory.h.
#pragma once

#include "drivers/nv/kernel/nvk_gpu.h"
#include "hcq/memory/shared_memory.h"

namespace doorbell::nv {

class SharedMemory final : public hcq::SharedMemory<NvkGpu, NvkMemory, MemoryRequest> {
 public:
  // Low: host engines wait for signals. Forked children look at signals before they are refused.
  SharedMemory()
      : hcq::SharedMemory<NvkGpu, NvkMemory, MemoryRequest>({.kind = MemoryKind::Host,
                                                             .low = true,
                                                             .inherited = true,
                                                             .what = "signals and staged copies"}) {
  }
};

}  // namespace doorbell::nv
