// Memory of a WebGPU device, and moving bytes in and out of it. The host cannot access it directly.
// core's CachingAllocator keeps released memory.
//
// WebGPU copies whole words, from and to multiples of four bytes, and between two buffers
// [WebGPU 13.5 "Buffer Copies"; 19.2 "writeBuffer"]. What is not so goes by way of the host, or of
// another buffer.
#pragma once

#include <functional>

#include "core/device/allocator.h"
#include "drivers/webgpu/context.h"
#include "hcq/software/memory_count.h"

namespace doorbell::webgpu {

// The object behind Allocation::opaque.
struct Memory {
  Owned<BufferHandle> buffer;
  u64 id;     // from 1, never reused, unlike a handle
  u64 bytes;  // of the buffer
  // The last work on it, as Context numbers it. Under the context's lock.
  u64 last_use = 0;
};

inline Memory& memory_of(const core::Allocation& allocation) {
  return *static_cast<Memory*>(allocation.opaque);
}

class WebGpuAllocator final : public core::Allocator {
 public:
  // `forget` is called, under the context's lock, with the number of memory that is no more.
  WebGpuAllocator(Context& context, std::string device, std::function<void(u64)> forget)
      : context_(context), count_(std::move(device)), forget_(std::move(forget)) {}

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  Result<void> copy_in(const core::Allocation& to, i64 offset, const void* from,
                       i64 bytes) override;
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override;
  // Does not wait, if it is of whole words.
  Result<void> copy(const core::Allocation& to, i64 to_offset, const core::Allocation& from,
                    i64 from_offset, i64 bytes) override;
  core::MemoryStats stats() const override { return count_.stats(); }

 private:
  // Whole words.
  Result<void> write_words(Memory& memory, u64 offset, const void* from, u64 bytes);
  Result<void> read_words(Memory& memory, u64 offset, void* to, u64 bytes);
  Result<void> map_out(void* to, u64 bytes);
  // A buffer of the host's side, or one between copies; under `transfers_`.
  Result<Owned<BufferHandle>> make_buffer(u64 bytes, u64 usage);

  Context& context_;
  hcq::MemoryCount count_;
  const std::function<void(u64)> forget_;
  std::atomic<u64> ids_{0};

  std::mutex transfers_;  // guards what follows; taken before the context's
  Owned<BufferHandle> readback_;
  u64 readback_bytes_ = 0;
};

}  // namespace doorbell::webgpu
