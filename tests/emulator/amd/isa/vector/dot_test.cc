// Dot products of two 16-bit floats. What gfx1100 and gfx1201 make of them is data captured on a
// Radeon Pro W7900 and a Radeon AI PRO R9700: ROCm/rocm-systems emulation/rocjitsu,
// tests/fixtures/float_dot/{gfx1100_cases,gfx1201_cases,packed_wmma_cases}.h.
#include <gtest/gtest.h>

#include <iterator>
#include <string>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;

struct Captured {
  u32 a, b, c, gfx1100, gfx1201;
};
// clang-format off
constexpr Captured kHalves[32] = {
    {0x48004200, 0x44004800, 0xbf800000, 0x425c0001, 0x425c0000},
    {0xc800c200, 0x44004800, 0x3f800000, 0xc25c0001, 0xc25c0000},
    {0x3c00bc00, 0x3c003c00, 0x3f800000, 0x3f7fffff, 0x3f800000},
    {0x3c003c00, 0x3c003c00, 0xc0000000, 0x34000000, 0x00000000},
    {0x3c004000, 0x3c003c00, 0xc0000000, 0x3f800002, 0x3f800000},
    {0x4800c800, 0x48004800, 0x3f800000, 0x3f7fffc0, 0x3f800000},
    {0x3c003c00, 0x3c000000, 0x80000000, 0x3f800001, 0x3f800000},
    {0x3c00bc00, 0x3c000000, 0x80000000, 0x3f800000, 0x3f800000},
    {0x3c003c00, 0x3c003c00, 0x7fc12345, 0x7fc12345, 0x7fc12345},
    {0x3c003c00, 0x3c003c00, 0xff812345, 0xffc12345, 0xffc12345},
    {0x3c007e01, 0x3c003c00, 0x00000000, 0xffc00a3d, 0xffc00a3d},
    {0x3c007c00, 0x3c000000, 0x00000000, 0xffc00000, 0xffc00000},
    {0xfc007c00, 0x3c003c00, 0x00000000, 0xffc00000, 0xffc00000},
    {0x7c007e01, 0x00003c00, 0x7fc12345, 0xffc00a3d, 0xffc00a3d},
    {0xfc007c00, 0x3c003c00, 0x7fc12345, 0xffc00000, 0xffc00000},
    {0x80008000, 0x3c003c00, 0x00800000, 0x00800000, 0x00800000},
    {0x00000001, 0x3c003c00, 0x00000000, 0x33800000, 0x33800000},
    {0x00000001, 0x3c000001, 0x00000000, 0x27800000, 0x27800000},
    {0x00000001, 0x3c008001, 0x00000000, 0xa7880000, 0xa7800000},
    {0xeb9b023d, 0x803b6249, 0xf96d2663, 0xf96d2663, 0xf96d2663},
    {0x058ef3f3, 0x2b241c4a, 0xb8eed486, 0xc2886106, 0xc2886106},
    {0xf2ae73d7, 0x02b0b502, 0x7b678301, 0x7b678301, 0x7b678301},
    {0xcd6c4d6c, 0x78af78af, 0x00000000, 0xbd000000, 0x00000000},
    {0xf82e782e, 0x6a286a28, 0x00000000, 0xc0800000, 0x00000000},
    {0xb09d309d, 0x0fe50fe5, 0x00000000, 0xac000000, 0x00000000},
    {0x84950495, 0x3d283d28, 0x80000000, 0x2c800000, 0x00000000},
    {0x3644b644, 0xc365c365, 0x80000000, 0x33000000, 0x00000000},
    {0xa4b824b8, 0xdc7cdc7c, 0x80000000, 0x34800000, 0x00000000},
    {0xbc003c00, 0x0001fbff, 0x7f800000, 0x7f800000, 0x7f800000},
    {0x7c000401, 0x80000401, 0xff9a5ce2, 0xffc00000, 0xffc00000},
    {0x8000fc00, 0x04013c00, 0x00800000, 0xff800000, 0xff800000},
    {0xfca10400, 0x8001ff64, 0xff800000, 0xffc00a3d, 0xffc00a3d},
};
constexpr Captured kBfloats[32] = {
    {0x41004040, 0x40804100, 0xbf800000, 0x425c0001, 0x425c0000},
    {0x3f80bf80, 0x3f803f80, 0x3f800000, 0x3f7fffff, 0x3f800000},
    {0x3f803f80, 0x3f803f80, 0xc0000000, 0x34000000, 0x00000000},
    {0x3f804000, 0x3f803f80, 0xc0000000, 0x3f800002, 0x3f800000},
    {0x4100c100, 0x41004100, 0x3f800000, 0x3f7fffc0, 0x3f800000},
    {0x3f803f80, 0x3f800000, 0x80000000, 0x3f800001, 0x3f800000},
    {0x3f803f80, 0x3f803f80, 0x7f812345, 0x7fc12345, 0x7fc12345},
    {0x3f807fc1, 0x3f803f80, 0x00000000, 0xffc00a3d, 0xffc00a3d},
    {0x3f807f80, 0x3f800000, 0x00000000, 0xffc00000, 0xffc00000},
    {0xff807f80, 0x3f803f80, 0x7fc12345, 0xffc00000, 0xffc00000},
    {0x80000000, 0x3f803f80, 0x00800000, 0x00800000, 0x00800000},
    {0x00800000, 0x3f808000, 0x00000000, 0x00000000, 0x00800000},
    {0x00800000, 0x3f808000, 0x00000001, 0x00000000, 0x00800001},
    {0x00000001, 0x3f804980, 0x00000000, 0x00000000, 0x07000000},
    {0x00000700, 0x3f803f80, 0x00000000, 0x07000000, 0x07000000},
    {0x00800080, 0x3f003f00, 0x00000000, 0x00800000, 0x00800000},
    {0xff7f7f7f, 0x7f7f7f7f, 0x00000000, 0xff800000, 0x00000000},
    {0xf9e2d6b1, 0xe2adf60c, 0xeddb846f, 0x7f800000, 0x7f800000},
    {0x49b3fce2, 0x573a122b, 0x246a3c33, 0x61820e00, 0x61820e00},
    {0x714025c9, 0xfdfca829, 0x916be0f9, 0xff800000, 0xff800000},
    {0x058ef3f3, 0x2b241c4a, 0xb8eed486, 0xd0bfbe00, 0xd0bfbe00},
    {0xc395629b, 0xd9633359, 0xdc60025c, 0x5d504185, 0x5d504184},
    {0xce354e35, 0x7bfd7bfd, 0x00000000, 0xfe000000, 0x00000000},
    {0xfb757b75, 0x6c9e6c9e, 0x00000000, 0xff800000, 0x00000000},
    {0xafb72fb7, 0x0d170d17, 0x00000000, 0x00000000, 0x00000000},
    {0x811e011e, 0x3cfd3cfd, 0x80000000, 0x00000000, 0x00000000},
    {0x35b3b5b3, 0xc398c398, 0x80000000, 0x2d800000, 0x00000000},
    {0xc4014401, 0x33463346, 0x00000000, 0xab800000, 0x00000000},
    {0xbf803f80, 0x0001ff7f, 0x7f800000, 0x7f800000, 0x7f800000},
    {0x7f800081, 0x80000081, 0xff9a5ce2, 0xffc00000, 0xffc00000},
    {0x8000ff80, 0x00813f80, 0x00800000, 0xff800000, 0xff800000},
    {0xff940080, 0x8001ffec, 0xff800000, 0xffc00a3d, 0xffc00a3d},
};
// Gfx1201 keeps denormals.
constexpr Captured kSmallBfloats[8] = {
    {0x2061bc39, 0x96b40093, 0x0056dd77, 0, 0x00553463},
    {0x37d6ba90, 0x8901852c, 0x80800007, 0, 0x81674c04},
    {0x08e7393d, 0xb7d307aa, 0x80800005, 0, 0x8006c205},
    {0x0364bc8c, 0x3c468385, 0x807ffffe, 0, 0x0069a402},
    {0x993b1798, 0x263ca825, 0x00800000, 0, 0x8026a200},
    {0x8129061c, 0xbfaab964, 0x007ffffd, 0, 0x017db7fe},
    {0x8522326b, 0xbbd88d2f, 0x00800002, 0, 0x01949b60},
    {0x89298151, 0xb6953e7a, 0x00800007, 0, 0x007c5007},
};
// clang-format on

