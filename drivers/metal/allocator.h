// Memory of a Metal device: buffers in storage that the host and the GPU share, so that bytes are
// copied by the host, once the work that uses them is done. core's CachingAllocator keeps released
// memory.
#pragma once

#include <map>
#include <memory>

#include "core/device/allocator.h"
#include "drivers/metal/context.h"
#include "hcq/software/memory_count.h"

namespace doorbell::metal {

// The object behind Allocation::opaque.
struct Memory {
  Owned buffer;  // without a reference of ours where it is the caller's
  Id handle;
  u8* host;
  i64 bytes;
  const u64 number;  // no other has it, before or after
  // The last work on it, as Context numbers it.
  std::atomic<u64> last_use{0};

  Memory(Owned owned, Id id, u8* contents, i64 length)
      : buffer(std::move(owned)), handle(id), host(contents), bytes(length), number(next()) {}

 private:
  static u64 next() {
    static constinit std::atomic<u64> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }
};

inline Memory& memory_of(const core::Allocation& allocation) {
  return *static_cast<Memory*>(allocation.opaque);
}

class MetalAllocator final : public core::Allocator {
 public:
  MetalAllocator(Context& context, std::string device)
      : context_(context), count_(std::move(device)) {}

  Result<core::Allocation> allocate(i64 bytes) override;
  // A command buffer keeps the buffers that it uses [Apple, MTLCommandQueue, "commandBuffer"].
  void release(const core::Allocation& allocation) override;
  Result<void> copy_in(const core::Allocation& to, i64 offset, const void* from,
                       i64 bytes) override;
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override;
  // Does not wait.
  Result<void> copy(const core::Allocation& to, i64 to_offset, const core::Allocation& from,
                    i64 from_offset, i64 bytes) override;
  core::MemoryStats stats() const override { return count_.stats(); }

  // An MTLBuffer of the caller's, or whole pages of the host's; it outlives what uses it.
  // Unsupported: neither. See Device::foreign_memory.
  Result<core::Allocation> wrap(void* memory, i64 bytes);

 private:
  Context& context_;
  hcq::MemoryCount count_;

  std::mutex mutex_;                                  // guards what follows
  std::map<void*, std::unique_ptr<Memory>> wrapped_;  // by the caller's pointer; never dropped
};

}  // namespace doorbell::metal
