// Pm4Queue: a queue of PM4 packets, for chips and partitions of one XCC: where there are several,
// the kernel runs such a queue on one of them. Resident words are jumped to; others lie in the
// ring, or, where there are many, in the argument ring and are jumped to as well. A launch is
// encoded in the ring.
// [Linux kfd_mqd_manager_v9.c init_mqd_v9_4_3(): pm4_target_xcc_in_xcp, compute_tg_chunk_size 0]
#pragma once

#include "drivers/amd/pm4_commands.h"
#include "drivers/amd/queue.h"

namespace doorbell::amd {

class Pm4Queue final : public AmdQueue {
 public:
  static Result<std::unique_ptr<AmdQueue>> make(Parts parts, AmdDevice& device);

  std::unique_ptr<hcq::CommandBuffer> make_commands() override;

 protected:
  Result<void> place(std::span<const hcq::Segment> segments) override;
  Result<void> place_launch(const KernelLaunch& launch, const hcq::Fence& after) override;

 private:
  explicit Pm4Queue(Resources resources);
  void measure();
  // At the end of words_.
  Result<void> place_segment(const hcq::Segment& segment);
  Result<void> place_jump(u64 address, u64 count);

  hcq::WordBuffer words_;  // in the ring, of the submission that is being placed
  Pm4Commands launch_;     // encodes in the ring, too
  std::vector<u32> code_words_, barrier_words_, interrupt_words_;
  u32 launch_words_ = 0;  // of a launch, beside its dispatch and its waits
  u32 wait_words_ = 0;    // of a wait
  u64 code_epoch_ = 0;    // of the device's code that this queue's caches have seen
};

}  // namespace doorbell::amd
