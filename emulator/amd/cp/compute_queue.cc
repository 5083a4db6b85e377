// A compute queue's turns, and what is judged of its work in flight (compute_queue.h).
#include "emulator/amd/cp/compute_queue.h"

#include <bit>

#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

namespace {

// So many packets before other queues have their turn.
constexpr int kPacketsAtATime = 64;

}  // namespace

ComputeQueue::ComputeQueue(QueueId id, const QueueDescription& description, GpuContext& gpu)
    : Queue(id, description, gpu),
      pipeline_(gpu),
      dispatcher_(*this, gpu, pipeline_),
      judge_(*this, gpu),
      ahead_(*this, gpu, dispatcher_),
      interpreter_(*this, *this, gpu, {pipeline_, dispatcher_, judge_, ahead_}) {}

Step ComputeQueue::advance() {
  gpu_.memory.land_due();
  Step step = advance_turn();
  const bool still = step == Step::Waiting || step == Step::Idle;
  return still && gpu_.caches && gpu_.caches->posted().has(id_) ? Step::Moved : step;
}

// What is in flight has its turn first unless the arbiter says else; where it only polls, the
// processor has its turn too, for what is polled for may be behind.
Step ComputeQueue::advance_turn() {
  if (!arbiter_.processor_first(gpu_) && !pipeline_.empty()) {
    Step step = advance_pipeline();
    if ((step == Step::Moved && !polls_) || step == Step::Stopped) return step;
  }
  const Step step = advance_processor();
  if (step == Step::Moved || step == Step::Stopped || pipeline_.empty()) return step;
  const Step pipe = advance_pipeline();
  return pipe == Step::Idle ? step : pipe;
}

// Moved if any packet was executed.
Step ComputeQueue::advance_processor() {
  Step step = Step::Moved;
  int packets = gpu_.adversarial ? 1 : kPacketsAtATime;
  bool moved = false;
  while (packets-- > 0 && step == Step::Moved) {
    step = interpreter_.step();
    moved |= step == Step::Moved;
    if (!gpu_.adversarial && pipeline_.has_grids()) break;
  }
  return moved && step != Step::Stopped ? Step::Moved : step;
}

Step ComputeQueue::advance_pipeline() {
  const Pipeline::State state = pipeline_.step();
  polls_ = state == Pipeline::State::Polling;
  switch (state) {
    case Pipeline::State::Empty: return Step::Idle;
    case Pipeline::State::Waiting: ahead_.discard(); return Step::Waiting;
    case Pipeline::State::Failed: {
      // Keeps work in flight, for reports of the waves' positions.
      Pipeline::Failure failure = pipeline_.failure();
      if (auto* fault = std::get_if<MemoryFault>(&failure)) return stop(std::move(*fault));
      return stop(std::move(std::get<HwException>(failure)));
    }
    case Pipeline::State::Endless: return judge_endless();
    case Pipeline::State::Polling: ahead_.discard(); break;
    case Pipeline::State::Moved: break;
  }
  return judge_changed();
}

Step ComputeQueue::judge_endless() {
  std::string why =
      fmt::format("a grid has run {} wave instructions without coming to its end", gpu_.hang_after);
  // It may wait for an answer to a store that nothing else can see.
  if (gpu_.caches)
    if (const auto left = gpu_.caches->dirty_host_memory())
      why += ", and " + gpu_.caches->describe(*left);
  return report_violation(kEndless, why) ? Step::Stopped : stop(why);
}

Step ComputeQueue::judge_changed() {
  const auto changed = pipeline_.take_changed();
  if (!changed) return Step::Moved;
  if (changed->of_slot) {
    gpu_.checks->report(kAqlPacketReused,
                        fmt::format("{}: {} at {:#x} changed while its kernel, which has the "
                                    "dispatch pointer, was in flight",
                                    where(), changed->what, changed->va),
                        Level::Warn);
    return Step::Moved;
  }
  const bool stops = report_violation(
      kArgumentChanged,
      fmt::format("{} at {:#x}, {} bytes, changed while the dispatch that uses them was in flight",
                  changed->what, changed->va, changed->bytes.size()));
  return stops ? Step::Stopped : Step::Moved;
}

// A preemption waits for what the processor has sent off.
void ComputeQueue::disconnect() {
  gpu_.memory.serve(id_);
  gpu_.memory.land();
}

void ComputeQueue::look_ahead() {
  if (!gpu_.caches) return;
  const auto first_xcc = static_cast<u32>(std::countr_zero(xccs()));
  if (!ahead_.begin(is_within_packet(), xccs(), interpreter_.registers(first_xcc))) return;
  while (ahead_.at() < announced())
    if (!look_at_ring()) return;
}

// A queue that stands still was preempted with its waves, as the client asked.
void ComputeQueue::judge_end() const {
  if (stopped() || description_.percentage == 0 || !pipeline_.has_grids()) return;
  gpu_.checks->report(kQueueInFlight, fmt::format("{}: removed with {} dispatches in flight",
                                                  where(), pipeline_.grids()));
}

// What a kernel's pointers lead to is seen when it gets there, as a fault that tells the buffer's
// history; what is known of every kernel, here.
void ComputeQueue::judge_unmap(u64 start, u64 end) const {
  if (stopped()) return;
  if (const Use* use = pipeline_.find_use(start, end))
    gpu_.checks->report(kMemoryInFlight,
                        fmt::format("{}: [{:#x}, {:#x}) is unmapped, where a kernel in flight has "
                                    "{} at {:#x}",
                                    where(), start, end, use->what, use->va));
}

}  // namespace doorbell::emu::amdgpu
