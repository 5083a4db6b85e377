// A first touch of a 4 KiB page costs about a microsecond; of a huge page, far less per byte. So
// large blocks are aligned to huge pages and the kernel is asked for them.
#include "drivers/cpu/allocator.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace doorbell::cpu {
namespace {

constexpr i64 kAlignment = 64;  // a cache line, and the widest vector
constexpr i64 kHugePage = i64{2} << 20;
constexpr i64 kMaxBytes = i64{1} << 47;  // user address space of x86-64

i64 round_up(i64 bytes, i64 to) { return (bytes + to - 1) / to * to; }

}  // namespace

Result<core::Allocation> HostAllocator::allocate(i64 bytes) {
  const bool huge = bytes >= kHugePage;
  const i64 alignment = huge ? kHugePage : kAlignment;
  void* block = nullptr;
  const i64 now = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (bytes <= kMaxBytes && now <= limit_)
    block = std::aligned_alloc(static_cast<usize>(alignment),
                               static_cast<usize>(round_up(bytes + (bytes == 0), alignment)));
  if (block == nullptr) {
    in_use_.fetch_sub(bytes, std::memory_order_relaxed);
    return fail(ErrorKind::OutOfMemory, "the host refuses");
  }
  // Advice only: without huge pages the memory is as good, but slower to touch first.
#ifdef MADV_HUGEPAGE
  if (huge) madvise(block, static_cast<usize>(round_up(bytes, alignment)), MADV_HUGEPAGE);
#endif
  return core::Allocation{block, reinterpret_cast<u64>(block), nullptr, bytes};
}

void HostAllocator::release(const core::Allocation& allocation) {
  in_use_.fetch_sub(allocation.bytes, std::memory_order_relaxed);
  std::free(allocation.host);
}

core::MemoryStats HostAllocator::stats() const {
  return {in_use_.load(std::memory_order_relaxed), 0, 0};
}

}  // namespace doorbell::cpu