// Runs the instruction on v1, v2, v3: lane i has case i.
template <usize count>
std::vector<u32> run_all(const char* chip, const std::string& instruction,
                         const Captured (&cases)[count], u32 addend_shift = 0) {
  TestWave wave(chip, 32);
  const auto at = [&](u32 lane) -> const Captured& { return cases[lane % count]; };
  wave.set(1, [&](u32 lane) { return at(lane).a; });
  wave.set(2, [&](u32 lane) { return at(lane).b; });
  wave.set(3, [&](u32 lane) { return at(lane).c >> addend_shift; });
  wave.set(4, [&](u32 lane) { return at(lane).c >> addend_shift; });
  const Exit exit = wave.run(instruction);
  EXPECT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  return wave.get(4);
}

template <usize count>
void expect_captured(const std::string& instruction, const Captured (&cases)[count]) {
  const std::vector<u32> gfx1100 = run_all("gfx1100", instruction, cases);
  const std::vector<u32> gfx1201 = run_all("gfx1201", instruction, cases);
  for (u32 i = 0; i < count; ++i) {
    EXPECT_EQ(gfx1100[i], cases[i].gfx1100) << instruction << std::hex << " " << cases[i].a;
    EXPECT_EQ(gfx1201[i], cases[i].gfx1201) << instruction << std::hex << " " << cases[i].a;
  }
}

