// Scalar instructions one by one: operands in s[4:5] and s[6:7], the result in s[10:11], SCC before
// and after. Expected values are worked out by hand from the ISA documents' definitions.
#include <gtest/gtest.h>

#include <bit>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;

struct Case {
  const char* text;
  u64 a, b;
  u64 expected;  // s[10:11]; the high half stays 0x55555555 where it is not written
  u32 scc;       // afterwards
  u32 scc_before = 0;
};
constexpr u64 kHigh = 0x5555555500000000;
constexpr u64 kUntouched = 0x55555555aaaaaaaa;

const Case kCases[] = {
    {"s_add_u32 s10, s4, s6", 0xffffffff, 2, kHigh | 1, 1},
    {"s_addc_u32 s10, s4, s6", 1, 2, kHigh | 4, 0, 1},
    {"s_addc_u32 s10, s4, s6", 0xffffffff, 0, kHigh | 0, 1, 1},
    {"s_sub_u32 s10, s4, s6", 1, 2, kHigh | 0xffffffff, 1},
    {"s_subb_u32 s10, s4, s6", 5, 2, kHigh | 2, 0, 1},
    {"s_add_i32 s10, s4, s6", 0x7fffffff, 1, kHigh | 0x80000000, 1},
    {"s_sub_i32 s10, s4, s6", 5, 7, kHigh | 0xfffffffe, 0, 1},
    {"s_min_i32 s10, s4, s6", 0xffffffff, 1, kHigh | 0xffffffff, 1},
    {"s_max_u32 s10, s4, s6", 0xffffffff, 1, kHigh | 0xffffffff, 1},
    {"s_mul_i32 s10, s4, s6", 0x10000, 0x10001, kHigh | 0x10000, 1, 1},
    {"s_mul_hi_u32 s10, s4, s6", 0x80000000, 6, kHigh | 3, 0},
    {"s_mul_hi_i32 s10, s4, s6", 0xffffffff, 6, kHigh | 0xffffffff, 0},
    {"s_lshl2_add_u32 s10, s4, s6", 0x40000001, 3, kHigh | 7, 1},
    {"s_and_b32 s10, s4, s6", 0xf0, 0x0f, kHigh | 0, 0, 1},
    {"s_and_b64 s[10:11], s[4:5], s[6:7]", 0xf00000000, 0x300000000, 0x300000000, 1},
    {"s_andn2_b32 s10, s4, s6", 0xff, 0x0f, kHigh | 0xf0, 1},
    {"s_xor_b64 s[10:11], s[4:5], -1", 0, 0, ~u64{0}, 1},
    {"s_not_b32 s10, s4", 0xffffffff, 0, kHigh | 0, 0, 1},
    {"s_lshl_b64 s[10:11], s[4:5], s6", 1, 40, u64{1} << 40, 1},
    {"s_lshr_b32 s10, s4, 4", 0xf, 0, kHigh | 0, 0, 1},
    {"s_ashr_i64 s[10:11], s[4:5], 60", 0x8000000000000000, 0, 0xfffffffffffffff8, 1},
    {"s_bfe_u32 s10, s4, 0x80004", 0xabcd, 0, kHigh | 0xbc, 1},
    {"s_bfe_i32 s10, s4, 0x40004", 0x00f0, 0, kHigh | 0xffffffff, 1},
    {"s_bfe_u64 s[10:11], s[4:5], 0x100018", 0x123456789abcdef0, 0, 0x789a & 0xffff, 1},
    {"s_bfm_b32 s10, 4, 8", 0, 0, kHigh | 0xf00, 1, 1},
    {"s_brev_b32 s10, s4", 1, 0, kHigh | 0x80000000, 1, 1},
    {"s_bcnt1_i32_b64 s10, s[4:5]", 0xf0f0f0f0f0f0f0f0, 0, kHigh | 32, 1},
    {"s_cselect_b32 s10, s4, s6", 1, 2, kHigh | 1, 1, 1},
    {"s_cselect_b64 s[10:11], s[4:5], s[6:7]", 1, 2, 2, 0},
    {"s_cmov_b32 s10, s4", 7, 0, kHigh | 7, 1, 1},
    {"s_cmov_b32 s10, s4", 7, 0, kUntouched, 0},
    {"s_bitset1_b32 s10, s4", 0, 0, kHigh | 0xaaaaaaab, 0},
    {"s_bitset0_b32 s10, s4", 1, 0, kHigh | 0xaaaaaaa8, 0},
    {"s_sext_i32_i8 s10, s4", 0x80, 0, kHigh | 0xffffff80, 0},
    {"s_pack_ll_b32_b16 s10, s4, s6", 0x11112222, 0x33334444, kHigh | 0x44442222, 0},
    {"s_pack_hh_b32_b16 s10, s4, s6", 0x11112222, 0x33334444, kHigh | 0x33331111, 0},
    {"s_movk_i32 s10, -3", 0, 0, kHigh | 0xfffffffd, 0},
    {"s_mulk_i32 s10, 2", 0, 0, kHigh | 0x55555554, 0},
    {"s_mov_b64 s[10:11], 1.0", 0, 0, 0x3ff0000000000000, 0},
    {"s_mov_b32 s10, 1.0", 0, 0, kHigh | 0x3f800000, 0},
    {"s_mov_b64 s[10:11], 0x80000000", 0, 0, 0x80000000, 0},
    {"s_cmp_lt_i32 s4, s6", 0xffffffff, 0, kUntouched, 1},
    {"s_cmp_lt_u32 s4, s6", 0xffffffff, 0, kUntouched, 0, 1},
    {"s_cmp_eq_u64 s[4:5], s[6:7]", u64{1} << 40, u64{1} << 40, kUntouched, 1},
    {"s_bitcmp1_b32 s4, s6", 0x80000000, 31, kUntouched, 1},
    {"s_quadmask_b32 s10, s4", 0x00010300, 0, kHigh | 0x14, 1},
    {"s_wqm_b32 s10, s4", 0x00010300, 0, kHigh | 0x000f0f00, 1},
    {"s_absdiff_i32 s10, s4, s6", 3, 10, kHigh | 7, 1},
    {"s_absdiff_i32 s10, s4, s6", 10, 10, kHigh | 0, 0, 1},
    {"s_absdiff_i32 s10, s4, s6", 0xffffffff, 0, kHigh | 1, 1},
    {"s_absdiff_i32 s10, s4, s6", 0x80000000, 0, kHigh | 0x80000000, 1},
    {"s_absdiff_i32 s10, s4, s6", 0x80000000, 1, kHigh | 0x7fffffff, 1},
    {"s_absdiff_i32 s10, s4, s6", 0x80000000, 0xfffffffe, kHigh | 0x7ffffffe, 1},
    {"s_getreg_b32 s10, hwreg(HW_REG_MODE, 4, 4)", 0, 0, kHigh | 0xf, 0},
};
const Case kGfx12[] = {
    {"s_add_f32 s10, s4, s6", 0x3fc00000, 0x40100000, kHigh | 0x40700000, 0},
    {"s_fmac_f32 s10, s4, s6", 0x40000000, 0x40000000, kHigh | 0x40800000, 0},
    {"s_fmaak_f32 s10, s4, s6, 0x40e00000", 0x40000000, 0x40000000, kHigh | 0x41300000, 0},
    {"s_fmamk_f32 s10, s4, 0x40e00000, s6", 0x40000000, 0x40000000, kHigh | 0x41800000, 0},
    {"s_cvt_i32_f32 s10, s4", 0xc0733333, 0, kHigh | 0xfffffffd, 0},
    {"s_cvt_f32_u32 s10, s4", 7, 0, kHigh | 0x40e00000, 0},
    {"s_mul_u64 s[10:11], s[4:5], s[6:7]", 0x100000000, 3, 0x300000000, 0},
    {"s_cmp_nlt_f32 s4, s6", 0x7fc00000, 0, kUntouched, 1},
    {"s_min_num_f32 s10, s4, s6", 0x7fc00000, 0x40000000, kHigh | 0x40000000, 0},
    {"s_ceil_f32 s10, s4", 0x3f99999a, 0, kHigh | 0x40000000, 0},
    {"s_add_f16 s10, s4, s6", 0x3c00, 0x4000, kHigh | 0x4200, 0},
};

