// SharedMemory: memory of the host that every open GPU of the process sees at the same address:
// what queues of several devices wait for, and bytes on their way between devices. Asked for
// rarely: by SignalPool, in pages, and once for each two devices that copy.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/device/allocator.h"
#include "drivers/amd/kernel/kfd_memory.h"

namespace doorbell::amd {

class SharedMemory final : public core::Allocator {
 public:
  // The first GPU gives the memory; all that there is, is mapped on each that follows. Again for
  // the same GPU does nothing.
  Result<void> add_gpu(KfdGpu& gpu);

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  Result<void> copy_in(const core::Allocation& to, i64 offset, const void* from,
                       i64 bytes) override;
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override;
  Result<void> copy(const core::Allocation& to, i64 to_offset, const core::Allocation& from,
                    i64 from_offset, i64 bytes) override;
  core::MemoryStats stats() const override;

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::vector<KfdGpu*> gpus_;
  std::vector<std::unique_ptr<KfdMemory>> memory_;
};

}  // namespace doorbell::amd
