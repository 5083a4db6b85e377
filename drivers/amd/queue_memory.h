// QueueMemory: memory that host and GPU both see, for what queues read and tell: words, arguments
// of kernels, staged bytes, timestamps. Pieces of large buffer objects, because most are small.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/device/mapped_allocator.h"
#include "drivers/amd/kernel/kfd_gpu.h"
#include "hcq/memory/tlsf.h"

namespace doorbell::amd {

class QueueMemory final : public core::MappedAllocator {
 public:
  explicit QueueMemory(KfdGpu& gpu) : gpu_(gpu) {}

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  core::MemoryStats stats() const override;

 private:
  struct Block {
    std::unique_ptr<KfdMemory> memory;
    hcq::Tlsf free;
  };
  core::Allocation take(Block& block, u64 address, i64 bytes);

  KfdGpu& gpu_;
  mutable std::mutex mutex_;                    // guards what follows
  std::vector<std::unique_ptr<Block>> blocks_;  // pointers: allocations name their block
  i64 in_use_ = 0;
};

}  // namespace doorbell::amd
