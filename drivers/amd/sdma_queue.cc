// Assembling a submission of SDMA packets.
#include "drivers/amd/sdma_queue.h"

#include "base/util/try.h"
#include "drivers/amd/device.h"
#include "drivers/amd/sdma_commands.h"

namespace doorbell::amd {
namespace {

constexpr u64 kRingBytes = u64{1} << 20;
constexpr i64 kArgumentBytes = 4096;  // copies have no arguments

}  // namespace

Result<std::unique_ptr<AmdQueue>> SdmaQueue::make(Parts parts, AmdDevice& device) {
  TRY(hcq::Timeline timeline, hcq::Timeline::make(*parts.signals, parts.timeline_limit));
  TRY(std::unique_ptr<KfdQueue> hardware,
      KfdQueue::make(device.gpu(), device.caps(), QueueType::Sdma, kRingBytes));
  TRY(const KfdEvents::Interrupt interrupt, device.kfd().events().make_interrupt());
  std::unique_ptr<SdmaQueue> queue(
      new SdmaQueue(std::move(parts), std::move(timeline), device, std::move(hardware), interrupt));
  TRY(queue->make_rings(kArgumentBytes));
  SdmaCommands commands(device.caps());
  commands.interrupt(interrupt.mailbox, interrupt.event_id);
  queue->interrupt_words_.assign(commands.words().begin(), commands.words().end());
  return std::unique_ptr<AmdQueue>(std::move(queue));
}

std::unique_ptr<hcq::CommandBuffer> SdmaQueue::make_commands() {
  return std::make_unique<SdmaCommands>(device_.caps());
}

Result<void> SdmaQueue::assemble(std::span<const hcq::Segment> segments) {
  for (const hcq::Segment& segment : segments) {
    if (segment.resident != nullptr)
      append({static_cast<const u32*>(segment.resident->memory.host), segment.resident->count});
    else
      TRY(append_piece(segment));
  }
  append(interrupt_words_);
  return {};
}

}  // namespace doorbell::amd
