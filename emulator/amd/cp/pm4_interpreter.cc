// The command processor's loop, and the packets that steer it (pm4_interpreter.h).
#include "emulator/amd/cp/pm4_interpreter.h"

#include <algorithm>
#include <utility>

#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

namespace {

// The shader type bit: set by some clients, ignored by the compute engines. [nvd.h PACKET3_COMPUTE]
constexpr u32 kShaderType = 2;

}  // namespace

std::string no_packet(u32 header) {
  return fmt::format("no packet begins with {:#010x}, a header of type {}", header, header >> 30);
}

Pm4Interpreter::Pm4Interpreter(Queue& queue, Pm4Ring& ring, GpuContext& gpu, Parts parts)
    : QueuePart(queue, gpu),
      ring_(ring),
      pipeline_(parts.pipeline),
      dispatcher_(parts.dispatcher),
      judge_(parts.judge),
      ahead_(parts.ahead),
      mask_(gpu.xcc_mask()),
      sh_(gpu.xccs) {}

// The loop of the command processor. A packet that waits is kept: nothing between its fetch and the
// end of its wait is read again.
Step Pm4Interpreter::step() {
  HookVerdict verdict = HookVerdict::Take;
  if (!waits_) {
    if (const std::optional<Step> without = fetch()) return *without;
    if (queue_.races() != nullptr) queue_.begin_race_packet(describe());
    verdict = show_hook();
    if (queue_.stopped()) return Step::Stopped;
    if (verdict == HookVerdict::Later) {
      late_ = std::move(words_);
      return Step::Moved;
    }
  }
  Outcome outcome = verdict == HookVerdict::Skip ? Outcome::Done : execute();
  if (outcome == Outcome::Done && late_) {
    words_ = *std::exchange(late_, std::nullopt);
    outcome = execute();
  }
  waits_ = outcome == Outcome::Wait;
  if (outcome == Outcome::Stop) return Step::Stopped;
  if (waits_) return Step::Waiting;
  // What calls a buffer is done when the buffer is.
  if (depth_ == 0 && buffers_.empty()) done_with_ring();
  return Step::Moved;
}

// A packet that a test wants twice is not done yet: it is fetched again.
void Pm4Interpreter::done_with_ring() {
  if (!std::exchange(repeats_, false)) ring_.packet_done();
}

std::optional<Step> Pm4Interpreter::fetch() {
  depth_ = buffers_.depth();
  if (depth_ > 0) return fetch_from(buffers_.innermost());
  mask_ = ring_.xccs();
  return ring_.fetch(words_);
}

std::optional<Step> Pm4Interpreter::fetch_from(IbStack::Buffer& buffer) {
  if (buffer.left() == 0) {
    buffers_.pop();
    if (buffers_.empty()) done_with_ring();
    return Step::Moved;
  }
  queue_.set_place({"IB {1:#x} word {0}", buffer.next, buffer.base});
  const u32 header = buffer.words[buffer.next];
  u32 words = hw::pm4_words(header);
  if (words == 0) return queue_.stop(no_packet(header));
  if (words > buffer.left()) {
    if (report_violation(kPacketCut,
                         fmt::format("a packet of {} words, {} left in the indirect buffer", words,
                                     buffer.left())))
      return Step::Stopped;
    words = buffer.left();
  }
  words_.assign(buffer.words.begin() + buffer.next, buffer.words.begin() + buffer.next + words);
  std::vector<u32> now(words);
  if (auto fault = gpu_.memory.read(Client::CommandProcessor, buffer.base + u64{buffer.next} * 4,
                                    std::span(reinterpret_cast<u8*>(now.data()), now.size() * 4)))
    return queue_.stop(std::move(*fault));
  if (now != words_ &&
      report_violation(kIbChanged, fmt::format("{:#010x}... when it was called, {:#010x}... now",
                                               words_[0], now[0])))
    return Step::Stopped;
  mask_ = buffer.xccs(ring_.xccs());
  buffer.next += words;
  if (mask_ == 0) {  // no XCC of this partition executes it
    queue_.trace_packet(hw::StreamKind::Pm4, words_, "skipped");
    return Step::Moved;
  }
  return std::nullopt;
}

HookVerdict Pm4Interpreter::show_hook() {
  queue_.trace_packet(hw::StreamKind::Pm4, words_);
  if (!gpu_.hook) return HookVerdict::Take;
  const u32 size = static_cast<u32>(words_.size());
  const auto verdict =
      gpu_.hook->packet(queue_.id(), QueueKind::Pm4, static_cast<unsigned>(depth_), words_);
  if (verdict == HookVerdict::Again) {
    if (depth_ == 0)
      repeats_ = true;
    else
      buffers_.innermost().next -= size;
  }
  const bool is_followed = depth_ > 0 && buffers_.innermost().left() > 0;
  if (verdict == HookVerdict::Later && (late_ || !is_followed)) return HookVerdict::Take;
  if (verdict == HookVerdict::Take) follow_header(size);
  return verdict;
}

void Pm4Interpreter::follow_header(u32 size) {
  const u32 words = hw::pm4_words(words_[0]);
  if (words == 0) {
    queue_.stop(no_packet(words_[0]));
    return;
  }
  if (depth_ == 0) return ring_.resize(words_, words);
  IbStack::Buffer& buffer = buffers_.innermost();
  if (words > size + buffer.left()) {
    report_violation(kPacketCut, fmt::format("a packet of {} words, {} left in the indirect buffer",
                                             words, size + buffer.left()));
    queue_.stop("a packet is cut by the end of its indirect buffer");
    return;
  }
  const u32 start = buffer.next - size;
  words_.resize(std::min<usize>(words, words_.size()));
  while (words_.size() < words) words_.push_back(buffer.words[start + words_.size()]);
  buffer.next = start + words;
}

