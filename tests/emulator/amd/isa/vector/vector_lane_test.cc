// Instructions whose lanes differ: DPP, permutations, lane reads and writes, masks, carries, and
// registers named by M0. Lane i of v1 holds 100 + i; expected values are computed per lane from the
// ISA documents' definitions.
#include <gtest/gtest.h>

#include <bit>
#include <functional>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;

struct Form {
  const char* chip;
  u32 lanes;
};
void PrintTo(const Form& form, std::ostream* out) { *out << form.chip << " " << form.lanes; }

constexpr u32 kOld = 7;

class VectorLane : public ::testing::TestWithParam<Form> {
 protected:
  VectorLane() {
    test.set(1, [](u32 lane) { return 100 + lane; });
  }
  Generation generation() const { return test.wave.chip->generation; }
  u32 lanes() const { return GetParam().lanes; }
  std::string mask(const char* wide, const char* narrow) const {
    return lanes() == 64 ? wide : narrow;
  }
  void run(const std::string& text) {
    const Exit exit = test.run(text);
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << text << ": " << exit.name;
  }
  // Runs the text with v0 = 7; expected(lane) is v0's afterwards.
  void expect(const std::string& text, const std::function<u32(u32)>& expected) {
    test.set_all(0, kOld);
    run(text);
    const std::vector<u32> got = test.get(0);
    for (u32 lane = 0; lane < lanes(); ++lane) {
      ASSERT_EQ(got[lane], expected(lane)) << text << ", lane " << lane;
    }
  }
  void expect_dpp(const std::string& control, const std::function<u32(u32)>& expected) {
    expect("v_mov_b32_dpp v0, v1 " + control, expected);
  }

  TestWave test{GetParam().chip, GetParam().lanes};
};

TEST_P(VectorLane, MovesLanesByDpp) {
  const std::string all = " row_mask:0xf bank_mask:0xf";
  expect_dpp("quad_perm:[3,2,1,0]" + all, [](u32 i) { return 100 + (i ^ 3); });
  expect_dpp("row_shl:1" + all, [](u32 i) { return i % 16 == 15 ? kOld : 101 + i; });
  expect_dpp("row_shr:2" + all, [](u32 i) { return i % 16 < 2 ? kOld : 98 + i; });
  expect_dpp("row_shr:2" + all + " bound_ctrl:1", [](u32 i) { return i % 16 < 2 ? 0 : 98 + i; });
  expect_dpp("row_ror:4" + all, [](u32 i) { return 100 + i / 16 * 16 + (i + 12) % 16; });
  expect_dpp("row_mirror" + all, [](u32 i) { return 100 + (i ^ 15); });
  expect_dpp("row_half_mirror" + all, [](u32 i) { return 100 + (i ^ 7); });
  expect_dpp("quad_perm:[0,1,2,3] row_mask:0x2 bank_mask:0x5", [](u32 i) {
    return i / 16 == 1 && (i / 4 % 4 == 0 || i / 4 % 4 == 2) ? 100 + i : kOld;
  });
  if (generation() == Generation::Gfx9) {
    expect_dpp("row_bcast:15" + all, [](u32 i) { return i < 16 ? kOld : 99 + i / 16 * 16; });
    expect_dpp("row_bcast:31" + all, [](u32 i) { return i < 32 ? kOld : 131; });
    expect_dpp("wave_shr:1" + all, [](u32 i) { return i == 0 ? kOld : 99 + i; });
    expect_dpp("wave_rol:1" + all, [](u32 i) { return 100 + (i + 1) % 64; });
    return;
  }
  expect_dpp("row_share:3" + all, [](u32 i) { return 103 + i / 16 * 16; });
  expect_dpp("row_xmask:5" + all, [](u32 i) { return 100 + (i ^ 5); });
  expect_dpp("dpp8:[7,6,5,4,3,2,1,0]", [](u32 i) { return 100 + (i ^ 7); });
}

