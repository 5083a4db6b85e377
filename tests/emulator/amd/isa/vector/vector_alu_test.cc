// Vector instructions one by one: operands in v1, v2, v3 (pairs from v2, v4, v6 for 64 bits) and
// the result in v0, against literals worked out by hand from the ISA documents' definitions.
#include <gtest/gtest.h>

#include <bit>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;

u32 bits(f32 value) { return std::bit_cast<u32>(value); }

struct Case {
  const char* chips;  // "*": all four
  const char* text;
  u32 a, b, c;  // v1, v2, v3
  u32 expected;
  u32 before = 0xdeadbeef;  // v0
};

constexpr u32 kInf = 0x7f800000, kNan = 0x7fc00000, kMinusZero = 0x80000000;

const Case kCases[] = {
    // f32
    {"*", "v_add_f32 v0, v1, v2", bits(1.5f), bits(2.25f), 0, bits(3.75f)},
    {"*", "v_sub_f32 v0, v1, v2", bits(1.5f), bits(2.25f), 0, bits(-0.75f)},
    {"*", "v_subrev_f32 v0, v1, v2", bits(1.5f), bits(2.25f), 0, bits(0.75f)},
    {"*", "v_mul_f32 v0, 0.5, v2", 0, bits(-8.0f), 0, bits(-4.0f)},
    {"*", "v_mul_f32 v0, 0x40490fdb, v2", 0, bits(2.0f), 0, 0x40c90fdb},
    {"*", "v_fma_f32 v0, v1, v2, v3", bits(3.0f), bits(5.0f), bits(0.5f), bits(15.5f)},
    {"*", "v_fma_f32 v0, -v1, |v2|, v3", bits(3.0f), bits(-5.0f), bits(1.0f), bits(-14.0f)},
    {"*", "v_fma_f32 v0, v1, v2, v3 clamp", bits(3.0f), bits(5.0f), bits(0.5f), bits(1.0f)},
    {"*", "v_add_f32_e64 v0, v1, v2 mul:4", bits(1.5f), bits(2.5f), 0, bits(16.0f)},
    {"*", "v_add_f32_e64 v0, -v1, v2 div:2", bits(1.5f), bits(2.5f), 0, bits(0.5f)},
    {"gfx1030 gfx1100 gfx1201 gfx942", "v_fmac_f32 v0, v1, v2", bits(3.0f), bits(4.0f), 0,
     bits(13.0f), bits(1.0f)},
    // 1 + 2^-24 + 2^-25 in one rounding is 1 + 2^-23; in two it would be 1.
    {"*", "v_fma_f32 v0, v1, v2, v3", bits(1.0f), bits(0x1.8p-24f), bits(1.0f),
     bits(0x1.000002p0f)},
    // (2^8 + 2^-15) + (2^-16 - 2^-62) is less than half an ulp above the addend, and half of one as
    // a double; times 2^64.
    {"*", "s_mov_b32 vcc_lo, -1\ns_mov_b32 vcc_hi, -1\nv_div_fmas_f32 v0, v1, v2, v3",
     bits(0x1.000002p-16f), bits(0x1.fffffcp-1f), bits(0x1.000002p8f), bits(0x1.000002p72f)},
    {"gfx1100 gfx1030 gfx942", "v_min_f32 v0, v1, v2", kMinusZero, 0, 0, kMinusZero},
    {"gfx1100 gfx1030 gfx942", "v_max_f32 v0, v1, v2", kMinusZero, 0, 0, 0},
    {"gfx1100 gfx1030 gfx942", "v_min_f32 v0, v1, v2", kNan, bits(3.0f), 0, bits(3.0f)},
    {"gfx1201", "v_min_num_f32 v0, v1, v2", kNan, bits(3.0f), 0, bits(3.0f)},
    {"gfx1201", "v_minimum_f32 v0, v1, v2", kNan, bits(3.0f), 0, kNan},
    {"gfx1100 gfx1030 gfx942", "v_med3_f32 v0, v1, v2, v3", bits(5.0f), bits(-1.0f), bits(2.0f),
     bits(2.0f)},
    {"gfx1100 gfx1030 gfx942", "v_max3_f32 v0, v1, v2, v3", bits(5.0f), bits(-1.0f), bits(2.0f),
     bits(5.0f)},
    {"*", "v_cvt_pk_u8_f32 v0, v1, 1, v3", bits(128.5f), 0, 0x11223344, 0x11228044},
    {"*", "v_cvt_pk_u8_f32 v0, v1, 0, v3", bits(129.5f), 0, 0, 130},
    {"gfx1100 gfx1201", "v_cvt_nearest_i32_f32 v0, v1", bits(0x1.fffffep-2f), 0, 0, 0},
    {"gfx1100 gfx1201", "v_cvt_nearest_i32_f32 v0, v1", kNan, 0, 0, 0x7fffffff},
    {"gfx1100 gfx1201", "v_cvt_floor_i32_f32 v0, v1", 0xffc00000, 0, 0, 0x80000000},
    {"*", "v_floor_f32 v0, v1", bits(-1.5f), 0, 0, bits(-2.0f)},
    {"*", "v_ceil_f32 v0, v1", bits(-1.5f), 0, 0, bits(-1.0f)},
    {"*", "v_trunc_f32 v0, v1", bits(-1.5f), 0, 0, bits(-1.0f)},
    {"*", "v_rndne_f32 v0, v1", bits(2.5f), 0, 0, bits(2.0f)},
    {"*", "v_fract_f32 v0, v1", bits(-0.25f), 0, 0, bits(0.75f)},
    {"*", "v_rcp_f32 v0, v1", bits(4.0f), 0, 0, bits(0.25f)},
    {"*", "v_rcp_f32 v0, v1", 0, 0, 0, kInf},
    {"*", "v_rsq_f32 v0, v1", bits(4.0f), 0, 0, bits(0.5f)},
    {"*", "v_sqrt_f32 v0, v1", bits(9.0f), 0, 0, bits(3.0f)},
    {"*", "v_exp_f32 v0, v1", bits(-3.0f), 0, 0, bits(0.125f)},
    {"*", "v_log_f32 v0, v1", bits(32.0f), 0, 0, bits(5.0f)},
    {"*", "v_sin_f32 v0, v1", bits(0.25f), 0, 0, bits(1.0f)},
    {"*", "v_cos_f32 v0, v1", bits(0.5f), 0, 0, bits(-1.0f)},
    {"*", "v_ldexp_f32 v0, v1, v2", bits(1.5f), 4, 0, bits(24.0f)},
    {"*", "v_frexp_exp_i32_f32 v0, v1", bits(12.0f), 0, 0, 4},
    {"*", "v_frexp_mant_f32 v0, v1", bits(12.0f), 0, 0, bits(0.75f)},
    // conversions
    {"*", "v_cvt_f32_i32 v0, v1", 0xfffffff6, 0, 0, bits(-10.0f)},
    {"*", "v_cvt_f32_u32 v0, v1", 0xfffffff6, 0, 0, bits(4294967296.0f)},
    {"*", "v_cvt_i32_f32 v0, v1", bits(-3.9f), 0, 0, 0xfffffffd},
    {"*", "v_cvt_i32_f32 v0, v1", bits(3e9f), 0, 0, 0x7fffffff},
    {"*", "v_cvt_i32_f32 v0, v1", kNan, 0, 0, 0},
    {"*", "v_cvt_u32_f32 v0, v1", bits(-3.0f), 0, 0, 0},
    {"*", "v_cvt_u32_f32 v0, v1", bits(3e9f), 0, 0, 3000000000u},
    {"*", "v_cvt_f32_ubyte2 v0, v1", 0x00c80000, 0, 0, bits(200.0f)},
    {"gfx1030 gfx942", "v_cvt_f16_f32 v0, v1", bits(-2.5f), 0, 0, 0xc100, 0},
    {"gfx1100", "v_cvt_f16_f32 v0.l, v1", bits(-2.5f), 0, 0, 0xdeadc100},
    {"gfx1100", "v_cvt_f16_f32 v0.h, v1", bits(-2.5f), 0, 0, 0xc100beef},
    {"gfx1030 gfx942", "v_cvt_f32_f16 v0, v1", 0x3555, 0, 0, 0x3eaaa000},
    {"gfx1100", "v_cvt_f32_f16 v0, v1.h", 0x35550000, 0, 0, 0x3eaaa000},
    {"gfx1100", "v_cvt_pk_rtz_f16_f32 v0, v1, v2", bits(65519.0f), bits(1.0f), 0, 0x3c007bff},
    {"gfx1100", "v_cvt_pk_u8_f32 v0, v1, 2, v3", bits(77.4f), 0, 0x11223344, 0x114d3344},
    {"gfx1100", "v_cvt_pk_norm_i16_f32 v0, v1, v2", bits(1.0f), bits(-1.0f), 0, 0x80017fff},
    // integers
    {"gfx1030 gfx1100 gfx1201", "v_add_nc_u32 v0, v1, v2", 0xffffffff, 3, 0, 2},
    {"gfx942", "v_add_u32 v0, v1, v2", 0xffffffff, 3, 0, 2},
    {"gfx1030 gfx1100 gfx1201", "v_add_nc_u32_e64 v0, v1, v2 clamp", 0xffffffff, 3, 0, 0xffffffff},
    {"gfx1030 gfx1100 gfx1201", "v_sub_nc_u32_e64 v0, v1, v2 clamp", 2, 3, 0, 0},
    {"gfx1030 gfx1100 gfx1201", "v_sub_nc_i32 v0, v1, v2 clamp", 0x80000000, 3, 0, 0x80000000},
    {"*", "v_mul_lo_u32 v0, v1, v2", 0x12345678, 0x1000, 0, 0x45678000},
    {"*", "v_mul_hi_u32 v0, v1, v2", 0x80000000, 6, 0, 3},
    {"*", "v_mul_hi_i32 v0, v1, v2", 0xffffffff, 6, 0, 0xffffffff},
    {"*", "v_mul_u32_u24 v0, v1, v2", 0xff000003, 0x02000005, 0, 15},
    {"*", "v_mad_i32_i24 v0, v1, v2, v3", 0x00ffffff, 7, 100, 93},
    {"*", "v_lshlrev_b32 v0, 4, v2", 0, 0x12345678, 0, 0x23456780},
    {"*", "v_lshrrev_b32 v0, v1, v2", 33, 0x80000000, 0, 0x40000000},
    {"*", "v_ashrrev_i32 v0, 8, v2", 0, 0x80000000, 0, 0xff800000},
    {"*", "v_lshl_add_u32 v0, v1, 3, v3", 5, 0, 7, 47},
    {"*", "v_add_lshl_u32 v0, v1, v2, 2", 5, 6, 0, 44},
    {"*", "v_and_or_b32 v0, v1, v2, v3", 0xff00, 0x1230, 0x4, 0x1204},
    {"*", "v_or3_b32 v0, v1, v2, v3", 1, 2, 4, 7},
    {"*", "v_add3_u32 v0, v1, v2, v3", 1, 2, 4, 7},
    {"*", "v_xad_u32 v0, v1, v2, v3", 6, 3, 10, 15},
    {"*", "v_bfe_u32 v0, v1, 8, 12", 0x12345678, 0, 0, 0x456},
    {"*", "v_bfe_i32 v0, v1, 4, 4", 0x000000f0, 0, 0, 0xffffffff},
    {"*", "v_bfi_b32 v0, v1, v2, v3", 0xff00ff00, 0x11111111, 0x22222222, 0x11221122},
    {"*", "v_alignbit_b32 v0, v1, v2, 8", 0x11223344, 0x55667788, 0, 0x44556677},
    {"*", "v_perm_b32 v0, v1, v2, v3", 0x44332211, 0x88776655, 0x0c040007, 0x00115544},
    {"*", "v_bfrev_b32 v0, v1", 0x00000005, 0, 0, 0xa0000000},
    {"*", "v_bcnt_u32_b32 v0, v1, v2", 0xf0f0, 100, 0, 108},
    {"gfx1100 gfx1201", "v_clz_i32_u32 v0, v1", 0x00010000, 0, 0, 15},
    {"gfx942 gfx1030", "v_ffbh_u32 v0, v1", 0, 0, 0, 0xffffffff},
    {"gfx942 gfx1030", "v_ffbl_b32 v0, v1", 0x00010000, 0, 0, 16},
    {"*", "v_sad_u32 v0, v1, v2, v3", 3, 10, 5, 12},
    {"*", "v_sad_u8 v0, v1, v2, v3", 0x01020304, 0x04030201, 5, 13},
    {"*", "v_min_i32 v0, v1, v2", 0xffffffff, 1, 0, 0xffffffff},
    {"*", "v_min_u32 v0, v1, v2", 0xffffffff, 1, 0, 1},
    {"*", "v_med3_i32 v0, v1, v2, v3", 9, 0xffffffff, 4, 4},
    {"*", "v_mov_b32 v0, -4", 0, 0, 0, 0xfffffffc},
    {"*", "v_not_b32 v0, v1", 0x0f0f0f0f, 0, 0, 0xf0f0f0f0},
    // 16 bits: gfx9 zeroes the other half, later chips keep it
    {"gfx942", "v_add_f16 v0, v1, v2", 0x3c00, 0x4000, 0, 0x4200},
    {"gfx1030", "v_add_f16 v0, v1, v2", 0x3c00, 0x4000, 0, 0xdead4200},
    {"gfx1100", "v_add_f16 v0.l, v1.l, v2.h", 0x3c00, 0x40000000, 0, 0xdead4200},
    {"gfx1100", "v_add_f16 v0.h, v1.l, v2.h", 0x3c00, 0x40000000, 0, 0x4200beef},
    {"gfx1030", "v_add_nc_u16 v0, v1, v2 op_sel:[1,0,1]", 0xffff0000, 0x3, 0, 0x0002beef},
    {"gfx1030", "v_fma_f16 v0, v1, v2, v3", 0x4200, 0x4400, 0x3c00, 0xdead4a80},
    {"gfx1030", "v_mul_f16 v0, -v1, v2", 0x4200, 0x4400, 0, 0xdeadca00},
    {"gfx1030", "v_mad_u16 v0, v1, v2, v3", 300, 300, 5, 0xdead0000 | (90005 & 0xffff)},
    {"gfx1030", "v_lshlrev_b16 v0, v1, v2", 4, 0x1234, 0, 0xdead2340},
    {"gfx1030", "v_pack_b32_f16 v0, v1, v2", 0x3c00, 0x4000, 0, 0x40003c00},
    // packed
    {"*", "v_pk_add_f16 v0, v1, v2", 0x40003c00, 0x3c003c00, 0, 0x42004000},
    {"*", "v_pk_add_f16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,1]", 0x40003c00, 0x3c003c00, 0,
     0x40004200},
    {"*", "v_pk_add_f16 v0, v1, v2 neg_lo:[1,0] neg_hi:[0,1]", 0x40003c00, 0x3c003c00, 0,
     0x3c000000},
    {"*", "v_pk_fma_f16 v0, v1, v2, v3", 0x40003c00, 0x3c004000, 0x3c003c00, 0x42004200},
    {"*", "v_pk_mul_lo_u16 v0, v1, v2", 0x00030002, 0x00070005, 0, 0x0015000a},
    {"*", "v_pk_add_u16 v0, v1, v2 clamp", 0xffff0002, 0x00070005, 0, 0xffff0007},
    {"*", "v_pk_lshlrev_b16 v0, v1, v2", 0x00040008, 0x00120034, 0, 0x01203400},
    {"*", "v_pk_max_i16 v0, v1, v2", 0xffff0002, 0x00070005, 0, 0x00070005},
    {"gfx1030 gfx1100 gfx1201 gfx942",
     "v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,1]", 0x40003c00, bits(3.0f),
     0x3800, bits(6.5f)},
    {"gfx1030 gfx1100 gfx1201", "v_fma_mixhi_f16 v0, v1, v2, v3", bits(2.0f), bits(3.0f),
     bits(0.5f), 0x4680beef},
    {"*", "v_dot2_f32_f16 v0, v1, v2, v3", 0x40003c00, 0x44004200, bits(0.5f), bits(11.5f)},
    {"gfx942 gfx1030", "v_dot4_i32_i8 v0, v1, v2, v3", 0xff020304, 0x02030405, 10, 46},
    {"gfx1100 gfx1201", "v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,0,0]", 0xff020304, 0x02030405, 10,
     46},
    {"gfx1100 gfx1201", "v_dot4_i32_iu8 v0, v1, v2, v3", 0xff020304, 0x02030405, 10, 558},
    // 8-bit floats: OCP's on gfx12, FNUZ on gfx942
    {"gfx1201", "v_cvt_pk_fp8_f32 v0, v1, v2", bits(1.0f), bits(-448.0f), 0, 0xdeadfe38},
    {"gfx1201", "v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]", bits(1.1875f), bits(1e6f), 0,
     0x7f3abeef},
    {"gfx1201", "v_cvt_pk_bf8_f32 v0, v1, v2", bits(1.0f), bits(-1e9f), 0, 0xdeadfc3c},
    {"gfx1201", "v_cvt_pk_fp8_f32 v0, v1, v2", bits(0x1p-9f), kNan, 0, 0xdead7f01},
    {"gfx942", "v_cvt_pk_fp8_f32 v0, v1, v2", bits(1.0f), bits(-240.0f), 0, 0xdeadff40},
    {"gfx942", "v_cvt_pk_fp8_f32 v0, v1, v2", bits(-0.0f), bits(300.0f), 0, 0xdead8000},
    {"gfx942", "v_cvt_pk_bf8_f32 v0, v1, v2", bits(1.0f), bits(2.5f), 0, 0xdead4540},
    {"gfx942", "v_cvt_f32_fp8_sdwa v0, v1 src0_sel:BYTE_1", 0x4400, 0, 0, bits(1.5f)},
    {"gfx1201", "v_cvt_f32_fp8 v0, v1", 0x01, 0, 0, bits(0x1p-9f)},
    {"gfx1201", "v_cvt_f32_fp8_e64 v0, v1 byte_sel:2", 0x003c0000, 0, 0, bits(1.5f)},
    {"gfx1201", "v_cvt_f32_bf8_e64 v0, v1 byte_sel:1", 0xfc00, 0, 0, 0xff800000},
    // SDWA and DPP
    {"gfx942 gfx1030",
     "v_mov_b32_sdwa v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3", 0x77000000,
     0, 0, 0xdead77ef},
    {"gfx942 gfx1030",
     "v_mov_b32_sdwa v0, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1", 0x80010000,
     0, 0, 0xffff8001},
    {"gfx942 gfx1030",
     "v_mul_u32_u24_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 "
     "src1_sel:BYTE_1",
     0x0305, 0x0700, 0, 0x00230000},
    // VOPD
    {"gfx1100 gfx1201", "v_dual_add_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v2", bits(1.0f),
     bits(2.0f), 0, bits(3.0f)},
    {"gfx1100 gfx1201", "v_dual_mov_b32 v0, v1 :: v_dual_fmac_f32 v3, v0, v2\nv_mov_b32 v0, v3", 9,
     bits(2.0f), bits(1.0f), bits(5.0f), bits(2.0f)},
    {"gfx1100 gfx1201", "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0\nv_sub_nc_u32 v0, v0, v1",
     10, 0, 0, 3, 7},
    {"gfx1100 gfx1201", "v_dual_fmaak_f32 v0, v1, v2, 0x41200000 :: v_dual_mul_f32 v3, v2, v1",
     bits(1.0f), bits(2.0f), 0, bits(12.0f)},
    {"*", "v_cmp_lt_f32 vcc, v1, v2\nv_cndmask_b32 v0, v1, v2, vcc", bits(1.0f), bits(2.0f), 0,
     bits(2.0f)},
    {"*", "v_cmp_nlt_f32 vcc, v1, v2\nv_cndmask_b32 v0, v1, v2, vcc", kNan, bits(2.0f), 0,
     bits(2.0f)},
    {"*", "v_cmp_class_f32 s[10:11], v1, v2\nv_cndmask_b32 v0, 1, v2, s[10:11]", kMinusZero, 0x20,
     0, 0x20},
};

