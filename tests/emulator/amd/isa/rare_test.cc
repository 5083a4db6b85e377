// Instructions that no compiler emits for plain code. Expected values were computed apart, from the
// documents' pseudo-code, with exact fractions in Python.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;

constexpr const char* kChips[] = {"gfx942", "gfx1030", "gfx1100", "gfx1201"};

u32 lanes_of(std::string_view chip) { return chip.starts_with("gfx9") ? 64 : 32; }

TEST(Rare, SegmentsOfTwoOverPi) {
  struct Segment {
    u64 operand;
    u32 number;
    u64 expected;
  };
  // 1, 1, 1e22, 1e300, 2^1000, -5: the third and later skip whole turns, the last has no bits left.
  constexpr Segment kSegments[] = {
      {0x3ff0000000000000, 0, 0x3fe45f306dc9c882}, {0x3ff0000000000000, 1, 0x3c94a7f09d5f47d4},
      {0x4480f0cf064dd592, 0, 0x3e8b727220a94fe0}, {0x7e37e43c8800759c, 2, 0x066ef14a525d4d7f},
      {0x7e70000000000000, 3, 0x02d7ec47e3574215}, {0xc014000000000000, 22, 0}};
  for (const char* chip : kChips) {
    for (const Segment& segment : kSegments) {
      TestWave wave(chip, lanes_of(chip));
      wave.set_all(2, static_cast<u32>(segment.operand));
      wave.set_all(3, static_cast<u32>(segment.operand >> 32));
      wave.set_all(4, segment.number);
      wave.run("v_trig_preop_f64 v[0:1], v[2:3], v4");
      EXPECT_EQ(wave.get(0)[1] | u64{wave.get(1)[1]} << 32, segment.expected)
          << chip << std::hex << " " << segment.operand << " " << segment.number;
    }
  }
}

TEST(Rare, FourSumsOfBytes) {
  for (const char* chip : kChips) {
    TestWave wave(chip, lanes_of(chip));
    wave.set_all(2, 0x44332211), wave.set_all(3, 0x88776655), wave.set_all(4, 0x00aa10ff);
    const u32 sums[] = {1, 2, 3, 0xfffffff0};
    for (u32 i = 0; i < 4; ++i) wave.set_all(8 + i, sums[i]);
    wave.run("v_mqsad_u32_u8 v[8:11], v[2:3], v4, v[8:11]");
    const u32 expected[] = {0x178, 0x168, 0x158, 0x134};
    for (u32 i = 0; i < 4; ++i) EXPECT_EQ(wave.get(8 + i)[7], expected[i]) << chip << i;
  }
}

TEST(Rare, DotsOfByteFloats) {
  struct Dot {
    const char* formats;
    u32 expected;
  };
  for (const Dot& dot : {Dot{"fp8_fp8", 0x3f500000}, Dot{"fp8_bf8", 0x42e40800},
                         Dot{"bf8_fp8", 0xc039a800}, Dot{"bf8_bf8", 0x3f1a0000}}) {
    TestWave wave("gfx1201", 32);
    wave.set_all(1, 0x3c45b801), wave.set_all(2, 0x40ba2a7b), wave.set_all(3, 0x3fc00000);
    wave.run("v_dot4_f32_" + std::string(dot.formats) + " v0, v1, v2, v3");
    EXPECT_EQ(wave.get(0)[9], dot.expected) << dot.formats;
  }
}

