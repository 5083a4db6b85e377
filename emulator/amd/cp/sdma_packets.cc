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

// In adversarial mode a copy advances by so much.
constexpr u64 kPiece = 1024;
// Of the host's memory at a time, however long the copy or fill.
constexpr u64 kBlock = u64{1} << 20;

// What engines 4.x do not have of the records, which are those of 6.0: types of memory, policies of
// caches. [vega10_sdma_pkt_open.h SDMA_PKT_COPY_LINEAR_*, SDMA_PKT_POLL_REGMEM_*,
// SDMA_PKT_FENCE_HEADER_*, against sdma_v6_0_0_pkt_open.h]
bool is_of_newer_engines(std::string_view field) {
  constexpr std::string_view kWhole[] = {"cpv", "mtype", "gcc", "sys", "snp", "gpa"};
  return field.ends_with("_policy") || std::ranges::find(kWhole, field) != std::end(kWhole);
}

}  // namespace

u64 SdmaQueue::max_bytes() const {
  return gpu_.generation == hw::Generation::Gfx9 ? hw::kSdmaMaxCopy4 : hw::kSdmaMaxCopy6;
}

bool SdmaQueue::is_copy() const { return hw::is_sdma<hw::SdmaCopyLinear>(words_[0]); }

std::string SdmaQueue::describe() const {
  std::string_view known = hw::sdma_name(hw::sdma_op_of(words_[0]));
  return known.empty() ? fmt::format("packet {:#010x}", words_[0])
                       : fmt::format("{} ({:#010x})", known, words_[0]);
}

u32 SdmaQueue::words_of(const std::vector<u32>& head) const {
  u32 words = 0;
  hw::visit_sdma(head[0], [&]<class Packet>(std::type_identity<Packet>) {
    if (includes(Packet::kId.generations, gpu_.generation)) words = hw::sdma_words<Packet>(head);
  });
  return words;
}

template <class Packet>
std::optional<Packet> SdmaQueue::decode_packet() {
  std::array<u32, Packet::kWords> words{};
  std::copy_n(words_.begin(), words.size(), words.begin());
  auto stray = stray_bits<Packet>(words);
  for (usize i = 0; i < words.size(); ++i)
    if (stray[i] != 0 && report_violation(kReservedBits, fmt::format("{} has {:#x} in word {}",
                                                                     describe(), stray[i], i)))
      return std::nullopt;
  const Packet packet = decode<Packet>(words);
  if (gpu_.generation != hw::Generation::Gfx9) return packet;
  std::string_view newer;
  Packet::fields(packet, [&]<class T>(const char* field, Bits, const T& value, Shift = {}) {
    if (value != T{} && is_of_newer_engines(field)) newer = field;
  });
  if (!newer.empty() &&
      report_violation(kReservedBits,
                       fmt::format("{} has {}, which 4.x does not have", describe(), newer)))
    return std::nullopt;
  return packet;
}

Outcome SdmaQueue::execute() {
  Outcome outcome = Outcome::Stop;
  hw::visit_sdma(words_[0], [&]<class Packet>(std::type_identity<Packet>) {
    if (const auto packet = decode_packet<Packet>()) outcome = execute(*packet);
  });
  return outcome;
}

Outcome SdmaQueue::execute(const hw::SdmaNop&) { return Outcome::Done; }

// Only the kernel's own rings may write registers.
Outcome SdmaQueue::execute(const hw::SdmaSrbmWrite&) {
  return stopped(fmt::format("the copy engine does not execute packet {:#010x}", words_[0]));
}

bool SdmaQueue::check_count(u64 bytes) {
  return bytes <= max_bytes() ||
         !report_violation(kSdmaCount, fmt::format("{}: {:#x} bytes, the engine counts to {:#x}",
                                                   describe(), bytes, max_bytes()));
}

bool SdmaQueue::check_unusual(const char* field, bool is_set) {
  return !is_set || !report_violation(kUnusualField, fmt::format("{} has {}", describe(), field));
}

