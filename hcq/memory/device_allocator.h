// DeviceAllocator: a device's own memory, in objects of its kernel driver's. Where the host does
// not see it, bytes come and go through memory of both and the copy queue. Released memory is freed
// once the device's work is done. core::CachingAllocator in front of it keeps released memory.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "base/os/host_accesses.h"
#include "core/device/allocator.h"
#include "hcq/device.h"
#include "hcq/memory/block_allocator.h"
#include "hcq/memory/host_transfers.h"
#include "hcq/memory/staging_ring.h"

namespace doorbell::hcq {

class DeviceAllocator final : public core::Allocator {
 public:
  // Allocation::opaque is the Block; its host pointer is null where the host does not see it.
  using Block = BlockAllocator::Block;
  using MakeBlock = BlockAllocator::MakeBlock;
  // Fails where this process may not use the device, after a fork.
  using Check = std::function<Result<void>()>;

  // `accesses` is told what the host copies, and is borrowed; null: nobody asks.
  DeviceAllocator(Device& device, MakeBlock make_block, Check check,
                  os::HostAccesses* accesses = nullptr)
      : device_(device),
        make_block_(std::move(make_block)),
        check_(std::move(check)),
        accesses_(accesses) {}

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  Result<void> copy_in(const core::Allocation& to, i64 offset, const void* from,
                       i64 bytes) override;
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override;
  Result<void> copy(const core::Allocation& to, i64 to_offset, const core::Allocation& from,
                    i64 from_offset, i64 bytes) override;
  core::MemoryStats stats() const override;

  // For what the host does not see; once, before there are transfers.
  void use(std::unique_ptr<HostTransfers> transfers) { transfers_ = std::move(transfers); }
  // Before the queues go.
  void close() {
    staging_.reset();
    transfers_.reset();
  }

  // Bytes of the host to an address, in the order of the device's work. Complete when it returns.
  Result<void> write(u64 address, const void* from, u64 bytes);

 private:
  struct Retired {
    std::unique_ptr<Block> memory;
    Fence until;
  };
  Result<StagingRing*> staging();
  // The host is about to copy.
  Result<void> tell(const void* at, i64 bytes, bool is_write) const {
    if (accesses_ == nullptr) return {};
    return accesses_->access(at, static_cast<u64>(bytes), is_write);
  }
  void sweep();

  Device& device_;
  const MakeBlock make_block_;
  const Check check_;
  os::HostAccesses* const accesses_;
  std::atomic<i64> in_use_{0};
  std::mutex mutex_;  // guards what follows
  std::list<Retired> retired_;
  std::unique_ptr<StagingRing> staging_;      // made when first needed
  std::unique_ptr<HostTransfers> transfers_;  // null: all goes by staging
};

}  // namespace doorbell::hcq