TEST(Rare, LightAndBytesAndRandomBits) {
  TestWave lit("gfx1100", 32);
  lit.set_all(1, std::bit_cast<u32>(3.0f)), lit.set_all(2, std::bit_cast<u32>(0.5f));
  lit.set(3, [](u32 lane) { return std::bit_cast<u32>(lane == 0 ? -1.0f : 1.0f); });
  lit.run("v_mullit_f32 v0, v1, v2, v3");
  EXPECT_EQ(lit.get(0)[0], 0xff7fffffu);
  EXPECT_EQ(lit.get(0)[1], std::bit_cast<u32>(1.5f));

  TestWave bytes("gfx942", 64);
  bytes.set_all(0, 0x11223344), bytes.set_all(1, std::bit_cast<u32>(200.5f)), bytes.set_all(2, 2);
  bytes.run("v_cvt_pkaccum_u8_f32 v0, v1, v2");
  EXPECT_EQ(bytes.get(0)[63], 0x11c83344u);

  TestWave gfx950("gfx950", 64);
  gfx950.set_all(0, 0xabcd0000), gfx950.set_all(1, 0xffff8000), gfx950.set_all(2, 0x7ff);
  gfx950.set_all(3, 0x80000001);
  gfx950.run("v_ashr_pk_i8_i32 v0, v1, v2, 4\nv_ashr_pk_u8_i32 v4, v1, v2, 4\nv_prng_b32 v5, v3");
  EXPECT_EQ(gfx950.get(0)[0], 0xabcd7f80u);
  EXPECT_EQ(gfx950.get(4)[0] & 0xffff, 0x7f00u);
  EXPECT_EQ(gfx950.get(5)[0], 0xc7u);  // 2 ^ 197
}

TEST(Rare, SwizzlesForFourierTransforms) {
  const u32 all[] = {0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30};
  const u32 halves[] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
  for (const char* chip : kChips) {
    TestWave wave(chip, lanes_of(chip));
    wave.set(1, [](u32 lane) { return 100 + lane; });
    wave.run("ds_swizzle_b32 v0, v1 offset:0xe000\nds_swizzle_b32 v2, v1 offset:0xe010");
    for (u32 i = 0; i < 16; ++i) {
      EXPECT_EQ(wave.get(0)[i], 100 + all[i]) << chip;
      EXPECT_EQ(wave.get(2)[i], 100 + halves[i]) << chip;
      EXPECT_EQ(wave.get(2)[16 + i], 116 + halves[i]) << chip;
    }
  }
}

TEST(Rare, ExchangesMarkedDwords) {
  TestWave wave("gfx1100", 32);
  wave.lds<u32>(64) = 7, wave.lds<u32>(68) = 8;
  wave.wave.set_mask(kExecLo, 1);
  wave.set_all(1, 60), wave.set_all(2, 0x80000005), wave.set_all(3, 6);
  wave.run("ds_condxchg32_rtn_b64 v[4:5], v1, v[2:3] offset:4");
  EXPECT_EQ(wave.get(4)[0], 7u);
  EXPECT_EQ(wave.get(5)[0], 8u);
  EXPECT_EQ(wave.lds<u32>(64), 5u);
  EXPECT_EQ(wave.lds<u32>(68), 8u);
}

TEST(Rare, HalvesOfAWaveOneAfterTheOther) {
  for (u64 exec : {~u64{0}, u64{0xff} << 40, u64{0xff}}) {
    TestWave wave("gfx1030", 64);
    wave.wave.set_mask(kExecLo, exec);
    wave.set_all(0, 99);
    wave.run(
        "s_mov_b32 s8, 1\ns_subvector_loop_begin s4, done\n"
        "loop: v_mov_b32 v0, s8\ns_add_u32 s8, s8, 1\ns_subvector_loop_end s4, loop\ndone: s_nop "
        "0");
    EXPECT_EQ(wave.wave.exec(), exec);
    EXPECT_EQ(wave.get(0)[0], exec & 1 ? 1u : 99u);
    const bool low = (exec & 0xffffffff) != 0;
    EXPECT_EQ(wave.get(0)[40], exec >> 40 & 1 ? (low ? 2u : 1u) : 99u);
  }
}

TEST(Rare, ForksToBothPaths) {
  TestWave wave("gfx942", 64);
  wave.wave.set_pair(10, 0xffff);  // 16 lanes go to `pass`
  wave.wave.s[30] = 0;             // the stack's depth before
  wave.set_all(0, 0);
  wave.run(
      "s_cbranch_i_fork s[10:11], pass\nv_mov_b32 v0, 1\ns_branch both\n"
      "pass: v_mov_b32 v0, 2\nboth: s_cbranch_join s30");
  EXPECT_EQ(wave.get(0)[15], 2u);
  EXPECT_EQ(wave.get(0)[16], 1u);
  EXPECT_EQ(wave.wave.mode_bits() >> 29, 0u);
}