TEST_P(VectorLane, TreatsInactiveSourcesOfDppAsOutOfBounds) {
  // Lanes of even number are inactive, so lane 1 of each quad finds nothing at lane 0.
  test.wave.set_mask(kExecLo, 0xaaaaaaaaaaaaaaaa & test.wave.all_lanes());
  const auto odd = [](u32 i, u32 value) { return i % 2 ? value : kOld; };
  const std::string all = " row_mask:0xf bank_mask:0xf";
  expect_dpp("quad_perm:[0,0,3,3]" + all, [&](u32 i) { return i % 4 == 3 ? 100 + i : kOld; });
  expect_dpp("quad_perm:[0,0,3,3]" + all + " bound_ctrl:1",
             [&](u32 i) { return odd(i, i % 4 == 3 ? 100 + i : 0); });
  if (generation() == Generation::Gfx9) return;
  expect_dpp("quad_perm:[0,0,3,3]" + all + " fi:1",
             [&](u32 i) { return odd(i, i % 4 == 3 ? 100 + i : 99 + i); });
}

TEST_P(VectorLane, ReadsAndWritesLanes) {
  test.wave.s[4] = 9;
  test.wave.set_mask(kExecLo, 0xf0);
  run("v_readfirstlane_b32 s5, v1\nv_readlane_b32 s6, v1, s4\nv_readlane_b32 s7, v1, 3");
  EXPECT_EQ(test.wave.s[5], 104u);
  EXPECT_EQ(test.wave.s[6], 109u);
  EXPECT_EQ(test.wave.s[7], 103u);
  expect("v_writelane_b32 v0, s4, 2", [](u32 i) { return i == 2 ? 9 : kOld; });
}

TEST_P(VectorLane, CountsLanesBelow) {
  expect("v_mbcnt_lo_u32_b32 v0, -1, 0", [](u32 i) { return i < 32 ? i : 32; });
  expect("v_mbcnt_hi_u32_b32 v0, -1, 5", [](u32 i) { return i < 32 ? 5 : i - 32 + 5; });
}

TEST_P(VectorLane, PermutesRows) {
  if (generation() == Generation::Gfx9) return;
  test.wave.s[4] = 0x76543210;
  test.wave.s[5] = 0x01234567;  // the upper eight lanes read the lower ones, backwards
  expect("v_permlane16_b32 v0, v1, s4, s5",
         [](u32 i) { return 100 + i / 16 * 16 + (i % 16 < 8 ? i % 16 : 15 - i % 16); });
  expect("v_permlanex16_b32 v0, v1, s4, s5",
         [](u32 i) { return 100 + (i / 16 * 16 ^ 16) + (i % 16 < 8 ? i % 16 : 15 - i % 16); });
  if (generation() == Generation::Gfx10 || lanes() == 32) return;
  expect("v_permlane64_b32 v0, v1", [](u32 i) { return 100 + (i ^ 32); });
}

TEST_P(VectorLane, ComparesToMasks) {
  run("s_movk_i32 s8, 0x70\nv_cmp_gt_u32 " + mask("s[10:11]", "s10") + ", s8, v1");
  EXPECT_EQ(test.wave.mask(10), 0xfffu);  // 100 to 111 are less than 112
  test.wave.set_mask(kVccLo, ~u64{0});
  test.wave.set_mask(kExecLo, 0xff);
  run("v_cmp_le_u32 " + mask("vcc", "vcc_lo") + ", v1, v1");
  EXPECT_EQ(test.wave.vcc(), 0xffu);
  test.wave.set_mask(kVccLo, 0);
  run(generation() == Generation::Gfx9 ? "v_cmpx_lt_u32 vcc, 0x66, v1" : "v_cmpx_lt_u32 0x66, v1");
  EXPECT_EQ(test.wave.exec(), 0xf8u);
  EXPECT_EQ(test.wave.vcc(), generation() == Generation::Gfx9 ? 0xf8u : 0u);
}

