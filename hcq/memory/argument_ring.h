// ArgumentRing: memory for what one queue reads only once: arguments of kernels, or words. A range
// is used again when the submission that it was retired with is done. Vendors lay out arguments in
// a range.
//
// Contract: allocate() blocks until enough earlier submissions are done, for as long as the queue's
// timeout. The ranges of one submission must fit into size() together, or it fails, because waiting
// would never free them. The caller retires them with the submission's position, also if it then
// fails, before it submits again.
// Thread safety: one thread at a time, under the lock of the queue.
// Memory ordering: a range is reused only after the device's signal was acquired.
#pragma once

#include <memory>

#include "hcq/memory/retire_ring.h"
#include "hcq/queue/queue.h"

namespace doorbell::hcq {

class ArgumentRing {
 public:
  struct Location {
    u8* host;
    GpuAddr address;
  };

  // `bytes` of the queue's memory().
  static Result<std::unique_ptr<ArgumentRing>> make(Queue& queue, i64 bytes);
  // Releases the memory; the queue must be stopped or done.
  ~ArgumentRing();
  ArgumentRing(const ArgumentRing&) = delete;
  ArgumentRing& operator=(const ArgumentRing&) = delete;

  u64 size() const { return ring_.size(); }
  // Contiguous. May block until the queue has passed earlier submissions.
  Result<Location> allocate(u64 bytes, u64 alignment);
  // Everything allocated since the last call is read by then.
  void retire(Position position) { ring_.retire(position); }

 private:
  ArgumentRing(Queue& queue, const core::Allocation& memory)
      : queue_(queue), memory_(memory), ring_(static_cast<u64>(memory.bytes)) {}

  Queue& queue_;
  const core::Allocation memory_;
  RetireRing ring_;
};

}  // namespace doorbell::hcq
