// VramAllocator: a device's own memory, which the host does not see: bytes come and go through
// memory of both and the copy queue. Without a copy engine it gives memory of the host, which the
// GPU reads across the bus. core::CachingAllocator in front of it keeps released memory.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>

#include "core/device/allocator.h"
#include "drivers/amd/kernel/kfd_gpu.h"
#include "hcq/device.h"
#include "hcq/memory/staging_ring.h"

namespace doorbell::amd {

class VramAllocator final : public core::Allocator {
 public:
  VramAllocator(KfdGpu& gpu, hcq::Device& device, bool has_sdma)
      : gpu_(gpu), device_(device), has_sdma_(has_sdma) {}

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  Result<void> copy_in(const core::Allocation& to, i64 offset, const void* from,
                       i64 bytes) override;
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override;
  Result<void> copy(const core::Allocation& to, i64 to_offset, const core::Allocation& from,
                    i64 from_offset, i64 bytes) override;
  core::MemoryStats stats() const override;

  // Before the queues go.
  void close() { staging_.reset(); }

  // Bytes of the host to an address, in the order of the device's work. Complete when it returns.
  Result<void> write(u64 address, const void* from, u64 bytes);

 private:
  struct Retired {
    std::unique_ptr<KfdMemory> memory;
    hcq::Fence until;
  };
  Result<std::unique_ptr<KfdMemory>> allocate_memory(i64 bytes);
  Result<hcq::StagingRing*> staging();
  void sweep();

  KfdGpu& gpu_;
  hcq::Device& device_;
  const bool has_sdma_;
  std::atomic<i64> in_use_{0};
  std::mutex mutex_;  // guards what follows
  std::list<Retired> retired_;
  std::unique_ptr<hcq::StagingRing> staging_;  // made when first needed
};

}  // namespace doorbell::amd
