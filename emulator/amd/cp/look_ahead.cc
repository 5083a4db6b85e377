// What packets of PM4 promise (look_ahead.h). AQL's packets are in aql_queue.cc.
#include "emulator/amd/cp/look_ahead.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "drivers/amd/hw/program_registers.h"
#include "emulator/amd/cp/compare.h"
#include "emulator/amd/cp/ib_stack.h"
#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

namespace {

// The shader type bit: set by some clients, ignored by the compute engines. [nvd.h PACKET3_COMPUTE]
constexpr u32 kShaderType = 2;

template <class Packet>
std::optional<Packet> read_as(std::span<const u32> words) {
  if (words.size() < Packet::kWords) return std::nullopt;
  std::array<u32, Packet::kWords> head{};
  std::copy_n(words.begin(), head.size(), head.begin());
  head[0] &= ~kShaderType;
  return decode<Packet>(head);
}

}  // namespace

bool LookAhead::peek(u64 va, std::span<u32> words) const {
  const u8* host = gpu_.memory.space().at(va, words.size_bytes(), false);
  if (host != nullptr) std::memcpy(words.data(), host, words.size_bytes());
  return host != nullptr;
}

bool LookAhead::held_back(u64 va, hw::Compare function, u64 mask, u64 reference) const {
  std::array<u32, 2> value{};
  const usize words = mask >> 32 != 0 || reference >> 32 != 0 ? 2 : 1;
  return function > hw::Compare::Greater || !peek(va, std::span(value).first(words)) ||
         !holds(function, (value[0] | u64{value[1]} << 32) & mask, reference);
}

bool LookAhead::begin(bool half_done, u32 xccs, const ShRegisters& registers) {
  xccs_ = xccs;
  const u64 read = queue_.position();
  Announcements& notes = gpu_.caches->announcements();
  notes.executed(queue_.id(), read);
  if (notes.take_unknown(queue_.id())) gate_ = at_;
  at_ = std::max(at_, read);
  if (read < gate_ || at_ >= queue_.announced()) return false;
  if (queue_.stopped() || queue_.description().percentage == 0) return false;
  if (at_ == read) {
    // It was not looked at before it began.
    if (half_done) return false;
    registers_ = registers;
  }
  return true;
}

void LookAhead::discard() {
  if (!gpu_.caches) return;
  gpu_.caches->announcements().forget(queue_.id());
  gate_ = queue_.announced();
}

bool LookAhead::look_at_words(std::span<const u32> words, unsigned depth) {
  while (!words.empty()) {
    const u32 count = hw::pm4_words(words[0]);
    if (count == 0 || count > words.size()) return false;
    const auto packet = words.first(count);
    words = words.subspan(count);
    const bool predicates = hw::is_pm4<hw::PredExec>(gpu_.generation, packet);
    if (auto predicate = read_as<hw::PredExec>(packet); predicate && predicates) {
      if ((predicate->xcc_mask & xccs_) == 0)
        words = words.subspan(std::min<usize>(predicate->count, words.size()));
    } else if (!look_at(packet, depth)) {
      return false;
    }
  }
  return true;
}

// False: what comes behind the packet is not promised yet, or not known.
bool LookAhead::look_at(std::span<const u32> words, unsigned depth) {
  if (words[0] == hw::kPacket2) return true;
  bool goes_on = true;
  hw::visit_pm4(gpu_.generation, words, [&]<class Packet>(std::type_identity<Packet>) {
    const auto packet = read_as<Packet>(words);
    if constexpr (requires { look_at(*packet, words, depth); })
      goes_on = packet && look_at(*packet, words, depth);
  });
  return goes_on;
}

