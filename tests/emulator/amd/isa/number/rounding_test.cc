// Rounding as the MODE register asks, against an exact model's results.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>

#include "tests/emulator/amd/isa/number/rounding_cases.h"
#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::RoundingCase;
using testing::TestWave;

// Operands are in v1, v2, v3, of 64 bits in the pairs from v2, v4 and v6; scalars in s1 and s2.
std::string assembly(const RoundingCase& test) {
  const std::string_view name = test.name;
  if (name.starts_with("s_")) return fmt::format("{} s0, s1, s2\nv_mov_b32 v0, s0", name);
  if (name == "v_cvt_pk_u8_f32") return "v_cvt_pk_u8_f32 v0, v1, 0, 0";
  if (name == "v_cvt_f32_f64") return "v_cvt_f32_f64 v0, v[2:3]";
  if (name == "v_cvt_f16_f32") return "v_cvt_f16_f32 v0, v1";
  const bool fused = name.find("fma") != name.npos || name.find("mad") != name.npos;
  if (name.ends_with("f64")) {
    return fmt::format("{} v[0:1], v[2:3], v[4:5]{}", name, fused ? ", v[6:7]" : "");
  }
  return fmt::format("{} v0, v1, v2{}", name, fused ? ", v3" : "");
}

void check(const RoundingCase& test, TestWave& wave) {
  const u64 operands[] = {test.a, test.b, test.c};
  const bool wide = std::string_view(test.name).find("f64") != std::string_view::npos;
  for (u32 i = 0; i < 3; ++i) {
    wave.set_all(wide ? 2 + 2 * i : 1 + i, static_cast<u32>(operands[i]));
    if (wide) wave.set_all(3 + 2 * i, static_cast<u32>(operands[i] >> 32));
    wave.wave.s[1 + i] = static_cast<u32>(operands[i]);
  }
  wave.set_all(0, 0);
  wave.wave.set_mode(test.mode);
  const Exit exit = wave.run(assembly(test));
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  const bool wide_result = std::string_view(test.name).ends_with("f64") &&
                           !std::string_view(test.name).starts_with("v_cvt");
  u64 result = wave.get(0).back();
  // Both halves of packed results would be alike, were their high operands not zero.
  if (std::string_view(test.name).starts_with("v_pk")) result &= 0xffff;
  if (wide_result) result |= u64{wave.get(1).back()} << 32;
  EXPECT_EQ(result, test.expected)
      << fmt::format("{}: {} {:#x} {:#x} {:#x}, mode {:#x}", wave.wave.chip->name, test.name,
                     test.a, test.b, test.c, test.mode);
}

TEST(Rounding, IsWhatModeAsksFor) {
  for (const char* chip : {"gfx942", "gfx1030", "gfx1100", "gfx1201"}) {
    TestWave wave(chip, std::string_view(chip) == "gfx942" ? 64 : 32);
    for (const RoundingCase& test : testing::kRoundingCases) {
      const std::string_view chips = test.chips;
      if (chips == "*" || chips == chip) check(test, wave);
    }
  }
}

// Neither the documents nor measurements say by what memory rounds.
TEST(Rounding, StopsWhereItIsNotDocumented) {
  TestWave wave("gfx1100", 32);
  wave.set_all(0, 0);
  wave.wave.set_mode(0xf1);
  const Exit exit = wave.run("ds_add_f32 v0, v1");
  EXPECT_EQ(exit.kind, Exit::Kind::Illegal);
  EXPECT_EQ(exit.name, "DS_ADD_F32_gfx11 rounding not to nearest");
  EXPECT_EQ(exit.pc, TestWave::kCode);
}

TEST(Rounding, MayBeOfNoMatterToTheInstruction) {
  TestWave wave("gfx1201", 32);
  wave.set_all(1, 0x40400000);   // 3
  wave.wave.set_mode(0xf1);      // up
  wave.run("v_rcp_f32 v0, v1");  // 1/3 is 0x3eaaaaaa.aa...: to nearest 0x3eaaaaab
  EXPECT_EQ(wave.get(0)[0], 0x3eaaaaabu);
  wave.wave.set_mode(0xf2);  // down
  wave.run("v_rcp_f32 v0, v1");
  EXPECT_EQ(wave.get(0)[0], 0x3eaaaaabu);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
