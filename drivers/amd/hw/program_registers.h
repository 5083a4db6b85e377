// COMPUTE_PGM_RSRC1 to 3: what a kernel needs of a wave. A compiler writes them into the kernel
// descriptor (abi/kernel_descriptor.h); a driver adds what only it knows (LDS, traps) and puts them
// into the registers.
#pragma once

#include "drivers/amd/hw/compute_registers.h"

namespace doorbell::amd::hw {

// Registers and modes of a wave. vgprs and sgprs count granules less one: of 8 VGPRs (wave32 and
// gfx90a+; 4 in wave64), of 16 SGPRs on gfx9, sgprs 0 from gfx10 on. float_mode: round 32, round
// 16/64, denormals 32, denormals 16/64, two bits each.
// [gc_9_4_3_sh_mask.h, gc_11_0_0_sh_mask.h COMPUTE_PGM_RSRC1; LLVM AMDGPUUsage "compute_pgm_rsrc1
// for GFX6-GFX12"]
struct ComputePgmRsrc1 {
  static constexpr u32 kWords = 1;
  static constexpr const Register& kRegister = kComputePgmRsrc1;
  u8 vgprs = 0, sgprs = 0, priority = 0, float_mode = 0;
  bool priv = false;
  bool dx10_clamp = false;  // gfx12: wg_rr_en
  bool debug_mode = false;
  bool ieee_mode = false;  // gfx12: disable_perf
  bool bulky = false, cdbg_user = false, fp16_ovfl = false;
  bool wgp_mode = false, mem_ordered = false, fwd_progress = false;  // gfx10+
  static constexpr void fields(auto& p, auto f) {
    f("vgprs", word(0, 5, 0), p.vgprs);
    f("sgprs", word(0, 9, 6), p.sgprs);
    f("priority", word(0, 11, 10), p.priority);
    f("float_mode", word(0, 19, 12), p.float_mode);
    f("priv", word(0, 20, 20), p.priv);
    f("dx10_clamp", word(0, 21, 21), p.dx10_clamp);
    f("debug_mode", word(0, 22, 22), p.debug_mode);
    f("ieee_mode", word(0, 23, 23), p.ieee_mode);
    f("bulky", word(0, 24, 24), p.bulky);
    f("cdbg_user", word(0, 25, 25), p.cdbg_user);
    f("fp16_ovfl", word(0, 26, 26), p.fp16_ovfl);
    f("wgp_mode", word(0, 29, 29), p.wgp_mode);
    f("mem_ordered", word(0, 30, 30), p.mem_ordered);
    f("fwd_progress", word(0, 31, 31), p.fwd_progress);
  }
};
static_assert(sound<ComputePgmRsrc1>());

// What a wave finds in its registers at the start, and the LDS of a work group in units of 512
// bytes (gfx950: 1280). A compiler leaves lds_size 0. [gc_11_0_0_sh_mask.h COMPUTE_PGM_RSRC2; LLVM
// AMDGPUUsage "compute_pgm_rsrc2 for GFX6-GFX12"]
struct ComputePgmRsrc2 {
  static constexpr u32 kWords = 1;
  static constexpr const Register& kRegister = kComputePgmRsrc2;
  bool scratch_en = false;
  u8 user_sgpr = 0;           // how many of COMPUTE_USER_DATA go to SGPRs 0 and up
  bool trap_present = false;  // gfx12: dynamic_vgpr
  bool tgid_x_en = false, tgid_y_en = false, tgid_z_en = false, tg_size_en = false;
  u8 tidig_comp_cnt = 0;  // work-item ids in VGPRs: 0 x, 1 x y, 2 x y z
  u8 excp_en_msb = 0;
  u16 lds_size = 0;
  u8 excp_en = 0;
  bool skip_usgpr0 = false;  // gfx9; gfx12: wgp_takeover
  static constexpr void fields(auto& p, auto f) {
    f("scratch_en", word(0, 0, 0), p.scratch_en);
    f("user_sgpr", word(0, 5, 1), p.user_sgpr);
    f("trap_present", word(0, 6, 6), p.trap_present);
    f("tgid_x_en", word(0, 7, 7), p.tgid_x_en);
    f("tgid_y_en", word(0, 8, 8), p.tgid_y_en);
    f("tgid_z_en", word(0, 9, 9), p.tgid_z_en);
    f("tg_size_en", word(0, 10, 10), p.tg_size_en);
    f("tidig_comp_cnt", word(0, 12, 11), p.tidig_comp_cnt);
    f("excp_en_msb", word(0, 14, 13), p.excp_en_msb);
    f("lds_size", word(0, 23, 15), p.lds_size);
    f("excp_en", word(0, 30, 24), p.excp_en);
    f("skip_usgpr0", word(0, 31, 31), p.skip_usgpr0);
  }
};
static_assert(sound<ComputePgmRsrc2>());

// gfx90a, gfx942, gfx950: where the accumulation registers begin, in granules of 4 VGPRs less one.
// [gc_9_4_3_sh_mask.h COMPUTE_PGM_RSRC3]
struct ComputePgmRsrc3Gfx9 {
  static constexpr u32 kWords = 1;
  static constexpr const Register& kRegister = kComputePgmRsrc3;
  u8 accum_offset = 0;
  bool trap_on_start = false, trap_on_end = false, tg_split = false;
  static constexpr void fields(auto& p, auto f) {
    f("accum_offset", word(0, 5, 0), p.accum_offset);
    f("trap_on_start", word(0, 10, 10), p.trap_on_start);
    f("trap_on_end", word(0, 11, 11), p.trap_on_end);
    f("tg_split", word(0, 16, 16), p.tg_split);
  }
};
static_assert(sound<ComputePgmRsrc3Gfx9>());

// [gc_11_0_0_sh_mask.h COMPUTE_PGM_RSRC3; gfx10 has shared_vgpr_cnt only]
struct ComputePgmRsrc3Gfx10 {
  static constexpr u32 kWords = 1;
  static constexpr const Register& kRegister = kComputePgmRsrc3;
  u8 shared_vgpr_cnt = 0;
  u8 inst_pref_size = 0;  // gfx11: lines of 128 bytes to fetch ahead
  bool trap_on_start = false, trap_on_end = false, image_op = false;
  static constexpr void fields(auto& p, auto f) {
    f("shared_vgpr_cnt", word(0, 3, 0), p.shared_vgpr_cnt);
    f("inst_pref_size", word(0, 9, 4), p.inst_pref_size);
    f("trap_on_start", word(0, 10, 10), p.trap_on_start);
    f("trap_on_end", word(0, 11, 11), p.trap_on_end);
    f("image_op", word(0, 31, 31), p.image_op);
  }
};
static_assert(sound<ComputePgmRsrc3Gfx10>());

// [gc_12_0_0_sh_mask.h COMPUTE_PGM_RSRC3]
struct ComputePgmRsrc3Gfx12 {
  static constexpr u32 kWords = 1;
  static constexpr const Register& kRegister = kComputePgmRsrc3;
  u8 shared_vgpr_cnt = 0;
  u8 inst_pref_size = 0;
  bool glg_en = false, image_op = false;
  static constexpr void fields(auto& p, auto f) {
    f("shared_vgpr_cnt", word(0, 3, 0), p.shared_vgpr_cnt);
    f("inst_pref_size", word(0, 11, 4), p.inst_pref_size);
    f("glg_en", word(0, 13, 13), p.glg_en);
    f("image_op", word(0, 31, 31), p.image_op);
  }
};
static_assert(sound<ComputePgmRsrc3Gfx12>());

// The buffer resource of scratch that gfx10 and older expect in SGPRs 0 to 3: words 0 and 1 base,
// stride and swizzle, word 2 its size, word 3 its format.
// [LLVM AMDGPUUsage "Private Segment Buffer"; ROCR-Runtime amd_aql_queue.cpp FillBufRsrcWord0..3;
// torvalds/linux gc_10_3_0_sh_mask.h SQ_BUF_RSRC_WORD0..3]
struct ScratchResource {
  static constexpr u32 kWords = 4;
  u64 base = 0;
  u16 stride = 0;
  bool cache_swizzle = false;
  bool swizzle_enable = true;
  u32 records = 0;     // bytes
  u32 unk_127_96 = 0;  // the format word, which differs by generation
  static constexpr void fields(auto& p, auto f) {
    f("base", Bits{47, 0}, p.base);
    f("stride", word(1, 29, 16), p.stride);
    f("cache_swizzle", word(1, 30, 30), p.cache_swizzle);
    f("swizzle_enable", word(1, 31, 31), p.swizzle_enable);
    f("records", word(2), p.records);
    f("unk_127_96", word(3), p.unk_127_96);
  }
};
static_assert(sound<ScratchResource>());

// [torvalds/linux gc_10_3_0_sh_mask.h SQ_BUF_RSRC_WORD3__INDEX_STRIDE]
enum class IndexStride : u8 { Items8, Items16, Items32, Items64 };

// The format word of a ScratchResource on gfx10. With add_tid_enable an item's offset counts in
// elements of one word, of which `index_stride` items' lie side by side.
// [torvalds/linux gc_10_3_0_sh_mask.h SQ_BUF_RSRC_WORD3; Mesa src/amd/compiler
// aco_instruction_selection.cpp, get_scratch_resource()]
struct ScratchFormatGfx10 {
  static constexpr u32 kWords = 1;
  static constexpr u8 kFormat32Float = 0x16;
  static constexpr u8 kOutOfBoundsRaw = 3;
  u8 dst_sel_x = 0, dst_sel_y = 0, dst_sel_z = 0, dst_sel_w = 0;
  u8 format = kFormat32Float;
  IndexStride index_stride = IndexStride::Items32;
  bool add_tid_enable = true;
  bool resource_level = true;
  u8 oob_select = kOutOfBoundsRaw;
  u8 type = 0;
  static constexpr void fields(auto& p, auto f) {
    f("dst_sel_x", word(0, 2, 0), p.dst_sel_x);
    f("dst_sel_y", word(0, 5, 3), p.dst_sel_y);
    f("dst_sel_z", word(0, 8, 6), p.dst_sel_z);
    f("dst_sel_w", word(0, 11, 9), p.dst_sel_w);
    f("format", word(0, 18, 12), p.format);
    f("index_stride", word(0, 22, 21), p.index_stride);
    f("add_tid_enable", word(0, 23, 23), p.add_tid_enable);
    f("resource_level", word(0, 24, 24), p.resource_level);
    f("oob_select", word(0, 29, 28), p.oob_select);
    f("type", word(0, 31, 30), p.type);
  }
};
static_assert(sound<ScratchFormatGfx10>());

// The same on gfx9, where the format is one of numbers and one of data.
// [ROCR-Runtime src/core/inc/registers.h SQ_BUF_RSRC_WORD3]
struct ScratchFormatGfx9 {
  static constexpr u32 kWords = 1;
  static constexpr u8 kNumberUint = 4, kData32 = 4, kElement4Bytes = 1;
  u8 dst_sel_x = 0, dst_sel_y = 0, dst_sel_z = 0, dst_sel_w = 0;
  u8 num_format = kNumberUint, data_format = kData32, element_size = kElement4Bytes;
  IndexStride index_stride = IndexStride::Items64;
  bool add_tid_enable = true;
  u8 type = 0;
  static constexpr void fields(auto& p, auto f) {
    f("dst_sel_x", word(0, 2, 0), p.dst_sel_x);
    f("dst_sel_y", word(0, 5, 3), p.dst_sel_y);
    f("dst_sel_z", word(0, 8, 6), p.dst_sel_z);
    f("dst_sel_w", word(0, 11, 9), p.dst_sel_w);
    f("num_format", word(0, 14, 12), p.num_format);
    f("data_format", word(0, 18, 15), p.data_format);
    f("element_size", word(0, 20, 19), p.element_size);
    f("index_stride", word(0, 22, 21), p.index_stride);
    f("add_tid_enable", word(0, 23, 23), p.add_tid_enable);
    f("type", word(0, 31, 30), p.type);
  }
};
static_assert(sound<ScratchFormatGfx9>());

// What an AQL queue tells of its scratch (AmdQueue::scratch_resource_descriptor). The command
// processor fills in the index stride, which is that of the kernel's waves, but on gfx9. Swizzling
// is a field of two bits from gfx11 on. `bytes` are those of one XCC.
// [ROCR-Runtime amd_aql_queue.cpp InitScratchSRD, FillBufRsrcWord1_Gfx11, FillBufRsrcWord3,
// _Gfx10, _Gfx11, _Gfx12]
constexpr ScratchResource queue_scratch(Generation generation, u64 base, u32 bytes) {
  constexpr u8 kX = 4, kY = 5, kZ = 6, kW = 7;  // SQ_SEL_X and up
  constexpr u8 kFormat32Uint = 0x14, kNoBoundsWhenSwizzled = 2;
  ScratchResource resource{.base = base, .records = bytes};
  if (generation == Generation::Gfx9) {
    resource.unk_127_96 = encode(
        ScratchFormatGfx9{.dst_sel_x = kX, .dst_sel_y = kY, .dst_sel_z = kZ, .dst_sel_w = kW})[0];
    return resource;
  }
  if (generation >= Generation::Gfx11) {
    resource.cache_swizzle = true;  // the lower of SWIZZLE_ENABLE's bits
    resource.swizzle_enable = false;
  }
  resource.unk_127_96 = encode(ScratchFormatGfx10{.dst_sel_x = kX,
                                                  .dst_sel_y = kY,
                                                  .dst_sel_z = kZ,
                                                  .dst_sel_w = kW,
                                                  .format = kFormat32Uint,
                                                  .index_stride = IndexStride::Items8,
                                                  .resource_level = generation == Generation::Gfx10,
                                                  .oob_select = kNoBoundsWhenSwizzled})[0];
  return resource;
}

}  // namespace doorbell::amd::hw
