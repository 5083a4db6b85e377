// Entries of the interrupt handler's ring: 8 words each.
// [torvalds/linux soc15_int.h SOC15_*_FROM_IH_ENTRY, soc21_ih_clientid in soc15_ih_clientid.h;
// ivsrcid/gfx/irqsrcs_gfx_11_0_0.h; amdgpu_ih.c amdgpu_ih_decode_iv_helper(); tinygrad ip.py
// AM_IH.interrupt_handler()]
#pragma once

#include "base/bits/record.h"
#include "drivers/amd/hw/bare/registers.h"

namespace doorbell::amd::hw {

// [soc15_int.h SOC15_CLIENT_ID_FROM_IH_ENTRY and its neighbours]
struct InterruptEntry {
  static constexpr u32 kWords = 8;
  u8 client = 0, source = 0, ring = 0, vmid = 0;
  u16 pasid = 0;
  u8 node = 0;
  u32 context0 = 0, context1 = 0, context2 = 0, context3 = 0;
  static constexpr void fields(auto& p, auto f) {
    f("client_id", word(0, 7, 0), p.client);
    f("source_id", word(0, 15, 8), p.source);
    f("ring_id", word(0, 23, 16), p.ring);
    f("vmid", word(0, 27, 24), p.vmid);
    f("pasid", word(3, 15, 0), p.pasid);
    f("node_id", word(3, 23, 16), p.node);
    f("context_id0", word(4), p.context0);
    f("context_id1", word(5), p.context1);
    f("context_id2", word(6), p.context2);
    f("context_id3", word(7), p.context3);
  }
};
static_assert(sound<InterruptEntry>());
inline constexpr u32 kInterruptBytes = InterruptEntry::kWords * 4;

// Clients.
inline constexpr u8 kClientGfx = 10, kClientGrbmCp = 20;
// Sources of these clients: a page fault and a copy engine's TRAP of Gfx, the others of GrbmCp.
// A fault's context0 has bits 43:12 of the address, context1 3:0 the bits above, and bit 5 a write.
// [gmc_v11_0.c gmc_v11_0_process_interrupt(); amdgpu_gmc.h
// AMDGPU_GMC9_FAULT_SOURCE_DATA_WRITE 0x20]
inline constexpr u8 kSourcePageFault = 0, kSourceCopyTrap = 49, kSourceEndOfPipe = 181,
                    kSourceBadOpcode = 183, kSourceSq = 239;
inline constexpr u32 kFaultContextWrite = 0x20;
// Who reports what, which GC 9.4.3 numbers otherwise: UTCL2, of all XCCs, reports faults, SDMA0 its
// TRAP. [soc15_ih_clientid.h; gmc_v9_0.c gmc_v9_0_sw_init(); irqsrcs_sdma0_4_0.h
// SDMA0_4_0__SRCID__SDMA_TRAP; tinygrad ip.py AM_SOC.init_sw(), AM_IH.interrupt_handler()]
struct InterruptSources {
  u8 fault_client, fault_source, copy_client, copy_source;
};
constexpr InterruptSources interrupt_sources(BareChip chip) {
  if (chip == BareChip::Gc94) return {27, 0, 8, 224};
  return {kClientGfx, kSourcePageFault, kClientGfx, kSourceCopyTrap};
}
// The event's number in context0: 32 bits of the command processor's, 28 of a copy engine's.
// [kfd_int_process_v11.c event_interrupt_wq_v11()]
inline constexpr u32 kCopyTrapContext = 0x0fff'ffff;
// Of kSourceSq: context1 7:6 is the encoding, 2 an error; context0 24:21 its type.
inline constexpr Bits kSqEncoding = word(1, 7, 6), kSqErrorType = word(0, 24, 21);
inline constexpr u32 kSqEncodingError = 2, kSqIllegalInstruction = 1, kSqMemoryViolation = 2;

}  // namespace doorbell::amd::hw
