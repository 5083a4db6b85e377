// A compute queue whose ring holds PM4 packets (compute_queue.h has what they do). Doorbell and
// write pointer count 32-bit words and never wrap; the read pointer that the command processor
// reports is 32 bits, in words, and wraps with the ring. [ROCr kfdtest PM4Queue.cpp Rptr, Wptr]
#pragma once

#include "emulator/amd/cp/compute_queue.h"

namespace doorbell::emulator::amd {

class Pm4Queue final : public ComputeQueue {
 public:
  using ComputeQueue::ComputeQueue;

 protected:
  Step advance_ring() override;
  void ring_packet_done() override;
  // A full ring would look like an empty one. [kfdtest BaseQueue::PlacePacket]
  u64 capacity() const override { return description_.ring_bytes / 4 - 1; }

 private:
  std::optional<MemoryFault> fetch(u64 at, std::span<u32> words) const;
  void report_read(u64 at);

  u64 packet_end_ = 0;
  u64 cut_ = 0;  // one past the word of a packet that was reported as cut
};

}  // namespace doorbell::emulator::amd
