// Allocates, waiting for room.
#include "hcq/memory/argument_ring.h"

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::hcq {

Result<std::unique_ptr<ArgumentRing>> ArgumentRing::make(Queue& queue, i64 bytes) {
  TRY(core::Allocation memory, queue.memory().allocate(bytes));
  CHECK(memory.host != nullptr, "arguments in memory that the host cannot see");
  return std::unique_ptr<ArgumentRing>(new ArgumentRing(queue, memory));
}

ArgumentRing::~ArgumentRing() { queue_.memory().release(memory_); }

Result<ArgumentRing::Location> ArgumentRing::allocate(u64 bytes, u64 alignment) {
  if (bytes > ring_.size())
    return fail(ErrorKind::Unsupported, "{} bytes of arguments in one submission, at most {}",
                bytes, ring_.size());
  std::optional<u64> offset = ring_.allocate(bytes, alignment);
  while (!offset) {
    ring_.reclaim(queue_.timeline());
    offset = ring_.allocate(bytes, alignment);
    if (offset) break;
    const std::optional<Position> oldest = ring_.oldest();
    if (!oldest)
      return fail(ErrorKind::Unsupported, "one submission needs more than {} bytes of arguments",
                  ring_.size());
    TRY(queue_.wait_done(*oldest));
  }
  return Location{static_cast<u8*>(memory_.host) + *offset, GpuAddr{memory_.address + *offset}};
}

}  // namespace doorbell::hcq
