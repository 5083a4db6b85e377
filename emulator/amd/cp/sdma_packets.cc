// What the packets of a copy engine do (sdma_queue.h).
#include <algorithm>
#include <cstring>

#include "emulator/amd/cp/caches.h"
#include "emulator/amd/cp/compare.h"
#include "emulator/amd/cp/rules.h"
#include "emulator/amd/cp/sdma_queue.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

namespace {

hw::SdmaOp op_of(u32 header) {
  std::array<u32, 1> words{header};
  return static_cast<hw::SdmaOp>(extract(words, hw::kSdmaOp));
}

u64 sub_op_of(u32 header) {
  std::array<u32, 1> words{header};
  return extract(words, hw::kSdmaSubOp);
}

// In adversarial mode a copy advances by so much.
constexpr u64 kPiece = 1024;
// Of the host's memory at a time, however long the copy or fill.
constexpr u64 kBlock = u64{1} << 20;

}  // namespace

u64 SdmaQueue::max_bytes() const {
  return gpu_.generation == hw::Generation::Gfx9 ? hw::kSdmaMaxCopy4 : hw::kSdmaMaxCopy6;
}

bool SdmaQueue::is_copy() const { return op_of(words_[0]) == hw::SdmaOp::Copy; }

std::string SdmaQueue::describe() const {
  std::string_view known = name_of(op_of(words_[0]));
  return known.empty() ? fmt::format("packet {:#010x}", words_[0])
                       : fmt::format("{} ({:#010x})", known, words_[0]);
}

u32 SdmaQueue::words_of(const std::vector<u32>& head) const {
  u32 header = head[0];
  u64 sub_op = sub_op_of(header);
  switch (op_of(header)) {
    case hw::SdmaOp::Nop: {
      std::array<u32, 1> words{header};
      return 1 + u32{decode<hw::SdmaNop>(words).count};
    }
    case hw::SdmaOp::Copy: {
      if (sub_op != hw::kSdmaCopyLinear) return 0;
      std::array<u32, 7> words{header};
      return decode<hw::SdmaCopyLinear>(words).broadcast ? 9 : 7;
    }
    case hw::SdmaOp::Write: {
      if (sub_op != hw::kSdmaWriteLinear) return 0;
      if (head.size() < hw::SdmaWrite::kWords) return hw::SdmaWrite::kWords + 1;
      std::array<u32, 4> words{head[0], head[1], head[2], head[3]};
      return hw::SdmaWrite::kWords + decode<hw::SdmaWrite>(words).count + 1;
    }
    case hw::SdmaOp::Indirect: return hw::SdmaIndirect::kWords;
    case hw::SdmaOp::Fence: return hw::SdmaFence::kWords;
    case hw::SdmaOp::Trap: return hw::SdmaTrap::kWords;
    case hw::SdmaOp::PollRegmem: return sub_op == 0 ? hw::SdmaPollRegmem::kWords : 0;
    case hw::SdmaOp::Atomic: return hw::SdmaAtomic::kWords;
    case hw::SdmaOp::ConstFill: return sub_op == 0 ? hw::SdmaConstFill::kWords : 0;
    case hw::SdmaOp::Timestamp:
      return sub_op == hw::kSdmaTimestampGetGlobal ? hw::SdmaTimestamp::kWords : 0;
    case hw::SdmaOp::GcrReq:
      // 4.x has no such packet.
      return gpu_.generation != hw::Generation::Gfx9 &&
                     (sub_op == hw::kSdmaKernelGcr || sub_op == hw::kSdmaUserGcr)
                 ? hw::SdmaGcr::kWords
                 : 0;
    default: return 0;
  }
}

template <class Packet>
std::optional<Packet> SdmaQueue::take() {
  std::array<u32, Packet::kWords> words{};
  std::copy_n(words_.begin(), words.size(), words.begin());
  auto stray = stray_bits<Packet>(words);
  for (usize i = 0; i < words.size(); ++i)
    if (stray[i] != 0 && report_violation(kReservedBits, fmt::format("{} has {:#x} in word {}",
                                                                     describe(), stray[i], i)))
      return std::nullopt;
  return decode<Packet>(words);
}

template <class Packet>
Outcome SdmaQueue::with(Outcome (SdmaQueue::*run)(const Packet&)) {
  auto packet = take<Packet>();
  return packet ? (this->*run)(*packet) : Outcome::Stop;
}

