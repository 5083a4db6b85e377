// CachingAllocator: keeps released memory by exact size for the next caller of that size, in front
// of a driver's own Allocator. Eager programs need the same sizes again and again, and mapping new
// pages costs far more than a kernel.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "core/device/allocator.h"

namespace doorbell::core {

class CachingAllocator final : public Allocator {
 public:
  // Beyond `max_cached` bytes, the least recently released are freed. `device` is for messages.
  CachingAllocator(std::string device, std::unique_ptr<Allocator> driver, i64 max_cached);
  ~CachingAllocator() override;

  Result<Allocation> allocate(i64 bytes) override;
  void release(const Allocation& allocation) override;
  Result<void> copy_in(const Allocation& to, i64 offset, const void* from, i64 bytes) override {
    return driver_->copy_in(to, offset, from, bytes);
  }
  Result<void> copy_out(void* to, const Allocation& from, i64 offset, i64 bytes) override {
    return driver_->copy_out(to, from, offset, bytes);
  }
  Result<void> copy(const Allocation& to, i64 to_offset, const Allocation& from, i64 from_offset,
                    i64 bytes) override {
    return driver_->copy(to, to_offset, from, from_offset, bytes);
  }
  void flush() override;
  MemoryStats stats() const override;

 private:
  using Held = std::list<Allocation>;
  struct Size {
    std::vector<Held::iterator> held;  // the last is the most recent, so its pages are warm
    usize first = 0;                   // those before it have been evicted
  };
  void evict_to(i64 bytes);

  const std::string device_;
  const std::unique_ptr<Allocator> driver_;
  const i64 max_cached_;

  mutable std::mutex mutex_;  // guards the members below
  absl::flat_hash_map<i64, Size> sizes_;
  Held held_;   // oldest first
  Held spare_;  // list nodes without memory, so that the steady state allocates nothing
  MemoryStats stats_;
};

}  // namespace doorbell::core
