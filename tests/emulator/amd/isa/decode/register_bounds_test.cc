// A wave with one register less than an instruction uses is stopped before it.
#include "emulator/amd/isa/decode/register_bounds.h"

#include <gtest/gtest.h>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::testing {
namespace {

using emu::amdgpu::Exit;

struct Case {
  const char* chip;
  u32 lanes;
  const char* text;
  u32 vgprs;  // up to the last one that it names
};

constexpr Case kCases[] = {
    {"gfx1100", 32, "v_add_f32 v1, v2, v8", 9},
    {"gfx1100", 32, "v_add_f64 v[0:1], v[2:3], v[8:9]", 10},
    // The upper half of an address.
    {"gfx1100", 32, "global_load_dword v1, v[8:9], off", 10},
    {"gfx942", 64, "global_store_dword v[8:9], v1, off", 10},
    {"gfx1201", 32, "global_load_dword v1, v[8:9], off", 10},
    {"gfx1030", 32, "flat_load_dword v1, v[8:9]", 10},
    {"gfx1100", 32, "global_load_dword v1, v8, s[2:3]", 9},
    {"gfx1100", 32, "buffer_load_dword v1, v[8:9], s[4:7], 0 idxen offen", 10},
    {"gfx1100", 32, "buffer_load_dword v1, v8, s[4:7], 0 offen", 9},
    {"gfx942", 64, "buffer_load_dword v1, off, s[4:7], 0", 2},
    // What is stored where the comparison holds.
    {"gfx942", 64, "ds_cmpst_b32 v1, v2, v8", 9},
    {"gfx942", 64, "ds_cmpst_rtn_b64 v[0:1], v2, v[4:5], v[8:9]", 10},
    {"gfx1100", 32, "ds_cmpstore_b32 v1, v2, v8", 9},
    {"gfx1100", 32, "ds_mskor_b64 v1, v[2:3], v[8:9]", 10},
    // The matrix that is added, and results of waves of 32.
    {"gfx942", 64, "v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, v[8:11]", 12},
    // Where M0 leads; the scales of a product.
    {"gfx1100", 32, "s_mov_b32 m0, 7\nv_movrels_b32 v0, v1", 9},
    {"gfx1201", 32, "s_mov_b32 m0, 8\nv_movreld_b32 v0, v1", 9},
    {"gfx1100", 32, "s_mov_b32 m0, 0x70002\nv_movrelsd_2_b32 v1, v2", 9},
    {"gfx1030", 32, "s_mov_b32 m0, 0x20007\nv_swaprel_b32 v1, v1", 9},
    {"gfx950", 64, "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[0:7], v[0:7], v[0:3], v8, v1", 9},
    {"gfx950", 64, "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[0:7], v[0:7], v[0:3], v1, v9", 10},
    {"gfx942", 64, "v_mfma_f32_32x32x2_f32 v[0:15], v16, v17, v[20:35]", 36},
    {"gfx1100", 32, "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[8:15], v[24:31]", 32},
    {"gfx1100", 32, "v_wmma_f32_16x16x16_f16 v[24:31], v[8:15], v[8:15], v[0:7]", 32},
    // Several registers that are no matrix.
    {"gfx1100", 32, "v_mqsad_u32_u8 v[8:11], v[2:3], v4, v[4:7]", 12},
    {"gfx1100", 32, "v_mqsad_u32_u8 v[4:7], v[2:3], v4, v[8:11]", 12},
    {"gfx950", 64, "v_cvt_scalef32_pk32_f32_fp6 v[0:31], v[40:45], v32", 46},
    {"gfx950", 64, "v_cvt_scalef32_pk32_f32_fp6 v[40:71], v[0:5], v32", 72},
    {"gfx950", 64, "v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], v[6:21], v[22:37], v38", 39},
    {"gfx950", 64, "v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], v[6:21], v[24:39], v22", 40},
    {"gfx950", 64, "v_cvt_scalef32_sr_pk32_bf6_f16 v[0:5], v[6:21], v22, v22", 23},
    {"gfx950", 64, "ds_read_b96_tr_b6 v[8:10], v1", 11},
    {"gfx1201", 32, "global_load_tr_b128 v[8:11], v1, s[2:3]", 12},
    {"gfx1201", 64, "global_load_tr_b128 v[8:9], v1, s[2:3]", 10},
    {"gfx1201", 64, "global_load_tr_b64 v8, v1, s[2:3]", 9},
};

bool is_short_of_registers(const Exit& exit) {
  return exit.kind == Exit::Kind::Bounds && exit.name.find("register") != std::string::npos;
}

TEST(RegisterBounds, CountUpToTheLastRegister) {
  for (const Case& test : kCases) {
    TestWave wave(test.chip, test.lanes);
    wave.wave.vgpr_count = test.vgprs;
    EXPECT_FALSE(is_short_of_registers(wave.run(test.text))) << test.chip << ": " << test.text;
    TestWave shorter(test.chip, test.lanes);
    shorter.wave.vgpr_count = test.vgprs - 1;
    EXPECT_TRUE(is_short_of_registers(shorter.run(test.text))) << test.chip << ": " << test.text;
  }
}

// 256 more is no register, and not the same one.
TEST(RegisterBounds, RelativeNumbersHaveTenBits) {
  for (const char* chip : {"gfx1030", "gfx1100", "gfx1201"}) {
    for (const char* text : {"s_movk_i32 m0, 0x100\nv_movrelsd_2_b32 v1, v2",
                             "s_mov_b32 m0, 0x1000000\nv_movrelsd_2_b32 v1, v2",
                             "s_movk_i32 m0, 0x100\nv_swaprel_b32 v1, v2"}) {
      TestWave wave(chip, 32);
      EXPECT_TRUE(is_short_of_registers(wave.run(text))) << chip << ": " << text;
    }
  }
}

}  // namespace
}  // namespace doorbell::testing