Outcome Pm4Interpreter::inject(std::span<const u32> packet) {
  words_.assign(packet.begin(), packet.end());
  depth_ = 0;
  mask_ = ring_.xccs();
  queue_.trace_packet(hw::StreamKind::Pm4, words_);
  return execute();
}

// Decodes the packet at hand and runs the handler of its record.
Outcome Pm4Interpreter::execute() {
  if (words_[0] == hw::kPacket2) return Outcome::Done;
  Outcome outcome = Outcome::Stop;
  const bool known =
      hw::visit_pm4(gpu_.generation, words_, [&]<class Packet>(std::type_identity<Packet>) {
        if (const auto packet = decode_packet<Packet>()) outcome = execute(*packet);
      });
  return known ? outcome : not_executed();
}

template <class Packet>
std::optional<Packet> Pm4Interpreter::decode_packet() {
  constexpr bool kVariable = requires { Packet::kVariable; };
  constexpr usize kWords = Packet::kWords;
  const bool fits = kVariable ? words_.size() >= kWords : words_.size() == kWords;
  if (!fits && (report_violation(kPacketSize, fmt::format("{} has {} words, expected {}",
                                                          describe(), words_.size(), kWords)) ||
                words_.size() < kWords)) {
    // Short packets cannot be read at any level.
    if (!queue_.stopped())
      queue_.stop(fmt::format("{} words are no {}", words_.size(), describe()));
    return std::nullopt;
  }
  std::array<u32, kWords> words{};
  std::copy_n(words_.begin(), kWords, words.begin());
  words[0] &= ~kShaderType;
  const auto stray = stray_bits<Packet>(words);
  for (usize i = 0; i < kWords; ++i)
    if (stray[i] != 0 && report_violation(kReservedBits, fmt::format("{} has {:#x} in word {}",
                                                                     describe(), stray[i], i)))
      return std::nullopt;
  return decode<Packet>(words);
}

std::string Pm4Interpreter::describe() const {
  const std::string_view known = hw::pm4_name(hw::opcode_of(words_[0]));
  return known.empty() ? fmt::format("packet {:#010x}", words_[0]) : std::string(known);
}

Outcome Pm4Interpreter::not_executed() {
  const u8 opcode = hw::opcode_of(words_[0]);
  const std::string_view known = hw::pm4_name(opcode);
  return stopped(
      fmt::format("the compute engine does not execute packet {:#x}{}{} ({:#010x}, {} "
                  "words)",
                  opcode, known.empty() ? "" : " ", known, words_[0], words_.size()));
}

Outcome Pm4Interpreter::execute(const hw::Nop&) { return Outcome::Done; }

Outcome Pm4Interpreter::execute(const hw::PredExec& packet) {
  if (buffers_.empty()) {
    if (report_violation(kPredInRing, "PRED_EXEC in the ring")) return Outcome::Stop;
    return Outcome::Done;  // without effect there
  }
  IbStack::Buffer& buffer = buffers_.innermost();
  if (packet.count > buffer.left() &&
      report_violation(kPacketCut,
                       fmt::format("PRED_EXEC over {} words, {} left in the indirect buffer",
                                   u32{packet.count}, buffer.left())))
    return Outcome::Stop;
  buffer.predicated_until = buffer.next + packet.count;
  buffer.predicate = packet.xcc_mask & ring_.xccs();
  return Outcome::Done;
}

// False: the queue has stopped.
bool Pm4Interpreter::check_jump(const hw::IndirectBuffer& packet) {
  if ((packet.vmid != 0 || packet.priv) &&
      report_violation(kIbUser, fmt::format("vmid={} priv={}", unsigned{packet.vmid}, packet.priv)))
    return false;
  if (packet.chain && buffers_.empty() && report_violation(kIbChain, "the ring does not come back"))
    return false;
  const usize depth = packet.chain && !buffers_.empty() ? buffers_.depth() - 1 : buffers_.depth();
  if (depth >= IbStack::kDeepest &&
      report_violation(kIbNesting,
                       fmt::format("an indirect buffer at {:#x}, called from the {}. level",
                                   u64{packet.addr}, depth)))
    return false;
  const u64 bytes = u64{packet.words} * 4;
  if (!gpu_.memory.in_one_mapping(packet.addr, bytes) && gpu_.memory.is_mapped(packet.addr) &&
      report_violation(kIbMapping, fmt::format("{} bytes at {:#x}: {}", bytes, u64{packet.addr},
                                               gpu_.memory.space().describe(packet.addr))))
    return false;
  return queue_.check_executable(packet.addr);
}

Outcome Pm4Interpreter::execute(const hw::IndirectBuffer& packet) {
  if ((!packet.valid || packet.words == 0) &&
      report_violation(kIbValid, fmt::format("valid={}, {} words at {:#x}", packet.valid,
                                             u32{packet.words}, u64{packet.addr})))
    return Outcome::Stop;
  if (!packet.valid) return Outcome::Done;
  if (!check_jump(packet) || !check_unusual("OFFLOAD_POLLING", packet.offload_polling))
    return Outcome::Stop;
  IbStack::Buffer buffer{.base = packet.addr, .words = std::vector<u32>(packet.words)};
  if (auto fault = gpu_.memory.read(
          Client::CommandProcessor, packet.addr,
          std::span(reinterpret_cast<u8*>(buffer.words.data()), u64{packet.words} * 4)))
    return stopped(std::move(*fault));
  if (!ahead_.check_announced(Announcements::Kind::Buffer, packet.addr)) return Outcome::Stop;
  if (packet.chain && !buffers_.empty()) buffers_.pop();
  buffers_.push(std::move(buffer));
  return Outcome::Done;
}

}  // namespace doorbell::emu::amdgpu
