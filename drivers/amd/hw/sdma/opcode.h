// The first byte of an SDMA packet, and the second, which some use. SDMA packets have no length in
// the header: it follows from the opcode, or from a count in the packet. The records beside this
// file serve engines 4.4 (gfx942, gfx950), 5.2 (gfx103x), 6.0 (gfx11) and 7.0 (gfx12): fields do
// not move between them, and what an older engine lacks must be zero there.
//
// [torvalds/linux drivers/gpu/drm/amd/amdgpu/vega10_sdma_pkt_open.h (4.x), navi10_sdma_pkt_open.h
// (5.x), sdma_v6_0_0_pkt_open.h; 7.0: tinygrad drives it with the layouts of 6.0]
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/bits/bits.h"
#include "drivers/amd/hw/generation.h"

namespace doorbell::amd::hw {

// What a packet's record says of itself besides its fields. [SDMA_OP_*, SDMA_SUBOP_* of the files
// above]
struct SdmaId {
  u8 op = 0;
  std::string_view name;         // the vendor's, of the opcode
  std::optional<u8> sub_op = 0;  // nothing: the packet has none, or any
  Generations generations = Generations::All;
};

// The vendor's name of an opcode, with a record here or without. Empty: unknown.
std::string_view sdma_name(u8 op);

inline constexpr Bits kSdmaOp = word(0, 7, 0), kSdmaSubOp = word(0, 15, 8);

constexpr u32 sdma_header(const SdmaId& id) {
  std::array<u32, 1> header{};
  deposit(header, kSdmaOp, id.op);
  deposit(header, kSdmaSubOp, id.sub_op.value_or(0));
  return header[0];
}
constexpr u8 sdma_op_of(u32 header) {
  return static_cast<u8>(extract(std::array<u32, 1>{header}, kSdmaOp));
}
constexpr u8 sdma_sub_op_of(u32 header) {
  return static_cast<u8>(extract(std::array<u32, 1>{header}, kSdmaSubOp));
}

// The greatest count of bytes of a copy or fill: what other clients send. Which headers state how
// many bits the field has, and what the clients send: docs/hw/amd-facts.md, "Decisions".
inline constexpr u64 kSdmaMaxCopy4 = 0x40'0000, kSdmaMaxCopy6 = 0x4000'0000;

// A submission of the ring, and an indirect buffer, is a multiple of this many words.
// [sdma_v4_0.c sdma_v4_0_ring_emit_ib: "An IB packet must end on a 8 DW boundary"]
inline constexpr u32 kSdmaIbAlignment = 8;

}  // namespace doorbell::amd::hw