// A path more than the stack's depth counts to, and none to go back to.
TEST(Rare, ForksAsDeepAsTheStack) {
  TestWave deep("gfx942", 64);
  deep.wave.set_pair(10, 0xffff);
  deep.wave.set_mode(0xf0 | 7u << 29);
  const Exit full = deep.run("s_cbranch_i_fork s[10:11], pass\ns_nop 0\npass: s_nop 0");
  EXPECT_EQ(full.kind, Exit::Kind::Illegal);
  EXPECT_NE(full.name.find("seven paths"), std::string::npos) << full.name;

  TestWave shallow("gfx942", 64);
  shallow.wave.s[30] = 1;
  const Exit empty = shallow.run("s_cbranch_join s30");
  EXPECT_EQ(empty.kind, Exit::Kind::Illegal);
  EXPECT_NE(empty.name.find("no path"), std::string::npos) << empty.name;
}

// M0 from before s0 to behind the last register, for both widths: the sum wraps, and what is no
// register reads 0 and is not written.
TEST(Rare, ScalarRegistersRelativeToM0) {
  struct Move {
    const char* text;
    u32 m0;
    u64 expected;  // in s[10:11]
  };
  constexpr u64 kSource = 0x1111222233334444, kBefore = 0x5555666677778888;
  constexpr u32 kLow = 0x33334444;
  for (const Move& move : {
           Move{"s_movrels_b32 s10, s8", static_cast<u32>(-4), kBefore >> 32 << 32 | kLow},
           Move{"s_movrels_b32 s10, s8", static_cast<u32>(-9), kBefore >> 32 << 32},
           Move{"s_movrels_b32 s10, s8", 106 - 8, kBefore >> 32 << 32},
           Move{"s_movrels_b64 s[10:11], s[8:9]", static_cast<u32>(-4), kSource},
           Move{"s_movrels_b64 s[10:11], s[8:9]", static_cast<u32>(-9), 0},
           Move{"s_movrels_b64 s[10:11], s[8:9]", 105 - 8, 0},
           Move{"s_movreld_b32 s8, s4", 2, kBefore >> 32 << 32 | kLow},
           Move{"s_movreld_b32 s8, s4", static_cast<u32>(-9), kBefore},
           Move{"s_movreld_b32 s8, s4", 106 - 8, kBefore},
           Move{"s_movreld_b64 s[8:9], s[4:5]", 2, kSource},
           Move{"s_movreld_b64 s[8:9], s[4:5]", static_cast<u32>(-9), kBefore},
           Move{"s_movreld_b64 s[8:9], s[4:5]", 105 - 8, kBefore},
       }) {
    for (const char* chip : kChips) {
      TestWave wave(chip, lanes_of(chip));
      wave.wave.set_pair(4, kSource), wave.wave.set_pair(10, kBefore);
      const std::array<u32, kScalarRegisters> before = wave.wave.s;
      wave.wave.s[kM0] = move.m0;
      const Exit exit = wave.run(move.text);
      ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
      EXPECT_EQ(wave.wave.pair(10), move.expected) << chip << " " << move.text << " " << move.m0;
      for (u32 i = 0; i < kScalarRegisters; ++i) {
        if (i == 10 || i == 11 || i == kM0) continue;
        EXPECT_EQ(wave.wave.s[i], before[i]) << chip << " " << move.text << " s" << i;
      }
    }
  }
}

TEST(Rare, SkipsVectorInstructions) {
  TestWave wave("gfx942", 64);
  wave.set_all(0, 0);
  wave.wave.s[0] = 4;
  wave.run("s_setvskip s0, 2\nv_mov_b32 v0, 1\ns_setvskip s0, 1\nv_mov_b32 v1, 2");
  EXPECT_EQ(wave.get(0)[0], 0u);
  EXPECT_EQ(wave.get(1)[0], 2u);
}

