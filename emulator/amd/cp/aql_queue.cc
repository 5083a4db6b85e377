// The ring of an AQL queue: headers, fences, barriers, completion (aql_queue.h). Kernel dispatches
// are in aql_dispatch.cc.
#include "emulator/amd/cp/aql_queue.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "emulator/amd/cp/aql_packet.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

std::optional<Step> AqlQueue::fetch(std::vector<u32>&) { return advance_ring(); }

Step AqlQueue::advance_ring() {
  if (announced() == read_) return Step::Idle;
  // With its first packet, and its first after it was off the hardware, a queue's structure is
  // read: ROCr fills in scratch and capabilities when the queue is there already. [ROCr
  // amd_aql_queue.cpp AqlQueue(): AMD_QUEUE_CAPS_SW_ASYNC_RECLAIM and InitScratchSRD() behind
  // CreateQueue()]
  if (!connected_ && !connect()) return Step::Stopped;
  place_ = {"packet {}", read_};
  if (!fetched_) {
    u32 header = 0;
    if (auto fault = gpu_.memory.load(Client::CommandProcessor, slot(), header))
      return stop(std::move(*fault));
    auto type = decode<hw::AqlHeader>(std::array<u32, 1>{header & 0xffff}).type;
    // Announced, but not yet handed over by its producer.
    if (type == hw::AqlType::Invalid) {
      const u64 of_type = 0xff;
      note_wait({slot(), hw::Compare::NotEqual, of_type, static_cast<u64>(type), header});
      late_ = true;
      return Step::Waiting;
    }
    packet_.resize(hw::kAqlPacketBytes / 4);
    if (auto fault =
            gpu_.memory.read(Client::CommandProcessor, slot(),
                             std::span(reinterpret_cast<u8*>(packet_.data()), hw::kAqlPacketBytes)))
      return stop(std::move(*fault));
    fetched_ = true, begun_ = false;
    if (races() != nullptr) begin_race_packet("an AQL packet");
    if (std::exchange(late_, false) && races() != nullptr) races()->learn_from_host();
    trace_packet(hw::StreamKind::Aql, packet_);
    if (gpu_.hook) {
      const HookVerdict verdict = gpu_.hook->packet(id_, QueueKind::Aql, 0, packet_);
      repeats_ = verdict == HookVerdict::Again;
      if (verdict == HookVerdict::Skip) {
        packet_done();
        return Step::Moved;
      }
    }
    if (!check_header()) return Step::Stopped;
  }
  auto header = decode<hw::AqlHeader>(std::array<u32, 1>{packet_[0] & 0xffff});
  if (header.barrier && !begun_ && !pipeline_.empty()) return Step::Waiting;
  if (header.barrier && !begun_ && races() != nullptr) races()->join_all();
  if (!begun_) acquire(header.acquire);
  begun_ = true;
  return execute_packet();
}

bool AqlQueue::look_at_ring() {
  std::array<u32, hw::kAqlPacketBytes / 4> words{};
  if (!ahead_.peek(slot(ahead_.at()), words)) return false;
  // Its producer has not handed it over.
  if (decode<hw::AqlHeader>(std::array<u32, 1>{words[0] & 0xffff}).type == hw::AqlType::Invalid)
    return false;
  ahead_.step(1);
  if (look_at_packet(words)) return true;
  ahead_.stop_here();
  return false;
}

bool AqlQueue::look_at_packet(std::span<const u32> words) {
  const auto as = [&](auto packet) {
    std::array<u32, decltype(packet)::kWords> all{};
    std::copy_n(words.begin(), all.size(), all.begin());
    return decode<decltype(packet)>(all);
  };
  switch (decode<hw::AqlHeader>(std::array<u32, 1>{words[0] & 0xffff}).type) {
    case hw::AqlType::KernelDispatch: {
      const auto packet = as(hw::KernelDispatchPacket{});
      std::array<u32, hw::KernelDescriptor::kWords> descriptor{};
      if (ahead_.peek(packet.kernel_object, descriptor))
        ahead_.promise(Announcements::Kind::Arguments, packet.kernarg_address,
                       decode<hw::KernelDescriptor>(descriptor).kernarg_size);
      return true;
    }
    case hw::AqlType::BarrierAnd:
    case hw::AqlType::BarrierOr: {
      const auto packet = as(hw::BarrierPacket{});
      return std::ranges::none_of(packet.dep, [&](u64 signal) {
        constexpr u64 kAll = ~u64{0};
        return signal != 0 && ahead_.held_back(signal + offsetof(hw::AmdSignal, value),
                                               hw::Compare::Equal, kAll, 0);
      });
    }
    case hw::AqlType::VendorSpecific: return ahead_.look_at(as(hw::Pm4IbPacket{}).ib_jump, 0);
    default: return false;
  }
}

