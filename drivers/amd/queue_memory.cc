// A buffer object as a block.
#include "drivers/amd/queue_memory.h"

#include "base/util/try.h"

namespace doorbell::amd {
namespace {

struct MemoryBlock final : hcq::BlockAllocator::Block {
  std::unique_ptr<KfdMemory> memory;
};

Result<std::unique_ptr<hcq::BlockAllocator::Block>> make_block(KfdGpu& gpu,
                                                               const MemoryRequest& request) {
  auto block = std::make_unique<MemoryBlock>();
  TRY(block->memory, gpu.allocate(request));
  block->host = block->memory->host();
  block->address = block->memory->address();
  block->bytes = block->memory->bytes();
  return block;
}

}  // namespace

hcq::BlockAllocator::MakeBlock queue_memory_blocks(KfdGpu& gpu) {
  return [&gpu](u64 bytes) {
    MemoryRequest request;
    request.bytes = bytes;
    request.kind = MemoryKind::Host;
    request.executable = true;  // the command processor jumps into words
    request.what = "words and arguments";
    return make_block(gpu, request);
  };
}

hcq::BlockAllocator::MakeBlock buffer_blocks(KfdGpu& gpu, bool has_sdma) {
  return [&gpu, has_sdma](u64 bytes) {
    MemoryRequest request;
    request.bytes = bytes;
    request.kind = has_sdma ? MemoryKind::Vram : MemoryKind::Host;
    request.inherited = false;
    request.what = "a buffer";
    return make_block(gpu, request);
  };
}

Result<void> map_block(void* block, const KfdGpu& gpu) {
  return static_cast<MemoryBlock*>(static_cast<hcq::BlockAllocator::Block*>(block))
      ->memory->map_to(gpu);
}

}  // namespace doorbell::amd
