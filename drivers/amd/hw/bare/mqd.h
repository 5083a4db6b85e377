// The memory queue descriptor (MQD) of a compute queue: what the command processor saves and
// restores of it, and the registers that are set from it when it is put on the hardware.
// Word 0x80 + n is the register CP_MQD_BASE_ADDR + n, up to CP_HQD_PQ_WPTR_HI.
// [torvalds/linux v11_structs.h v11_compute_mqd; gfx_v11_0.c gfx_v11_0_compute_mqd_init(),
// amdgpu_amdkfd_gfx_v11.c hqd_load_v11(); kfd_mqd_manager_v11.c init_mqd(), update_mqd();
// tinygrad ip.py AM_GFX.setup_ring()]
#pragma once

#include "base/bits/record.h"

namespace doorbell::amd::hw {

inline constexpr u32 kMqdWords = 512, kMqdHeader = 0xc0310800, kMqdRegisters = 0x80;
inline constexpr u32 kHqdRegisters = 56;  // CP_MQD_BASE_ADDR to CP_HQD_PQ_WPTR_HI

// Where an MQD's words lie, and, from kMqdRegisters on, which register is which.
enum class Mqd : u16 {
  Header = 0,
  StaticThreadMgmtSe0 = 23,
  StaticThreadMgmtSe1 = 24,
  StaticThreadMgmtSe2 = 26,
  StaticThreadMgmtSe3 = 27,
  CurrentLogicXccId = 39,    // on GC 9.4.3 alone, as the next
  TgChunkSize = 41,          // groups that an XCC takes at a time
  StaticThreadMgmtSe4 = 44,  // and the next three; not on GC 9.4.3
  BaseAddrLo = 128,
  BaseAddrHi = 129,
  Active = 130,
  Vmid = 131,
  PersistentState = 132,
  PipePriority = 133,
  QueuePriority = 134,
  Quantum = 135,
  PqBaseLo = 136,
  PqBaseHi = 137,
  PqRptr = 138,
  PqRptrReportAddrLo = 139,
  PqRptrReportAddrHi = 140,
  PqWptrPollAddrLo = 141,
  PqWptrPollAddrHi = 142,
  PqDoorbellControl = 143,
  PqControl = 145,
  IbControl = 149,
  DequeueRequest = 152,
  HqStatus0 = 160,
  MqdControl = 162,
  EopBaseAddrLo = 165,
  EopBaseAddrHi = 166,
  EopControl = 167,
  AqlControl = 181,
  PqWptrLo = 182,
  PqWptrHi = 183,
  // On GC 9.4.3: bytes from the MQD of one XCC to that of the next.
  MqdStrideSize = 226,
};
constexpr u32 index_of(Mqd word) { return static_cast<u32>(word); }
// Of a register behind CP_MQD_BASE_ADDR.
constexpr u32 hqd_index(Mqd word) { return index_of(word) - kMqdRegisters; }

// CP_HQD_PQ_CONTROL. The queue has 2^(size + 1) words. GC 9.4.3 has SLOT_BASED_WPTR higher.
// [gc_11_0_0_sh_mask.h, gc_9_4_3_sh_mask.h CP_HQD_PQ_CONTROL]
template <unsigned kSlotBasedWptr>
struct HqdPqControlOf {
  static constexpr u32 kWords = 1;
  u8 size = 0, rptr_block_size = 0;
  bool queue_full_en = false;
  u8 slot_based_wptr = 0;
  bool no_update_rptr = false, unord_dispatch = false, priv_state = false, kmd_queue = false;
  static constexpr void fields(auto& p, auto f) {
    f("QUEUE_SIZE", word(0, 5, 0), p.size);
    f("RPTR_BLOCK_SIZE", word(0, 13, 8), p.rptr_block_size);
    f("QUEUE_FULL_EN", word(0, 14, 14), p.queue_full_en);
    f("SLOT_BASED_WPTR", word(0, kSlotBasedWptr + 1, kSlotBasedWptr), p.slot_based_wptr);
    f("NO_UPDATE_RPTR", word(0, 27, 27), p.no_update_rptr);
    f("UNORD_DISPATCH", word(0, 28, 28), p.unord_dispatch);
    f("PRIV_STATE", word(0, 30, 30), p.priv_state);
    f("KMD_QUEUE", word(0, 31, 31), p.kmd_queue);
  }
};
using HqdPqControl = HqdPqControlOf<18>;
using HqdPqControlGc94 = HqdPqControlOf<25>;
static_assert(sound<HqdPqControl>() && sound<HqdPqControlGc94>());
// A queue of AQL packets: CP_HQD_AQL_CONTROL CONTROL0, and in CP_HQD_PQ_CONTROL pointers that count
// slots of 64 bytes (SLOT_BASED_WPTR 2), QUEUE_FULL_EN, and NO_UPDATE_RPTR, because the firmware
// writes amd_queue_t.read_dispatch_id itself. The kernel sets DOORBELL_BIF_DROP too, tinygrad does
// not. [kfd_mqd_manager_v11.c init_mqd(), update_mqd(), KFD_QUEUE_FORMAT_AQL; tinygrad ip.py
// AM_GFX.setup_ring(), aql]
inline constexpr u32 kHqdAql = 1;
inline constexpr u8 kSlotsOfAql = 2;

// CP_HQD_PQ_DOORBELL_CONTROL; the offset counts 32-bit words. [gc_11_0_0_sh_mask.h, the same]
struct HqdDoorbellControl {
  static constexpr u32 kWords = 1;
  u32 offset = 0;
  bool enable = false;
  static constexpr void fields(auto& p, auto f) {
    f("DOORBELL_OFFSET", word(0, 27, 2), p.offset);
    f("DOORBELL_EN", word(0, 30, 30), p.enable);
  }
};
static_assert(sound<HqdDoorbellControl>());

// CP_HQD_PERSISTENT_STATE 17:8 PRELOAD_SIZE 0x55, 0 PRELOAD_REQ. [the kernel and tinygrad alike]
inline constexpr u32 kHqdPersistentState = 0x55 << 8 | 1;
// CP_HQD_IB_CONTROL 21:20 MIN_IB_AVAIL_SIZE 3.
inline constexpr u32 kHqdIbControl = 3 << 20;
// CP_HQD_QUANTUM: enabled, of scale 1, duration 1. [kfd_mqd_manager_v11.c init_mqd()]
inline constexpr u32 kHqdQuantum = 0x111;
// CP_HQD_HQ_STATUS0 and CP_MQD_CONTROL 8 PRIV_STATE as tinygrad has them.
inline constexpr u32 kHqdHqStatus0 = 0x20004000, kMqdControl = 1 << 8;
// CP_HQD_DEQUEUE_REQUEST: waves of the queue are ended. [amdgpu_amdkfd_gfx_v11.c hqd_destroy_v11():
// RESET_WAVES]
inline constexpr u32 kDequeueResetWaves = 2;

}  // namespace doorbell::amd::hw
