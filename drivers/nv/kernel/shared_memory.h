// SharedMemory: memory of the host that every open GPU of the process sees at the same address:
// what queues of several devices wait for, and bytes on their way between devices. Asked for
// rarely: by SignalPool, in pages, and once for each two devices that copy.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/device/mapped_allocator.h"
#include "drivers/nv/kernel/nvk_memory.h"

namespace doorbell::nv {

class SharedMemory final : public core::MappedAllocator {
 public:
  // The first GPU gives the memory; all that there is, is mapped on each that follows. Again for
  // the same GPU does nothing.
  Result<void> add_gpu(NvkGpu& gpu);

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  core::MemoryStats stats() const override;

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::vector<NvkGpu*> gpus_;
  std::vector<std::unique_ptr<NvkMemory>> memory_;
};

}  // namespace doorbell::nv
