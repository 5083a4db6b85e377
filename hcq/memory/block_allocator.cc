// The first block with room, or a new one.
#include "hcq/memory/block_allocator.h"

#include <algorithm>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::hcq {
namespace {

constexpr u64 kBlockBytes = u64{4} << 20, kGranule = 256;

}  // namespace

core::Allocation BlockAllocator::take(Tracked& tracked, u64 address, i64 bytes) {
  in_use_ += bytes;
  return {tracked.block->host + (address - tracked.block->address), address, &tracked, bytes};
}

Result<core::Allocation> BlockAllocator::allocate(i64 bytes) {
  CHECK_GE(bytes, 0);
  const u64 size = static_cast<u64>(bytes);
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Tracked>& tracked : blocks_)
    if (const std::optional<u64> address = tracked->free.allocate(size))
      return take(*tracked, *address, bytes);
  TRY(std::unique_ptr<Block> block,
      make_block_((std::max<u64>(size, 1) + kBlockBytes - 1) / kBlockBytes * kBlockBytes));
  Tlsf free(block->address, block->bytes, kGranule);
  blocks_.push_back(std::make_unique<Tracked>(Tracked{std::move(block), std::move(free)}));
  Tracked& fresh = *blocks_.back();
  const std::optional<u64> address = fresh.free.allocate(size);
  CHECK(address.has_value(), "a fresh block of {} bytes has no room for {}", fresh.block->bytes,
        bytes);
  return take(fresh, *address, bytes);
}

void BlockAllocator::release(const core::Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  static_cast<Tracked*>(allocation.opaque)->free.release(allocation.address);
  in_use_ -= allocation.bytes;
}

core::MemoryStats BlockAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return {in_use_, 0, 0};
}

}  // namespace doorbell::hcq