Outcome SdmaQueue::execute() {
  switch (op_of(words_[0])) {
    case hw::SdmaOp::Copy: return with<hw::SdmaCopyLinear>(&SdmaQueue::copy);
    case hw::SdmaOp::Write: return with<hw::SdmaWrite>(&SdmaQueue::write);
    case hw::SdmaOp::Indirect: return with<hw::SdmaIndirect>(&SdmaQueue::indirect);
    case hw::SdmaOp::Fence: return with<hw::SdmaFence>(&SdmaQueue::fence);
    case hw::SdmaOp::Trap: return with<hw::SdmaTrap>(&SdmaQueue::trap);
    case hw::SdmaOp::PollRegmem: return with<hw::SdmaPollRegmem>(&SdmaQueue::poll);
    case hw::SdmaOp::Atomic: return with<hw::SdmaAtomic>(&SdmaQueue::atomic);
    case hw::SdmaOp::ConstFill: return with<hw::SdmaConstFill>(&SdmaQueue::fill);
    case hw::SdmaOp::Timestamp: return with<hw::SdmaTimestamp>(&SdmaQueue::timestamp);
    case hw::SdmaOp::GcrReq: return with<hw::SdmaGcr>(&SdmaQueue::gcr);
    default: return Outcome::Done;  // NOP: words_of() knows no other
  }
}

bool SdmaQueue::check_count(u64 bytes) {
  return bytes <= max_bytes() ||
         !report_violation(kSdmaCount, fmt::format("{}: {:#x} bytes, the engine counts to {:#x}",
                                                   describe(), bytes, max_bytes()));
}

Outcome SdmaQueue::copy(const hw::SdmaCopyLinear& packet) {
  u64 bytes = u64{packet.count} + 1;
  if (packet.broadcast || packet.encrypt || packet.tmz || packet.backwards)
    return stopped(describe() + ": broadcast, encryption and backwards copies are not emulated");
  if (packet.src_sw != 0 || packet.dst_sw != 0)
    return stopped(describe() + ": copies that swap bytes are not emulated");
  if (!check_count(bytes)) return Outcome::Stop;
  bool apart = packet.src + bytes <= packet.dst || packet.dst + bytes <= packet.src;
  if (!apart && report_violation(kSdmaOverlap, fmt::format("{} bytes from {:#x} to {:#x}", bytes,
                                                           u64{packet.src}, u64{packet.dst})))
    return Outcome::Stop;
  // Beyond the engine's count are bits that it does not have.
  copies_.push_back({.src = packet.src,
                     .dst = packet.dst,
                     .bytes = std::min(bytes, max_bytes()),
                     .place = place_});
  while (!gpu_.adversarial && !copies_.empty())
    if (advance_copies() == Outcome::Stop) return Outcome::Stop;
  return Outcome::Done;
}

Outcome SdmaQueue::advance_copies() {
  const usize which = gpu_.adversarial ? gpu_.random() % copies_.size() : 0;
  Copy& copy = copies_[which];
  const Place now = place_;
  place_ = copy.place;
  std::vector<u8> block(std::min(copy.bytes - copy.done, gpu_.adversarial ? kPiece : kBlock));
  if (auto fault = gpu_.memory.read(Client::Sdma, copy.src + copy.done, block))
    return stopped(std::move(*fault));
  if (auto fault = gpu_.memory.write(Client::Sdma, copy.dst + copy.done, block))
    return stopped(std::move(*fault));
  if (auto at = gpu_.memory.copied(copy.src + copy.done, copy.dst + copy.done, block.size());
      at && report_violation(
                kUndefinedResult,
                fmt::format("host memory at {:#x} gets a copy of what is at {:#x}, {}, "
                            "which nobody has written",
                            copy.dst + (*at - copy.src), *at, gpu_.memory.space().describe(*at))))
    return Outcome::Stop;
  place_ = now;
  copy.done += block.size();
  if (copy.done == copy.bytes) copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(which));
  return Outcome::Done;
}

Outcome SdmaQueue::write(const hw::SdmaWrite& packet) {
  if (packet.encrypt || packet.tmz) return stopped(describe() + ": encryption is not emulated");
  for (usize i = hw::SdmaWrite::kWords; i < words_.size(); ++i)
    if (auto fault = gpu_.memory.store(Client::Sdma, packet.dst + (i - hw::SdmaWrite::kWords) * 4,
                                       words_[i]))
      return stopped(std::move(*fault));
  return Outcome::Done;
}

Outcome SdmaQueue::fill(const hw::SdmaConstFill& packet) {
  u64 bytes = u64{packet.count} + 1;
  if (packet.fill_size > hw::FillSize::Word)
    return stopped(describe() + ": this fill size is reserved");
  u64 unit = u64{1} << static_cast<unsigned>(packet.fill_size);
  if (!check_count(bytes)) return Outcome::Stop;
  if ((packet.dst % unit != 0 || bytes % unit != 0) &&
      report_violation(kSdmaAlignment, fmt::format("{}: {} bytes at {:#x} in units of {}",
                                                   describe(), bytes, u64{packet.dst}, unit)))
    return Outcome::Stop;
  bytes = std::min(bytes, max_bytes());
  std::vector<u8> block(std::min(bytes, kBlock));
  for (usize i = 0; i < block.size(); ++i)
    block[i] = static_cast<u8>(packet.data >> (i % unit * 8));
  for (u64 done = 0; done < bytes; done += block.size())
    if (auto fault =
            gpu_.memory.write(Client::Sdma, packet.dst + done,
                              std::span(block).first(std::min<u64>(block.size(), bytes - done))))
      return stopped(std::move(*fault));
  return Outcome::Done;
}