TEST_P(VectorLane, CarriesFromLaneToLane) {
  const std::string vcc = mask("vcc", "vcc_lo");
  const bool old = generation() == Generation::Gfx9;
  test.set(2, [](u32 i) { return i % 2 ? 0xffffffff : 1; });
  test.set_all(3, 5);
  expect((old ? "v_add_co_u32 v4, " : "v_add_co_u32 v4, ") + vcc + ", v2, v3\n" +
             (old ? "v_addc_co_u32 v0, " : "v_add_co_ci_u32 v0, ") + vcc + ", v3, v3, " + vcc,
         [](u32 i) { return 10 + i % 2; });
  expect((old ? "v_sub_co_u32 v4, " : "v_sub_co_u32 v4, ") + vcc + ", v3, v2\n" +
             (old ? "v_subb_co_u32 v0, " : "v_sub_co_ci_u32 v0, ") + vcc + ", v3, v3, " + vcc,
         [](u32 i) { return i % 2 ? 0xffffffff : 0; });
  test.set_all(4, 0xffffffff);
  test.set_all(5, 1);
  expect("v_mad_u64_u32 v[6:7], " + mask("s[10:11]", "s10") + ", v2, v3, v[4:5]\nv_mov_b32 v0, v7",
         [](u32 i) { return i % 2 ? 6u : 2u; });
}

TEST_P(VectorLane, ComputesDoubles) {
  const auto set_double = [&](u32 vgpr, f64 value) {
    const u64 bits = std::bit_cast<u64>(value);
    test.set_all(vgpr, static_cast<u32>(bits));
    test.set_all(vgpr + 1, static_cast<u32>(bits >> 32));
  };
  const auto expect_double = [&](const char* text, f64 expected) {
    run(text);
    const u64 bits = test.get(10)[3] | u64{test.get(11)[3]} << 32;
    EXPECT_EQ(std::bit_cast<f64>(bits), expected) << text;
  };
  set_double(2, 3.5);
  set_double(4, -1.25);
  set_double(6, 0.5);
  expect_double("v_add_f64 v[10:11], v[2:3], v[4:5]", 2.25);
  expect_double("v_mul_f64 v[10:11], v[2:3], -v[4:5]", 4.375);
  expect_double("v_fma_f64 v[10:11], v[2:3], v[4:5], |v[6:7]|", -3.875);
  expect_double("v_rcp_f64 v[10:11], v[6:7]", 2.0);
  expect_double("v_floor_f64 v[10:11], v[4:5]", -2.0);
  expect_double("v_cvt_f64_i32 v[10:11], -7", -7.0);
  expect_double("v_ldexp_f64 v[10:11], v[2:3], 3", 28.0);
  expect_double("v_add_f64 v[10:11], v[2:3], 1.0", 4.5);
  expect_double("v_mov_b32 v10, 0\nv_mov_b32 v11, 0x40080000", 3.0);
  // The destination overlaps a source by one register, which gfx942 does not allow.
  if (generation() != Generation::Gfx9) {
    expect_double("v_mov_b32 v11, v2\nv_mov_b32 v12, v3\nv_add_f64 v[10:11], v[11:12], v[6:7]",
                  4.0);
  }
  expect("v_cvt_i32_f64 v0, v[4:5]", [](u32) { return 0xffffffff; });
}

TEST_P(VectorLane, NamesRegistersByM0) {
  test.set(8, [](u32 i) { return 800 + i; });
  test.wave.s[4] = 7;
  if (generation() == Generation::Gfx9) {
    expect("s_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32 v0, v1\ns_set_gpr_idx_off",
           [](u32 i) { return 800 + i; });
    expect(
        "s_set_gpr_idx_on s4, gpr_idx(DST)\nv_mov_b32 v2, v1\ns_set_gpr_idx_off\nv_mov_b32 v0, v9",
        [](u32 i) { return 100 + i; });
    return;
  }
  test.wave.s[kM0] = 7;
  expect("v_movrels_b32 v0, v1", [](u32 i) { return 800 + i; });
  expect("v_movreld_b32 v2, v1\nv_mov_b32 v0, v9", [](u32 i) { return 100 + i; });
}

INSTANTIATE_TEST_SUITE_P(Forms, VectorLane,
                         ::testing::Values(Form{"gfx942", 64}, Form{"gfx1030", 32},
                                           Form{"gfx1030", 64}, Form{"gfx1100", 32},
                                           Form{"gfx1100", 64}, Form{"gfx1201", 32},
                                           Form{"gfx1201", 64}));

}  // namespace
}  // namespace doorbell::emu::amdgpu
