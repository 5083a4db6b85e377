// Allocator: how a device gets memory and moves bytes in and out of it. Each driver has one; the
// cache in front of it is caching_allocator.h's, ownership of one allocation is buffer.h's.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::core {

// A piece of a device's memory. Which of the three are set is the driver's choice.
struct Allocation {
  void* host = nullptr;    // where the host may read and write it directly
  u64 address = 0;         // as the device sees it
  void* opaque = nullptr;  // the driver's own handle
  i64 bytes = 0;           // as asked
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

  // Complete when they return. Offsets are in bytes and checked by Buffer.
  virtual Result<void> copy_in(const Allocation& to, i64 offset, const void* from, i64 bytes) = 0;
  virtual Result<void> copy_out(void* to, const Allocation& from, i64 offset, i64 bytes) = 0;
  // Between two allocations of this device.
  virtual Result<void> copy(const Allocation& to, i64 to_offset, const Allocation& from,
                            i64 from_offset, i64 bytes) = 0;

  // Gives memory that is only cached back to the system.
  virtual void flush() {}
  virtual MemoryStats stats() const = 0;
};

}  // namespace doorbell::core
