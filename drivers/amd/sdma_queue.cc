// Placing a submission of SDMA packets.
#include "drivers/amd/sdma_queue.h"

#include "base/util/try.h"
#include "drivers/amd/device.h"
#include "drivers/amd/sdma_commands.h"

namespace doorbell::amd {

Result<std::unique_ptr<AmdQueue>> SdmaQueue::make(Parts parts, AmdDevice& device) {
  TRY(Resources resources, allocate(std::move(parts), device, QueueType::Sdma));
  std::unique_ptr<SdmaQueue> queue(new SdmaQueue(std::move(resources)));
  TRY(queue->make_argument_ring());
  SdmaCommands commands(device.caps());
  commands.interrupt(queue->interrupt_.mailbox, queue->interrupt_.event_id);
  queue->interrupt_words_.assign(commands.words().begin(), commands.words().end());
  return std::unique_ptr<AmdQueue>(std::move(queue));
}

std::unique_ptr<hcq::CommandBuffer> SdmaQueue::make_commands() {
  return std::make_unique<SdmaCommands>(device_.caps());
}

Result<void> SdmaQueue::place(std::span<const hcq::Segment> segments) {
  u64 count = interrupt_words_.size();
  for (const hcq::Segment& segment : segments) count += words_of(segment).size();
  TRY(make_room(count));
  words_.lend(ring_.reserved());
  for (const hcq::Segment& segment : segments) words_.append(words_of(segment));
  words_.append(interrupt_words_);
  ring_.written(words_.size());
  return {};
}

}  // namespace doorbell::amd
