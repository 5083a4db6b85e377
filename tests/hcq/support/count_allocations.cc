// Replaces operator new of the test program by one that counts.
#include "tests/hcq/support/count_allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local doorbell::u64 count = 0;

}  // namespace

namespace doorbell::testing {

u64 allocations_of_this_thread() { return count; }

}  // namespace doorbell::testing

void* operator new(std::size_t bytes) {
  ++count;
  if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}

// The default operator new would not be the counted one under the address sanitizer.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
