// A compute queue whose ring holds PM4 packets (compute_queue.h has what they do). Doorbell and
// write pointer count 32-bit words and never wrap; the read pointer that the command processor
// reports is 32 bits, in words, and wraps with the ring. [ROCr kfdtest PM4Queue.cpp Rptr, Wptr]
#pragma once

#include "emulator/amd/cp/compute_queue.h"

namespace doorbell::emu::amdgpu {

class Pm4Queue final : public ComputeQueue {
 public:
  using ComputeQueue::ComputeQueue;

 protected:
  // One, that CREATE_QUEUE chooses, with its whole grids: the kernel gives PM4 queues neither a
  // number among the XCCs nor a size of the chunks in which they share grids. [Linux
  // kfd_mqd_manager_v9.c init_mqd_v9_4_3(): pm4_target_xcc_in_xcp, compute_current_logic_xcc_id and
  // compute_tg_chunk_size 0]
  u32 xccs() const override { return u32{1} << description_.target_xcc; }
  std::optional<Step> fetch(std::vector<u32>& packet) override;
  void packet_done() override;
  void resize(std::vector<u32>& packet, u32 words) override;
  bool look_at_ring() override;
  // A full ring would look like an empty one. [kfdtest BaseQueue::PlacePacket]
  u64 capacity() const override { return description_.ring_bytes / 4 - 1; }

 private:
  std::optional<MemoryFault> read_ring(u64 at, std::span<u32> words) const;
  void report_read(u64 at);

  u64 packet_end_ = 0;
  u64 cut_ = 0;  // one past the word of a packet that was reported as cut
};

}  // namespace doorbell::emu::amdgpu