TEST(Dot, SumsAreThoseOfSilicon) {
  expect_captured("v_dot2_f32_f16 v4, v1, v2, v3", kHalves);
  expect_captured("v_dot2_f32_bf16 v4, v1, v2, v3", kBfloats);
  const std::vector<u32> small =
      run_all("gfx1201", "v_dot2_f32_bf16 v4, v1, v2, v3", kSmallBfloats);
  for (u32 i = 0; i < std::size(kSmallBfloats); ++i) {
    EXPECT_EQ(small[i], kSmallBfloats[i].gfx1201) << i;
  }
  const std::vector<u32> onto = run_all("gfx1100", "v_dot2acc_f32_f16 v4, v1, v2", kHalves);
  const std::vector<u32> dual =
      run_all("gfx1100", "v_dual_dot2acc_f32_f16 v4, v1, v2 :: v_dual_mov_b32 v5, v2", kHalves);
  for (u32 i = 0; i < std::size(kHalves); ++i) {
    EXPECT_EQ(onto[i], kHalves[i].gfx1100) << i;
    EXPECT_EQ(dual[i], kHalves[i].gfx1100) << i;
  }
}

// The same sum as an f32, of which the lower half is cut off. [triton-lang/triton pull request
// 11227, gfx1200: all of 2^20 products are those rounded towards zero]
TEST(Dot, BfloatsAreCutOff) {
  for (const char* chip : {"gfx1100", "gfx1201"}) {
    const std::vector<u32> results = run_all(chip, "v_dot2_bf16_bf16 v4, v1, v2, v3", kBfloats, 16);
    u32 compared = 0;
    for (u32 i = 0; i < std::size(kBfloats); ++i) {
      const Captured& sum = kBfloats[i];
      if ((sum.c & 0xffff) != 0) continue;
      ++compared;
      const u32 wide = chip[4] == '1' ? sum.gfx1100 : sum.gfx1201;
      // A NaN of the factors' has a value of its own. [packed_wmma_cases.h]
      EXPECT_EQ(results[i] & 0xffff, wide == 0xffc00a3d ? 0xfffd : wide >> 16) << chip << " " << i;
    }
    EXPECT_GT(compared, 20u);
  }
}