class ScalarAlu : public ::testing::TestWithParam<const char*> {
 protected:
  void check(std::span<const Case> cases) {
    const std::string_view chip = GetParam();
    TestWave test(chip, chip == "gfx942" ? 64 : 32);
    for (const Case& c : cases) {
      test.wave.set_pair(4, c.a);
      test.wave.set_pair(6, c.b);
      const bool accumulates = std::string_view(c.text).starts_with("s_fmac");
      test.wave.set_pair(10, accumulates ? kHigh : kUntouched);
      test.wave.scc = c.scc_before;
      const Exit exit = test.run(c.text);
      ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << c.text << ": " << exit.name;
      EXPECT_EQ(test.wave.pair(10), c.expected)
          << c.text << " on " << chip << ": " << std::hex << test.wave.pair(10);
      EXPECT_EQ(test.wave.scc, c.scc) << c.text << " on " << chip;
    }
  }
};

TEST_P(ScalarAlu, ComputesTheTable) { check(kCases); }

TEST_P(ScalarAlu, ComputesFloatsOnGfx12) {
  if (std::string_view(GetParam()) == "gfx1201") check(kGfx12);
}

TEST_P(ScalarAlu, BranchesCallsAndReturns) {
  TestWave test(GetParam(), std::string_view(GetParam()) == "gfx942" ? 64 : 32);
  const Exit exit = test.run(R"(
    s_mov_b32 s10, 0
    s_cmp_eq_u32 s10, 1
    s_cbranch_scc1 1f
    s_add_u32 s10, s10, 1
  1:
    s_getpc_b64 s[12:13]
    s_add_u32 s12, s12, 16
    s_addc_u32 s13, s13, 0
    s_swappc_b64 s[14:15], s[12:13]
    s_branch 2f
    s_add_u32 s10, s10, 4
    s_setpc_b64 s[14:15]
  2:
    s_add_u32 s10, s10, 8
  )");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  EXPECT_EQ(test.wave.s[10], 13u);
}

TEST_P(ScalarAlu, SavesExec) {
  TestWave test(GetParam(), std::string_view(GetParam()) == "gfx942" ? 64 : 32);
  const bool wide = test.wave.lanes == 64;
  test.wave.set_mask(kExecLo, 0xff);
  test.wave.set_pair(4, 0x0f);
  const Exit exit = test.run(wide ? "s_and_saveexec_b64 s[10:11], s[4:5]\ns_mov_b64 s[12:13], exec"
                                  : "s_and_saveexec_b32 s10, s4\ns_mov_b32 s12, exec_lo");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  EXPECT_EQ(test.wave.s[10], 0xffu);
  EXPECT_EQ(test.wave.s[12], 0x0fu);
  EXPECT_EQ(test.wave.scc, 1u);
}

INSTANTIATE_TEST_SUITE_P(Chips, ScalarAlu,
                         ::testing::Values("gfx942", "gfx1030", "gfx1100", "gfx1201"));

}  // namespace
}  // namespace doorbell::emu::amdgpu
