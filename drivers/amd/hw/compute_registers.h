// COMPUTE_*: the registers that a launch reads. kXxx says where a register lies, a record says what
// is in it; records of several words lie in consecutive registers. Written by set_sh_reg()
// (pm4/set_register.h), or by the command processor out of a kernel descriptor (aql.h).
//
// Addresses: [torvalds/linux asic_reg/gc/gc_9_4_3_offset.h (base 0x2000), gc_10_3_0_offset.h,
// gc_11_0_0_offset.h, gc_12_0_0_offset.h (base 0x1260)]; fields: the _sh_mask.h beside them.
#pragma once

#include <string_view>

#include "base/bits/record.h"
#include "drivers/amd/hw/generation.h"

namespace doorbell::amd::hw {

inline constexpr Register kComputeDispatchInitiator =
    everywhere("COMPUTE_DISPATCH_INITIATOR", 0x2e00);
inline constexpr Register kComputeStartX = everywhere("COMPUTE_START_X", 0x2e04);
inline constexpr Register kComputeNumThreadX = everywhere("COMPUTE_NUM_THREAD_X", 0x2e07);
inline constexpr Register kComputePgmLo = everywhere("COMPUTE_PGM_LO", 0x2e0c);
inline constexpr Register kComputeDispatchPktAddrLo =
    everywhere("COMPUTE_DISPATCH_PKT_ADDR_LO", 0x2e0e);
inline constexpr Register kComputeDispatchScratchBaseLo =
    everywhere("COMPUTE_DISPATCH_SCRATCH_BASE_LO", 0x2e10);
inline constexpr Register kComputePgmRsrc1 = everywhere("COMPUTE_PGM_RSRC1", 0x2e12);
inline constexpr Register kComputePgmRsrc2 = everywhere("COMPUTE_PGM_RSRC2", 0x2e13);
inline constexpr Register kComputeVmid = everywhere("COMPUTE_VMID", 0x2e14);
inline constexpr Register kComputeResourceLimits = everywhere("COMPUTE_RESOURCE_LIMITS", 0x2e15);
inline constexpr Register kComputeStaticThreadMgmtSe0 =
    everywhere("COMPUTE_STATIC_THREAD_MGMT_SE0", 0x2e16);
inline constexpr Register kComputeTmpringSize = everywhere("COMPUTE_TMPRING_SIZE", 0x2e18);
inline constexpr Register kComputeStaticThreadMgmtSe2 =
    everywhere("COMPUTE_STATIC_THREAD_MGMT_SE2", 0x2e19);
inline constexpr Register kComputeRestartX = everywhere("COMPUTE_RESTART_X", 0x2e1b);
inline constexpr Register kComputeThreadTraceEnable =
    everywhere("COMPUTE_THREAD_TRACE_ENABLE", 0x2e1e);
inline constexpr Register kComputeUserData0 = everywhere("COMPUTE_USER_DATA_0", 0x2e40);
inline constexpr Register kComputePgmRsrc3{"COMPUTE_PGM_RSRC3", 0x2e2d, 0x2e28, 0x2e28, 0x2e28};
inline constexpr Register kComputeStaticThreadMgmtSe4{"COMPUTE_STATIC_THREAD_MGMT_SE4", 0, 0x2e2b,
                                                      0x2e2b, 0x2e2b};
inline constexpr Register kComputeDispatchInterleave{"COMPUTE_DISPATCH_INTERLEAVE", 0, 0x2e2f,
                                                     0x2e2f, 0x2e2f};
inline constexpr Register kComputeTgChunkSize{"COMPUTE_TG_CHUNK_SIZE", 0x2e27, 0, 0, 0};
inline constexpr u32 kUserDataRegisters = 16;  // of COMPUTE_USER_DATA

// Writing ones to the first asks for the host's writes through the PCI aperture to reach memory;
// the second then shows the same bits. [nbio_7_9_0_offset.h, nbio_4_3_0_offset.h,
// nbif_6_3_1_offset.h regBIF_BX_PF0_GPU_HDP_FLUSH_REQ, _DONE: 0x106, 0x107 behind base 0xd20;
// tinygrad ops_amd.py memory_barrier]
inline constexpr Register kHdpFlushReq = everywhere("BIF_BX_PF_GPU_HDP_FLUSH_REQ", 0xe26);
inline constexpr Register kHdpFlushDone = everywhere("BIF_BX_PF_GPU_HDP_FLUSH_DONE", 0xe27);

// Name of an SH register ("COMPUTE_USER_DATA_3"), or empty.
std::string_view register_name(Generation generation, u32 address);

// The grid's first work group, in work groups; used without force_start_at_000.
// [gc_11_0_0_sh_mask.h COMPUTE_START_X..Z]
struct ComputeStart {
  static constexpr u32 kWords = 3;
  static constexpr const Register& kRegister = kComputeStartX;
  u32 x = 0, y = 0, z = 0;
  static constexpr void fields(auto& p, auto f) {
    f("x", word(0), p.x);
    f("y", word(1), p.y);
    f("z", word(2), p.z);
  }
};
static_assert(sound<ComputeStart>());

// Threads of a work group; `partial` is the size of the last one where partial_tg_en asks.
// [gc_11_0_0_sh_mask.h COMPUTE_NUM_THREAD_X..Z; gfx12 has 13 bits of `full` and uses the rest of
// that half for interleaving: GPUOpen-Drivers/pal gfx12_merged_mask.h]
struct ComputeNumThread {
  static constexpr u32 kWords = 3;
  static constexpr const Register& kRegister = kComputeNumThreadX;
  u16 x = 1, y = 1, z = 1;
  u16 x_partial = 0, y_partial = 0, z_partial = 0;
  static constexpr void fields(auto& p, auto f) {
    f("x", word(0, 15, 0), p.x);
    f("x_partial", word(0, 31, 16), p.x_partial);
    f("y", word(1, 15, 0), p.y);
    f("y_partial", word(1, 31, 16), p.y_partial);
    f("z", word(2, 15, 0), p.z);
    f("z_partial", word(2, 31, 16), p.z_partial);
  }
};
static_assert(sound<ComputeNumThread>());

// The first instruction; code begins at a multiple of 256 bytes.
// [gc_11_0_0_sh_mask.h COMPUTE_PGM_LO, COMPUTE_PGM_HI__DATA 7:0]
struct ComputePgm {
  static constexpr u32 kWords = 2;
  static constexpr const Register& kRegister = kComputePgmLo;
  u64 entry = 0;
  static constexpr void fields(auto& p, auto f) { f("entry", Bits{39, 0}, p.entry, Shift{8}); }
};
static_assert(sound<ComputePgm>());

// Where the kernel's dispatch packet lies: what a debugger reads of a wave.
// [gc_11_0_0_sh_mask.h COMPUTE_DISPATCH_PKT_ADDR_LO, _HI]
struct ComputeDispatchPktAddr {
  static constexpr u32 kWords = 2;
  static constexpr const Register& kRegister = kComputeDispatchPktAddrLo;
  u64 addr = 0;
  static constexpr void fields(auto& p, auto f) { f("addr", Bits{39, 0}, p.addr, Shift{8}); }
};
static_assert(sound<ComputeDispatchPktAddr>());

// The scratch of all waves, where the chip adds it to the waves' flat scratch by itself
// ("architected flat scratch": gfx942, gfx11 and later).
// [gc_11_0_0_sh_mask.h COMPUTE_DISPATCH_SCRATCH_BASE_LO, _HI__DATA 7:0]
struct ComputeDispatchScratchBase {
  static constexpr u32 kWords = 2;
  static constexpr const Register& kRegister = kComputeDispatchScratchBaseLo;
  u64 base = 0;
  static constexpr void fields(auto& p, auto f) { f("base", Bits{39, 0}, p.base, Shift{8}); }
};
static_assert(sound<ComputeDispatchScratchBase>());

// Limits on what of the chip a grid may fill; all zero: no limit.
// [gc_11_0_0_sh_mask.h COMPUTE_RESOURCE_LIMITS; simd_disable: gfx9]
struct ComputeResourceLimits {
  static constexpr u32 kWords = 1;
  static constexpr const Register& kRegister = kComputeResourceLimits;
  u16 waves_per_sh = 0;
  u8 tg_per_cu = 0, lock_threshold = 0;
  bool simd_dest_cntl = false, force_simd_dist = false;
  u8 cu_group_count = 0, simd_disable = 0;
  static constexpr void fields(auto& p, auto f) {
    f("waves_per_sh", word(0, 9, 0), p.waves_per_sh);
    f("tg_per_cu", word(0, 15, 12), p.tg_per_cu);
    f("lock_threshold", word(0, 21, 16), p.lock_threshold);
    f("simd_dest_cntl", word(0, 22, 22), p.simd_dest_cntl);
    f("force_simd_dist", word(0, 23, 23), p.force_simd_dist);
    f("cu_group_count", word(0, 26, 24), p.cu_group_count);
    f("simd_disable", word(0, 30, 27), p.simd_disable);
  }
};
static_assert(sound<ComputeResourceLimits>());

// Scratch: how many waves may have some at a time, and how much each. wave_size counts 1 KiB up to
// gfx10 and 256 bytes from gfx11 on; the field grew twice. The chip hands out waves*wave_size.
// [gc_9_4_3_sh_mask.h COMPUTE_TMPRING_SIZE__WAVES, __WAVESIZE 24:12; units: Mesa
// src/amd/common/ac_gpu_info.c scratch_wavesize_granularity]
struct ComputeTmpringSizeGfx9 {
  static constexpr u32 kWords = 1;
  static constexpr const Register& kRegister = kComputeTmpringSize;
  static constexpr u32 kUnit = 1024;
  u16 waves = 0;
  u32 wave_size = 0;
  static constexpr void fields(auto& p, auto f) {
    f("waves", word(0, 11, 0), p.waves);
    f("wave_size", word(0, 24, 12), p.wave_size);
  }
};
static_assert(sound<ComputeTmpringSizeGfx9>());

// [gc_11_0_0_sh_mask.h COMPUTE_TMPRING_SIZE__WAVESIZE 26:12]
struct ComputeTmpringSizeGfx11 {
  static constexpr u32 kWords = 1;
  static constexpr const Register& kRegister = kComputeTmpringSize;
  static constexpr u32 kUnit = 256;
  u16 waves = 0;
  u32 wave_size = 0;
  static constexpr void fields(auto& p, auto f) {
    f("waves", word(0, 11, 0), p.waves);
    f("wave_size", word(0, 26, 12), p.wave_size);
  }
};
static_assert(sound<ComputeTmpringSizeGfx11>());

// [gc_12_0_0_sh_mask.h COMPUTE_TMPRING_SIZE__WAVESIZE 29:12]
struct ComputeTmpringSizeGfx12 {
  static constexpr u32 kWords = 1;
  static constexpr const Register& kRegister = kComputeTmpringSize;
  static constexpr u32 kUnit = 256;
  u16 waves = 0;
  u32 wave_size = 0;
  static constexpr void fields(auto& p, auto f) {
    f("waves", word(0, 11, 0), p.waves);
    f("wave_size", word(0, 29, 12), p.wave_size);
  }
};
static_assert(sound<ComputeTmpringSizeGfx12>());

// Where a launch that was cut short goes on; 0 for a new one.
// [gc_11_0_0_sh_mask.h COMPUTE_RESTART_X..Z]
struct ComputeRestart {
  static constexpr u32 kWords = 3;
  static constexpr const Register& kRegister = kComputeRestartX;
  u32 x = 0, y = 0, z = 0;
  static constexpr void fields(auto& p, auto f) {
    f("x", word(0), p.x);
    f("y", word(1), p.y);
    f("z", word(2), p.z);
  }
};
static_assert(sound<ComputeRestart>());

}  // namespace doorbell::amd::hw
