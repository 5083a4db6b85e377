// The first byte of an SDMA packet, and the second, which some use. SDMA packets have no length in
// the header: it follows from the opcode, or from a count in the packet. The records beside this
// file serve engines 4.4 (gfx942, gfx950), 5.2 (gfx103x), 6.0 (gfx11) and 7.0 (gfx12): fields do
// not move between them, and what an older engine lacks must be zero there.
//
// [torvalds/linux drivers/gpu/drm/amd/amdgpu/vega10_sdma_pkt_open.h (4.x), navi10_sdma_pkt_open.h
// (5.x), sdma_v6_0_0_pkt_open.h; 7.0: tinygrad drives it with the layouts of 6.0]
#pragma once

#include <array>
#include <string_view>

#include "base/bits/bits.h"

namespace doorbell::amd::hw {

enum class SdmaOp : u8 {
  Nop = 0,
  Copy = 1,
  Write = 2,
  Indirect = 4,
  Fence = 5,
  Trap = 6,
  Sem = 7,
  PollRegmem = 8,
  CondExe = 9,
  Atomic = 10,
  ConstFill = 11,
  Ptepde = 12,
  Timestamp = 13,
  SrbmWrite = 14,
  PreExe = 15,
  GpuvmInv = 16,
  GcrReq = 17,
  DummyTrap = 32,
};
std::string_view name_of(SdmaOp op);  // empty: none of these

inline constexpr Bits kSdmaOp = word(0, 7, 0), kSdmaSubOp = word(0, 15, 8);

constexpr u32 sdma_header(SdmaOp op, u8 sub_op = 0) {
  std::array<u32, 1> header{};
  deposit(header, kSdmaOp, static_cast<u8>(op));
  deposit(header, kSdmaSubOp, sub_op);
  return header[0];
}

// [SDMA_SUBOP_*]
inline constexpr u8 kSdmaCopyLinear = 0, kSdmaWriteLinear = 0, kSdmaKernelGcr = 0, kSdmaUserGcr = 1,
                    kSdmaTimestampGet = 1, kSdmaTimestampGetGlobal = 2;

// The greatest count of bytes of a copy or fill. The field has 22 bits up to 4.2 and 30 from 4.4.2
// and 5.0 on, of which 4.4's are left unused here. [copy_max_bytes of torvalds/linux sdma_v4_4_2.c,
// sdma_v5_0.c, sdma_v6_0.c; tinygrad ops_amd.py max_copy_size]
inline constexpr u64 kSdmaMaxCopy4 = 0x40'0000, kSdmaMaxCopy6 = 0x4000'0000;

// A submission of the ring, and an indirect buffer, is a multiple of this many words.
// [sdma_v4_0.c sdma_v4_0_ring_emit_ib: "An IB packet must end on a 8 DW boundary"]
inline constexpr u32 kSdmaIbAlignment = 8;

}  // namespace doorbell::amd::hw
