// SharedHost: memory of the host that every CUDA device of the process sees at the same address,
// for staged bytes, resident commands, timestamps and signals. Allocations are within large pinned
// blocks, because cuMemHostAlloc is slow.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>

#include "drivers/cuda/context.h"
#include "hcq/memory/block_allocator.h"
#include "hcq/signal/signal.h"

namespace doorbell::cuda {

// Pinned memory, allocated in this context; all contexts see it. shared_ptr: see context.h.
hcq::BlockAllocator::MakeBlock pinned_blocks(std::shared_ptr<Context> context);

struct SharedHost {
  hcq::BlockAllocator memory;
  hcq::SignalPool signals{memory, hcq::SignalPool::RaisedBy::Device};

  explicit SharedHost(std::shared_ptr<Context> context)
      : memory(pinned_blocks(std::move(context))) {}
  // That of all devices of this Api; made in `context` where there is none. shared_ptr: by the
  // devices.
  static std::shared_ptr<SharedHost> of(const std::shared_ptr<Context>& context);
};

}  // namespace doorbell::cuda
