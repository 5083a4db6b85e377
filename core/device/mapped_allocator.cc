// Copies by the processor.
#include "core/device/mapped_allocator.h"

#include <cstring>

namespace doorbell::core {

namespace {

u8* at(const Allocation& allocation, i64 offset) {
  return static_cast<u8*>(allocation.host) + offset;
}

}  // namespace

Result<void> MappedAllocator::copy_in(const Allocation& to, i64 offset, const void* from,
                                      i64 bytes) {
  std::memcpy(at(to, offset), from, static_cast<usize>(bytes));
  return {};
}

Result<void> MappedAllocator::copy_out(void* to, const Allocation& from, i64 offset, i64 bytes) {
  std::memcpy(to, at(from, offset), static_cast<usize>(bytes));
  return {};
}

Result<void> MappedAllocator::copy(const Allocation& to, i64 to_offset, const Allocation& from,
                                   i64 from_offset, i64 bytes) {
  std::memmove(at(to, to_offset), at(from, from_offset), static_cast<usize>(bytes));
  return {};
}

}  // namespace doorbell::core
