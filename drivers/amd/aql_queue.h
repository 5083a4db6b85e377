// AqlQueue: an AQL queue. Packets go into the ring, bound ones too, since an AQL ring has no jumps
// of its own; what they refer to lies in the argument ring, or behind the bound words.
#pragma once

#include "drivers/amd/queue.h"

namespace doorbell::amd {

class AqlQueue final : public AmdQueue {
 public:
  static Result<std::unique_ptr<AmdQueue>> make(Parts parts, AmdDevice& device);

  std::unique_ptr<hcq::CommandBuffer> make_commands() override;
  // Gives the queue the device's newest private memory. The command processor takes its place from
  // the queue's descriptor, of which it has a copy as long as the queue is on the hardware: where
  // the place changes, this waits until the queue is idle, and takes the queue off for the while.
  Result<void> update_scratch();

 protected:
  Result<void> assemble(std::span<const hcq::Segment> segments) override;

 private:
  using AmdQueue::AmdQueue;
  Result<void> make_fixed_packets();

  // The packets that end a submission and the one for fresh code; their buffers never change.
  std::vector<u32> code_words_, interrupt_words_;
  u64 code_epoch_ = 0;
};

}  // namespace doorbell::amd