bool LookAhead::look_at(const hw::SetShReg& packet, std::span<const u32> words, unsigned) {
  for (usize i = hw::SetShReg::kWords; i < words.size(); ++i)
    registers_.write(hw::kShRegStart + packet.offset + static_cast<u32>(i) - hw::SetShReg::kWords,
                     words[i]);
  return true;
}
bool LookAhead::look_at(const hw::CopyData& packet, std::span<const u32>, unsigned) {
  return packet.dst_sel != hw::CopyTarget::Register;
}
bool LookAhead::look_at(const hw::WriteData& packet, std::span<const u32>, unsigned) {
  return packet.dst_sel != hw::WriteTarget::Register;
}
bool LookAhead::look_at(const hw::WaitReg& packet, std::span<const u32>, unsigned) {
  return packet.operation == hw::WaitOperation::WriteWaitWrite;
}
bool LookAhead::look_at(const hw::WaitRegMem& packet, std::span<const u32>, unsigned) {
  return !held_back(packet.addr, packet.function, packet.mask, packet.reference);
}
bool LookAhead::look_at(const hw::WaitRegMem64& packet, std::span<const u32>, unsigned) {
  return !held_back(packet.addr, packet.function, packet.mask, packet.reference);
}
bool LookAhead::look_at(const hw::IndirectBuffer& packet, std::span<const u32>, unsigned depth) {
  std::vector<u32> inside(packet.words);
  if (!packet.valid || depth >= IbStack::kDeepest || !peek(packet.addr, inside)) return false;
  promise(Announcements::Kind::Buffer, packet.addr, u64{packet.words} * sizeof(u32));
  return look_at_words(inside, depth + 1);
}
bool LookAhead::look_at(const hw::DispatchDirect&, std::span<const u32>, unsigned) {
  look_at_dispatch();
  return true;
}
bool LookAhead::look_at(const hw::DispatchIndirect&, std::span<const u32>, unsigned) {
  look_at_dispatch();
  return true;
}

void LookAhead::look_at_dispatch() {
  std::array<u32, hw::ComputePgm::kWords> words{};
  for (u32 i = 0; i < words.size(); ++i)
    words[i] = registers_.read(hw::ComputePgm::kRegister.at(gpu_.generation) + i);
  const u64 entry = decode<hw::ComputePgm>(words).entry;
  const u64 place = dispatcher_.find_descriptor(entry);
  if (place == 0) dispatcher_.forget_descriptor(entry);
  std::array<u32, hw::KernelDescriptor::kWords> raw{};
  if (place == 0 || !peek(place, raw)) return;
  const auto descriptor = decode<hw::KernelDescriptor>(raw);
  if (!descriptor.enable_sgpr_kernarg_segment_ptr) return;
  const u32 at = hw::kComputeUserData0.at(gpu_.generation) + arguments_sgpr(descriptor);
  promise(Announcements::Kind::Arguments, registers_.read(at) | u64{registers_.read(at + 1)} << 32,
          descriptor.kernarg_size);
}

void LookAhead::promise(Announcements::Kind kind, u64 va, u64 bytes) {
  const u8* host = gpu_.memory.space().at(va, bytes, false);
  if (host == nullptr || bytes == 0) return;
  gpu_.caches->announcements().add(
      queue_.id(),
      {.kind = kind, .va = va, .host = host, .bytes = {host, host + bytes}, .end = at_});
}

bool LookAhead::check_announced(Announcements::Kind kind, u64 va) {
  if (!gpu_.caches) return true;
  const auto was = gpu_.caches->announcements().take(queue_.id(), kind, va);
  const u8* is = was ? gpu_.memory.space().at(va, was->size(), false) : nullptr;
  if (is == nullptr) return true;
  const auto [before, now] = std::ranges::mismatch(*was, std::span(is, was->size()));
  if (before == was->end()) return true;
  const bool arguments = kind == Announcements::Kind::Arguments;
  return !report_violation(
      arguments ? kArgumentChanged : kIbChanged,
      fmt::format("{} at {:#x}, {} bytes: byte {} was {:#04x} at the doorbell that "
                  "announced {}, and is {:#04x} when the processor comes to it",
                  arguments ? "the kernel's arguments" : "an indirect buffer", va, was->size(),
                  before - was->begin(), *before, arguments ? "the dispatch" : "its call", *now));
}

}  // namespace doorbell::emu::amdgpu
