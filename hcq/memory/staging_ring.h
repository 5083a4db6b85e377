// StagingRing: moves bytes between the host and memory that the host cannot see, in pieces through
// a ring of memory that both see, with a copy queue. Pieces overlap: while the device copies one,
// the host fills or empties the next.
//
// Thread safety: from any thread; transfers go one after another.
// Memory ordering: copy_in has read the host's bytes when it returns, the device has them at the
// point that it returns. copy_out has the device's bytes when it returns.
#pragma once

#include "base/os/host_accesses.h"
#include "hcq/memory/argument_ring.h"

namespace doorbell::hcq {

class StagingRing {
 public:
  // `bytes` of the copy queue's memory(); a piece is at most a quarter.
  // `accesses` is told what the host copies, and is borrowed; null: nobody asks.
  static Result<std::unique_ptr<StagingRing>> make(Queue& queue, i64 bytes,
                                                   os::HostAccesses* accesses = nullptr);

  Result<Point> copy_in(GpuAddr to, const void* from, u64 bytes, const Fence& after = {});
  Result<void> copy_out(void* to, GpuAddr from, u64 bytes, const Fence& after = {});

 private:
  StagingRing(Queue& queue, std::unique_ptr<ArgumentRing> ring, os::HostAccesses* accesses)
      : queue_(queue),
        accesses_(accesses),
        ring_(std::move(ring)),
        commands_(queue.make_commands()) {}
  Result<void> copy_out_through(const ArgumentRing::Location& whole, u8* to, GpuAddr from,
                                u64 bytes, const Fence& after);
  Result<Point> submit_copy(GpuAddr to, GpuAddr from, u64 bytes, const Fence& after);

  Queue& queue_;
  os::HostAccesses* const accesses_;
  std::mutex mutex_;  // guards what follows
  std::unique_ptr<ArgumentRing> ring_;
  std::unique_ptr<CommandBuffer> commands_;
};

}  // namespace doorbell::hcq
