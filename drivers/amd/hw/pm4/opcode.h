// The headers of PM4 packets, which the command processor reads. The packets are in the files
// beside this one, by what they do; packets.def lists them. Streams of packets: stream/stream.h.
//
//   31:30 type (3, or 2 for a filler of one word)
//   29:16 count: words after the header, less one
//   15:8  opcode
//   1     shader type, 1 = compute (graphics rings only; the compute engines ignore it)
//   0     predicate
// [torvalds/linux drivers/gpu/drm/amd/amdgpu/nvd.h PACKET3, PACKET3_COMPUTE]
#pragma once

#include <array>
#include <string_view>

#include "base/bits/bits.h"
#include "drivers/amd/hw/generation.h"

namespace doorbell::amd::hw {

// What a packet's record says of itself besides its fields. [nvd.h PACKET3_*, soc15d.h PACKET3_*]
struct Pm4Id {
  u8 opcode = 0;
  std::string_view name;  // the vendor's
  Generations generations = Generations::All;

  // The same packet, in the form that other generations have.
  constexpr Pm4Id on(Generations those) const { return {opcode, name, those}; }
};

// The vendor's name of an opcode, with a record here or without. Empty: unknown.
std::string_view pm4_name(u8 opcode);

inline constexpr Bits kPacketType = word(0, 31, 30);
inline constexpr Bits kPacketCount = word(0, 29, 16);
inline constexpr Bits kPacketOpcode = word(0, 15, 8);

constexpr u8 opcode_of(u32 header) {
  return static_cast<u8>(extract(std::array<u32, 1>{header}, kPacketOpcode));
}

// The constant part of a header: type and opcode, and the count where the length is fixed.
constexpr u32 packet3(Pm4Id id) {
  std::array<u32, 1> header{};
  deposit(header, kPacketType, 3);
  deposit(header, kPacketOpcode, id.opcode);
  return header[0];
}
constexpr u32 packet3(Pm4Id id, u32 words) {
  std::array<u32, 1> header{packet3(id)};
  deposit(header, kPacketCount, words - 2);
  return header[0];
}

// The count of a packet of so many words, for packets whose length varies. Their records hold the
// words before the payload, and have kVariable.
constexpr u16 count_of(u32 words) { return static_cast<u16>(words - 2); }

// A filler of one word. [nvd.h CP_PACKET2]
inline constexpr u32 kPacket2 = 0x8000'0000;

}  // namespace doorbell::amd::hw
