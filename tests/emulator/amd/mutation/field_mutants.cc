// Roles of packets, and the changes that each can suffer.
#include "tests/emulator/amd/mutation/field_mutants.h"

#include <map>
#include <set>

#include <fmt/format.h>

namespace doorbell::testing {

using emulator::amd::QueueId;
using emulator::amd::QueueKind;
namespace hw = amd::hw;

namespace {

hw::StreamKind stream_kind(QueueKind kind) {
  if (kind == QueueKind::Aql) return hw::StreamKind::Aql;
  return kind == QueueKind::Sdma ? hw::StreamKind::Sdma : hw::StreamKind::Pm4;
}

// The vendor's, and of packets that set registers which.
std::string name_of(const hw::StreamPacket& packet) {
  std::string name(packet.name);
  if (packet.name == "SET_SH_REG" && !packet.fields.empty()) name += ' ' + packet.fields[0].name;
  return name;
}

// What tells packets of one name apart: what they select, not the addresses they hold.
std::string role_of(const hw::StreamPacket& packet) {
  std::string role = name_of(packet);
  for (const hw::PacketField& field : packet.fields)
    if (field.name == "data_sel" || field.name == "int_sel" || field.name == "operation" ||
        field.name == "function" || field.name == "event")
      role += ' ' + std::string(field.enumerator);
  // Which caches a barrier names says what it is for.
  if (packet.name == "ACQUIRE_MEM")
    for (const hw::PacketField& field : packet.fields)
      if ((field.name == "gl2_inv" || field.name == "tc_action_ena" || field.name == "gli_inv" ||
           field.name == "sh_icache_action_ena") &&
          field.value != 0)
        role += ' ' + field.name;
  return role;
}

class Maker {
 public:
  explicit Maker(hw::Generation generation) : generation_(generation) {}

  std::vector<Mutant> make(const std::vector<Passed>& passed) {
    for (usize i = 0; i < passed.size(); ++i) {
      if (passed[i].doorbell)
        of_doorbell(i, passed[i]);
      else
        of_packet(i, passed[i]);
    }
    for (auto& [key, last] : last_)
      if (last.front().at != first_.at(key)) append(std::move(last));
    return std::move(mutants_);
  }

 private:
  void of_doorbell(usize at, const Passed& passed) {
    const std::string role = fmt::format("doorbell of queue {}", passed.queue);
    take(role, at,
         {{.at = at, .role = role, .change = "drop", .drop = true},
          {.at = at, .role = role, .change = "one more", .add = 1},
          {.at = at, .role = role, .change = "one less", .add = ~u64{0}}});
  }

  void of_packet(usize at, const Passed& passed) {
    const hw::StreamPacket packet =
        hw::read_packet(stream_kind(passed.kind), generation_, passed.words);
    const std::string role = role_of(packet);
    std::vector<Mutant> made{{.at = at, .role = role, .change = "drop", .drop = true}};
    std::set<std::string> whole;  // registers whose parts are changed instead
    for (const hw::PacketField& field : packet.fields)
      if (const usize dot = field.name.find('.'); dot != std::string::npos)
        whole.insert(field.name.substr(0, dot));
    for (const hw::PacketField& field : packet.fields) {
      // A changed count would make other packets of all that follow.
      if (!field.place) continue;
      if (field.name == "count" && passed.kind == QueueKind::Pm4) continue;
      if (whole.contains(field.name)) continue;
      made.push_back({.at = at, .role = role, .change = field.name, .place = field.place});
    }
    const std::string name = name_of(packet);
    if (together_.insert(fmt::format("{} {}", passed.queue, name)).second)
      for (Mutant one : made) {
        one.all = true;
        one.queue = passed.queue;
        one.role = name;
        mutants_.push_back(std::move(one));
      }
    made.resize(1);  // by itself a packet is only dropped
    take(fmt::format("{} {} {}", passed.queue, passed.depth, role), at, std::move(made));
  }

  void take(const std::string& key, usize at, std::vector<Mutant> made) {
    if (first_.emplace(key, at).second) return append(std::move(made));
    last_[key] = std::move(made);
  }
  void append(std::vector<Mutant> made) {
    for (Mutant& one : made) mutants_.push_back(std::move(one));
  }

  const hw::Generation generation_;
  std::map<std::string, usize> first_;
  std::map<std::string, std::vector<Mutant>> last_;
  std::set<std::string> together_;
  std::vector<Mutant> mutants_;
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

bool Mutation::is_it(QueueId queue, QueueKind kind, const std::vector<u32>& words) {
  const usize at = passed_++;
  if (!mutant_.all) return at == mutant_.at;
  if (queue != mutant_.queue) return false;
  return name_of(hw::read_packet(stream_kind(kind), generation_, words)) == mutant_.role;
}

bool Mutation::packet(QueueId queue, QueueKind kind, unsigned, std::vector<u32>& words) {
  if (!is_it(queue, kind, words)) return true;
  happened_ = true;
  if (mutant_.drop) return false;
  CHECK(mutant_.place && mutant_.place->hi < words.size() * 32, "{} is not in {} words",
        mutant_.name(), words.size());
  const Bits lowest{mutant_.place->lo, mutant_.place->lo};
  deposit(words, lowest, extract(words, lowest) ^ 1);
  return true;
}

bool Mutation::doorbell(QueueId, u64& value) {
  if (passed_++ != mutant_.at) return true;
  happened_ = true;
  value += mutant_.add;
  return !mutant_.drop;
}

}  // namespace doorbell::testing