Outcome SdmaQueue::execute(const hw::SdmaCopyLinear& packet) {
  u64 bytes = u64{packet.count} + 1;
  if (!check_unusual("a cache policy",
                     packet.src_cache_policy != 0 || packet.dst_cache_policy != 0))
    return Outcome::Stop;
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
                            "which was never written",
                            copy.dst + (*at - copy.src), *at, gpu_.memory.space().describe(*at))))
    return Outcome::Stop;
  place_ = now;
  copy.done += block.size();
  if (copy.done == copy.bytes) copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(which));
  return Outcome::Done;
}

Outcome SdmaQueue::execute(const hw::SdmaWrite& packet) {
  if (packet.encrypt || packet.tmz) return stopped(describe() + ": encryption is not emulated");
  for (usize i = hw::SdmaWrite::kWords; i < words_.size(); ++i)
    if (auto fault = gpu_.memory.store(Client::Sdma, packet.dst + (i - hw::SdmaWrite::kWords) * 4,
                                       words_[i]))
      return stopped(std::move(*fault));
  return Outcome::Done;
}

Outcome SdmaQueue::execute(const hw::SdmaConstFill& packet) {
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

Outcome SdmaQueue::execute(const hw::SdmaFence& packet) {
  if (packet.gpa && report_violation(kSdmaPhysical, describe())) return Outcome::Stop;
  constexpr u8 kUncached = 3;
  const bool has_type = gpu_.generation != hw::Generation::Gfx9;
  if (!check_unusual("another memory type than 3", has_type && packet.mtype != kUncached) ||
      !check_unusual("GCC, SYS or SNP", packet.gcc || packet.sys || packet.snp) ||
      !check_unusual("a cache policy", packet.l2_policy != 0 || packet.llc_policy || packet.cpv))
    return Outcome::Stop;
  if (auto fault = gpu_.memory.store(Client::Sdma, packet.addr, packet.data))
    return stopped(std::move(*fault));
  return Outcome::Done;
}

Outcome SdmaQueue::execute(const hw::SdmaTrap& packet) {
  if (gpu_.caches) gpu_.caches->judge_host(where());
  gpu_.memory.release_to_host();
  // [kfd_int_process_v11.c: 28 bits of SDMA's context id]
  gpu_.interrupts.emplace_back(EventInterrupt{packet.int_context, 28});
  return Outcome::Done;
}

Outcome SdmaQueue::execute(const hw::SdmaPollRegmem& packet) {
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
  if (!is_copy_engine_interval(packet.interval) &&
      report_violation(kPollInterval, fmt::format("{} rests {} times 16 clocks", describe(),
                                                  unsigned{packet.interval})))
    return Outcome::Stop;
  if (packet.function > hw::Compare::Greater)
    return stopped(describe() + ": this function is reserved");
  if (!check_unusual("a cache policy", packet.cache_policy != 0 || packet.cpv))
    return Outcome::Stop;
  if (skips_bits(packet.function, packet.mask) &&
      report_violation(
          kWaitMask, fmt::format("{} by order, with the mask {:#x}", describe(), u32{packet.mask})))
    return Outcome::Stop;
  u32 value = 0;
  if (auto fault = gpu_.memory.load(Client::Sdma, packet.addr, value))
    return stopped(std::move(*fault));
  const Wait wait{packet.addr, packet.function, packet.mask, packet.value, value};
  if (holds(packet.function, value & packet.mask, packet.value)) {
    note_wait_over(wait, sizeof value);
    return Outcome::Done;
  }
  note_narrow_wait(Client::Sdma, wait);
  return Outcome::Wait;
}

Outcome SdmaQueue::execute(const hw::SdmaTimestamp& packet) {
  if (auto fault = gpu_.memory.store(Client::Sdma, packet.addr, gpu_.clock()))
    return stopped(std::move(*fault));
  return Outcome::Done;
}

Outcome SdmaQueue::execute(const hw::SdmaGcr& packet) {
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

Outcome SdmaQueue::execute(const hw::SdmaAtomic& packet) {
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
