// Memory that host and GPU both see, for what queues read and write. Allocations are within large
// buffer objects, because most are small: see hcq/memory/block_allocator.h.
#pragma once

#include "drivers/amd/kernel/kfd_gpu.h"
#include "hcq/memory/block_allocator.h"

namespace doorbell::amd {

// `gpu` outlives the functions and the blocks that they make.
hcq::BlockAllocator::MakeBlock queue_memory_blocks(KfdGpu& gpu);
// Memory for buffers, which is the GPU's own where a copy engine fills it; else the host's, which
// the GPU reads across the bus.
hcq::BlockAllocator::MakeBlock buffer_blocks(KfdGpu& gpu, bool has_sdma);
// Lets another GPU use a block of buffer_blocks().
Result<void> map_block(void* block, const KfdGpu& gpu);

}  // namespace doorbell::amd