bool AqlQueue::check_header() {
  auto header = decode<hw::AqlHeader>(std::array<u32, 1>{packet_[0] & 0xffff});
  bool known = header.type <= hw::AqlType::BarrierOr && header.acquire <= hw::FenceScope::System &&
               header.release <= hw::FenceScope::System;
  if (!known && report_violation(kAqlHeader, fmt::format("header {:#06x}", packet_[0] & 0xffff)))
    return false;
  // Every type has its completion signal at the same place. [HSA Runtime 1.2, 2.9]
  std::array<u32, hw::BarrierPacket::kWords> words{};
  std::copy_n(packet_.begin(), words.size(), words.begin());
  auto packet = decode<hw::BarrierPacket>(words);
  if (!check_signal(packet.completion_signal)) return false;
  bool waits = header.type == hw::AqlType::BarrierAnd || header.type == hw::AqlType::BarrierOr;
  return !waits || std::ranges::all_of(packet.dep, [&](u64 dep) { return check_signal(dep); });
}

bool AqlQueue::check_signal(u64 signal) {
  return signal % alignof(hw::AmdSignal) == 0 ||
         !report_violation(kAqlSignal, fmt::format("a signal at {:#x}", signal));
}

bool AqlQueue::check_mailbox(u64 mailbox) {
  return mailbox % 8 == 0 ||
         !report_violation(kAqlSignal, fmt::format("an event mailbox at {:#x}", mailbox));
}

Step AqlQueue::execute_packet() {
  auto header = decode<hw::AqlHeader>(std::array<u32, 1>{packet_[0] & 0xffff});
  Outcome outcome = Outcome::Stop;
  error_ = header.type == hw::AqlType::VendorSpecific ? hw::QueueError::VendorPacket
                                                      : hw::QueueError::PacketFormat;
  switch (header.type) {
    case hw::AqlType::KernelDispatch:
      if (auto packet = take_aql<hw::KernelDispatchPacket>()) outcome = kernel_dispatch(*packet);
      break;
    case hw::AqlType::BarrierAnd:
    case hw::AqlType::BarrierOr:
      if (auto packet = take_aql<hw::BarrierPacket>()) outcome = barrier(*packet);
      break;
    case hw::AqlType::VendorSpecific:
      if (auto packet = take_aql<hw::Pm4IbPacket>()) outcome = vendor(*packet);
      break;
    default:
      stop(fmt::format("the packet processor does not execute a packet of type {} (header {:#06x})",
                       static_cast<unsigned>(header.type), packet_[0] & 0xffff));
  }
  if (outcome == Outcome::Stop) return Step::Stopped;
  if (outcome == Outcome::Wait) return Step::Waiting;
  // The vendor's packet is done when its buffer is.
  if (!interpreter_.in_indirect_buffer()) packet_done();
  return Step::Moved;
}

// Without the barrier bit a packet may complete before those in front of it: a dispatch with its
// own waves, a barrier with its signals. Only the vendor's packet comes behind all, as the
// end-of-pipe events of its PM4 do. [HSA Runtime 1.2, 2.9.2 barrier bit]
//
// The slot is the producer's again: its header says so, then the read index.
// [HSA Runtime 1.2, 2.9.1 and 2.9.2]
void AqlQueue::packet_done() {
  if (completion_ != 0 || release_ != hw::FenceScope::None)
    pipeline_.at_end(
        behind_all([this, release = release_, signal = completion_, start = gpu_.clock()] {
          return complete(release, signal, start);
        }));
  completion_ = 0, release_ = hw::FenceScope::None;
  fetched_ = begun_ = false;
  if (std::exchange(repeats_, false)) return;
  u16 invalid = static_cast<u16>(hw::AqlType::Invalid);
  auto fault = gpu_.memory.write(Client::CommandProcessor, slot(),
                                 std::span(reinterpret_cast<const u8*>(&invalid), sizeof invalid));
  read_up_to(read_ + 1);
  if (!fault) fault = publish_read_index();
  if (fault) stop(std::move(*fault));
}

// Who gives scratch back waits until the read index is past the last packet that used it, and then
// frees it: such a queue's index passes a packet when it and all before it are complete. [ROCr
// amd_aql_queue.cpp AsyncReclaimMainScratch(): "If current dispatch is using scratch, wait for it
// to finish", scratch_max_use_index >= LoadReadIndexRelaxed()]
std::optional<MemoryFault> AqlQueue::publish_read_index() {
  const auto publish = [this, read = read_] {
    const ActingAs nobody(gpu_.memory, nullptr);
    return gpu_.memory.store(Client::CommandProcessor, description_.read_pointer, read);
  };
  if (!connected_ || !connected_->reclaims || pipeline_.empty()) return publish();
  pipeline_.at_end(behind_all(publish));
  return std::nullopt;
}