TEST(Rare, ScalarStoresAndAtomics) {
  TestWave wave("gfx942", 64);
  wave.wave.set_pair(0, TestWave::kData);
  wave.wave.set_pair(4, 0x1111222233334444), wave.wave.s[6] = 5;
  wave.wave.set_pair(8, TestWave::kData), wave.wave.s[10] = 0x20;  // a buffer of 32 bytes
  wave.data<u32>(8) = 7;
  const Exit exit = wave.run(
      "s_store_dwordx2 s[4:5], s[0:1], 0x10\ns_atomic_add s6, s[0:1], 0x8 glc\n"
      "s_buffer_store_dword s4, s[8:11], 0x1c\ns_buffer_store_dword s4, s[8:11], 0x20");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  EXPECT_EQ(wave.data<u64>(0x10), 0x1111222233334444u);
  EXPECT_EQ(wave.data<u32>(8), 12u);
  EXPECT_EQ(wave.wave.s[6], 7u);
  EXPECT_EQ(wave.data<u32>(0x1c), 0x33334444u);
  EXPECT_EQ(wave.data<u32>(0x20), 0u);  // beyond the buffer
  wave.wave.set_pair(4, 12 | u64{99} << 32);
  std::swap(wave.wave.s[4], wave.wave.s[5]);  // the new value first, then what must be there
  wave.run("s_atomic_cmpswap s[4:5], s[0:1], 0x8");
  EXPECT_EQ(wave.data<u32>(8), 99u);
}

// A register's offset counts 64 bytes, a constant one bytes; lower bits than a dword's are ignored.
TEST(Rare, ScalarScratch) {
  TestWave wave("gfx942", 64);
  wave.wave.set_pair(0, TestWave::kData + 256);
  wave.wave.set_pair(4, 0x1111222233334444), wave.wave.set_pair(6, 0x5555666677778888);
  wave.wave.s[10] = 3, wave.wave.s[kM0] = 2;
  wave.data<u32>(256 + 64 * 2) = 0xabcd, wave.data<u32>(256 - 8) = 0xef;
  const Exit exit = wave.run(
      "s_scratch_store_dwordx4 s[4:7], s[0:1], s10\ns_scratch_store_dword s6, s[0:1], 0x12\n"
      "s_scratch_store_dwordx2 s[4:5], s[0:1], m0 offset:0x14\n"
      "s_scratch_load_dword s20, s[0:1], m0\ns_scratch_load_dword s21, s[0:1], -0x8\n"
      "s_scratch_load_dwordx2 s[22:23], s[0:1], s10 offset:0x8\n"
      "s_scratch_load_dwordx4 s[24:27], s[0:1], s10");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  EXPECT_EQ(wave.data<u64>(256 + 192), 0x1111222233334444u);
  EXPECT_EQ(wave.data<u64>(256 + 200), 0x5555666677778888u);
  EXPECT_EQ(wave.data<u32>(256 + 0x10), 0x77778888u);
  EXPECT_EQ(wave.data<u64>(256 + 128 + 0x14), 0x1111222233334444u);
  EXPECT_EQ(wave.wave.s[20], 0xabcdu);
  EXPECT_EQ(wave.wave.s[21], 0xefu);
  EXPECT_EQ(wave.wave.pair(22), 0x5555666677778888u);
  EXPECT_EQ(wave.wave.pair(24), 0x1111222233334444u);
}

