// Roles of packets, and the changes that each can suffer.
#include "tests/emulator/amd/mutation/field_mutants.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/util/check.h"

namespace doorbell::testing {

using emu::amdgpu::QueueId;
using emu::amdgpu::QueueKind;
namespace hw = amd::hw;

hw::StreamKind stream_kind(QueueKind kind) {
  if (kind == QueueKind::Aql) return hw::StreamKind::Aql;
  return kind == QueueKind::Sdma ? hw::StreamKind::Sdma : hw::StreamKind::Pm4;
}

namespace {

// The vendor's, and of packets that set registers which.
std::string name_of(const StreamPacket& packet) {
  std::string name(packet.name);
  if (packet.name == "SET_SH_REG" && !packet.fields.empty()) name += ' ' + packet.fields[0].name;
  return name;
}

// Fields that distinguish packets of one name: selectors, not addresses.
std::string role_of(const StreamPacket& packet) {
  std::string role = name_of(packet);
  for (const PacketField& field : packet.fields)
    if (field.name == "data_sel" || field.name == "int_sel" || field.name == "operation" ||
        field.name == "function" || field.name == "event")
      role += ' ' + std::string(field.enumerator);
  // Which caches a barrier names says what it is for.
  if (packet.name == "ACQUIRE_MEM")
    for (const PacketField& field : packet.fields)
      if ((field.name == "gl2_inv" || field.name == "tc_action_ena" || field.name == "gli_inv" ||
           field.name == "sh_icache_action_ena") &&
          field.value != 0)
        role += ' ' + field.name;
  return role;
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

// Whether a field is on or off, and no number.
bool is_flag(const PacketField& field) {
  constexpr unsigned kFew = 2;
  return field.is_flag || (field.place->width() <= kFew && field.enumerator.empty());
}

bool lowest_bit(const std::vector<u32>& words, const Bits& place) {
  return extract(words, Bits{place.lo, place.lo}) != 0;
}

class Maker {
 public:
  explicit Maker(hw::Generation generation) : generation_(generation) {}

  std::vector<Mutant> make(const std::vector<Passed>& passed) {
    for (const Passed& one : passed)
      if (one.doorbell)
        of_doorbell(one);
      else
        of_packet(one);
    for (Mutant& flag : flags_)
      if (had_.contains({flag.queue, flag.role, flag.change})) append({std::move(flag)});
    for (auto& [key, last] : last_) {
      for (Mutant& one : last) one.change += ", the last";
      append(std::move(last));
    }
    return std::move(mutants_);
  }

 private:
  void of_doorbell(const Passed& passed) {
    const Mutant one{.queue = passed.queue,
                     .role = fmt::format("doorbell of queue {}", passed.queue),
                     .is_doorbell = true};
    std::vector<Mutant> made(3, one);
    made[0].change = "drop", made[0].drop = true;
    made[1].change = "one more", made[1].add = 1;
    made[2].change = "one less", made[2].add = ~u64{0};
    take(one.role, std::move(made));
  }

  void of_packet(const Passed& passed) {
    const StreamPacket packet = read(passed.kind, generation_, passed.words);
    const std::string role = role_of(packet);
    const Mutant one{.depth = passed.depth, .queue = passed.queue, .role = role};
    std::vector<Mutant> made{one};
    made[0].change = "drop", made[0].drop = true;
    std::set<std::string> whole;  // registers whose parts are changed instead
    for (const PacketField& field : packet.fields)
      if (const usize dot = field.name.find('.'); dot != std::string::npos)
        whole.insert(field.name.substr(0, dot));
    for (const PacketField& field : packet.fields) {
      // A changed count would make other packets of all that follow.
      if (!field.place) continue;
      if (field.name == "count" && passed.kind == QueueKind::Pm4) continue;
      if (whole.contains(field.name)) continue;
      made.push_back(one);
      made.back().change = field.name, made.back().place = field.place;
    }
    note_flags(packet, passed);
    const std::string name = name_of(packet);
    if (together_.insert(fmt::format("{} {}", passed.queue, name)).second)
      for (Mutant one : made) all_of_kind(std::move(one), name, packet);
    made.resize(1);  // by itself a packet is only dropped
    if (passed.depth > 0) made[0].change += ", in a buffer";
    take(fmt::format("{} {} {}", passed.queue, passed.depth, role), std::move(made));
  }

  void all_of_kind(Mutant one, const std::string& name, const StreamPacket& packet) {
    one.all = true;
    one.role = name;
    const auto field = std::ranges::find(packet.fields, one.change, &PacketField::name);
    if (field == packet.fields.end() || !is_flag(*field)) return mutants_.push_back(std::move(one));
    for (const bool from : {true, false}) {
      flags_.push_back(one);
      flags_.back().from = from;
      flags_.back().change += from ? " off" : " on";
    }
  }

  // Which flags some packet of the kind has set, and which some has not.
  void note_flags(const StreamPacket& packet, const Passed& passed) {
    for (const PacketField& field : packet.fields)
      if (field.place && is_flag(field))
        had_.insert({passed.queue, name_of(packet),
                     field.name + (lowest_bit(passed.words, *field.place) ? " off" : " on")});
  }

  // The first of its key, and the last.
  void take(const std::string& key, std::vector<Mutant> made) {
    const usize at = counts_[key]++;
    for (Mutant& one : made) one.at = at;
    if (at > 0) {
      last_[key] = std::move(made);
      return;
    }
    for (Mutant& one : made) one.change += ", the first";
    append(std::move(made));
  }
  void append(std::vector<Mutant> made) {
    for (Mutant& one : made) mutants_.push_back(std::move(one));
  }

  const hw::Generation generation_;
  std::map<std::string, usize> counts_;
  std::map<std::string, std::vector<Mutant>> last_;
  std::set<std::string> together_;
  std::set<std::tuple<QueueId, std::string, std::string>> had_;
  std::vector<Mutant> mutants_, flags_;
};

}  // namespace

bool Recording::packet(QueueId queue, QueueKind kind, unsigned depth, std::vector<u32>& words) {
  passed_.push_back({queue, kind, depth, words, std::nullopt});
  return true;
}

bool Recording::doorbell(QueueId queue, u64& value) {
  passed_.push_back({queue, QueueKind::Pm4, 0, {}, value});
  return true;
}

std::vector<Mutant> mutants_of(const std::vector<Passed>& passed, hw::Generation generation) {
  return Maker(generation).make(passed);
}

bool Mutation::is_it(QueueId queue, QueueKind kind, unsigned depth, const std::vector<u32>& words) {
  if (queue != mutant_.queue || mutant_.is_doorbell) return false;
  const StreamPacket packet = hw::read_packet(stream_kind(kind), generation_, words);
  if (!mutant_.all)
    return depth == mutant_.depth && role_of(packet) == mutant_.role && passed_++ == mutant_.at;
  if (name_of(packet) != mutant_.role) return false;
  return !mutant_.from || lowest_bit(words, *mutant_.place) == *mutant_.from;
}

bool Mutation::packet(QueueId queue, QueueKind kind, unsigned depth, std::vector<u32>& words) {
  if (!is_it(queue, kind, depth, words)) return true;
  happened_ = true;
  if (mutant_.drop) return false;
  CHECK(mutant_.place && mutant_.place->hi < words.size() * 32, "{} is not in {} words",
        mutant_.name(), words.size());
  const Bits lowest{mutant_.place->lo, mutant_.place->lo};
  deposit(words, lowest, extract(words, lowest) ^ 1);
  return true;
}

bool Mutation::doorbell(QueueId queue, u64& value) {
  if (!mutant_.is_doorbell || queue != mutant_.queue || passed_++ != mutant_.at) return true;
  happened_ = true;
  value += mutant_.add;
  return !mutant_.drop;
}

}  // namespace doorbell::testing
