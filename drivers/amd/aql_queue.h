// AqlQueue: a queue of AQL packets. Packets go into the ring, resident ones too, since an AQL ring
// has no jumps of its own; what they refer to lies in the argument ring, or behind the resident
// words. A packet's header hands it to the device, so packets are put together apart and copied
// once, complete.
#pragma once

#include "drivers/amd/aql_commands.h"
#include "drivers/amd/queue.h"

namespace doorbell::amd {

class AqlQueue final : public AmdQueue {
 public:
  static Result<std::unique_ptr<AmdQueue>> make(Parts parts, AmdDevice& device);

  std::unique_ptr<hcq::CommandBuffer> make_commands() override;
  // Gives the queue the device's newest private memory. The command processor takes its address
  // from the queue's descriptor, of which it has a copy as long as the queue is on the hardware:
  // where the address changes, this waits until the queue is idle, and takes it off meanwhile.
  Result<void> update_scratch();

 protected:
  Result<void> place(std::span<const hcq::Segment> segments) override;
  Result<void> place_launch(const KernelLaunch& launch, const hcq::Fence& after) override;

 private:
  explicit AqlQueue(Resources resources);
  Result<void> make_fixed_packets();
  void measure();
  // Into the ring: `packets` between those for fresh code and for the interrupt.
  Result<void> place_packets(std::span<const u32> packets);

  std::vector<u32> words_;  // of the submission that is being placed
  AqlCommands launch_;
  // The packets that end a submission and the one for fresh code; their buffers never change.
  std::vector<u32> code_words_, interrupt_words_;
  // Words of data of a launch, beside its arguments and its waits, and of a wait.
  u32 launch_data_ = 0, wait_data_ = 0;
  u64 code_epoch_ = 0;  // of the device's code that this queue's caches have seen
};

}  // namespace doorbell::amd