// Gfx1100's matrix instruction with 16-bit results is this one eight times: row 0 of a captured
// product, 16 columns.
TEST(Dot, HalvesOneAfterTheOtherAreAMatrixProduct) {
  constexpr u32 kRow[16] = {0x380b, 0xcc95, 0xca7c, 0xbea9, 0x2c0b, 0x3367, 0xb997, 0xaa37,
                            0x2f82, 0x5015, 0xcaf3, 0x4edc, 0xaff1, 0x2e10, 0x2600, 0xc520};
  constexpr u32 kAddends[16] = {0x39a9, 0x2334, 0xbb50, 0x3b78, 0x3313, 0xba6b, 0x99d0, 0x38fb,
                                0xb0eb, 0xbb59, 0x349c, 0xb331, 0x3335, 0xa732, 0xbab9, 0x36cd};
  constexpr u32 kSums[16] = {0x5e3c, 0xe595, 0x6036, 0xe327, 0xdc02, 0xe1ac, 0xdf66, 0x6a35,
                             0xe1f8, 0x6055, 0xe47d, 0xe85b, 0x6252, 0x548e, 0x654b, 0x5815};
  constexpr u32 kColumns[16][16] = {
      {0x49f0, 0xa8f6, 0x5787, 0xbe2e, 0xc2cc, 0xd60a, 0x3bfd, 0xcc06, 0x482c, 0xceaa, 0xcaa9,
       0xce8d, 0x2516, 0x357b, 0xbea7, 0xc06c},
      {0x28e1, 0x2776, 0xaca9, 0x4fe1, 0xc8ce, 0xb7db, 0xbb26, 0x3c2b, 0xc2fe, 0x4400, 0x36c8,
       0x577b, 0xc5e7, 0xba9b, 0x4639, 0xc054},
      {0x2ca3, 0xc7f6, 0xb60b, 0xcc42, 0x4ff3, 0xc8d0, 0xb02a, 0xb249, 0x3e15, 0xc030, 0x566e,
       0x4ca9, 0xd4ce, 0x2b75, 0x44a9, 0x26fa},
      {0x2d50, 0xa6d4, 0xb8e6, 0x30fe, 0x30ce, 0xb8a3, 0xa498, 0x2a5f, 0x2ea9, 0xcd9d, 0x37a0,
       0x3092, 0x44ef, 0xab1a, 0x48c4, 0x43e4},
      {0xc7f0, 0xc981, 0xc7ca, 0xccf0, 0x4049, 0xd7c1, 0xc3db, 0x35ba, 0x32a9, 0x3c48, 0x3cb1,
       0xccf5, 0x4915, 0xc84f, 0xb3b1, 0xc7dc},
      {0x34ca, 0x27ae, 0xd38a, 0x2b01, 0x5217, 0x4eef, 0xb45c, 0xa87d, 0xaf91, 0x38da, 0x3401,
       0x3896, 0x56ea, 0xab9a, 0x2c0d, 0x5565},
      {0x2b3f, 0x4b3f, 0x29da, 0x2c4f, 0x4ea0, 0x2447, 0xb9e4, 0xa5ae, 0x3102, 0xb916, 0x2dfa,
       0x4827, 0xada0, 0x4614, 0xa960, 0xc868},
      {0xb7b6, 0xd580, 0xc4af, 0xc780, 0x37d7, 0xcbc8, 0x483f, 0xd123, 0x2c86, 0xcc09, 0x4ae5,
       0xabeb, 0xbb9a, 0xd5eb, 0x4c05, 0x2d51},
      {0xd278, 0xc628, 0xbb62, 0xd79b, 0x333a, 0x5190, 0xd422, 0x3cba, 0x5237, 0xaac9, 0xbc93,
       0x490b, 0xcbdf, 0xb650, 0xd3cf, 0xbfdc},
      {0x2717, 0xd1ed, 0xb8ee, 0xca8e, 0x4b34, 0xbd22, 0x2e24, 0x4eaa, 0x39ff, 0x26d1, 0x2c0c,
       0x2c06, 0xcbc4, 0xb806, 0xa59f, 0x3425},
      {0x3471, 0x363e, 0xade9, 0x4739, 0x32e9, 0x4034, 0x3f2d, 0xb2b1, 0xb851, 0xd12a, 0xcb3e,
       0xcae8, 0xca91, 0x31a3, 0xa471, 0xc6d9},
      {0xbc5d, 0x2766, 0x4c99, 0x26d4, 0xcc9e, 0xc7a5, 0xb23f, 0x53c0, 0xcef0, 0xa540, 0xa511,
       0x271f, 0x3179, 0x4198, 0x5313, 0xc871},
      {0x3eab, 0x257f, 0x4526, 0x3a02, 0xad85, 0xb6c6, 0xbc96, 0x33de, 0x4d7f, 0xc1ec, 0x2aea,
       0xb62f, 0xd44d, 0xcdcf, 0xcb3d, 0x3760},
      {0x4a40, 0x3b3e, 0x4e40, 0xcf12, 0xc29b, 0xba70, 0xb855, 0xb511, 0xc66f, 0x26b6, 0xb3c6,
       0xcdd6, 0xbb7a, 0x2bd6, 0x2c60, 0xd405},
      {0x5702, 0xb4e7, 0x3a50, 0x5100, 0x251a, 0xac75, 0xcbd4, 0x2c60, 0xb1aa, 0xb800, 0x282b,
       0xced1, 0x2b3e, 0x2d01, 0xcf26, 0xa9f9},
      {0xd53e, 0xc5af, 0x33af, 0x4150, 0xc57c, 0x5686, 0x5592, 0xd7a5, 0x4c23, 0xb0c9, 0x35e6,
       0xc6b7, 0x2af8, 0x371a, 0xb57a, 0xd15a},
  };

  TestWave wave("gfx1100", 32);
  std::string assembly;
  for (u32 k = 0; k < 16; k += 2) {
    wave.set_all(10 + k, kRow[k] | kRow[k + 1] << 16);
    wave.set(11 + k,
             [&](u32 lane) { return kColumns[k][lane % 16] | kColumns[k + 1][lane % 16] << 16; });
    assembly +=
        "v_dot2_f16_f16 v4, v" + std::to_string(10 + k) + ", v" + std::to_string(11 + k) + ", v4\n";
  }
  wave.set(4, [&](u32 lane) { return kAddends[lane % 16]; });
  wave.run(assembly);
  for (u32 i = 0; i < 16; ++i) EXPECT_EQ(wave.get(4)[i], kSums[i]) << i;
}

