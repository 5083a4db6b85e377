// The ring and the indirect buffers of a copy engine's queue (sdma_queue.h); its packets are in
// sdma_packets.cc.
#include "emulator/amd/cp/sdma_queue.h"

#include <algorithm>
#include <utility>

#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

namespace {

constexpr int kPacketsAtATime = 64;
// Enough of a packet to know how long it is: WRITE has its count in the fourth word.
constexpr u32 kHead = 4;

}  // namespace

std::optional<MemoryFault> SdmaQueue::fetch(u64 at, std::span<u32> words) const {
  u64 ring = description_.ring_bytes;
  while (!words.empty()) {
    usize run = static_cast<usize>(std::min<u64>(words.size(), (ring - at % ring) / 4));
    if (auto fault = gpu_.memory.read(Client::Sdma, description_.ring + at % ring,
                                      std::span(reinterpret_cast<u8*>(words.data()), run * 4)))
      return fault;
    at += run * 4;
    words = words.subspan(run);
  }
  return std::nullopt;
}

Step SdmaQueue::advance() {
  Step step = Step::Moved;
  bool moved = false;
  for (int i = gpu_.adversarial ? 1 : kPacketsAtATime; i > 0 && step == Step::Moved; --i) {
    if (pending_)
      step = run_packet();
    else
      step = buffer_ ? advance_buffer() : advance_ring();
    moved |= step == Step::Moved;
  }
  return moved && step != Step::Stopped ? Step::Moved : step;
}

Step SdmaQueue::advance_ring() {
  u64 left = (announced() - read_) / 4;
  if (left == 0 && !copies_.empty())
    return advance_copies() == Outcome::Stop ? Step::Stopped : Step::Moved;
  if (left == 0) return Step::Idle;
  place_ = {"ring byte {:#x}", read_ % description_.ring_bytes};
  words_.resize(std::min<u64>(left, kHead));
  if (auto fault = fetch(read_, words_)) return stop(std::move(*fault));
  u32 words = words_of(words_);
  if (words == 0)
    return stop(fmt::format("the copy engine does not execute packet {:#010x}", words_[0]));
  if (words > left) {
    if (cut_ != read_ + 1 &&
        report_violation(kPacketCut,
                         fmt::format("{:#010x} begins a packet of {} words, {} are announced",
                                     words_[0], words, left)))
      return Step::Stopped;
    cut_ = read_ + 1;
    return Step::Waiting;
  }
  const u64 ring = description_.ring_bytes, at = read_ % ring;
  if (at + u64{words} * 4 > ring &&
      report_violation(
          kSdmaWrap,
          fmt::format("{:#010x} begins a packet of {} words at {:#x} of a ring of {:#x} bytes",
                      words_[0], words, at, ring)))
    return Step::Stopped;
  words_.resize(words);
  if (auto fault = fetch(read_, words_)) return stop(std::move(*fault));
  packet_end_ = read_ + u64{words} * 4;
  trace_packet(hw::StreamKind::Sdma, words_);
  if (races() != nullptr) begin_race_packet(describe());
  const HookVerdict verdict = show_hook();
  if (Queue::stopped()) return Step::Stopped;
  if (verdict == HookVerdict::Skip) {
    packet_done();
    return Step::Moved;
  }
  return run_packet();
}

HookVerdict SdmaQueue::show_hook() {
  if (!gpu_.hook) return HookVerdict::Take;
  const u32 size = static_cast<u32>(words_.size());
  const auto verdict = gpu_.hook->packet(id_, QueueKind::Sdma, buffer_ ? 1 : 0, words_);
  if (verdict == HookVerdict::Again) {
    if (buffer_)
      buffer_->next -= size;
    else
      repeats_ = true;
  }
  const bool is_followed = buffer_ && buffer_->next < buffer_->words.size();
  if (verdict == HookVerdict::Later && (late_ || !is_followed)) return HookVerdict::Take;
  if (verdict == HookVerdict::Take) follow_header(size);
  return verdict;
}

void SdmaQueue::follow_header(u32 size) {
  const u32 words = words_of(words_);
  if (words == 0) {
    stop(fmt::format("the copy engine does not execute packet {:#010x}", words_[0]));
    return;
  }
  const u32 start = buffer_ ? buffer_->next - size : 0;
  const u64 left = buffer_ ? buffer_->words.size() - start : (announced() - read_) / 4;
  if (words > left) {
    report_violation(kPacketCut, fmt::format("{:#010x} begins a packet of {} words, {} are there",
                                             words_[0], words, left));
    stop("a packet is cut by the end of what was submitted");
    return;
  }
  const u32 kept = std::min(words, static_cast<u32>(words_.size()));
  words_.resize(words);
  if (buffer_) {
    for (u32 i = kept; i < words; ++i) words_[i] = buffer_->words[start + i];
    buffer_->next = start + words;
    return;
  }
  packet_end_ = read_ + u64{words} * 4;
  if (auto fault = fetch(read_ + u64{kept} * 4, std::span(words_).subspan(kept)))
    stop(std::move(*fault));
}

