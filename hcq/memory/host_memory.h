// HostMemory: plain host memory as an Allocator, for the words and signals of devices that are this
// process (CPU, NULL), and for tests.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>

#include "core/device/mapped_allocator.h"

namespace doorbell::hcq {

class HostMemory final : public core::MappedAllocator {
 public:
  // Beyond `limit` bytes in use, allocations fail.
  explicit HostMemory(i64 limit = INT64_MAX) : limit_(limit) {}

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  core::MemoryStats stats() const override {
    return {in_use_.load(std::memory_order_relaxed), 0, 0};
  }

 private:
  const i64 limit_;
  std::atomic<i64> in_use_{0};
};

}  // namespace doorbell::hcq