// Of the random bits the highest count: 13 for a half, 16 for a bfloat, as many as the float has
// more. Values between two are one or the other, and just so often.
TEST(Rare, RoundsToHalvesAtRandom) {
  struct Conversion {
    u32 value, random, half, bfloat;
  };
  constexpr Conversion kConversions[] = {
      {0x3f800000, 0xffffffff, 0x3c00, 0x3f80},  // exact: never rounded
      {0x3f801fff, 0x0007ffff, 0x3c00, 0x3f80},  // the bits lost and one more make a carry
      {0x3f801fff, 0x00080000, 0x3c01, 0x3f80}, {0x3f801000, 0x7fffffff, 0x3c00, 0x3f80},
      {0x3f801000, 0x80000000, 0x3c01, 0x3f80}, {0xbf80ffff, 0x0000ffff, 0xbc07, 0xbf80},
      {0xbf80ffff, 0x00010000, 0xbc07, 0xbf81}, {0xbf80ffff, 0x00080000, 0xbc08, 0xbf81},
      {0x477fffff, 0x00080000, 0x7c00, 0x4780},  // 65535.996
      {0x477fe000, 0xffffffff, 0x7bff, 0x4780},  // 65504
      {0x33c00000, 0x7fffffff, 0x0001, 0x33c0},  // 1.5 * 2^-24
      {0x33c00000, 0x80000000, 0x0002, 0x33c0}, {0x387fffff, 0xffffffff, 0x0400, 0x3880},
      {0x7f7fffff, 0xffffffff, 0x7c00, 0x7f80}, {0x7f800000, 0xffffffff, 0x7c00, 0x7f80},
      {0xffa00000, 0, 0xffff, 0xffff},          {0x80000000, 0xffffffff, 0x8000, 0x8000},
  };
  constexpr u32 kCount = std::size(kConversions);
  TestWave wave("gfx950", 64);
  wave.set(1, [&](u32 lane) { return kConversions[lane % kCount].value; });
  wave.set(2, [&](u32 lane) { return kConversions[lane % kCount].random; });
  for (u32 v : {3, 4, 5, 6}) wave.set_all(v, 0x12345678);
  const Exit exit = wave.run(
      "v_cvt_sr_f16_f32 v3, v1, v2\nv_cvt_sr_bf16_f32 v4, v1, v2\n"
      "v_cvt_sr_f16_f32 v5, v1, v2 op_sel:[0,0,1]\nv_cvt_sr_bf16_f32 v6, v1, v2 op_sel:[0,0,1]");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  for (u32 i = 0; i < kCount; ++i) {
    const Conversion& is = kConversions[i];
    EXPECT_EQ(wave.get(3)[i], 0x12340000 | is.half) << i;
    EXPECT_EQ(wave.get(4)[i], 0x12340000 | is.bfloat) << i;
    EXPECT_EQ(wave.get(5)[i], 0x5678 | is.half << 16) << i;
    EXPECT_EQ(wave.get(6)[i], 0x5678 | is.bfloat << 16) << i;
  }
}

TEST(Rare, BlocksOfRegisters) {
  TestWave wave("gfx1201", 32);
  wave.wave.s[kM0] = 1 | 1 << 3 | 1u << 31;
  wave.wave.set_pair(0, TestWave::kData);
  wave.set(40, [](u32 lane) { return 128 * lane; });
  for (u32 i = 0; i < 32; ++i) wave.set_all(i, 100 + i), wave.set_all(50 + i, 7);
  wave.run(
      "global_store_block v40, v[0:31], s[0:1] offset:8\n"
      "global_load_block v[50:81], v40, s[0:1] offset:8");
  EXPECT_EQ(wave.data<u32>(128 + 8), 100u);
  EXPECT_EQ(wave.data<u32>(128 + 8 + 4), 0u);
  EXPECT_EQ(wave.data<u32>(128 + 8 + 12), 103u);
  EXPECT_EQ(wave.get(50)[1], 100u);
  EXPECT_EQ(wave.get(51)[1], 7u);
  EXPECT_EQ(wave.get(53)[1], 103u);
  EXPECT_EQ(wave.get(81)[1], 131u);
  wave.wave.vgpr_count = 60;
  EXPECT_EQ(wave.run("global_load_block v[50:81], v40, s[0:1]").kind, Exit::Kind::Bounds);
}

TEST(Rare, ScratchToLds) {
  TestWave wave("gfx942", 64);
  for (u32 lane = 0; lane < 64; ++lane) wave.scratch<u32>(lane * 4) = 500 + lane;
  wave.wave.s[kM0] = 256;
  wave.set_all(1, 0);
  const Exit exit = wave.run("scratch_load_lds_dword v1, off");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  EXPECT_EQ(wave.lds<u32>(256 + 63 * 4), 563u);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
