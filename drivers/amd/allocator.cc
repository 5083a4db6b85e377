// Buffer objects, and transfers.
#include "drivers/amd/allocator.h"

#include <cstring>

#include "base/util/try.h"
#include "hcq/memory/device_copy.h"

namespace doorbell::amd {
namespace {

constexpr i64 kStagingBytes = i64{16} << 20;

KfdMemory& memory_of(const core::Allocation& allocation) {
  return *static_cast<KfdMemory*>(allocation.opaque);
}

// Null where the host does not see it.
u8* host_of(const core::Allocation& allocation, i64 offset) {
  // Memory that is not ours has no buffer object.
  u8* host = allocation.opaque == nullptr ? static_cast<u8*>(allocation.host)
                                          : memory_of(allocation).host();
  return host == nullptr ? nullptr : host + offset;
}

hcq::GpuAddr address(const core::Allocation& allocation, i64 offset) {
  return hcq::GpuAddr{allocation.address + static_cast<u64>(offset)};
}

}  // namespace

Result<std::unique_ptr<KfdMemory>> VramAllocator::allocate_memory(i64 bytes) {
  MemoryRequest request;
  request.bytes = static_cast<u64>(bytes);
  request.kind = has_sdma_ ? MemoryKind::Vram : MemoryKind::Host;
  request.inherited = false;
  request.what = "a buffer";
  return gpu_.allocate(request);
}

Result<core::Allocation> VramAllocator::allocate(i64 bytes) {
  sweep();
  Result<std::unique_ptr<KfdMemory>> memory = allocate_memory(bytes);
  if (!memory && memory.error().kind == ErrorKind::OutOfMemory) {
    // What was released may be waiting for the device.
    if (device_.fence().wait()) sweep();
    memory = allocate_memory(bytes);
  }
  if (!memory) return std::move(memory).error();
  in_use_.fetch_add(bytes, std::memory_order_relaxed);
  KfdMemory* held = memory->release();  // until release()
  // Others are not told of a host pointer even where there is one: queues of the host's own would
  // have to wait for ours, and cannot.
  return core::Allocation{nullptr, held->address(), held, bytes};
}

void VramAllocator::release(const core::Allocation& allocation) {
  in_use_.fetch_sub(allocation.bytes, std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    retired_.push_back({std::unique_ptr<KfdMemory>(&memory_of(allocation)), device_.fence()});
  }
  sweep();
}

void VramAllocator::sweep() {
  std::list<Retired> done;  // freed without the lock
  std::lock_guard lock(mutex_);
  for (auto at = retired_.begin(); at != retired_.end();) {
    const auto next = std::next(at);
    if (at->until.done()) done.splice(done.end(), retired_, at);
    at = next;
  }
}

Result<hcq::StagingRing*> VramAllocator::staging() {
  TRY(gpu_.kfd().check_process());
  std::lock_guard lock(mutex_);
  if (staging_ == nullptr) {
    TRY(staging_, hcq::StagingRing::make(device_.copy_queue(), kStagingBytes));
  }
  return staging_.get();
}

Result<void> VramAllocator::write(u64 to, const void* from, u64 bytes) {
  TRY(hcq::StagingRing * staging, this->staging());
  TRY(const hcq::Point point, staging->copy_in(hcq::GpuAddr{to}, from, bytes, device_.fence()));
  return point.queue->wait(point.position);
}

Result<void> VramAllocator::copy_in(const core::Allocation& to, i64 offset, const void* from,
                                    i64 bytes) {
  if (bytes == 0) return {};
  u8* const host = host_of(to, offset);
  if (host == nullptr) return write(address(to, offset).value, from, static_cast<u64>(bytes));
  TRY(gpu_.kfd().check_process());
  TRY(device_.fence().wait());
  std::memcpy(host, from, static_cast<usize>(bytes));
  return {};
}

Result<void> VramAllocator::copy_out(void* to, const core::Allocation& from, i64 offset,
                                     i64 bytes) {
  if (bytes == 0) return {};
  const u8* const host = host_of(from, offset);
  if (host == nullptr) {
    TRY(hcq::StagingRing * staging, this->staging());
    return staging->copy_out(to, address(from, offset), static_cast<u64>(bytes), device_.fence());
  }
  TRY(gpu_.kfd().check_process());
  TRY(device_.fence().wait());
  std::memcpy(to, host, static_cast<usize>(bytes));
  return {};
}

Result<void> VramAllocator::copy(const core::Allocation& to, i64 to_offset,
                                 const core::Allocation& from, i64 from_offset, i64 bytes) {
  if (bytes == 0) return {};
  u8* const into = host_of(to, to_offset);
  const u8* const out_of = host_of(from, from_offset);
  if (into != nullptr && out_of != nullptr) {
    TRY(gpu_.kfd().check_process());
    TRY(device_.fence().wait());
    std::memmove(into, out_of, static_cast<usize>(bytes));
    return {};
  }
  return hcq::copy_on_device(device_, address(to, to_offset), address(from, from_offset),
                             static_cast<u64>(bytes));
}

core::MemoryStats VramAllocator::stats() const {
  return {in_use_.load(std::memory_order_relaxed), 0, 0};
}

}  // namespace doorbell::amd