// Agent scope: what this GPU wrote is seen; system scope: what anybody wrote. Several L2s are no
// agent's one memory. Code is not covered: new code is announced by PM4.
// [HSA Runtime 1.2, 2.9.2; ROCr amd_gpu_agent.cpp InvalidateCodeCaches; LLVM AMDGPUUsage memory
// models: "acquire fence of a kernel dispatch packet"]
void AqlQueue::acquire(hw::FenceScope scope) {
  if (scope == hw::FenceScope::None) return;
  bool past_l2 = scope == hw::FenceScope::System || gpu_.xccs > 1;
  for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc)
    act_on_caches(gpu_, xcc,
                  {.vector = true, .scalar = true, .gl1 = true, .l2_invalidate = past_l2});
}

// What is in it others may change meanwhile, word by word.
std::optional<MemoryFault> AqlQueue::read_signal(u64 va, hw::AmdSignal& signal) {
  const ActingAs nobody(gpu_.memory, nullptr);
  return gpu_.memory.read(Client::CommandProcessor, va,
                          std::span(reinterpret_cast<u8*>(&signal), sizeof signal));
}

std::optional<MemoryFault> AqlQueue::complete(hw::FenceScope release, u64 signal, u64 start) {
  bool past_l2 =
      release == hw::FenceScope::System || (release == hw::FenceScope::Agent && gpu_.xccs > 1);
  gpu_.memory.land();
  for (u32 xcc = 0; xcc < gpu_.xccs && past_l2; ++xcc)
    act_on_caches(gpu_, xcc, {.l2_write_back = true});
  if (signal == 0) return std::nullopt;

  constexpr Client kCp = Client::CommandProcessor;
  hw::AmdSignal now;
  if (auto fault = read_signal(signal, now)) return fault;
  if (auto fault = gpu_.memory.store(kCp, signal + offsetof(hw::AmdSignal, start_ts), start))
    return fault;
  if (auto fault = gpu_.memory.store(kCp, signal + offsetof(hw::AmdSignal, end_ts), gpu_.clock()))
    return fault;
  u64 before = 0;
  if (auto fault = gpu_.memory.add(signal + offsetof(hw::AmdSignal, value), ~u64{0}, before))
    return fault;
  if (now.event_mailbox == 0 || !check_mailbox(now.event_mailbox)) return std::nullopt;
  if (gpu_.caches) gpu_.caches->judge_host(where());
  // The mailbox tells the kernel's handler which events the interrupt is for.
  if (auto fault = gpu_.memory.store(kCp, now.event_mailbox, u64{now.event_id})) return fault;
  gpu_.interrupts.emplace_back(EventInterrupt{now.event_id, 32});
  return std::nullopt;
}

void AqlQueue::note_dependency(u64 signal) {
  const u64 va = signal + offsetof(hw::AmdSignal, value);
  u64 value = 0;
  if (!gpu_.memory.load(Client::CommandProcessor, va, value) && value == 0)
    note_wait_over({.va = va}, sizeof value);
}

Outcome AqlQueue::barrier(const hw::BarrierPacket& packet) {
  bool all = packet.type == hw::AqlType::BarrierAnd;
  bool any_done = false, any_open = false;
  for (u64 signal : packet.dep) {
    if (signal == 0) continue;
    u64 value = 0;
    if (auto fault = gpu_.memory.load(Client::CommandProcessor,
                                      signal + offsetof(hw::AmdSignal, value), value))
      return stopped(std::move(*fault));
    (value == 0 ? any_done : any_open) = true;
    if (value != 0) note_wait({.va = signal + offsetof(hw::AmdSignal, value), .value = value});
  }
  if (all ? any_open : any_open && !any_done) return Outcome::Wait;
  for (u64 signal : packet.dep)
    if (signal != 0) note_dependency(signal);
  acquire(packet.acquire);  // of what the signals announced
  if (auto fault = complete(packet.release, packet.completion_signal, gpu_.clock()))
    return stopped(std::move(*fault));
  return Outcome::Done;
}

Outcome AqlQueue::vendor(const hw::Pm4IbPacket& packet) {
  if (packet.vendor_header != hw::Pm4IbPacket::kPm4Ib)
    return stopped(fmt::format("vendor packet of format {:#x}", unsigned{packet.vendor_header}));
  constexpr u32 kBehindJump = 10;
  if (packet.remaining != kBehindJump &&
      report_violation(kAqlVendor,
                       fmt::format("{} words, expected {}", packet.remaining, kBehindJump)))
    return Outcome::Stop;
  const std::span<const u32> jump(packet.ib_jump);
  if (!hw::is_pm4<hw::IndirectBuffer>(gpu_.generation, jump) ||
      hw::pm4_words(jump[0]) != jump.size())
    return stopped(
        fmt::format("a vendor packet jumps by {:#010x}, expected INDIRECT_BUFFER", jump[0]));
  Outcome outcome = interpreter_.inject(jump);
  if (outcome == Outcome::Done) release_ = packet.release, completion_ = packet.completion_signal;
  return outcome;
}

}  // namespace doorbell::emu::amdgpu
