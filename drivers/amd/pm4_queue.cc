// Assembling a submission of PM4.
#include "drivers/amd/pm4_queue.h"

#include <algorithm>
#include <cstring>

#include "base/util/try.h"
#include "drivers/amd/device.h"
#include "drivers/amd/hw/pm4/flow.h"
#include "drivers/amd/pm4_commands.h"

namespace doorbell::amd {
namespace {

constexpr u64 kRingBytes = u64{1} << 20;
constexpr i64 kArgumentBytes = i64{4} << 20;
// More than this is jumped to, so that the ring holds many submissions.
constexpr usize kMostWordsInRing = 4096;
constexpr u64 kMostJumpWords = (u64{1} << 20) - 1;

}  // namespace

Result<std::unique_ptr<AmdQueue>> Pm4Queue::make(Parts parts, AmdDevice& device) {
  TRY(hcq::Timeline timeline, hcq::Timeline::make(*parts.signals, parts.timeline_limit));
  TRY(std::unique_ptr<KfdQueue> hardware,
      KfdQueue::make(device.gpu(), device.caps(), QueueType::Pm4, kRingBytes));
  TRY(const KfdEvents::Interrupt interrupt, device.kfd().events().make_interrupt());
  std::unique_ptr<Pm4Queue> queue(
      new Pm4Queue(std::move(parts), std::move(timeline), device, std::move(hardware), interrupt));
  TRY(queue->make_rings(kArgumentBytes));
  queue->make_fixed_words();
  return std::unique_ptr<AmdQueue>(std::move(queue));
}

void Pm4Queue::make_fixed_words() {
  const auto words_of = [&](auto record) {
    Pm4Commands commands(device_, device_.caps(), device_.xccs());
    record(commands);
    return std::vector<u32>(commands.words().begin(), commands.words().end());
  };
  code_words_ = words_of([](Pm4Commands& commands) { commands.acquire_code(); });
  barrier_words_ = words_of([](Pm4Commands& commands) { commands.memory_barrier(); });
  interrupt_words_ = words_of(
      [&](Pm4Commands& commands) { commands.interrupt(interrupt_.mailbox, interrupt_.event_id); });
}

std::unique_ptr<hcq::CommandBuffer> Pm4Queue::make_commands() {
  return std::make_unique<Pm4Commands>(device_, device_.caps(), device_.xccs());
}

Result<void> Pm4Queue::jump(u64 address, u64 count) {
  if (count > kMostJumpWords)
    return fail(ErrorKind::Unsupported, "{}: {} words behind one jump, at most {}", title(), count,
                kMostJumpWords);
  append(encode(hw::IndirectBuffer{.addr = address, .words = static_cast<u32>(count)}));
  return {};
}

Result<void> Pm4Queue::move_out(usize first) {
  const std::span<const u32> part = std::span(words_).subspan(first);
  if (part.size() <= kMostWordsInRing) return {};
  constexpr u64 kAlignment = 256;
  TRY(const hcq::ArgumentRing::Place place, arguments_->allocate(part.size_bytes(), kAlignment));
  std::memcpy(place.host, part.data(), part.size_bytes());
  const u64 count = part.size();
  words_.resize(first);
  return jump(place.address.value, count);
}

Result<void> Pm4Queue::assemble(std::span<const hcq::Segment> segments) {
  usize first = 0;
  if (const u64 epoch = device_.code_epoch(); epoch != code_epoch_) {
    append(code_words_);
    code_epoch_ = epoch;
  }
  for (const hcq::Segment& segment : segments) {
    if (segment.resident != nullptr) {
      TRY(move_out(first));
      TRY(jump(segment.resident->memory.address, segment.resident->count));
      first = words_.size();
      continue;
    }
    // Arguments that the host has just written may lie where others were cached.
    if (segment.commands != nullptr && !segment.commands->data().empty()) append(barrier_words_);
    TRY(append_piece(segment));
  }
  TRY(move_out(first));
  // Never in the argument ring, whose room is free when the signal before it is seen.
  append(interrupt_words_);
  return {};
}

}  // namespace doorbell::amd
