// V_BITOP3 of gfx950, for every truth table.
#include <gtest/gtest.h>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;

TEST(Bitop, LooksBitsUpInItsTable) {
  TestWave test("gfx950", 64);
  test.set(1, [](u32 lane) { return 0xf0f0f0f0 + lane; });
  test.set(2, [](u32 lane) { return 0xcccccccc - lane * 77; });
  test.set(3, [](u32 lane) { return 0xaaaaaaaa ^ lane << 7; });
  for (u32 table = 0; table < 256; table += 5) {
    test.wave.set_mask(kExecLo, ~u64{1});
    test.set_all(4, 7);
    const Exit exit = test.run("v_bitop3_b32 v4, v1, v2, v3 bitop3:" + std::to_string(table));
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
    EXPECT_EQ(test.get(4)[0], 7u);
    for (u32 lane = 1; lane < 64; ++lane) {
      const u32 a = test.get(1)[lane], b = test.get(2)[lane], c = test.get(3)[lane];
      for (u32 bit = 0; bit < 32; ++bit) {
        const u32 index = (a >> bit & 1) * 4 + (b >> bit & 1) * 2 + (c >> bit & 1);
        ASSERT_EQ(test.get(4)[lane] >> bit & 1, table >> index & 1) << table << " " << lane;
      }
    }
  }
}

// Tables by their names: the operands' own are 0xf0, 0xcc and 0xaa. [LLVM, test/MC/AMDGPU]
TEST(Bitop, TakesScalarsAndHalves) {
  TestWave test("gfx950", 64);
  test.wave.s[3] = 0xff00ff00;
  test.set_all(2, 0x12345678);
  test.set_all(4, 0);
  Exit exit = test.run("v_bitop3_b32 v4, s3, v2, 0 bitop3:0xc0");  // a and b
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  EXPECT_EQ(test.get(4)[9], 0x12005600u);
  exit = test.run("v_bitop3_b16 v4, s3, v2, 0 bitop3:0x3c");  // a xor b, low halves
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  EXPECT_EQ(test.get(4)[9] & 0xffff, 0xff00u ^ 0x5678u);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
