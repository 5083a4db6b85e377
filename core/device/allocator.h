// Allocator: how a device gets memory and moves bytes in and out of it. Each driver has one. For
// the cache in front of it see caching_allocator.h, for ownership of an allocation buffer.h.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::core {

// An allocation of device memory. The driver chooses which of the first three are set.
struct Allocation {
  void* host = nullptr;    // where the host can read and write it directly, or null
  u64 address = 0;         // device address
  void* opaque = nullptr;  // the driver's own handle
  i64 bytes = 0;           // as requested
};

struct MemoryStats {
  i64 in_use = 0;  // held by callers
  i64 cached = 0;  // kept for the next caller of the same size
  i64 peak = 0;    // largest in_use so far
};

class Allocator {
 public:
  virtual ~Allocator() = default;

  virtual Result<Allocation> allocate(i64 bytes) = 0;
  virtual void release(const Allocation& allocation) = 0;

  // Both have finished when they return. Offsets are in bytes; Buffer checks them.
  virtual Result<void> copy_in(const Allocation& to, i64 offset, const void* from, i64 bytes) = 0;
  virtual Result<void> copy_out(void* to, const Allocation& from, i64 offset, i64 bytes) = 0;
  // Copies between two allocations of this device.
  virtual Result<void> copy(const Allocation& to, i64 to_offset, const Allocation& from,
                            i64 from_offset, i64 bytes) = 0;

  // Returns cached memory that no caller holds to the system.
  virtual void flush() {}
  virtual MemoryStats stats() const = 0;
};

}  // namespace doorbell::core
