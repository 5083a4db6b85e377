// Memory that host and GPU both see, for what queues read and write. Allocations are within large
// buffer objects, because most are small: see hcq/memory/block_allocator.h.
#pragma once

#include "drivers/amd/kernel/kfd_gpu.h"
#include "hcq/memory/block_allocator.h"

namespace doorbell::amd {

// `gpu` outlives the function and the blocks that it makes.
hcq::BlockAllocator::MakeBlock queue_memory_blocks(KfdGpu& gpu);

}  // namespace doorbell::amd
