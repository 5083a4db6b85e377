// Which COMPUTE_* registers a chip does not have, and which bits of those that it has. RSRC1 to
// RSRC3, which the kernel's descriptor has too, are judged with it (dispatch_judge.h).
// [torvalds/linux asic_reg/gc/gc_9_4_3_sh_mask.h, gc_10_3_0_sh_mask.h, gc_11_0_0_sh_mask.h,
// gc_12_0_0_sh_mask.h; of gfx11 Mesa src/amd/registers/gfx11.json has the same fields]
#pragma once

#include "drivers/amd/hw/compute_registers.h"

namespace doorbell::emu::amdgpu {

// Whether SET_SH_REG names a register of compute, which a client may set: COMPUTE_VMID is the
// kernel's, as the queue's own CP_HQD_VMID is. [the same headers, COMPUTE_* in *_offset.h; linux
// kfd_mqd_manager_v11.c cp_hqd_vmid]
constexpr bool is_client_register(amd::hw::Generation generation, u32 address) {
  using amd::hw::Generation;
  constexpr u32 kFirst = 0x2e00, kUserData0 = 0x2e40, kUserData15 = 0x2e4f;
  constexpr u32 kDispatchTunnel = 0x2e7d, kNowhere = 0x2e7f;
  const u32 last = generation == Generation::Gfx9    ? 0x2e2d
                   : generation == Generation::Gfx12 ? 0x2e37
                                                     : 0x2e33;
  const auto within = [&](u32 from, u32 to) { return from <= address && address <= to; };
  return address != amd::hw::kComputeVmid.at(generation) &&
         (within(kFirst, last) || within(kUserData0, kUserData15) ||
          within(kDispatchTunnel, kNowhere));
}

struct RegisterBits {
  amd::hw::Register reg;
  u32 gfx9, gfx10, gfx11, gfx12;  // the bits that there are
};

// The upper halves of addresses that are kept in units of 256 bytes: 40 bits of them.
inline constexpr u32 kAddressHi = 0xff;

// clang-format off: a table
inline constexpr RegisterBits kComputeBits[] = {
    {amd::hw::everywhere("COMPUTE_PGM_HI", 0x2e0d), kAddressHi, kAddressHi, kAddressHi, kAddressHi},
    {amd::hw::everywhere("COMPUTE_DISPATCH_PKT_ADDR_HI", 0x2e0f),
                                          kAddressHi, kAddressHi, kAddressHi, kAddressHi},
    {amd::hw::everywhere("COMPUTE_DISPATCH_SCRATCH_BASE_HI", 0x2e11),
                                          kAddressHi, kAddressHi, kAddressHi, kAddressHi},
    {amd::hw::kComputeVmid,               0xf, 0xf, 0xf, 0xf},
    // SIMD_DISABLE, 30:27, is gfx9's.
    {amd::hw::kComputeResourceLimits,     0x7ffff3ff, 0x07fff3ff, 0x07fff3ff, 0x07fff3ff},
    // WAVESIZE from bit 12 on, of 13, 13, 15 and 18 bits.
    {amd::hw::kComputeTmpringSize,        0x01ffffff, 0x01ffffff, 0x07ffffff, 0x3fffffff},
};
// clang-format on

// 0 for a register of which nothing is known.
constexpr u32 reserved_bits(amd::hw::Generation generation, u32 address) {
  using amd::hw::Generation;
  for (const RegisterBits& one : kComputeBits) {
    if (one.reg.at(generation) != address) continue;
    switch (generation) {
      case Generation::Gfx9: return ~one.gfx9;
      case Generation::Gfx10: return ~one.gfx10;
      case Generation::Gfx11: return ~one.gfx11;
      default: return ~one.gfx12;
    }
  }
  return 0;
}

}  // namespace doorbell::emu::amdgpu
