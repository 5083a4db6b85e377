// Pm4Queue: a PM4 queue, for chips and partitions of one XCC: where there are several, the
// kernel runs such a queue on one of them. Bound words are jumped to; others lie in the ring, or,
// where there are many, in the argument ring and are jumped to as well. [Linux kfd_mqd_manager_v9.c
// init_mqd_v9_4_3(): pm4_target_xcc_in_xcp, compute_tg_chunk_size 0]
#pragma once

#include "drivers/amd/queue.h"

namespace doorbell::amd {

class Pm4Queue final : public AmdQueue {
 public:
  static Result<std::unique_ptr<AmdQueue>> make(Parts parts, AmdDevice& device);

  std::unique_ptr<hcq::CommandBuffer> make_commands() override;

 protected:
  Result<void> assemble(std::span<const hcq::Segment> segments) override;

 private:
  using AmdQueue::AmdQueue;
  void make_fixed_words();
  Result<void> jump(u64 address, u64 count);
  // Moves what lies in words_ from `first` on into the argument ring, if it is too much for the
  // ring.
  Result<void> move_out(usize first);

  std::vector<u32> code_words_, barrier_words_, interrupt_words_;
  u64 code_epoch_ = 0;  // of the device's code that this queue's caches have seen
};

}  // namespace doorbell::amd
