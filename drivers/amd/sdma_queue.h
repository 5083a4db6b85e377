// SdmaQueue: a queue of a copy engine. All words go into the ring, resident ones too: a copy is
// seven of them. Kernels do not run here, and commands have no data.
#pragma once

#include "drivers/amd/queue.h"

namespace doorbell::amd {

class SdmaQueue final : public AmdQueue {
 public:
  static Result<std::unique_ptr<AmdQueue>> make(Parts parts, AmdDevice& device);

  std::unique_ptr<hcq::CommandBuffer> make_commands() override;

 protected:
  Result<void> place(std::span<const hcq::Segment> segments) override;

 private:
  using AmdQueue::AmdQueue;
  hcq::WordBuffer words_;  // in the ring, of the submission that is being placed
  std::vector<u32> interrupt_words_;
};

}  // namespace doorbell::amd
