// Memory of the device, and transfers.
#include "drivers/cuda/allocator.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/try.h"
#include "hcq/memory/device_copy.h"

namespace doorbell::cuda {
namespace {

constexpr i64 kStagingBytes = i64{16} << 20;

hcq::GpuAddr address(const core::Allocation& allocation, i64 offset) {
  return hcq::GpuAddr{allocation.address + static_cast<u64>(offset)};
}

}  // namespace

CudaAllocator::~CudaAllocator() { free_all(retired_); }

void CudaAllocator::close() {
  staging_.reset();
  sweep();
}

Result<CUdeviceptr> CudaAllocator::take(i64 bytes) {
  TRY(context_->failure());
  const Current current(*context_);
  CUdeviceptr address = 0;
  // CUDA has no empty memory.
  TRY(context_->check(
      context_->api().cuMemAlloc(&address, static_cast<usize>(std::max<i64>(bytes, 1))),
      fmt::format("cuMemAlloc of {} bytes", bytes)));
  return address;
}

Result<core::Allocation> CudaAllocator::allocate(i64 bytes) {
  sweep();
  Result<CUdeviceptr> memory = take(bytes);
  if (!memory && memory.error().kind == ErrorKind::OutOfMemory) {
    // What was released may be waiting for the device.
    if (device_.fence().wait()) sweep();
    memory = take(bytes);
  }
  if (!memory) return std::move(memory).error();
  in_use_.fetch_add(bytes, std::memory_order_relaxed);
  return core::Allocation{nullptr, *memory, nullptr, bytes};
}

void CudaAllocator::release(const core::Allocation& allocation) {
  in_use_.fetch_sub(allocation.bytes, std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    retired_.push_back({allocation.address, device_.fence()});
  }
  sweep();
}

void CudaAllocator::sweep() {
  std::list<Retired> done;  // freed without the lock
  {
    std::lock_guard lock(mutex_);
    for (auto at = retired_.begin(); at != retired_.end();) {
      const auto next = std::next(at);
      if (at->until.done()) done.splice(done.end(), retired_, at);
      at = next;
    }
  }
  free_all(done);
}

void CudaAllocator::free_all(const std::list<Retired>& retired) {
  // Memory of a lost context is lost with it.
  if (retired.empty() || !context_->failure()) return;
  const Current current(*context_);
  for (const Retired& memory : retired)
    (void)context_->check(context_->api().cuMemFree(memory.address), "cuMemFree");
}

Result<hcq::StagingRing*> CudaAllocator::staging() {
  TRY(context_->failure());
  std::lock_guard lock(mutex_);
  if (staging_ == nullptr) {
    TRY(staging_, hcq::StagingRing::make(device_.copy_queue(), kStagingBytes));
  }
  return staging_.get();
}

Result<void> CudaAllocator::copy_in(const core::Allocation& to, i64 offset, const void* from,
                                    i64 bytes) {
  if (bytes == 0) return {};
  TRY(hcq::StagingRing * staging, this->staging());
  TRY(const hcq::Point point,
      staging->copy_in(address(to, offset), from, static_cast<u64>(bytes), device_.fence()));
  return point.queue->wait(point.position);
}

Result<void> CudaAllocator::copy_out(void* to, const core::Allocation& from, i64 offset,
                                     i64 bytes) {
  if (bytes == 0) return {};
  TRY(hcq::StagingRing * staging, this->staging());
  return staging->copy_out(to, address(from, offset), static_cast<u64>(bytes), device_.fence());
}

Result<void> CudaAllocator::copy(const core::Allocation& to, i64 to_offset,
                                 const core::Allocation& from, i64 from_offset, i64 bytes) {
  if (bytes == 0) return {};
  return hcq::copy_on_device(device_, address(to, to_offset), address(from, from_offset),
                             static_cast<u64>(bytes));
}

core::MemoryStats CudaAllocator::stats() const {
  return {in_use_.load(std::memory_order_relaxed), 0, 0};
}

}  // namespace doorbell::cuda
