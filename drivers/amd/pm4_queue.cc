// Placing a submission of PM4.
#include "drivers/amd/pm4_queue.h"

#include <algorithm>
#include <cstring>

#include "base/util/try.h"
#include "drivers/amd/device.h"
#include "drivers/amd/hw/pm4/flow.h"
#include "drivers/amd/program.h"

namespace doorbell::amd {
namespace {

// A longer segment is jumped to, so that the ring holds many submissions.
constexpr usize kMaxWordsInRing = 4096;
constexpr u64 kMaxJumpWords = (u64{1} << 20) - 1;

}  // namespace

Pm4Queue::Pm4Queue(Resources resources)
    : AmdQueue(std::move(resources)), launch_(device_, device_.caps(), device_.xccs()) {}

Result<std::unique_ptr<AmdQueue>> Pm4Queue::make(Parts parts, AmdDevice& device) {
  TRY(Resources resources, allocate(std::move(parts), device, QueueType::Pm4));
  std::unique_ptr<Pm4Queue> queue(new Pm4Queue(std::move(resources)));
  TRY(queue->make_argument_ring());
  queue->measure();
  return std::unique_ptr<AmdQueue>(std::move(queue));
}

// Records what every submission repeats, and how long the rest of it can be.
void Pm4Queue::measure() {
  const auto words_of = [&](auto record) {
    Pm4Commands commands(device_, device_.caps(), device_.xccs());
    record(commands);
    return std::vector<u32>(commands.words().begin(), commands.words().end());
  };
  const hcq::GpuAddr none{};
  code_words_ = words_of([](Pm4Commands& commands) { commands.acquire_code(); });
  barrier_words_ = words_of([](Pm4Commands& commands) { commands.memory_barrier(); });
  interrupt_words_ = words_of(
      [&](Pm4Commands& commands) { commands.interrupt(interrupt_.mailbox, interrupt_.event_id); });
  const usize signal = words_of([&](Pm4Commands& commands) { commands.signal(none, 0); }).size();
  const usize wait = words_of([&](Pm4Commands& commands) { commands.wait(none, 0); }).size();
  launch_words_ = static_cast<u32>(code_words_.size() + barrier_words_.size() + signal +
                                   interrupt_words_.size());
  wait_words_ = static_cast<u32>(wait);
}

std::unique_ptr<hcq::CommandBuffer> Pm4Queue::make_commands() {
  return std::make_unique<Pm4Commands>(device_, device_.caps(), device_.xccs());
}

// The interrupt never lies among the arguments, whose room is free when the signal before it is
// seen.
Result<void> Pm4Queue::place_launch(const KernelLaunch& launch, const hcq::Fence& after) {
  const AmdProgram& program = launch.program;
  const usize words = launch_words_ + after.size() * wait_words_ + program.dispatch_words().size();
  TRY(make_room(words));
  TRY(const hcq::ArgumentRing::Location data,
      arguments_->allocate(program.data_words() * sizeof(u32), kDataAlignment));
  const u64 epoch = device_.code_epoch();
  const hcq::Timeline::SignalValue end = timeline().signal_at(timeline().last());

  launch_.clear();
  launch_.lend_words(ring_.reserved());
  launch_.lend_data({reinterpret_cast<u32*>(data.host), program.data_words()}, data.address);
  if (epoch != code_epoch_) launch_.acquire_code();
  TRY(add_waits(after, launch_));
  launch_.host_wrote();
  launch_.memory_barrier();
  launch_.launch(launch);
  launch_.signal(end.signal.address(), end.value);
  launch_.interrupt(interrupt_.mailbox, interrupt_.event_id);
  ring_.written(launch_.words().size());
  code_epoch_ = epoch;
  return {};
}

Result<void> Pm4Queue::place(std::span<const hcq::Segment> segments) {
  u64 most = code_words_.size() + interrupt_words_.size();
  for (const hcq::Segment& segment : segments)
    most += barrier_words_.size() +
            (segment.words.size() <= kMaxWordsInRing
                 ? std::max<u64>(segment.words.size(), hw::IndirectBuffer::kWords)
                 : hw::IndirectBuffer::kWords);
  TRY(make_room(most));
  const u64 epoch = device_.code_epoch();
  words_.lend(ring_.reserved());
  if (epoch != code_epoch_) words_.append(code_words_);
  for (const hcq::Segment& segment : segments) TRY(place_segment(segment));
  // Never among the arguments, see place_launch().
  words_.append(interrupt_words_);
  ring_.written(words_.size());
  code_epoch_ = epoch;
  return {};
}

Result<void> Pm4Queue::place_segment(const hcq::Segment& segment) {
  if (segment.resident != nullptr)
    return place_jump(segment.resident->memory.address, segment.resident->count);
  TRY(const hcq::GpuAddr data, place_data(segment));
  // Arguments that the host has just written may lie where others were cached.
  if (data.value != 0) words_.append(barrier_words_);
  if (segment.words.size() <= kMaxWordsInRing) {
    const u32 first = words_.append(segment.words);
    if (data.value != 0) segment.commands->relocate(words_.span().subspan(first), data);
    return {};
  }
  TRY(const hcq::ArgumentRing::Location location,
      arguments_->allocate(segment.words.size_bytes(), kDataAlignment));
  const std::span<u32> words{reinterpret_cast<u32*>(location.host), segment.words.size()};
  std::copy(segment.words.begin(), segment.words.end(), words.begin());
  if (data.value != 0) segment.commands->relocate(words, data);
  return place_jump(location.address.value, words.size());
}

Result<void> Pm4Queue::place_jump(u64 address, u64 count) {
  if (count > kMaxJumpWords)
    return fail(ErrorKind::Unsupported, "{}: {} words behind one jump, at most {} are possible",
                title(), count, kMaxJumpWords);
  words_.append(encode(hw::IndirectBuffer{.addr = address, .words = static_cast<u32>(count)}));
  return {};
}

}  // namespace doorbell::amd
