// Buffer objects, and transfers.
#include "hcq/memory/device_allocator.h"

#include <cstring>

#include "base/util/try.h"
#include "hcq/memory/device_copy.h"

namespace doorbell::hcq {
namespace {

constexpr i64 kStagingBytes = i64{16} << 20;

DeviceAllocator::Block& memory_of(const core::Allocation& allocation) {
  return *static_cast<DeviceAllocator::Block*>(allocation.opaque);
}

// Null where the host does not see it.
u8* host_of(const core::Allocation& allocation, i64 offset) {
  // Memory that is not ours has no buffer object.
  u8* host =
      allocation.opaque == nullptr ? static_cast<u8*>(allocation.host) : memory_of(allocation).host;
  return host == nullptr ? nullptr : host + offset;
}

GpuAddr address(const core::Allocation& allocation, i64 offset) {
  return GpuAddr{allocation.address + static_cast<u64>(offset)};
}

}  // namespace

Result<core::Allocation> DeviceAllocator::allocate(i64 bytes) {
  sweep();
  Result<std::unique_ptr<Block>> memory = make_block_(static_cast<u64>(bytes));
  if (!memory && memory.error().kind == ErrorKind::OutOfMemory) {
    // What was released may be waiting for the device.
    if (device_.fence().wait()) sweep();
    memory = make_block_(static_cast<u64>(bytes));
  }
  if (!memory) return std::move(memory).error();
  in_use_.fetch_add(bytes, std::memory_order_relaxed);
  Block* held = memory->release();  // until release()
  // Others are not told of a host pointer even where there is one: queues of the host's own would
  // have to wait for ours, and cannot.
  return core::Allocation{nullptr, held->address, held, bytes};
}

void DeviceAllocator::release(const core::Allocation& allocation) {
  in_use_.fetch_sub(allocation.bytes, std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    retired_.push_back({std::unique_ptr<Block>(&memory_of(allocation)), device_.fence()});
  }
  sweep();
}

void DeviceAllocator::sweep() {
  std::list<Retired> done;  // freed without the lock
  std::lock_guard lock(mutex_);
  for (auto at = retired_.begin(); at != retired_.end();) {
    const auto next = std::next(at);
    if (at->until.done()) done.splice(done.end(), retired_, at);
    at = next;
  }
}

Result<StagingRing*> DeviceAllocator::staging() {
  TRY(check_());
  std::lock_guard lock(mutex_);
  if (staging_ == nullptr) {
    TRY(staging_, StagingRing::make(device_.copy_queue(), kStagingBytes, accesses_));
  }
  return staging_.get();
}

Result<void> DeviceAllocator::write(u64 to, const void* from, u64 bytes) {
  if (transfers_ != nullptr && transfers_->takes(bytes)) {
    TRY(check_());
    return transfers_->copy_in(GpuAddr{to}, static_cast<const u8*>(from), bytes, device_.fence());
  }
  TRY(StagingRing * staging, this->staging());
  TRY(const Point point, staging->copy_in(GpuAddr{to}, from, bytes, device_.fence()));
  return point.queue->wait(point.position);
}

Result<void> DeviceAllocator::copy_in(const core::Allocation& to, i64 offset, const void* from,
                                      i64 bytes) {
  if (bytes == 0) return {};
  u8* const host = host_of(to, offset);
  if (host == nullptr) return write(address(to, offset).value, from, static_cast<u64>(bytes));
  TRY(check_());
  TRY(device_.fence().wait());
  TRY(tell(host, bytes, true));
  std::memcpy(host, from, static_cast<usize>(bytes));
  return {};
}

Result<void> DeviceAllocator::copy_out(void* to, const core::Allocation& from, i64 offset,
                                       i64 bytes) {
  if (bytes == 0) return {};
  const u8* const host = host_of(from, offset);
  if (host == nullptr) {
    if (transfers_ != nullptr && transfers_->takes(static_cast<u64>(bytes))) {
      TRY(check_());
      return transfers_->copy_out(static_cast<u8*>(to), address(from, offset),
                                  static_cast<u64>(bytes), device_.fence());
    }
    TRY(StagingRing * staging, this->staging());
    return staging->copy_out(to, address(from, offset), static_cast<u64>(bytes), device_.fence());
  }
  TRY(check_());
  TRY(device_.fence().wait());
  TRY(tell(host, bytes, false));
  std::memcpy(to, host, static_cast<usize>(bytes));
  return {};
}

Result<void> DeviceAllocator::copy(const core::Allocation& to, i64 to_offset,
                                   const core::Allocation& from, i64 from_offset, i64 bytes) {
  if (bytes == 0) return {};
  u8* const into = host_of(to, to_offset);
  const u8* const out_of = host_of(from, from_offset);
  if (into != nullptr && out_of != nullptr) {
    TRY(check_());
    TRY(device_.fence().wait());
    TRY(tell(out_of, bytes, false));
    TRY(tell(into, bytes, true));
    std::memmove(into, out_of, static_cast<usize>(bytes));
    return {};
  }
  return copy_on_device(device_, address(to, to_offset), address(from, from_offset),
                        static_cast<u64>(bytes));
}

core::MemoryStats DeviceAllocator::stats() const {
  return {in_use_.load(std::memory_order_relaxed), 0, 0};
}

}  // namespace doorbell::hcq
