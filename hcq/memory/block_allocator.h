// BlockAllocator: small allocations in large blocks of memory that host and device both see, for
// what queues read and write: words, arguments of kernels, staged bytes, timestamps, signals.
// Making a block is slow; drivers say how.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/device/mapped_allocator.h"
#include "hcq/memory/tlsf.h"

namespace doorbell::hcq {

class BlockAllocator final : public core::MappedAllocator {
 public:
  // Memory of a driver's, which frees it when destroyed.
  struct Block {
    virtual ~Block() = default;
    u8* host = nullptr;
    u64 address = 0, bytes = 0;  // of the device; multiples of 256
  };
  // A block of at least so many bytes. Called by one thread at a time.
  using MakeBlock = std::function<Result<std::unique_ptr<Block>>(u64 bytes)>;

  explicit BlockAllocator(MakeBlock make_block) : make_block_(std::move(make_block)) {}

  // A new block where the others are full; fails as make_block does.
  Result<core::Allocation> allocate(i64 bytes) override;
  // The block stays, for later allocations.
  void release(const core::Allocation& allocation) override;
  core::MemoryStats stats() const override;

 private:
  struct Tracked {
    std::unique_ptr<Block> block;
    Tlsf free;
  };
  core::Allocation take(Tracked& tracked, u64 address, i64 bytes);

  const MakeBlock make_block_;
  mutable std::mutex mutex_;                      // guards what follows
  std::vector<std::unique_ptr<Tracked>> blocks_;  // pointers: allocations name their block
  i64 in_use_ = 0;
};

}  // namespace doorbell::hcq
