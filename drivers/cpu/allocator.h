// Host memory for the CPU device: aligned for vectors, in huge pages where it pays. core's
// CachingAllocator keeps released memory.
#pragma once

#include <atomic>

#include "core/device/mapped_allocator.h"

namespace doorbell::cpu {

class HostAllocator final : public core::MappedAllocator {
 public:
  // Beyond `limit` bytes in use, allocations fail.
  explicit HostAllocator(i64 limit = INT64_MAX) : limit_(limit) {}

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  core::MemoryStats stats() const override;

 private:
  const i64 limit_;
  std::atomic<i64> in_use_{0};
};

}  // namespace doorbell::cpu
