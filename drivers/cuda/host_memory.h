// PinnedMemory: memory of the host that every CUDA device of the process sees at the same address,
// for staged bytes, resident commands, timestamps and signals: pieces of large blocks, because
// cuMemHostAlloc is slow. SharedHost: the one PinnedMemory of the process, with its signals.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/device/mapped_allocator.h"
#include "drivers/cuda/context.h"
#include "hcq/memory/tlsf.h"
#include "hcq/signal/signal.h"

namespace doorbell::cuda {

class PinnedMemory final : public core::MappedAllocator {
 public:
  // Blocks are of this context; all contexts see them.
  explicit PinnedMemory(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~PinnedMemory() override;

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  core::MemoryStats stats() const override;

 private:
  struct Block {
    void* memory;
    hcq::Tlsf free;
  };
  static core::Allocation piece_of(Block& block, u64 address, i64 bytes);

  // shared_ptr: see context.h.
  const std::shared_ptr<Context> context_;
  mutable std::mutex mutex_;                    // guards what follows
  std::vector<std::unique_ptr<Block>> blocks_;  // pointers: allocations name their block
  i64 in_use_ = 0;
};

struct SharedHost {
  PinnedMemory memory;
  hcq::SignalPool signals{memory, hcq::SignalPool::RaisedBy::Device};

  explicit SharedHost(std::shared_ptr<Context> context) : memory(std::move(context)) {}
  // That of all devices of this Api; made in `context` where there is none. shared_ptr: by the
  // devices.
  static std::shared_ptr<SharedHost> of(const std::shared_ptr<Context>& context);
};

}  // namespace doorbell::cuda
