// A buffer object as a block.
#include "drivers/amd/queue_memory.h"

#include "base/util/try.h"

namespace doorbell::amd {
namespace {

struct HostBlock final : hcq::BlockAllocator::Block {
  std::unique_ptr<KfdMemory> memory;
};

}  // namespace

hcq::BlockAllocator::MakeBlock queue_memory_blocks(KfdGpu& gpu) {
  return [&gpu](u64 bytes) -> Result<std::unique_ptr<hcq::BlockAllocator::Block>> {
    MemoryRequest request;
    request.bytes = bytes;
    request.kind = MemoryKind::Host;
    request.executable = true;  // the command processor jumps into words
    request.what = "words and arguments";
    auto block = std::make_unique<HostBlock>();
    TRY(block->memory, gpu.allocate(request));
    block->host = block->memory->host();
    block->address = block->memory->address();
    block->bytes = block->memory->bytes();
    return block;
  };
}

}  // namespace doorbell::amd