// A sum of which nothing is cut off is rounded once: with fractions in Python.
TEST(Dot, HalvesAreRoundedOnce) {
  struct Exact {
    u32 a, b, c, sum;
  };
  // clang-format off
  constexpr Exact kSums[16] = {
      {0x34d33a5c, 0x318b3ca2, 0x2e51, 0x3c49},
      {0x33034125, 0x42a63bb3, 0x2ddb, 0x4297},
      {0x36de403c, 0x32c03133, 0x39e0, 0x3cad},
      {0x323c3d61, 0x32e737b3, 0x3da2, 0x4032},
      {0x31e43d95, 0x33f64218, 0x3324, 0x4485},
      {0x31fa42a7, 0x42bc4277, 0x38b1, 0x49fc},
      {0x39443442, 0x349d3d69, 0x3d4d, 0x3f80},
      {0x424433c4, 0x41ed39df, 0x461d, 0x4bc9},
      {0x334c35c8, 0x4247429c, 0x4071, 0x4421},
      {0x3bea3603, 0x4187331e, 0x42c9, 0x4636},
      {0x420f3202, 0x43ce31e8, 0x3297, 0x4a08},
      {0x41033fe2, 0x3a0d3dae, 0x3ae6, 0x458e},
      {0x3e8042bc, 0x39973b92, 0x33f3, 0x4492},
      {0x37cf35c0, 0x4261329e, 0x359b, 0x3fed},
      {0x3fd740ce, 0x3e5c3afd, 0x3536, 0x458a},
      {0x3257437c, 0x406133c7, 0x3961, 0x4008},
  };
  // clang-format on
  for (const char* chip : {"gfx1100", "gfx1201"}) {
    TestWave wave(chip, 32);
    wave.set(1, [&](u32 lane) { return kSums[lane % 16].a; });
    wave.set(2, [&](u32 lane) { return kSums[lane % 16].b; });
    wave.set(3, [&](u32 lane) { return kSums[lane % 16].c; });
    wave.run("v_dot2_f16_f16 v4, v1, v2, v3");
    for (u32 i = 0; i < 16; ++i) EXPECT_EQ(wave.get(4)[i] & 0xffff, kSums[i].sum) << chip << i;
  }
}

