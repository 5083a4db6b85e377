// SdmaQueue: a queue of a copy engine. All words go into the ring, bound ones too: a copy is seven
// of them.
#pragma once

#include "drivers/amd/queue.h"

namespace doorbell::amd {

class SdmaQueue final : public AmdQueue {
 public:
  static Result<std::unique_ptr<AmdQueue>> make(Parts parts, AmdDevice& device);

  std::unique_ptr<hcq::CommandBuffer> make_commands() override;

 protected:
  Result<void> assemble(std::span<const hcq::Segment> segments) override;

 private:
  using AmdQueue::AmdQueue;
  std::vector<u32> interrupt_words_;
};

}  // namespace doorbell::amd
