// What is in the registers of registers.def that have more than one field that this project sets
// or reads. [torvalds/linux asic_reg/gc/gc_11_0_0_sh_mask.h, mmhub/mmhub_3_0_0_sh_mask.h,
// oss/osssys_6_0_0_sh_mask.h, nbio/nbio_4_3_0_sh_mask.h; compared with tinygrad a9069c1
// runtime/autogen/am/regs.py]
#pragma once

#include "base/bits/record.h"

namespace doorbell::amd::hw {

// A register's word from a record.
template <class T>
constexpr u32 word_of(const T& record) {
  return encode(record)[0];
}
template <class T>
constexpr T fields_of(u32 word) {
  return decode<T>(std::array<u32, 1>{word});
}

// GCVM_INVALIDATE_ENG17_REQ, MMVM_INVALIDATE_ENG17_REQ: translations of these VMIDs are forgotten;
// ACK then shows the VMIDs. [gmc_v11_0.c gmc_v11_0_flush_gpu_tlb()]
struct InvalidateRequest {
  static constexpr u32 kWords = 1;
  u16 vmids = 0;
  u8 flush_type = 0;
  bool l2_ptes = true, l2_pde0 = true, l2_pde1 = true, l2_pde2 = true, l1_ptes = true;
  bool clear_fault = false, log = false, only_4k = false;
  static constexpr void fields(auto& p, auto f) {
    f("PER_VMID_INVALIDATE_REQ", word(0, 15, 0), p.vmids);
    f("FLUSH_TYPE", word(0, 18, 16), p.flush_type);
    f("INVALIDATE_L2_PTES", word(0, 19, 19), p.l2_ptes);
    f("INVALIDATE_L2_PDE0", word(0, 20, 20), p.l2_pde0);
    f("INVALIDATE_L2_PDE1", word(0, 21, 21), p.l2_pde1);
    f("INVALIDATE_L2_PDE2", word(0, 22, 22), p.l2_pde2);
    f("INVALIDATE_L1_PTES", word(0, 23, 23), p.l1_ptes);
    f("CLEAR_PROTECTION_FAULT_STATUS_ADDR", word(0, 24, 24), p.clear_fault);
    f("LOG_REQUEST", word(0, 25, 25), p.log);
    f("INVALIDATE_4K_PAGES_ONLY", word(0, 26, 26), p.only_4k);
  }
};
static_assert(sound<InvalidateRequest>());

// The same of GC 9.4.3, whose fields from the flush's type on lie one bit lower.
// [gmc_v9_0.c gmc_v9_0_get_invalidate_req(); tinygrad regs.py gc_9_4_3, ip.py flush_tlb()]
struct InvalidateRequestGc94 {
  static constexpr u32 kWords = 1;
  u16 vmids = 0;
  u8 flush_type = 0;
  bool l2_ptes = true, l2_pde0 = true, l2_pde1 = true, l2_pde2 = true, l1_ptes = true;
  bool clear_fault = false, log = false;
  static constexpr void fields(auto& p, auto f) {
    f("PER_VMID_INVALIDATE_REQ", word(0, 15, 0), p.vmids);
    f("FLUSH_TYPE", word(0, 17, 16), p.flush_type);
    f("INVALIDATE_L2_PTES", word(0, 18, 18), p.l2_ptes);
    f("INVALIDATE_L2_PDE0", word(0, 19, 19), p.l2_pde0);
    f("INVALIDATE_L2_PDE1", word(0, 20, 20), p.l2_pde1);
    f("INVALIDATE_L2_PDE2", word(0, 21, 21), p.l2_pde2);
    f("INVALIDATE_L1_PTES", word(0, 22, 22), p.l1_ptes);
    f("CLEAR_PROTECTION_FAULT_STATUS_ADDR", word(0, 23, 23), p.clear_fault);
    f("LOG_REQUEST", word(0, 24, 24), p.log);
  }
};
static_assert(sound<InvalidateRequestGc94>());

// GCVM_CONTEXT0_CNTL, MMVM_CONTEXT0_CNTL. PAGE_TABLE_DEPTH: levels of directories above the lowest
// tables. Each kind of fault may interrupt, and is redirected to the default page.
// [gc_11_0_0_sh_mask.h GCVM_CONTEXT0_CNTL]
struct VmContextControl {
  static constexpr u32 kWords = 1;
  bool enable = false;
  u8 depth = 0, block_size = 0;
  bool retry_permission = false, retry_other = false;
  // Pairs of interrupt and default: range, dummy page, PDE0, valid, read, write, execute.
  u16 faults = 0;
  u16 unk_31_23 = 0;
  static constexpr void fields(auto& p, auto f) {
    f("ENABLE_CONTEXT", word(0, 0, 0), p.enable);
    f("PAGE_TABLE_DEPTH", word(0, 2, 1), p.depth);
    f("PAGE_TABLE_BLOCK_SIZE", word(0, 6, 3), p.block_size);
    f("RETRY_PERMISSION_OR_INVALID_PAGE_FAULT", word(0, 7, 7), p.retry_permission);
    f("RETRY_OTHER_FAULT", word(0, 8, 8), p.retry_other);
    f("faults", word(0, 22, 9), p.faults);
    // tinygrad writes 0x1800000 there, and the kernel leaves it as it is. [tinygrad ip.py
    // enable_vm_addressing()]
    f("unk_31_23", word(0, 31, 23), p.unk_31_23);
  }
};
static_assert(sound<VmContextControl>());
inline constexpr u16 kAllFaults = 0x3fff;

// The same of GC 12, whose fields from the block size on lie one bit higher.
// [tinygrad regs.py, made of the kernel's *_sh_mask.h: gc_12_0_0 GCVM_CONTEXT0_CNTL, mmhub_4_1_0
// MMVM_CONTEXT0_CNTL; its enable_vm_addressing() writes 0x1800000 there too, which is a fault's bit
// and the lowest of the rest: no field in the graphics hub, in the memory hub the interrupt of
// SECURE_PROTECTION_FAULT]
struct VmContextControlGc12 {
  static constexpr u32 kWords = 1;
  bool enable = false;
  u8 depth = 0, block_size = 0;
  bool retry_permission = false, retry_other = false;
  u16 faults = 0;  // the same pairs
  u8 unk_31_24 = 0;
  static constexpr void fields(auto& p, auto f) {
    f("ENABLE_CONTEXT", word(0, 0, 0), p.enable);
    f("PAGE_TABLE_DEPTH", word(0, 2, 1), p.depth);
    f("PAGE_TABLE_BLOCK_SIZE", word(0, 7, 4), p.block_size);
    f("RETRY_PERMISSION_OR_INVALID_PAGE_FAULT", word(0, 8, 8), p.retry_permission);
    f("RETRY_OTHER_FAULT", word(0, 9, 9), p.retry_other);
    f("faults", word(0, 23, 10), p.faults);
    f("unk_31_24", word(0, 31, 24), p.unk_31_24);
  }
};
static_assert(sound<VmContextControlGc12>());

// GCVM_L2_PROTECTION_FAULT_STATUS. PERMISSION_FAULTS: valid 1, read 2, write 4, execute 8.
// [gmc_v9_0.c and gfxhub_v3_0.c print_l2_protection_fault_status; ROCm KFD's
// kfd_int_process_v11.c via amdgpu_vm_update_fault_cache()]
struct FaultStatus {
  static constexpr u32 kWords = 1;
  bool more_faults = false;
  u8 walker_error = 0, permission_faults = 0;
  bool mapping_error = false;
  u16 client = 0;
  bool is_write = false, is_atomic = false;
  u8 vmid = 0;
  static constexpr void fields(auto& p, auto f) {
    f("MORE_FAULTS", word(0, 0, 0), p.more_faults);
    f("WALKER_ERROR", word(0, 3, 1), p.walker_error);
    f("PERMISSION_FAULTS", word(0, 7, 4), p.permission_faults);
    f("MAPPING_ERROR", word(0, 8, 8), p.mapping_error);
    f("CID", word(0, 17, 9), p.client);
    f("RW", word(0, 18, 18), p.is_write);
    f("ATOMIC", word(0, 19, 19), p.is_atomic);
    f("VMID", word(0, 23, 20), p.vmid);
  }
};
static_assert(sound<FaultStatus>());
inline constexpr u8 kFaultValid = 1, kFaultRead = 2, kFaultWrite = 4, kFaultExecute = 8;

// GCMC_VM_MX_L1_TLB_CNTL, MMMC_VM_MX_L1_TLB_CNTL. SYSTEM_ACCESS_MODE 3: addresses outside of the
// memory's own go through the page tables. [gfxhub_v3_0.c gfxhub_v3_0_init_tlb_regs()]
struct L1TlbControl {
  static constexpr u32 kWords = 1;
  bool enable = false;
  u8 system_access_mode = 0;
  bool unmapped_access = false, advanced_driver_model = false;
  u8 eco_bits = 0, memory_policy = 0;
  static constexpr void fields(auto& p, auto f) {
    f("ENABLE_L1_TLB", word(0, 0, 0), p.enable);
    f("SYSTEM_ACCESS_MODE", word(0, 4, 3), p.system_access_mode);
    f("SYSTEM_APERTURE_UNMAPPED_ACCESS", word(0, 5, 5), p.unmapped_access);
    f("ENABLE_ADVANCED_DRIVER_MODEL", word(0, 6, 6), p.advanced_driver_model);
    f("ECO_BITS", word(0, 10, 7), p.eco_bits);
    f("MTYPE", word(0, 13, 11), p.memory_policy);
  }
};
static_assert(sound<L1TlbControl>());

// GCVM_L2_CNTL, MMVM_L2_CNTL, with the values of gfxhub_v3_0_init_cache_regs(): the second-level
// TLB on, without fragments (page tables of 4 levels have none there).
// [gc_11_0_0_sh_mask.h GCVM_L2_CNTL]
struct L2Control {
  static constexpr u32 kWords = 1;
  bool enable = false, fragments = false, page_out = false;
  u8 identity_mode = 0;
  static constexpr void fields(auto& p, auto f) {
    f("ENABLE_L2_CACHE", word(0, 0, 0), p.enable);
    f("ENABLE_L2_FRAGMENT_PROCESSING", word(0, 1, 1), p.fragments);
    f("ENABLE_DEFAULT_PAGE_OUT_TO_SYSTEM_MEMORY", word(0, 11, 11), p.page_out);
    f("CONTEXT1_IDENTITY_ACCESS_MODE", word(0, 20, 19), p.identity_mode);
  }
};
static_assert(sound<L2Control>());
// *_L2_CNTL2: INVALIDATE_ALL_L1_TLBS and INVALIDATE_L2_CACHE.
inline constexpr u32 kL2Control2InvalidateAll = 3;
// *_L2_CNTL3: L2_CACHE_4K_ASSOCIATIVITY (31), L2_CACHE_BIGK_ASSOCIATIVITY (20),
// L2_CACHE_BIGK_FRAGMENT_SIZE (19:15) 6, BANK_SELECT (5:0) 9. [gfxhub_v3_0.c:
// regGCVM_L2_CNTL3_DEFAULT 0x80100007 with the last two; tinygrad ip.py init_hub()]
inline constexpr u32 kL2Control3 = 0x80130009;
// Of GC 9.4.3, whose tables are translated further: L2_CACHE_BIGK_FRAGMENT_SIZE 9, BANK_SELECT 12.
// [gfxhub_v1_2.c gfxhub_v1_2_xcc_init_cache_regs(): translate_further; tinygrad, the same]
inline constexpr u32 kL2Control3Gc94 = 0x8014800c;
// *_L2_CNTL4: L2_CACHE_4K_PARTITION_COUNT 1; *_L2_CNTL5: WALKER_PRIORITY_CLIENT_ID (13:5) 0x1ff.
inline constexpr u32 kL2Control4 = 1, kL2Control5 = 0x1ff << 5;
// *_L2_PROTECTION_FAULT_CNTL2: ACTIVE_PAGE_MIGRATION_PTE_READ_RETRY.
inline constexpr u32 kFaultControl2ReadRetry = 1 << 18;
// GCVM_L2_PROTECTION_FAULT_CNTL: the status and the address may hold the next fault.
inline constexpr u32 kFaultControlClear = 1;
// MMVM_L2_BANK_SELECT_RESERVED_CID2: RESERVED_CACHE_PRIVATE_INVALIDATION.
inline constexpr u32 kPrivateInvalidation = 1 << 25;
// *_INVALIDATE_ENG17_SEM and _ACK.
inline constexpr u32 kSemaphoreTaken = 1;

// RLC_RLCS_BOOTLOAD_STATUS: the RLC has started the graphics core.
inline constexpr u32 kBootloadComplete = 1u << 31;
// GRBM_SOFT_RESET: SOFT_RESET_CP and SOFT_RESET_CPC. [tinygrad ip.py reset_mec()]
inline constexpr u32 kSoftResetCompute = 1 << 0 | 1 << 18;
inline constexpr u32 kSoftResetSdma0 = 1 << 23;
// RLC_SRM_CNTL: SRM_ENABLE, AUTO_INCR_ADDR. RLC_SPM_MC_CNTL: RLC_SPM_VMID 0xf. GRBM_CNTL:
// READ_TIMEOUT 0xff. TCP_CNTL: a bit that the kernel sets, without a name.
// [gfx_v11_0.c gfx_v11_0_rlc_enable_srm(), gfx_v11_0_update_spm_vmid(), gfx_v11_0_hw_init():
// "golden"; tinygrad ip.py AM_GFX.init_hw()]
inline constexpr u32 kRlcSrmControl = 3, kRlcSpmControl = 0xf, kGrbmReadTimeout = 0xff;
inline constexpr u32 kTcpControlUnknown29 = 1 << 29;
// CP_ME_CNTL: the reset of a processor's first pipe, after which it begins at its
// *_PRGRM_CNTR_START: PFP_PIPE0_RESET, ME_PIPE0_RESET. [gfx_v12_0.c gfx_v12_0_config_gfx_rs64(),
// which resets the second pipes too; places of the bits: tinygrad regs.py gc_12_0_0]
inline constexpr u32 kPfpPipe0Reset = 1 << 18, kMePipe0Reset = 1 << 20;
// GRBM_CNTL of GC 12 has twelve bits of READ_TIMEOUT. [tinygrad regs.py gc_12_0_0; 0xff all the
// same: gfx_v12_0.c gfx_v12_0_constants_init()]
inline constexpr u32 kGrbmReadTimeoutMaskGc12 = 0xfff;
// SH_MEM_CONFIG: addresses of 64 bits (0), unaligned accesses (3:2 of 3), INITIAL_INST_PREFETCH
// (15:14) 3. SH_MEM_BASES: windows of LDS and private memory in 64-bit addresses.
// [gfx_v11_0.c DEFAULT_SH_MEM_CONFIG, gfx_v11_0_init_compute_vmid()]
inline constexpr u32 kShMemConfig = 3 << 2 | 3 << 14, kShMemBases = 1 << 16 | 2;
// SH_MEM_CONFIG of GC 9.4.3: ALIGNMENT_MODE (4:3) unaligned, F8_MODE (8), RETRY_DISABLE (12).
// [gfx_v9_4_3.c gfx_v9_4_3_xcc_constants_init(); kfd_device_queue_manager_v9.c
// update_qpd_v9(); tinygrad ip.py AM_GFX.init_hw()]
inline constexpr u32 kShMemConfigGc94 = 3 << 3 | 1 << 8 | 1 << 12;
// CP_MEC_CNTL of GC 9.4.3, which halts both processors, resets their first pipes and forgets their
// instructions: MEC_INVALIDATE_ICACHE (4), MEC_ME1_PIPE0_RESET (16), MEC_ME2_PIPE0_RESET (20),
// MEC_ME2_HALT (28), MEC_ME1_HALT (30); 0 lets them run. The kernel resets the other pipes too.
// [gfx_v9_4_3.c gfx_v9_4_3_xcc_cp_compute_enable(); tinygrad ip.py AM_GFX._config_mec()]
inline constexpr u32 kMecStopGc94 = 1 << 4 | 1 << 16 | 1 << 20 | 1 << 28 | 1 << 30;
// GB_ADDR_CONFIG, and TCP_UTCL1_CNTL2 SPARE (7:0). [gfx_v9_4_3.c GOLDEN_GB_ADDR_CONFIG,
// gfx_v9_4_3_init_golden_registers(); tinygrad ip.py AM_GFX.init_hw()]
inline constexpr u32 kGbAddrConfigGc94 = 0x2a114042;
inline constexpr u32 kTcpUtcl1Spare = 1, kTcpUtcl1SpareMask = 0xff;
// CP_MEC_DOORBELL_RANGE_LOWER and _UPPER: bytes, of the doorbells that the processor takes.
// Of GC 9.4.3 each XCC has a range of its own, one behind the other; a queue's doorbell is in the
// first one's. [aqua_vanjaram.c aqua_vanjaram_doorbell_index_init(): xcc_doorbell_range; tinygrad
// ip.py AM_GFX.init_hw()]
inline constexpr u32 kMecDoorbellLower = 0, kMecDoorbellUpper = 0xf8, kMecDoorbellStride = 0x100;

// SDMA0_WATCHDOG_CNTL QUEUE_HANG_COUNT: 100 of 100 ms. SDMA0_UTCL1_CNTL: RESP_MODE (10:9) 3,
// REDO_DELAY (4:0) 9. SDMA0_UTCL1_PAGE: RD_L2_POLICY (13:12) 2, WR_L2_POLICY (15:14) 3,
// LLC_NOALLOC (24). SDMA0_F32_CNTL: HALT (0), TH1_RESET (13). SDMA0_CNTL: TRAP_ENABLE (0).
// [sdma_v6_0.c sdma_v6_0_gfx_resume()]
inline constexpr u32 kSdmaHangCount = 100, kSdmaHangCountMask = 0xff;
inline constexpr u32 kSdmaTlb = 3 << 9 | 9, kSdmaTlbMask = 0x61f;
inline constexpr u32 kSdmaPage = 2 << 12 | 3 << 14 | 1 << 24, kSdmaPageMask = 0x100f000;
// Of GC 12: SDMA0_MCU_CNTL HALT (0), RESET (1), and no LLC_NOALLOC. [sdma_v7_0.c
// sdma_v7_0_gfx_resume_instance(); places of the bits: tinygrad regs.py gc_12_0_0]
inline constexpr u32 kSdmaHaltOrReset = 1 << 0 | 1 << 13, kSdmaTrapEnable = 1;
inline constexpr u32 kSdmaHaltOrResetGc12 = 1 << 0 | 1 << 1, kSdmaPageGc12 = 2 << 12 | 3 << 14,
                     kSdmaPageMaskGc12 = 0xf000;
// Of SDMA 4.4.2: SDMA_CNTL UTC_L1_ENABLE. PSP starts the engine with its firmware.
// [sdma_v4_4_2.c sdma_v4_4_2_inst_start(), sdma_v4_4_2_inst_enable(); tinygrad ip.py AM_SDMA]
inline constexpr u32 kSdmaTlbEnableGc94 = 2;
// SDMA0_QUEUE0_DOORBELL: ENABLE (28). SDMA0_QUEUE0_IB_CNTL: IB_ENABLE (0).
inline constexpr u32 kSdmaDoorbellEnable = 1 << 28, kSdmaIbEnable = 1;

// NBIO 7.9: XCC_DOORBELL_FENCE has a bit for each XCC that gets no doorbells (7:0), and
// SHUB_SLV_MODE (16) on other dies than the first; BIFC_GFX_INT_MONITOR_MASK;
// BIFC_DOORBELL_ACCESS_EN_PF. [nbio_v7_9.c nbio_v7_9_init_registers(),
// nbio_v7_9_enable_doorbell_aperture(); tinygrad ip.py AM_SOC.init_hw()]
inline constexpr u32 kFenceXccs = 0xff, kFenceOtherAid = 1 << 16;
inline constexpr u32 kIntMonitorMask = 0x7ff, kDoorbellAccess = 0xfffff;

// RCC_DEV0_EPF2_STRAP2: STRAP_NO_SOFT_RESET_DEV0_F2. [nbio_v4_3.c nbio_v4_3_init_registers()]
inline constexpr u32 kStrapNoSoftReset = 1 << 7;
// IH_STORM_CLIENT_LIST_CNTL: CLIENT18_IS_STORM_CLIENT; IH_INT_FLOOD_CNTL: FLOOD_CNTL_ENABLE;
// IH_MSI_STORM_CTRL: DELAY (11:0) 3. [ih_v6_0.c ih_v6_0_irq_init(), ih_v7_0.c ih_v7_0_irq_init()]
inline constexpr u32 kIhStormClient18 = 1 << 18, kIhFloodControl = 1 << 3, kIhStormDelay = 3,
                     kIhStormDelayMask = 0xfff;

// GRBM_GFX_CNTL: whose registers the next accesses reach, of those that pipes, queues and VMIDs
// have each of their own. [soc21.c soc21_grbm_select()]
struct GrbmSelect {
  static constexpr u32 kWords = 1;
  u8 pipe = 0, me = 0, vmid = 0, queue = 0;
  static constexpr void fields(auto& p, auto f) {
    f("PIPEID", word(0, 1, 0), p.pipe);
    f("MEID", word(0, 3, 2), p.me);
    f("VMID", word(0, 7, 4), p.vmid);
    f("QUEUEID", word(0, 10, 8), p.queue);
  }
};
static_assert(sound<GrbmSelect>());

// CP_MEC_RS64_CNTL: the compute processor's state. [gfx_v11_0.c gfx_v11_0_cp_compute_enable()]
struct MecControl {
  static constexpr u32 kWords = 1;
  bool invalidate_icache = false, pipe0_reset = false, pipe0_active = false, halt = false;
  static constexpr void fields(auto& p, auto f) {
    f("MEC_INVALIDATE_ICACHE", word(0, 4, 4), p.invalidate_icache);
    f("MEC_PIPE0_RESET", word(0, 16, 16), p.pipe0_reset);
    f("MEC_PIPE0_ACTIVE", word(0, 26, 26), p.pipe0_active);
    f("MEC_HALT", word(0, 30, 30), p.halt);
  }
};
static_assert(sound<MecControl>());

// IH_RB_CNTL. MC_SPACE 4: the ring's address is one of the memory controller's.
// [ih_v6_0.c ih_v6_0_rb_cntl()]
struct IhRingControl {
  static constexpr u32 kWords = 1;
  bool enable = false;
  u8 size_log2 = 0;  // of words
  bool writeback = false, overflow_enable = false, interrupts = false, snoop = false;
  bool rptr_rearm = false;
  u8 mc_space = 0;
  bool overflow_clear = false;
  static constexpr void fields(auto& p, auto f) {
    f("RB_ENABLE", word(0, 0, 0), p.enable);
    f("RB_SIZE", word(0, 5, 1), p.size_log2);
    f("WPTR_WRITEBACK_ENABLE", word(0, 8, 8), p.writeback);
    f("WPTR_OVERFLOW_ENABLE", word(0, 16, 16), p.overflow_enable);
    f("ENABLE_INTR", word(0, 17, 17), p.interrupts);
    f("MC_SNOOP", word(0, 20, 20), p.snoop);
    f("RPTR_REARM", word(0, 21, 21), p.rptr_rearm);
    f("MC_SPACE", word(0, 30, 28), p.mc_space);
    f("WPTR_OVERFLOW_CLEAR", word(0, 31, 31), p.overflow_clear);
  }
};
static_assert(sound<IhRingControl>());
// IH_RB_WPTR and IH_RB_RPTR: bytes, of whole entries of 32; bit 0 of the first tells of lost ones.
inline constexpr u32 kIhOffsetMask = 0x3ffe0, kIhOverflow = 1;

// SDMA0_QUEUE0_RB_CNTL. [sdma_v6_0.c sdma_v6_0_gfx_resume_instance()]
struct CopyRingControl {
  static constexpr u32 kWords = 1;
  bool enable = false;
  u8 size_log2 = 0;  // of words
  bool poll_write_pointer = false, write_read_pointer = false;
  u8 read_pointer_timer = 0;
  bool privileged = false;
  u8 vmid = 0;
  static constexpr void fields(auto& p, auto f) {
    f("RB_ENABLE", word(0, 0, 0), p.enable);
    f("RB_SIZE", word(0, 5, 1), p.size_log2);
    f("F32_WPTR_POLL_ENABLE", word(0, 11, 11), p.poll_write_pointer);
    f("RPTR_WRITEBACK_ENABLE", word(0, 12, 12), p.write_read_pointer);
    f("RPTR_WRITEBACK_TIMER", word(0, 20, 16), p.read_pointer_timer);
    f("RB_PRIV", word(0, 23, 23), p.privileged);
    f("RB_VMID", word(0, 27, 24), p.vmid);
  }
};
static_assert(sound<CopyRingControl>());

// S2A_DOORBELL_ENTRY_*_CTRL: which doorbells the bus interface passes on, and to whom.
// [nbio_v4_3.c nbio_v4_3_sdma_doorbell_range()]
struct DoorbellEntry {
  static constexpr u32 kWords = 1;
  bool enable = false;
  u8 awid = 0;
  u16 offset = 0;  // first doorbell, in 32-bit words
  u8 size = 0;     // in eights of words; 0: all
  u8 address_31_28 = 0;
  static constexpr void fields(auto& p, auto f) {
    f("S2A_DOORBELL_PORT_ENABLE", word(0, 0, 0), p.enable);
    f("S2A_DOORBELL_PORT_AWID", word(0, 5, 1), p.awid);
    f("S2A_DOORBELL_PORT_RANGE_OFFSET", word(0, 16, 7), p.offset);
    f("S2A_DOORBELL_PORT_RANGE_SIZE", word(0, 24, 17), p.size);
    f("S2A_DOORBELL_PORT_AWADDR_31_28_VALUE", word(0, 31, 28), p.address_31_28);
  }
};
static_assert(sound<DoorbellEntry>());

// DOORBELL0_CTRL_ENTRY_1 of NBIO 7.9: the doorbells of the first copy engine.
// [nbio_v7_9.c nbio_v7_9_sdma_doorbell_range(); tinygrad ip.py AM_SDMA.init_hw()]
struct DoorbellRange {
  static constexpr u32 kWords = 1;
  u16 offset = 0;  // in 32-bit words
  u8 size = 0;
  static constexpr void fields(auto& p, auto f) {
    f("BIF_DOORBELL1_RANGE_OFFSET_ENTRY", word(0, 9, 0), p.offset);
    f("BIF_DOORBELL1_RANGE_SIZE_ENTRY", word(0, 14, 10), p.size);
  }
};
static_assert(sound<DoorbellRange>());
inline constexpr u8 kCopyDoorbells = 20;

}  // namespace doorbell::amd::hw
