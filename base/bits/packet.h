// Packets as names and fields, for text, JSON and checks: what the readers of drivers/*/hw/stream
// make of words, and the walk through words that lead to other words.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/bits/print.h"

namespace doorbell {

struct PacketField {
  std::string name;  // "addr", "COMPUTE_PGM_RSRC1", "COMPUTE_PGM_RSRC1.vgprs"
  u64 value = 0;
  std::string_view enumerator;  // where the value has a name
  bool is_flag = false;         // one bit; text shows it when set
  // Its position in the packet's words.
  std::optional<Bits> place = std::nullopt;
};

// Other words that a packet sends the device to: an indirect buffer, a pushbuffer, a descriptor.
struct PacketJump {
  u64 addr = 0;
  u32 words = 0;
  u8 kind = 0;  // of those words, as the vendor's reader numbers kinds
};

struct StreamPacket {
  usize at = 0;           // its first word in the stream
  u32 words = 0;          // at least 1
  std::string_view name;  // the vendor's, or "opcode" for one that has none
  u32 opcode = 0;
  std::vector<PacketField> fields;
  std::vector<u32> payload;  // words behind the fields; registers' values are fields
  std::string problem;       // why it cannot be right, or empty
  std::optional<PacketJump> jump;
};

// "EVENT_WRITE event=CsPartialFlush index=PartialFlush", flags by name alone; a problem at the end
// in brackets.
std::string to_text(const StreamPacket& packet);
// The same, two spaces further in for each jump around.
std::string indented_text(const StreamPacket& packet, int depth);
// {"packet":"EVENT_WRITE","at":0,"words":2,"fields":{...}}, all fields.
std::string to_json(const StreamPacket& packet);

// Words of memory, or nothing where there is none.
using ReadWords = std::function<std::optional<std::vector<u32>>(u64 addr, u32 words)>;
// The packet at the start of words, which are not empty, of a kind of the vendor's.
using ReadPacket = std::function<StreamPacket(u8 kind, std::span<const u32> words)>;

// Calls visit with every packet in the order in which the device comes by them; depth counts the
// jumps around. Jumps are followed as far as `memory`, which may be empty, has their words, at most
// kMaxDepth deep and kMaxPackets packets altogether.
inline constexpr int kMaxDepth = 4;
inline constexpr usize kMaxPackets = 1'000'000;
void walk_packets(u8 kind, std::span<const u32> words, const ReadPacket& read,
                  const ReadWords& memory,
                  const std::function<void(const StreamPacket&, int depth)>& visit);

// Adds the fields of the record in `words`, which holds at least T::kWords words and begins at the
// packet's word `first`. `prefix` is put before each name.
template <class T>
void describe_fields(std::span<const u32> words, std::string_view prefix, StreamPacket* packet,
                     u32 first = 0) {
  const T record = decode<T>(words.template first<T::kWords>());
  T::fields(record, [&](const char* name, Bits bits, const auto& value, Shift = {}) {
    using Value = std::remove_cvref_t<decltype(value)>;
    PacketField field;
    field.name = std::string(prefix) + name;
    field.value = static_cast<u64>(value);
    field.is_flag = std::is_same_v<Value, bool> && bits.width() == 1;
    field.place = Bits{bits.hi + first * 32u, bits.lo + first * 32u};
    if constexpr (requires { static_cast<std::string_view>(name_of(value)); })
      field.enumerator = name_of(value);
    packet->fields.push_back(std::move(field));
  });
}

// Adds to the packet's problems.
void complain(StreamPacket* packet, std::string_view problem);

// Complains of bits that no field claims; `allowed` are bits of word 0 that any packet may have.
template <class T>
void describe_strays(std::span<const u32> words, u32 allowed, StreamPacket* packet) {
  Words<T> stray = stray_bits<T>(words.template first<T::kWords>());
  stray[0] &= ~allowed;
  for (u32 i = 0; i < T::kWords; ++i)
    if (stray[i] != 0) complain(packet, fmt::format("word {} has stray bits {:#x}", i, stray[i]));
}

}  // namespace doorbell
