// Roles of packets, and the changes that each can suffer.
#include "tests/emulator/amd/mutation/packet_mutants.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "drivers/amd/hw/aql.h"
#include "drivers/amd/hw/pm4/packets.h"
#include "drivers/amd/hw/sdma/packets.h"

namespace doorbell::testing {

using emu::amdgpu::QueueId;
using emu::amdgpu::QueueKind;
namespace hw = amd::hw;

hw::StreamKind stream_kind(QueueKind kind) {
  if (kind == QueueKind::Aql) return hw::StreamKind::Aql;
  return kind == QueueKind::Sdma ? hw::StreamKind::Sdma : hw::StreamKind::Pm4;
}

namespace {

PacketRole role_of(QueueId queue, QueueKind kind, const std::vector<u32>& words) {
  constexpr u32 kType = 0xff, kOpAndSubOp = 0xffff, kOffset = 0xffff;
  PacketRole role{.queue = queue};
  switch (kind) {
    case QueueKind::Aql: role.kind = words[0] & kType; break;
    case QueueKind::Sdma: role.kind = words[0] & kOpAndSubOp; break;
    default:
      role.kind = u32{hw::opcode_of(words[0])} << 16;
      if (hw::opcode_of(words[0]) == hw::SetShReg::kId.opcode) role.kind |= words[1] & kOffset;
  }
  return role;
}

// "AQL KERNEL_DISPATCH", "SDMA COPY", "RELEASE_MEM", and of PM4 that sets registers which.
std::string name_of(QueueKind kind, const StreamPacket& packet) {
  std::string name(packet.name);
  if (packet.name == "SET_SH_REG" && !packet.fields.empty()) name += ' ' + packet.fields[0].name;
  if (kind == QueueKind::Aql) return "AQL " + name;
  return kind == QueueKind::Sdma ? "SDMA " + name : name;
}

// The packet's fields; a jump in an AQL packet has the PM4 packet's own.
StreamPacket read(QueueKind kind, hw::Generation generation, const std::vector<u32>& words) {
  StreamPacket packet = hw::read_packet(stream_kind(kind), generation, words);
  constexpr std::string_view kJump = "ib_jump_";
  std::optional<u32> jump;  // the bits before it
  std::erase_if(packet.fields, [&](const PacketField& field) {
    if (!field.name.starts_with(kJump)) return false;
    if (!jump) jump = field.place->lo;
    return true;
  });
  if (!jump) return packet;
  constexpr usize kJumpWords = 4;
  const StreamPacket inner = hw::read_packet(hw::StreamKind::Pm4, generation,
                                             std::span(words).subspan(*jump / 32, kJumpWords));
  for (PacketField field : inner.fields) {
    field.name = "jump " + field.name;
    field.place = Bits{field.place->hi + *jump, field.place->lo + *jump};
    packet.fields.push_back(std::move(field));
  }
  return packet;
}

// "data bit 3" of the narrowest field that has it, "word 2 bit 3" of none.
std::string name_of_bit(const std::vector<PacketField>& fields, u32 bit) {
  const PacketField* found = nullptr;
  for (const PacketField& field : fields)
    if (field.place && field.place->lo <= bit && bit <= field.place->hi &&
        (found == nullptr || field.place->width() < found->place->width()))
      found = &field;
  return found == nullptr ? fmt::format("word {} bit {}", bit / 32, bit % 32)
                          : fmt::format("{} bit {}", found->name, bit - found->place->lo);
}

// Numbers, and no flags, selectors or addresses.
bool is_number(const PacketField& field) {
  constexpr unsigned kFew = 4;
  return field.place && field.place->width() > kFew && field.enumerator.empty() &&
         !field.name.ends_with("addr");
}

constexpr u32 kXccs = 8;  // gfx942's

}  // namespace

std::string name_of(PacketMutant::Change change) {
  switch (change) {
    case PacketMutant::Change::Bit: return "bit";
    case PacketMutant::Change::Drop: return "drop";
    case PacketMutant::Change::Twice: return "twice";
    case PacketMutant::Change::Swap: return "swap";
    case PacketMutant::Change::Engine: return "engine";
    case PacketMutant::Change::Scale: return "scale";
    case PacketMutant::Change::More: break;
  }
  return "more";
}

PacketRecording::Verdict PacketRecording::packet(QueueId queue, QueueKind kind, unsigned,
                                                 std::vector<u32>& words) {
  if (kind == QueueKind::Aql)
    for (auto& [id, role] : roles_)
      if (id.queue == queue && std::exchange(role.follows, false)) role.behind = words;
  Role& role = roles_[role_of(queue, kind, words)];
  if (role.count++ == 0) {
    const StreamPacket packet = read(kind, generation_, words);
    role.kind = kind;
    role.name = name_of(kind, packet);
    role.fields = packet.fields;
    role.words = words;
    role.follows = kind == QueueKind::Aql;
  }
  if (words.size() > role.words.size()) role.words.resize(words.size());
  if (words.size() > role.set.size()) role.set.resize(words.size());
  for (usize i = 0; i < words.size(); ++i) role.set[i] |= words[i];
  return Verdict::Take;
}

PacketRecording::Verdict PacketRecording::doorbell(QueueId queue, u64&) {
  Role& role = roles_[{.queue = queue, .is_doorbell = true}];
  role.name = fmt::format("doorbell of queue {}", queue);
  ++role.count;
  return Verdict::Take;
}

std::vector<u32> PacketRecording::other_engine(QueueKind kind) const {
  for (const auto& [id, role] : roles_)
    if (!id.is_doorbell && (role.kind == QueueKind::Sdma) != (kind == QueueKind::Sdma))
      return role.words;
  return {};
}

std::vector<PacketMutant> PacketRecording::mutants() const {
  std::vector<PacketMutant> mutants;
  for (const auto& [id, role] : roles_)
    id.is_doorbell ? add_doorbell(mutants, id, role) : add_packet(mutants, id, role);
  return mutants;
}

void PacketRecording::add_doorbell(std::vector<PacketMutant>& mutants, const PacketRole& id,
                                   const Role& role) const {
  using Change = PacketMutant::Change;
  const auto push = [&](PacketMutant mutant, const std::string& what) {
    mutant.role = id;
    mutant.name = role.name + ": " + what;
    mutants.push_back(std::move(mutant));
  };
  for (u32 bit = 0; bits_ && bit < 64; ++bit) push({.bit = bit}, fmt::format("bit {}", bit));
  for (const auto& [at, where] : {std::pair{usize{0}, "the first"}, {role.count - 1, "the last"}}) {
    push({.change = Change::Drop, .at = at}, fmt::format("drop, {}", where));
    push({.change = Change::Twice, .at = at}, fmt::format("twice, {}", where));
    push({.change = Change::More, .at = at, .add = 1}, fmt::format("one more, {}", where));
    push({.change = Change::More, .at = at, .add = ~u64{0}}, fmt::format("one less, {}", where));
  }
  for (const u32 times : {2u, kXccs})
    push({.change = Change::Scale, .times = times}, fmt::format("times {}", times));
}

void PacketRecording::add_packet(std::vector<PacketMutant>& mutants, const PacketRole& id,
                                 const Role& role) const {
  using Change = PacketMutant::Change;
  const auto push = [&](PacketMutant mutant, const std::string& what) {
    mutant.role = id;
    mutant.name = role.name + ": " + what;
    mutants.push_back(std::move(mutant));
  };
  for (u32 bit = 0; bits_ && bit < role.words.size() * 32; ++bit)
    push({.bit = bit}, name_of_bit(role.fields, bit));
  push({.change = Change::Drop}, "drop");
  if (role.count > 1) {
    push({.change = Change::Drop, .at = 0}, "drop, the first");
    push({.change = Change::Drop, .at = role.count - 1}, "drop, the last");
  }
  // What only gives others a value, or fills, may come twice, or later: that changes nothing.
  if (!role.name.starts_with("SET_SH_REG") && !role.name.ends_with("NOP")) {
    push({.change = Change::Twice}, "twice");
    if (role.kind != QueueKind::Aql) push({.change = Change::Swap}, "swap");
  }
  if (!role.behind.empty() && role.behind != role.words)
    push({.change = Change::Swap, .at = 0, .other = role.behind}, "swap, the first");
  if (std::vector<u32> other = other_engine(role.kind); !other.empty())
    push({.change = Change::Engine, .other = std::move(other)}, "engine");
  for (const PacketField& field : role.fields)
    if (is_number(field) && field.place->hi < role.set.size() * 32 &&
        extract(role.set, *field.place) != 0)
      for (const u32 times : {2u, kXccs})
        push({.change = Change::Scale, .place = *field.place, .times = times},
             fmt::format("{} times {}", field.name, times));
}

bool PacketMutation::is_it(const PacketRole& role) {
  if (role != mutant_.role) return false;
  const usize now = passed_++;
  if (mutant_.at != PacketMutant::kAll && now != mutant_.at) return false;
  happened_ = true;
  return true;
}

PacketMutation::Verdict PacketMutation::packet(QueueId queue, QueueKind kind, unsigned,
                                               std::vector<u32>& words) {
  using Change = PacketMutant::Change;
  if (queue != mutant_.role.queue || mutant_.role.is_doorbell) return Verdict::Take;
  if (!displaced_.empty()) {
    words = std::exchange(displaced_, {});
    return Verdict::Take;
  }
  const PacketRole role = role_of(queue, kind, words);
  if (role == mutant_.role && std::exchange(repeats_, false)) return Verdict::Take;
  if (!is_it(role)) return Verdict::Take;
  switch (mutant_.change) {
    case Change::Bit:
      if (mutant_.bit / 32 < words.size()) words[mutant_.bit / 32] ^= u32{1} << mutant_.bit % 32;
      break;
    case Change::Scale:
      if (const Bits place = *mutant_.place; place.hi < words.size() * 32) {
        const u64 most = place.width() < 64 ? (u64{1} << place.width()) - 1 : ~u64{0};
        deposit(words, place, extract(words, place) * mutant_.times & most);
      }
      break;
    case Change::Drop: return Verdict::Skip;
    case Change::Twice: repeats_ = true; return Verdict::Again;
    case Change::Swap:
      if (mutant_.other.empty()) return Verdict::Later;
      displaced_ = std::exchange(words, mutant_.other);
      break;
    case Change::Engine:
      words = mutant_.other;
      if (kind == QueueKind::Aql) words.resize(hw::kAqlPacketBytes / 4);
      break;
    case Change::More: break;
  }
  return Verdict::Take;
}

PacketMutation::Verdict PacketMutation::doorbell(QueueId queue, u64& value) {
  using Change = PacketMutant::Change;
  if (!is_it({.queue = queue, .is_doorbell = true})) return Verdict::Take;
  switch (mutant_.change) {
    case Change::Drop: return Verdict::Skip;
    case Change::Twice: return Verdict::Again;
    case Change::Bit: value ^= u64{1} << mutant_.bit; break;
    case Change::Scale: value *= mutant_.times; break;
    default: value += mutant_.add;
  }
  return Verdict::Take;
}

}  // namespace doorbell::testing
