// SharedMemory: memory of the host that every open GPU of a driver sees at the same address: what
// queues of several devices wait for, and bytes on their way between devices. Asked for rarely: by
// SignalPool, in pages, and once for each two devices that copy.
//
// A driver names its types: Gpu::allocate(Request) makes a Memory, which has host(), address(),
// bytes() and map_to(Gpu&).
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "base/util/check.h"
#include "base/util/try.h"
#include "core/device/mapped_allocator.h"

namespace doorbell::hcq {

template <class Gpu, class Memory, class Request>
class SharedMemory : public core::MappedAllocator {
 public:
  // `request` is of all memory, but for its size.
  explicit SharedMemory(Request request) : request_(std::move(request)) {}

  // The first GPU gives the memory; all that there is, is mapped on each that follows. Again for
  // the same GPU does nothing.
  Result<void> add_gpu(Gpu& gpu) {
    std::lock_guard lock(mutex_);
    if (std::ranges::find(gpus_, &gpu) != gpus_.end()) return {};
    for (const std::unique_ptr<Memory>& memory : memory_) TRY(memory->map_to(gpu));
    gpus_.push_back(&gpu);
    return {};
  }

  // Zeroed. Allocation::opaque is the Memory.
  Result<core::Allocation> allocate(i64 bytes) override {
    std::lock_guard lock(mutex_);
    CHECK(!gpus_.empty(), "shared memory before a GPU is open");
    Request request = request_;
    request.bytes = static_cast<u64>(bytes);
    TRY(std::unique_ptr<Memory> memory, gpus_.front()->allocate(request));
    for (Gpu* gpu : gpus_) TRY(memory->map_to(*gpu));
    std::memset(memory->host(), 0, memory->bytes());
    const core::Allocation allocation{memory->host(), memory->address(), memory.get(), bytes};
    memory_.push_back(std::move(memory));
    return allocation;
  }

  void release(const core::Allocation& allocation) override {
    std::lock_guard lock(mutex_);
    std::erase_if(memory_, [&](const std::unique_ptr<Memory>& memory) {
      return memory.get() == allocation.opaque;
    });
  }

  core::MemoryStats stats() const override {
    std::lock_guard lock(mutex_);
    i64 bytes = 0;
    for (const std::unique_ptr<Memory>& memory : memory_)
      bytes += static_cast<i64>(memory->bytes());
    return {bytes, 0, bytes};
  }

 private:
  const Request request_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Gpu*> gpus_;    // borrowed from the driver's process
  std::vector<std::unique_ptr<Memory>> memory_;
};

}  // namespace doorbell::hcq
