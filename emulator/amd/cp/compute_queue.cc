// Whose turn it is within a compute queue, and indirect buffers (compute_queue.h). The packets are
// in pm4_memory.cc, pm4_sync.cc and pm4_dispatch.cc.
#include "emulator/amd/cp/compute_queue.h"

#include "emulator/amd/cp/pm4_packet.h"
#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

namespace {

// A ring calls IB1, IB1 calls IB2.
constexpr usize kDeepest = 2;
// So many packets before other queues have their turn.
constexpr int kPacketsAtATime = 64;

}  // namespace

ComputeQueue::ComputeQueue(QueueId id, const QueueDescription& description, GpuContext& gpu)
    : Queue(id, description, gpu),
      mask_(gpu.xcc_mask()),
      sh_(gpu.xccs),
      pipeline_(gpu),
      last_entry_(gpu.xccs, 0) {}

Step ComputeQueue::run_pipeline() {
  const Pipeline::State state = pipeline_.step();
  polls_ = state == Pipeline::State::Polling;
  switch (state) {
    case Pipeline::State::Empty: return Step::Idle;
    case Pipeline::State::Waiting: discard_lookahead(); return Step::Waiting;
    case Pipeline::State::Failed: {
      // What is in flight stays, for whoever asks where the waves were.
      Pipeline::Failure failure = pipeline_.failure();
      if (auto* fault = std::get_if<MemoryFault>(&failure)) return stop(std::move(*fault));
      return stop(std::move(std::get<HwException>(failure)));
    }
    case Pipeline::State::Endless: {
      std::string why = fmt::format("a grid has run {} wave instructions without coming to its end",
                                    gpu_.hang_after);
      // It may wait for an answer to what nobody else can see.
      if (gpu_.caches)
        if (const auto left = gpu_.caches->dirty_host_memory())
          why += ", and " + gpu_.caches->describe(*left);
      return report_violation(kEndless, why) ? Step::Stopped : stop(why);
    }
    case Pipeline::State::Polling: discard_lookahead(); break;
    case Pipeline::State::Moved: break;
  }
  auto changed = pipeline_.take_changed();
  if (changed && changed->of_slot)
    gpu_.checks->report(kAqlPacketReused,
                        fmt::format("{}: {} at {:#x} changed while its kernel, which has the "
                                    "dispatch pointer, was in flight",
                                    where(), changed->what, changed->va),
                        Level::Warn);
  if (changed && !changed->of_slot &&
      report_violation(kArgumentChanged,
                       fmt::format("{} at {:#x}, {} bytes, changed while the "
                                   "dispatch that uses them was in flight",
                                   changed->what, changed->va, changed->bytes.size())))
    return Step::Stopped;
  return Step::Moved;
}

// Who goes first: fast, what is in flight, so that the least memory is live, unless it only waits
// for what may be behind it. Adversarial, for a while the waves, for a while the command processor,
// which may get far ahead of them, for a while either by chance.
bool ComputeQueue::processor_first() {
  if (!gpu_.adversarial) return false;
  if (phase_left_-- == 0) {
    constexpr u32 kLongest = 128;
    phase_ = static_cast<Phase>(gpu_.random() % 3);
    phase_left_ = static_cast<u32>(gpu_.random() % kLongest);
  }
  return phase_ == Phase::Processor || (phase_ == Phase::Either && gpu_.chance(2));
}

Step ComputeQueue::advance() {
  gpu_.memory.land_due();
  Step step = advance_turn();
  const bool still = step == Step::Waiting || step == Step::Idle;
  return still && gpu_.caches && gpu_.caches->posted().has(id_) ? Step::Moved : step;
}

// A preemption waits for what the processor has sent off.
void ComputeQueue::disconnect() {
  gpu_.memory.serve(id_);
  gpu_.memory.land();
}