Outcome SdmaQueue::fence(const hw::SdmaFence& packet) {
  // 4.x has no memory type in its fence. [vega10_sdma_pkt_open.h SDMA_PKT_FENCE_HEADER]
  bool newer = packet.mtype != 0 || packet.gcc || packet.sys || packet.snp || packet.gpa ||
               packet.l2_policy != 0 || packet.llc_policy || packet.cpv;
  if (gpu_.generation == hw::Generation::Gfx9 && newer &&
      report_violation(kReservedBits, describe()))
    return Outcome::Stop;
  if (packet.gpa && report_violation(kSdmaPhysical, describe())) return Outcome::Stop;
  if (auto fault = gpu_.memory.store(Client::Sdma, packet.addr, packet.data))
    return stopped(std::move(*fault));
  return Outcome::Done;
}

Outcome SdmaQueue::trap(const hw::SdmaTrap& packet) {
  if (gpu_.caches) gpu_.caches->judge_host(where());
  // [kfd_int_process_v11.c: 28 bits of SDMA's context id]
  gpu_.interrupts.emplace_back(EventInterrupt{packet.int_context, 28});
  return Outcome::Done;
}

Outcome SdmaQueue::poll(const hw::SdmaPollRegmem& packet) {
  // ROCr's flush of the host data path: no poll, an address that is none. [sdma_registers.h
  // hdp_flush_cmd] The kernel's names two registers. Both are done at once: nothing lies between
  // the host and memory here.
  constexpr u64 kRocrFlush = u64{0x80000000} << 32;
  if (!packet.mem_poll) {
    if (packet.hdp_flush || packet.addr == kRocrFlush) return Outcome::Done;
    return stopped(describe() + ": polls of registers are not emulated");
  }
  if (packet.hdp_flush && report_violation(kSdmaFlush, describe())) return Outcome::Stop;
  if (packet.retry_count != hw::SdmaPollRegmem::kForEver &&
      report_violation(kSdmaPoll,
                       fmt::format("{}: {} looks", describe(), unsigned{packet.retry_count})))
    return Outcome::Stop;
  if (packet.function > hw::Compare::Greater)
    return stopped(describe() + ": this function is reserved");
  u32 value = 0;
  if (auto fault = gpu_.memory.load(Client::Sdma, packet.addr, value))
    return stopped(std::move(*fault));
  if (holds(packet.function, value & packet.mask, packet.value)) return Outcome::Done;
  note_narrow_wait(Client::Sdma, {packet.addr, packet.function, packet.mask, packet.value, value});
  return Outcome::Wait;
}

Outcome SdmaQueue::timestamp(const hw::SdmaTimestamp& packet) {
  if (auto fault = gpu_.memory.store(Client::Sdma, packet.addr, gpu_.clock()))
    return stopped(std::move(*fault));
  return Outcome::Done;
}

Outcome SdmaQueue::gcr(const hw::SdmaGcr& packet) {
  if (packet.gl2_discard) return stopped(describe() + ": GL2_DISCARD is not emulated");
  CacheActions actions{.vector = packet.glv_inv,
                       .scalar = packet.glk_inv,
                       .instructions = packet.gli_inv != 0,
                       .gl1 = packet.gl1_inv,
                       .l2_invalidate = packet.gl2_inv,
                       .l2_write_back = packet.gl2_wb};
  if (packet.gl2_range != 0 && packet.limit != 0) {
    actions.start = packet.base;
    actions.end = packet.limit + 128;
  }
  for (u32 xcc = 0; gpu_.caches && xcc < gpu_.xccs; ++xcc) gpu_.caches->act(xcc, actions);
  return Outcome::Done;
}

Outcome SdmaQueue::atomic(const hw::SdmaAtomic& packet) {
  if (packet.atomic_op != hw::SdmaAtomic::kAdd64 || packet.loop)
    return stopped(fmt::format("{}: of atomics only a 64-bit add is emulated", describe()));
  if (packet.addr % 8 != 0)
    return stopped(fmt::format("{}: {:#x} is no multiple of 8", describe(), u64{packet.addr}));
  u64 before = 0;
  if (auto fault = gpu_.memory.add(packet.addr, packet.data, before))
    return stopped(std::move(*fault));
  return Outcome::Done;
}

}  // namespace doorbell::emu::amdgpu
