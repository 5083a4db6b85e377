// Printing packets, and walking from words to the words that they lead to.
#include "base/bits/packet.h"

#include <algorithm>
#include <iterator>

namespace doorbell {

namespace {

// Payloads can be long; what text shows of one.
constexpr usize kShownPayload = 8;

void append_value(std::string& out, u64 value) {
  if (value < 10)
    fmt::format_to(std::back_inserter(out), "{}", value);
  else
    fmt::format_to(std::back_inserter(out), "{:#x}", value);
}

}  // namespace

void complain(StreamPacket* packet, std::string_view problem) {
  if (!packet->problem.empty()) packet->problem += "; ";
  packet->problem += problem;
}

std::string to_text(const StreamPacket& packet) {
  std::string out(packet.name);
  for (const PacketField& field : packet.fields) {
    if (field.is_flag && field.value == 0) continue;
    out += ' ';
    // A part of the register before it goes by its last name.
    const usize dot = field.name.find('.');
    out += dot == std::string::npos ? field.name : field.name.substr(dot);
    if (field.is_flag) continue;
    out += '=';
    if (!field.enumerator.empty())
      out += field.enumerator;
    else
      append_value(out, field.value);
  }
  const usize shown = std::min(packet.payload.size(), kShownPayload);
  for (usize i = 0; i < shown; ++i)
    fmt::format_to(std::back_inserter(out), " {:#010x}", packet.payload[i]);
  if (shown < packet.payload.size())
    fmt::format_to(std::back_inserter(out), " ... {} words", packet.payload.size());
  if (!packet.problem.empty()) out += " [" + packet.problem + "]";
  return out;
}

std::string indented_text(const StreamPacket& packet, int depth) {
  return std::string(static_cast<usize>(depth) * 2, ' ') + to_text(packet);
}

std::string to_json(const StreamPacket& packet) {
  std::string out = fmt::format(R"({{"packet":"{}","at":{},"words":{},"fields":{{)", packet.name,
                                packet.at, packet.words);
  const char* comma = "";
  for (const PacketField& field : packet.fields) {
    fmt::format_to(std::back_inserter(out), R"({}"{}":)", comma, field.name);
    if (!field.enumerator.empty())
      out += fmt::format(R"("{}")", field.enumerator);
    else if (field.is_flag)
      out += field.value ? "true" : "false";
    else
      out += fmt::format("{}", field.value);
    comma = ",";
  }
  out += '}';
  if (!packet.payload.empty())
    out += fmt::format(R"(,"payload":[{}])", fmt::join(packet.payload, ","));
  if (!packet.problem.empty()) out += fmt::format(R"(,"problem":"{}")", packet.problem);
  return out + '}';
}

void walk_packets(u8 kind, std::span<const u32> words, const ReadPacket& read,
                  const ReadWords& memory,
                  const std::function<void(const StreamPacket&, int depth)>& visit) {
  struct Level {
    u8 kind;
    std::vector<u32> owned;  // of jumps
    std::span<const u32> words;
    usize at = 0;
  };
  std::vector<Level> levels;
  levels.reserve(kMaxDepth + 1);  // spans point into `owned`
  levels.push_back({kind, {}, words});
  usize visited = 0;
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.at >= level.words.size()) {
      levels.pop_back();
      continue;
    }
    StreamPacket packet = read(level.kind, level.words.subspan(level.at));
    packet.at = level.at;
    level.at += packet.words;
    visit(packet, static_cast<int>(levels.size()) - 1);
    if (++visited == kMaxPackets) return;
    if (!packet.jump || !memory || levels.size() > kMaxDepth) continue;
    std::optional<std::vector<u32>> there = memory(packet.jump->addr, packet.jump->words);
    if (!there) continue;
    levels.push_back({packet.jump->kind, std::move(*there), {}});
    levels.back().words = levels.back().owned;
  }
}

}  // namespace doorbell
