// Host memory for the CPU device: aligned for vectors, in huge pages where it pays. core's
// CachingAllocator keeps released memory.
#pragma once

#include <atomic>

#include "core/device/allocator.h"

namespace doorbell::cpu {

class HostAllocator final : public core::Allocator {
 public:
  // Beyond `limit` bytes in use, allocations fail.
  explicit HostAllocator(i64 limit = INT64_MAX) : limit_(limit) {}

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  Result<void> copy_in(const core::Allocation& to, i64 offset, const void* from,
                       i64 bytes) override;
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override;
  Result<void> copy(const core::Allocation& to, i64 to_offset, const core::Allocation& from,
                    i64 from_offset, i64 bytes) override;
  core::MemoryStats stats() const override;

 private:
  const i64 limit_;
  std::atomic<i64> in_use_{0};
};

}  // namespace doorbell::cpu