Step ComputeQueue::advance_turn() {
  if (!processor_first() && !pipeline_.empty()) {
    Step step = run_pipeline();
    if ((step == Step::Moved && !polls_) || step == Step::Stopped) return step;
  }
  Step step = Step::Moved;
  int packets = gpu_.adversarial ? 1 : kPacketsAtATime;
  bool moved = false;
  while (packets-- > 0 && step == Step::Moved) {
    step = advance_processor();
    moved |= step == Step::Moved;
    if (!gpu_.adversarial && pipeline_.has_grids()) break;
  }
  if (step == Step::Stopped || moved) return moved && step != Step::Stopped ? Step::Moved : step;
  if (pipeline_.empty()) return step;
  Step pipe = run_pipeline();
  return pipe == Step::Idle ? step : pipe;
}

Step ComputeQueue::advance_processor() {
  if (pending_) {
    // Nothing between the fetch and the end of the wait is read again.
    Outcome outcome = execute();
    if (outcome == Outcome::Wait) return Step::Waiting;
    pending_ = false;
    if (outcome == Outcome::Stop) return Step::Stopped;
    if (frames_.empty()) ring_packet_done();
    return Step::Moved;
  }
  return frames_.empty() ? advance_ring() : advance_frame();
}

ComputeQueue::Outcome ComputeQueue::pass_hook(unsigned depth) {
  trace_packet(hw::StreamKind::Pm4, words_);
  if (gpu_.hook && !gpu_.hook->packet(id_, QueueKind::Pm4, depth, words_)) return Outcome::Done;
  return execute();
}

Step ComputeQueue::run_packet(unsigned depth) {
  usize frames = frames_.size();
  Outcome outcome = pass_hook(depth);
  pending_ = outcome == Outcome::Wait;
  if (outcome == Outcome::Stop) return Step::Stopped;
  if (pending_) return Step::Waiting;
  if (frames_.empty() && frames == 0) ring_packet_done();
  return Step::Moved;
}

Step ComputeQueue::advance_frame() {
  Frame& frame = frames_.back();
  if (frame.next >= frame.words.size()) {
    frames_.pop_back();
    if (frames_.empty()) ring_packet_done();
    return Step::Moved;
  }
  place_ = {"IB {1:#x} word {0}", frame.next, frame.base};
  u32 words = hw::pm4_words(frame.words[frame.next]),
      left = static_cast<u32>(frame.words.size()) - frame.next;
  if (words == 0) return stop(no_packet(frame.words[frame.next]));
  if (words > left) {
    if (report_violation(
            kPacketCut,
            fmt::format("a packet of {} words, {} left in the indirect buffer", words, left)))
      return Step::Stopped;
    words = left;
  }
  words_.assign(frame.words.begin() + frame.next, frame.words.begin() + frame.next + words);
  std::vector<u32> now(words);
  if (auto fault = gpu_.memory.read(Client::CommandProcessor, frame.base + u64{frame.next} * 4,
                                    std::span(reinterpret_cast<u8*>(now.data()), now.size() * 4)))
    return stop(std::move(*fault));
  if (now != words_ &&
      report_violation(kIbChanged, fmt::format("{:#010x}... when it was called, {:#010x}... "
                                               "now",
                                               words_[0], now[0])))
    return Step::Stopped;
  mask_ = frame.next < frame.predicated_until ? frame.mask : own_xccs();
  frame.next += words;
  if (mask_ == 0) {  // no XCC of this partition executes it
    trace_packet(hw::StreamKind::Pm4, words_, "skipped");
    return Step::Moved;
  }
  return run_packet(static_cast<unsigned>(frames_.size()));
}

ComputeQueue::Outcome ComputeQueue::execute(const hw::PredExec& packet) {
  if (frames_.empty()) {
    if (report_violation(kPredInRing, "PRED_EXEC in the ring")) return Outcome::Stop;
    return Outcome::Done;  // without effect there
  }
  Frame& frame = frames_.back();
  if (packet.count > frame.words.size() - frame.next &&
      report_violation(kPacketCut,
                       fmt::format("PRED_EXEC over {} words, {} left in the indirect buffer",
                                   u32{packet.count}, frame.words.size() - frame.next)))
    return Outcome::Stop;
  frame.predicated_until = frame.next + packet.count;
  frame.mask = packet.xcc_mask & own_xccs();
  return Outcome::Done;
}

