// MemoryCount: the bytes that the allocator of a LaunchDevice has given out.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <string>
#include <string_view>

#include "core/device/allocator.h"

namespace doorbell::hcq {

class MemoryCount {
 public:
  explicit MemoryCount(std::string device) : device_(std::move(device)) {}

  const std::string& device() const { return device_; }
  i64 in_use() const { return in_use_.load(std::memory_order_relaxed); }
  void add(i64 bytes) { in_use_.fetch_add(bytes, std::memory_order_relaxed); }
  void remove(i64 bytes) { in_use_.fetch_sub(bytes, std::memory_order_relaxed); }
  core::MemoryStats stats() const { return {in_use(), 0, 0}; }

  Error out_of_memory(i64 bytes, std::string_view why) const {
    Error error = fail(ErrorKind::OutOfMemory, "{}: {} bytes wanted with {} in use: {}", device_,
                       bytes, in_use(), why);
    error.device = device_;
    return error;
  }

 private:
  const std::string device_;
  std::atomic<i64> in_use_{0};
};

}  // namespace doorbell::hcq
