// Aligned to 4 KiB where a page or more is asked for, else to a cache line.
#include "hcq/memory/host_memory.h"

#include <cstdlib>
#include <cstring>

namespace doorbell::hcq {
namespace {

constexpr i64 kMax = i64{1} << 47;

}  // namespace

Result<core::Allocation> HostMemory::allocate(i64 bytes) {
  const i64 alignment = bytes >= 4096 ? 4096 : 64;
  const i64 now = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  void* block = nullptr;
  if (bytes <= kMax && now <= limit_) {
    const i64 size = (bytes + (bytes == 0) + alignment - 1) / alignment * alignment;
    block = std::aligned_alloc(static_cast<usize>(alignment), static_cast<usize>(size));
  }
  if (block == nullptr) {
    in_use_.fetch_sub(bytes, std::memory_order_relaxed);
    return fail(ErrorKind::OutOfMemory, "the host has no memory for {} bytes of a queue", bytes);
  }
  return core::Allocation{block, reinterpret_cast<u64>(block), nullptr, bytes};
}

void HostMemory::release(const core::Allocation& allocation) {
  in_use_.fetch_sub(allocation.bytes, std::memory_order_relaxed);
  std::free(allocation.host);
}

}  // namespace doorbell::hcq
