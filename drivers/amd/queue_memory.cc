// Blocks of host memory, each with a TLSF of its own.
#include "drivers/amd/queue_memory.h"

#include <algorithm>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::amd {
namespace {

constexpr u64 kBlockBytes = u64{4} << 20, kGranule = 256;

}  // namespace

core::Allocation QueueMemory::take(Block& block, u64 address, i64 bytes) {
  in_use_ += bytes;
  return {block.memory->host() + (address - block.memory->address()), address, &block, bytes};
}

Result<core::Allocation> QueueMemory::allocate(i64 bytes) {
  CHECK_GE(bytes, 0);
  const u64 size = static_cast<u64>(bytes);
  std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Block>& block : blocks_)
    if (const std::optional<u64> address = block->free.allocate(size))
      return take(*block, *address, bytes);
  MemoryRequest request;
  request.bytes = (std::max<u64>(size, 1) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  request.kind = MemoryKind::Host;
  request.executable = true;  // the command processor jumps into words
  request.what = "words and arguments";
  TRY(std::unique_ptr<KfdMemory> memory, gpu_.allocate(request));
  hcq::Tlsf free(memory->address(), memory->bytes(), kGranule);
  blocks_.push_back(std::make_unique<Block>(Block{std::move(memory), std::move(free)}));
  const std::optional<u64> address = blocks_.back()->free.allocate(size);
  CHECK(address.has_value(), "a fresh block of {} bytes has no room for {}", request.bytes, bytes);
  return take(*blocks_.back(), *address, bytes);
}

void QueueMemory::release(const core::Allocation& allocation) {
  std::lock_guard lock(mutex_);
  static_cast<Block*>(allocation.opaque)->free.release(allocation.address);
  in_use_ -= allocation.bytes;
}

core::MemoryStats QueueMemory::stats() const {
  std::lock_guard lock(mutex_);
  return {in_use_, 0, 0};
}

}  // namespace doorbell::amd
