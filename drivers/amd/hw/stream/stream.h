// Streams of packets, PM4, SDMA or AQL, as packets with names and fields, as text or JSON: one
// reader for a driver's debug output, the emulator's trace and `doorbell decode`. Total: any words
// are some packets, what is not understood is said so with its words. Whether a packet is allowed
// is for the emulator's checks.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bits/bits.h"
#include "drivers/amd/hw/generation.h"

namespace doorbell::amd::hw {

enum class StreamKind : u8 { Pm4, Sdma, Aql };

struct PacketField {
  std::string name;  // "addr", "COMPUTE_PGM_RSRC1", "COMPUTE_PGM_RSRC1.vgprs"
  u64 value = 0;
  std::string_view enumerator;  // where the value has a name
  bool is_flag = false;         // one bit; text shows it when set
  // Where it lies in the packet's words.
  std::optional<Bits> place = std::nullopt;
};

// A jump into an indirect buffer.
struct IndirectJump {
  u64 addr = 0;
  u32 words = 0;
};

struct StreamPacket {
  usize at = 0;           // its first word in the stream
  u32 words = 0;          // at least 1
  std::string_view name;  // the vendor's, or "opcode" for one that has none
  u32 opcode = 0;
  std::vector<PacketField> fields;
  std::vector<u32> payload;  // words behind the fields; registers' values are fields
  std::string problem;       // why it cannot be right, or empty
  std::optional<IndirectJump> jump;
};

// The packet that begins at words[at]. It is the last one when what it needs is not there.
StreamPacket read_packet(StreamKind kind, Generation generation, std::span<const u32> words,
                         usize at = 0);

// "EVENT_WRITE event=CsPartialFlush index=PartialFlush", flags by name alone; a problem at the end
// in brackets.
std::string to_text(const StreamPacket& packet);
// {"packet":"EVENT_WRITE","at":0,"words":2,"fields":{...}}, all fields.
std::string to_json(const StreamPacket& packet);

// Words of memory that an indirect buffer lies in, or nothing.
using ReadWords = std::function<std::optional<std::vector<u32>>(u64 addr, u32 words)>;

// Calls visit with every packet in the order in which the device comes by them; depth counts the
// indirect buffers around. Buffers are followed as far as `memory`, which may be empty, has them,
// at most kMaxDepth deep and kMaxPackets packets altogether.
inline constexpr int kMaxDepth = 4;
inline constexpr usize kMaxPackets = 1'000'000;
void walk_stream(StreamKind kind, Generation generation, std::span<const u32> words,
                 const ReadWords& memory,
                 const std::function<void(const StreamPacket&, int depth)>& visit);

// All of it: a packet in a line, indented by depth.
std::string stream_text(StreamKind kind, Generation generation, std::span<const u32> words,
                        const ReadWords& memory = {});

}  // namespace doorbell::amd::hw
