// S_GETREG and S_SETREG of what each generation has under a number, and that nothing else is made
// up. The numbers and fields stand where hardware_registers.cc says.
#include <gtest/gtest.h>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;

struct Case {
  const char* chip;
  u32 lanes;
  const char* text;
  u32 expected = 0;  // in s0
};

void set_up(Wave& wave) {
  wave.set_pair(kVccLo, 0);
  wave.scc = 1;
  wave.wave_in_group = 6;
  wave.compute_unit = 5, wave.xcc = 3;
  wave.clock = 0x7'12345678;
  wave.flat_scratch = 0x1122334455667788;
}

constexpr Case kReads[] = {
    {"gfx942", 64, "s_getreg_b32 s0, hwreg(2, 0, 1)", 1},       // STATUS.SCC
    {"gfx1100", 32, "s_getreg_b32 s0, hwreg(2, 9, 2)", 2},      // EXECZ, VCCZ
    {"gfx1201", 32, "s_getreg_b32 s0, hwreg(2, 9, 2)", 2},      // the same
    {"gfx1201", 32, "s_getreg_b32 s0, hwreg(4, 9, 1)", 1},      // STATE_PRIV.SCC
    {"gfx942", 64, "s_getreg_b32 s0, hwreg(4, 8, 8)", 5},       // HW_ID: CU_ID, SH_ID, SE_ID
    {"gfx942", 64, "s_getreg_b32 s0, hwreg(4, 4, 2)", 2},       // SIMD_ID
    {"gfx1030", 32, "s_getreg_b32 s0, hwreg(23, 10, 4)", 5},    // HW_ID1.WGP_ID
    {"gfx1100", 32, "s_getreg_b32 s0, hwreg(23, 16, 5)", 0},    // SA_ID, SE_ID
    {"gfx942", 64, "s_getreg_b32 s0, hwreg(20, 0, 4)", 3},      // XCC_ID
    {"gfx942", 64, "s_getreg_b32 s0, hwreg(6, 12, 9)", 16},     // LDS_SIZE: 4 KiB by 64 dwords
    {"gfx950", 64, "s_getreg_b32 s0, hwreg(6, 12, 11)", 20},    // allocated by 1280 bytes
    {"gfx1030", 32, "s_getreg_b32 s0, hwreg(6, 12, 9)", 16},    //
    {"gfx1201", 32, "s_getreg_b32 s0, hwreg(6, 12, 9)", 8},     // by 128 dwords
    {"gfx1100", 32, "s_getreg_b32 s0, hwreg(15)", 0x10002},     // SH_MEM_BASES
    {"gfx1100", 32, "s_getreg_b32 s0, hwreg(20)", 0x55667788},  // FLAT_SCRATCH_LO
    {"gfx1201", 32, "s_getreg_b32 s0, hwreg(21)", 0x11223344},  // SCRATCH_BASE_HI
    {"gfx1030", 32, "s_setreg_b32 hwreg(20), s1\ns_getreg_b32 s0, hwreg(20)", 0x12345},
    {"gfx1100", 32, "s_getreg_b32 s0, hwreg(29, 0, 20)", 0x45678},   // SHADER_CYCLES
    {"gfx1201", 32, "s_getreg_b32 s0, hwreg(29)", 0x12345678},       // SHADER_CYCLES_LO
    {"gfx1201", 32, "s_getreg_b32 s0, hwreg(30)", 7},                // SHADER_CYCLES_HI
    {"gfx1201", 32, "s_setreg_imm32_b32 hwreg(26, 0, 2), 2", 0x99},  // SCHED_MODE
    {"gfx942", 64, "s_setreg_imm32_b32 hwreg(1, 4, 4), 5\ns_getreg_b32 s0, hwreg(1, 0, 8)", 0x50},
};

TEST(HardwareRegisters, ReadWhatTheChipHas) {
  for (const Case& read : kReads) {
    TestWave test(read.chip, read.lanes);
    set_up(test.wave);
    test.wave.s[0] = 0x99, test.wave.s[1] = 0x12345;
    const Exit exit = test.run(read.text);
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << read.chip << " " << exit.name;
    EXPECT_EQ(test.wave.s[0], read.expected) << read.chip << " " << read.text;
  }
}

// Numbers of other generations, registers of which nothing is known here, and bits of others.
constexpr Case kUnknown[] = {
    {"gfx942", 64, "s_getreg_b32 s0, hwreg(3)"},         // TRAPSTS
    {"gfx942", 64, "s_getreg_b32 s0, hwreg(29)"},        // SHADER_CYCLES, of later ones
    {"gfx942", 64, "s_getreg_b32 s0, hwreg(21)"},        // SQ_PERF_SNAPSHOT_DATA
    {"gfx942", 64, "s_getreg_b32 s0, hwreg(4, 0, 4)"},   // HW_ID.WAVE_ID
    {"gfx942", 64, "s_getreg_b32 s0, hwreg(2)"},         // all of STATUS
    {"gfx1030", 32, "s_getreg_b32 s0, hwreg(4)"},        // HW_ID, of gfx9
    {"gfx1100", 32, "s_getreg_b32 s0, hwreg(4)"},        //
    {"gfx1100", 32, "s_getreg_b32 s0, hwreg(26)"},       // SCHED_MODE
    {"gfx1201", 32, "s_getreg_b32 s0, hwreg(2, 0, 1)"},  // STATUS.SCC, which is STATE_PRIV's
    {"gfx1201", 32, "s_getreg_b32 s0, hwreg(15)"},       // SH_MEM_BASES, of earlier ones
    {"gfx1201", 32, "s_getreg_b32 s0, hwreg(17)"},       // EXCP_FLAG_PRIV
    {"gfx1201", 32, "s_getreg_b32 s0, hwreg(63)"},       // nothing
    {"gfx942", 64, "s_setreg_b32 hwreg(3), s1"},         // TRAPSTS
    {"gfx1100", 32, "s_setreg_b32 hwreg(20), s1"},       // FLAT_SCRATCH_LO, the trap handler's
    {"gfx1201", 32, "s_setreg_imm32_b32 hwreg(18), 0"},  // EXCP_FLAG_USER
};

TEST(HardwareRegisters, NothingElseIsMadeUp) {
  for (const Case& unknown : kUnknown) {
    TestWave test(unknown.chip, unknown.lanes);
    set_up(test.wave);
    const Exit exit = test.run(unknown.text);
    EXPECT_EQ(exit.kind, Exit::Kind::Illegal) << unknown.chip << " " << unknown.text;
    EXPECT_EQ(exit.pc, TestWave::kCode);
    const std::string text = unknown.text, id = text.substr(text.find('(') + 1);
    const std::string said = "hardware register " + id.substr(0, id.find_first_of(",)")) + ",";
    EXPECT_NE(exit.name.find(said), std::string::npos) << unknown.text << ": " << exit.name;
  }
}

// LDS_DIRECT and POPS_EXITING_WAVE_ID are graphics'.
TEST(HardwareRegisters, SourcesOfNothing) {
  struct Source {
    const char* text;
    const char* code;
  };
  for (const Source& source : {Source{"v_mov_b32 v0, src_lds_direct", "operand 254"},
                               Source{"s_mov_b32 s0, src_pops_exiting_wave_id", "operand 239"}}) {
    TestWave test("gfx1030", 32);
    const Exit exit = test.run(source.text);
    EXPECT_EQ(exit.kind, Exit::Kind::Illegal) << source.text;
    EXPECT_NE(exit.name.find(source.code), std::string::npos) << source.text << ": " << exit.name;
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