class VectorAlu : public ::testing::TestWithParam<const char*> {
 protected:
  u32 lanes() const { return std::string_view(GetParam()) == "gfx942" ? 64 : 32; }
};

// Masks are of one register in waves of 32.
std::string for_lanes(std::string text, u32 lanes) {
  if (lanes == 64) return text;
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from)) {
      text.replace(at, from.size(), to);
    }
  };
  replace("s[10:11]", "s10");
  replace(" vcc,", " vcc_lo,");
  if (text.ends_with(" vcc")) text += "_lo";
  return text;
}

TEST_P(VectorAlu, ComputesTheTable) {
  const std::string_view chip = GetParam();
  TestWave test(chip, lanes());
  for (const Case& c : kCases) {
    const std::string_view chips = c.chips;
    if (chips != "*" && chips.find(chip) == std::string_view::npos) continue;
    test.set_all(0, c.before);
    test.set_all(1, c.a);
    test.set_all(2, c.b);
    test.set_all(3, c.c);
    // The last lane is not active and keeps what it has.
    const u32 last = lanes() - 1;
    test.wave.set_mask(kExecLo, test.wave.all_lanes() & ~(u64{1} << last));
    const Exit exit = test.run(for_lanes(c.text, lanes()));
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << c.text << ": " << exit.name;
    const std::vector<u32> got = test.get(0);
    for (u32 lane = 0; lane < last; ++lane) {
      ASSERT_EQ(got[lane], c.expected) << std::hex << c.text << " on " << chip << " lane " << lane
                                       << ": " << got[lane] << ", expected " << c.expected;
    }
    ASSERT_EQ(got[last], c.before) << c.text << " on " << chip;
    // And all lanes, which takes another way.
    test.set_all(0, c.before);
    test.set_all(1, c.a);
    test.set_all(2, c.b);
    test.set_all(3, c.c);
    test.wave.set_mask(kExecLo, test.wave.all_lanes());
    ASSERT_EQ(test.run(for_lanes(c.text, lanes())).kind, Exit::Kind::EndProgram);
    ASSERT_EQ(test.get(0), std::vector<u32>(lanes(), c.expected)) << c.text << " on " << chip;
  }
}

// MODE's bit 8, DX10_CLAMP, which gfx12 has not: NaN is 0 there.
TEST_P(VectorAlu, ClampsNanAsModeSays) {
  const bool always = std::string_view(GetParam()) == "gfx1201";
  for (u32 clamps : {0u, 1u}) {
    TestWave test(GetParam(), lanes());
    test.wave.set_mode(0xf0 | clamps << 8);
    test.set_all(1, kNan), test.set_all(2, bits(1.0f)), test.set_all(4, bits(3.0f));
    const Exit exit = test.run("v_add_f32_e64 v0, v1, v2 clamp\nv_add_f32_e64 v3, v4, v2 clamp");
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
    EXPECT_EQ(test.get(0)[0], clamps || always ? 0 : kNan) << GetParam() << clamps;
    EXPECT_EQ(test.get(3)[0], bits(1.0f)) << GetParam() << clamps;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, VectorAlu,
                         ::testing::Values("gfx942", "gfx1030", "gfx1100", "gfx1201"));

}  // namespace
}  // namespace doorbell::emu::amdgpu
