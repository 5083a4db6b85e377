// CudaAllocator: a device's own memory, which the host does not see: bytes come and go through
// pinned memory and the copy queue. core::CachingAllocator in front of it keeps released memory.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>

#include "core/device/allocator.h"
#include "drivers/cuda/context.h"
#include "hcq/device.h"
#include "hcq/memory/staging_ring.h"

namespace doorbell::cuda {

class CudaAllocator final : public core::Allocator {
 public:
  // shared_ptr: see context.h.
  CudaAllocator(std::shared_ptr<Context> context, hcq::Device& device)
      : context_(std::move(context)), device_(device) {}
  ~CudaAllocator() override;

  Result<core::Allocation> allocate(i64 bytes) override;
  // Frees it when what was submitted by then is done: cuMemFree would wait for that.
  void release(const core::Allocation& allocation) override;
  Result<void> copy_in(const core::Allocation& to, i64 offset, const void* from,
                       i64 bytes) override;
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override;
  Result<void> copy(const core::Allocation& to, i64 to_offset, const core::Allocation& from,
                    i64 from_offset, i64 bytes) override;
  core::MemoryStats stats() const override;

  // Before the queues go.
  void close();

 private:
  struct Retired {
    CUdeviceptr address;
    hcq::Fence until;
  };
  Result<CUdeviceptr> take(i64 bytes);
  Result<hcq::StagingRing*> staging();
  void sweep();
  void free_all(const std::list<Retired>& retired);

  const std::shared_ptr<Context> context_;
  hcq::Device& device_;
  std::atomic<i64> in_use_{0};
  std::mutex mutex_;  // guards what follows
  std::list<Retired> retired_;
  std::unique_ptr<hcq::StagingRing> staging_;  // made when first needed
};

}  // namespace doorbell::cuda