Step SdmaQueue::run_packet() {
  bool in_buffer = buffer_.has_value();
  // The next packet, if it is a copy, may overtake those that are under way.
  constexpr usize kMaxCopies = 4;
  if (!copies_.empty() && (!is_copy() || copies_.size() >= kMaxCopies || gpu_.chance(2))) {
    pending_ = true;
    return advance_copies() == Outcome::Stop ? Step::Stopped : Step::Moved;
  }
  Outcome outcome = execute();
  if (outcome == Outcome::Done && late_) {
    words_ = *std::exchange(late_, std::nullopt);
    outcome = execute();
  }
  pending_ = outcome == Outcome::Wait;
  if (outcome == Outcome::Stop) return Step::Stopped;
  if (pending_) return Step::Waiting;
  if (!in_buffer && !buffer_) packet_done();
  return Step::Moved;
}

void SdmaQueue::packet_done() {
  if (std::exchange(repeats_, false)) return;
  read_up_to(packet_end_);
  const ActingAs nobody(gpu_.memory, nullptr);
  if (auto fault = gpu_.memory.store(Client::Sdma, description_.read_pointer, read_))
    stop(std::move(*fault));
}

Step SdmaQueue::advance_buffer() {
  Buffer& buffer = *buffer_;
  if (buffer.next >= buffer.words.size()) {
    buffer_.reset();
    packet_done();
    return Step::Moved;
  }
  place_ = {"IB {1:#x} word {0}", buffer.next, buffer.base};
  u32 left = static_cast<u32>(buffer.words.size()) - buffer.next;
  words_.assign(buffer.words.begin() + buffer.next,
                buffer.words.begin() + buffer.next + std::min(left, kHead));
  u32 words = words_of(words_);
  if (words == 0)
    return stop(fmt::format("the copy engine does not execute packet {:#010x}", words_[0]));
  if (words > left)
    return report_violation(
               kPacketCut,
               fmt::format("a packet of {} words, {} left in the indirect buffer", words, left))
               ? Step::Stopped
               : stop("a packet is cut by the end of its indirect buffer");
  words_.assign(buffer.words.begin() + buffer.next, buffer.words.begin() + buffer.next + words);
  std::vector<u32> now(words);
  if (auto fault = gpu_.memory.read(Client::Sdma, buffer.base + u64{buffer.next} * 4,
                                    std::span(reinterpret_cast<u8*>(now.data()), now.size() * 4)))
    return stop(std::move(*fault));
  if (now != words_ &&
      report_violation(kIbChanged, fmt::format("{:#010x}... when it was called, {:#010x}... now",
                                               words_[0], now[0])))
    return Step::Stopped;
  buffer.next += words;
  trace_packet(hw::StreamKind::Sdma, words_);
  if (races() != nullptr) begin_race_packet(describe());
  const HookVerdict verdict = show_hook();
  if (Queue::stopped()) return Step::Stopped;
  if (verdict == HookVerdict::Later) late_ = std::move(words_);
  if (verdict == HookVerdict::Later || verdict == HookVerdict::Skip) return Step::Moved;
  return run_packet();
}

Outcome SdmaQueue::execute(const hw::SdmaIndirect& packet) {
  if (buffer_) return stopped("an indirect buffer calls another, which copy engines do not do");
  if (packet.vmid != 0 && report_violation(kReservedBits, fmt::format("{} has VMID {}", describe(),
                                                                      unsigned{packet.vmid})))
    return Outcome::Stop;
  u64 end = packet_end_ / 4;
  if ((packet.words % hw::kSdmaIbAlignment != 0 || end % hw::kSdmaIbAlignment != 0) &&
      report_violation(kIbSdmaSize,
                       fmt::format("{} words at {:#x}, called by a packet that ends at word {}",
                                   u32{packet.words}, u64{packet.addr}, end)))
    return Outcome::Stop;
  u64 bytes = u64{packet.words} * 4;
  if (!gpu_.memory.in_one_mapping(packet.addr, bytes) && gpu_.memory.is_mapped(packet.addr) &&
      report_violation(kIbMapping, fmt::format("{} bytes at {:#x}: {}", bytes, u64{packet.addr},
                                               gpu_.memory.space().describe(packet.addr))))
    return Outcome::Stop;
  if (!check_executable(packet.addr)) return Outcome::Stop;
  Buffer buffer{.base = packet.addr, .words = std::vector<u32>(packet.words)};
  if (auto fault = gpu_.memory.read(Client::Sdma, packet.addr,
                                    std::span(reinterpret_cast<u8*>(buffer.words.data()), bytes)))
    return stopped(std::move(*fault));
  buffer_ = std::move(buffer);
  return Outcome::Done;
}

}  // namespace doorbell::emu::amdgpu