// A queue that stands still was preempted with its waves, as the client asked.
void ComputeQueue::judge_end() const {
  if (Queue::stopped() || description_.percentage == 0 || !pipeline_.has_grids()) return;
  gpu_.checks->report(kQueueInFlight, fmt::format("{}: removed with {} dispatches in flight",
                                                  where(), pipeline_.grids()));
}

// What a kernel's pointers lead to is seen when it gets there, as a fault that tells the buffer's
// history; what is known of every kernel, here.
void ComputeQueue::judge_unmap(u64 start, u64 end) const {
  if (Queue::stopped()) return;
  if (const Use* use = pipeline_.find_use(start, end))
    gpu_.checks->report(kMemoryInFlight,
                        fmt::format("{}: [{:#x}, {:#x}) is unmapped, where a kernel in flight has "
                                    "{} at {:#x}",
                                    where(), start, end, use->what, use->va));
}

ComputeQueue::Outcome ComputeQueue::execute(const hw::IndirectBuffer& packet) {
  if ((!packet.valid || packet.words == 0) &&
      report_violation(kIbValid, fmt::format("valid={}, {} words at {:#x}", packet.valid,
                                             u32{packet.words}, u64{packet.addr})))
    return Outcome::Stop;
  if (!packet.valid) return Outcome::Done;
  if ((packet.vmid != 0 || packet.priv) &&
      report_violation(kIbUser, fmt::format("vmid={} priv={}", unsigned{packet.vmid}, packet.priv)))
    return Outcome::Stop;
  if (packet.chain && frames_.empty() && report_violation(kIbChain, "the ring does not come back"))
    return Outcome::Stop;
  usize depth = packet.chain && !frames_.empty() ? frames_.size() - 1 : frames_.size();
  if (depth >= kDeepest &&
      report_violation(kIbNesting,
                       fmt::format("an indirect buffer at {:#x}, called from the {}. level",
                                   u64{packet.addr}, depth)))
    return Outcome::Stop;
  u64 bytes = u64{packet.words} * 4;
  if (!gpu_.memory.in_one_mapping(packet.addr, bytes) && gpu_.memory.is_mapped(packet.addr) &&
      report_violation(kIbMapping, fmt::format("{} bytes at {:#x}: {}", bytes, u64{packet.addr},
                                               gpu_.memory.space().describe(packet.addr))))
    return Outcome::Stop;
  if (!check_executable(packet.addr)) return Outcome::Stop;
  Frame frame{.base = packet.addr, .words = std::vector<u32>(packet.words)};
  if (auto fault = gpu_.memory.read(Client::CommandProcessor, packet.addr,
                                    std::span(reinterpret_cast<u8*>(frame.words.data()), bytes)))
    return stopped(std::move(*fault));
  if (!check_announced(Announcements::Kind::Buffer, packet.addr)) return Outcome::Stop;
  if (packet.chain && !frames_.empty()) frames_.pop_back();
  frames_.push_back(std::move(frame));
  return Outcome::Done;
}

std::string ComputeQueue::describe() const {
  std::string_view known = hw::pm4_name(hw::opcode_of(words_[0]));
  return known.empty() ? fmt::format("packet {:#010x}", words_[0]) : std::string(known);
}

ComputeQueue::Outcome ComputeQueue::execute() {
  // Of fillers nothing is read.
  if (words_[0] == hw::kPacket2 || hw::is_pm4<hw::Nop>(gpu_.generation, words_))
    return Outcome::Done;
  Outcome outcome = Outcome::Stop;
  const bool known =
      hw::visit_pm4(gpu_.generation, words_, [&]<class Packet>(std::type_identity<Packet>) {
        if (const auto packet = decode_packet<Packet>()) outcome = execute(*packet);
      });
  return known ? outcome : not_executed();
}

ComputeQueue::Outcome ComputeQueue::execute(const hw::Nop&) { return Outcome::Done; }

ComputeQueue::Outcome ComputeQueue::not_executed() {
  const u8 opcode = hw::opcode_of(words_[0]);
  const std::string_view known = hw::pm4_name(opcode);
  return stopped(
      fmt::format("the compute engine does not execute packet {:#x}{}{} ({:#010x}, {} "
                  "words)",
                  opcode, known.empty() ? "" : " ", known, words_[0], words_.size()));
}

}  // namespace doorbell::emu::amdgpu