TEST(Dot, TakesHalvesConstantsAndModes) {
  for (const char* chip : {"gfx1100", "gfx1201"}) {
    TestWave wave(chip, 32);
    wave.set_all(1, 0x44004200);  // 3, 4
    wave.set_all(2, 0x3c003c00);  // 1, 1
    wave.set_all(3, 0x40000000);  // 0, 2
    wave.set_all(4, 0x12345678), wave.set_all(5, 0), wave.set_all(6, 0), wave.set_all(7, 0);
    wave.set_all(8, 0x7bff7bff);
    const Exit exit = wave.run(
        "v_dot2_f16_f16 v4, v1, v2, v3 op_sel:[0,0,1,1]\n"  // 9 to the high half
        "v_dot2_f16_f16 v5, v1, 2.0, v3\n"                  // a constant is in both halves: 14
        "v_dot2_f16_f16 v6, v8, v8, v3\n"
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\n"
        "v_dot2_f16_f16 v7, v8, v8, v3\n"
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 0");
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
    EXPECT_EQ(wave.get(4)[5], 0x48805678u) << chip;
    EXPECT_EQ(wave.get(5)[5], 0x4b00u) << chip;
    EXPECT_EQ(wave.get(6)[5], 0x7c00u) << chip;
    EXPECT_EQ(wave.get(7)[5], 0x7bffu) << chip;
  }
}

// Gfx9's and gfx10's: also VOP3's, whose operands are both halves of a register.
TEST(Dot, OtherChipsAddOneAfterTheOther) {
  for (const char* chip : {"gfx942", "gfx1030"}) {
    TestWave wave(chip, std::string_view(chip) == "gfx942" ? 64 : 32);
    wave.set_all(1, 0x48004200), wave.set_all(2, 0x44004800);  // 3, 8; 8, 4
    wave.set_all(3, 0xbf800000), wave.set_all(4, 0xbf800000), wave.set_all(5, 0xbf800000);
    wave.run(
        "v_dot2_f32_f16 v6, v1, v2, v3\nv_dot2c_f32_f16 v4, v1, v2\n"
        "v_dot2c_f32_f16_dpp v5, v1, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf");
    for (u32 v : {4, 5, 6}) EXPECT_EQ(wave.get(v)[3], 0x425c0000u) << chip << v;  // 55
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
