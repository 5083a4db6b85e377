// Kernels whose waves race in LDS, in assembly, each with a twin that does not: which pair of
// accesses is told, that no other rule finds it, and that the twin is silent. What orders two waves
// is that of the LLVM AMDGPU memory model and of the ISA documents' barriers.
#include <gtest/gtest.h>

#include "emulator/amd/all_checks.h"
#include "emulator/amd/grid_launcher.h"
#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::TestGpu;
using testing::TestKernel;

using Texts = std::vector<std::string>;

// The order of waves: the plain one, and three by chance.
constexpr u64 kSeeds[] = {0, 1, 2, 3};

void expect_part(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), text.npos) << text << "\nhas no part " << part;
}
// One text, with this part.
void expect_one(const Texts& texts, std::string_view part) {
  ASSERT_EQ(texts.size(), 1u);
  expect_part(texts[0], part);
}

class Races : public ::testing::TestWithParam<const char*> {
 protected:
  // Two waves, or as many as `waves` says. v0 has the work item; v1 the address of its dword in
  // LDS; v2 that of the same lane of the other wave of two. s4 has the wave's first work item, and
  // s[2:3] the address of a buffer. {lds N} and {vm N} wait until N instructions are out,
  // {barrier} is a barrier, {lanes} the size of a wave.
  Texts run(std::string_view body, const std::string& levels, u64 seed, u32 waves) {
    Checks checks;
    EXPECT_TRUE(checks.configure(levels, all_checks()));
    GridLauncher launcher(
        {.chip = &gpu.chip(), .space = &gpu.space(), .seed = seed, .checks = &checks});
    const TestKernel kernel =
        gpu.assemble(translate(kPrelude + std::string(body) + "\ns_endpgm"), {.lds_bytes = 4096});
    const Dispatch dispatch =
        gpu.dispatch(kernel, {.group_size = {waves * lanes(), 1, 1}}, Arguments().add(buffer));
    const GridState state = launcher.launch(dispatch, nullptr)->run(~u64{0});
    Texts told;
    for (const Report& report : checks.reports()) told.push_back(to_string(report));
    EXPECT_EQ(state == GridState::Failed, checks.errors() != 0);
    return told;
  }
  // The rule finds one pair of accesses, whatever the order of waves; all others find nothing.
  void expect_race(std::string_view body, std::string_view what, u32 waves = 2) {
    for (const u64 seed : kSeeds) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      EXPECT_EQ(run(body, "error,AMD-LOAD=error", seed, waves), Texts{});
      expect_one(run(body, "error,AMD-RACE=error", seed, waves), "error AMD-RACE-001: kernel at ");
    }
    expect_one(run(body, "error,AMD-RACE=error", 0, waves), what);
  }
  void expect_none(std::string_view body, u32 waves = 2) {
    for (const u64 seed : kSeeds) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      EXPECT_EQ(run(body, "error,AMD-LOAD=error,AMD-RACE=error", seed, waves), Texts{});
    }
  }

  Generation generation() const { return gpu.chip().generation; }
  u32 lanes() const { return gpu.chip().wave32 ? 32 : 64; }

  TestGpu gpu{GetParam()};
  const u64 buffer = gpu.allocate(4096);

 private:
  static constexpr const char* kPrelude = R"(
    s_load_dwordx2 s[2:3], s[0:1], 0x0
    v_xor_b32 v2, {lanes}, v0
    v_lshlrev_b32 v1, 2, v0
    v_lshlrev_b32 v2, 2, v2
    v_readfirstlane_b32 s4, v0
    {scalar 0}
  )";

  std::string translate(std::string text) const {
    const bool gfx12 = generation() == Generation::Gfx12;
    const std::pair<std::string_view, std::string> kNames[] = {
        {"{lanes}", std::to_string(lanes())},
        {"{barrier}", gfx12 ? "s_barrier_signal -1\ns_barrier_wait -1" : "s_barrier"},
        {"{vm 0}", gfx12 ? "s_wait_loadcnt 0" : "s_waitcnt vmcnt(0)"},
        {"{vm 1}", gfx12 ? "s_wait_loadcnt 1" : "s_waitcnt vmcnt(1)"},
        {"{scalar 0}", gfx12 ? "s_wait_kmcnt 0" : "s_waitcnt lgkmcnt(0)"},
        {"{lds 0}", gfx12 ? "s_wait_dscnt 0" : "s_waitcnt lgkmcnt(0)"}};
    for (const auto& [name, is] : kNames)
      for (usize at = 0; (at = text.find(name)) != text.npos;) text.replace(at, name.size(), is);
    return text;
  }
};

TEST_P(Races, AReadIsBehindTheWriteByABarrier) {
  expect_race("ds_write_b32 v1, v0\n ds_read_b32 v3, v2\n {lds 0}",
              "orders them: wave 0 had passed 0 barriers then, wave 1 0 barriers now");
  expect_none("ds_write_b32 v1, v0\n {lds 0}\n {barrier}\n ds_read_b32 v3, v2\n {lds 0}");
}

// The report names both instructions, their waves and the first lane's address.
TEST_P(Races, AReportNamesBothAccesses) {
  const std::string wave_bytes = fmt::format("{:#x}", lanes() * 4);
  const Texts told =
      run("ds_write_b32 v1, v0\n ds_read_b32 v3, v2\n {lds 0}", "off,AMD-RACE=warn", 0, 2);
  ASSERT_EQ(told.size(), 2u) << "wave 1 writes what wave 0 has read, and reads what it wrote";
  expect_part(told[0], "group 0,0,0, wave 1, pc ");
  expect_part(told[0], "lane 0: DS_");
  expect_part(told[0], " writes LDS at " + wave_bytes + ", which wave 0 read by DS_");
  expect_part(told[1], " reads LDS at 0x0, which wave 0 wrote by DS_");
}

TEST_P(Races, AWriteIsBehindTheReadByABarrier) {
  constexpr const char* kInit = "ds_write_b32 v1, v0\n {lds 0}\n {barrier}\n ds_read_b32 v3, v2\n";
  expect_race(fmt::format("{} {{lds 0}}\n ds_write_b32 v1, v3", kInit),
              "had passed 1 barrier then, wave 0 1 barrier now");
  expect_none(fmt::format("{} {{lds 0}}\n {{barrier}}\n ds_write_b32 v1, v3", kInit));
}

// Also when the wave that writes was the last to read.
TEST_P(Races, AWriteIsBehindAllReads) {
  constexpr const char* kBody = R"(
    v_mov_b32 v3, 0
    ds_read_b32 v4, v3
    {{lds 0}}
    {}
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc1 end
    ds_write_b32 v3, v0
   end:
  )";
  expect_race(fmt::format(kBody, "s_nop 0"), "writes LDS at 0x0, which wave 0 read by DS_");
  expect_none(fmt::format(kBody, "{barrier}"));
}

TEST_P(Races, TwoWritesHaveABarrierBetweenThem) {
  expect_race("v_mov_b32 v3, 64\n ds_write_b32 v3, v0", "writes LDS at 0x40, which wave 0 wrote");
  expect_none(R"(
    v_mov_b32 v3, 64
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc0 behind
    ds_write_b32 v3, v0
   behind:
    {lds 0}
    {barrier}
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc1 end
    ds_write_b32 v3, v0
   end:
  )");
}

// Lanes of one wave, in one instruction or in several, do not race.
TEST_P(Races, LanesOfAWaveAreOrdered) {
  expect_none(R"(
    v_mov_b32 v3, s4
    ds_write_b32 v3, v0
    ds_write_b32 v3, v1
    ds_read_b32 v4, v3
    {lds 0}
  )");
}

TEST_P(Races, ABarrierInTheWrongPlaceIsNone) {
  expect_race("{barrier}\n ds_write_b32 v1, v0\n ds_read_b32 v3, v2\n {lds 0}\n {barrier}",
              "had passed 1 barrier then");
}

// A tile for each round: each wave stores its part, and reads the other's behind a barrier. With
// one buffer the next round's stores overtake the reads.
constexpr const char* kRing = R"(
    s_mov_b32 s5, 0
    s_mov_b32 s6, 0
   loop:
    v_add_u32 v3, s6, v1
    v_add_u32 v4, s6, v2
    ds_write_b32 v3, v0
    {lds 0}
    {barrier}
    ds_read_b32 v5, v4
    {lds 0}
    TOGGLE
    s_add_u32 s5, s5, 1
    s_cmp_lt_u32 s5, 6
    s_cbranch_scc1 loop
)";
std::string ring(Generation generation, const char* toggle) {
  std::string text = kRing;
  text.replace(text.find("TOGGLE"), 6, toggle);
  if (generation != Generation::Gfx9)
    for (usize at = 0; (at = text.find("v_add_u32")) != text.npos;)
      text.replace(at, 9, "v_add_nc_u32");
  return text;
}

TEST_P(Races, ARingNeedsABufferMore) {
  expect_race(ring(generation(), "s_nop 0"), "LDS at 0x");
  expect_none(ring(generation(), "s_xor_b32 s6, s6, 0x200"));
}

TEST_P(Races, BytesAreApart) {
  // Each lane's dword: wave 0 writes its lower half, wave 1 the upper one.
  constexpr const char* kHalves = R"(
    v_and_b32 v3, {lanes} - 1, v0
    v_lshlrev_b32 v3, 2, v3
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc0 second
    ds_write_b16 v3, v0
    s_branch end
   second:
    ds_write_b16 v3, v0 offset:OFFSET
   end:
  )";
  std::string halves = kHalves;
  halves.replace(halves.find("OFFSET"), 6, "2");
  expect_none(halves);
  halves = kHalves;
  halves.replace(halves.find("OFFSET"), 6, "1");
  expect_race(halves, "writes LDS at 0x1, which wave 0 wrote");
  // A dword that was read in whole, and is then written in part.
  expect_race(R"(
    v_mov_b32 v3, 8
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc0 second
    ds_read_b64 v[4:5], v3
    s_branch end
   second:
    ds_write_b8 v3, v0 offset:5
   end:
    {lds 0}
  )",
              "LDS at 0xd, which wave 0 read");
}

// ---- atomic operations

// Wave 0 stores, then counts; wave 1 reads, after what PUBLISH and LOOK do.
std::string handed_over(const char* publish, const char* look) {
  return fmt::format(R"(
    v_mov_b32 v3, 0
    v_mov_b32 v4, 1
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc0 second
    ds_write_b32 v1, v0 offset:1024
    {}
    s_branch end
   second:
    {}
    ds_read_b32 v5, v2 offset:1024
   end:
    {{lds 0}}
  )",
                     publish, look);
}
constexpr const char* kCount = "ds_add_u32 v3, v4";
constexpr const char* kUntilCounted = R"(
    v_mov_b32 v6, 0
   poll:
    ds_add_rtn_u32 v5, v3, v6
    {lds 0}
    v_readfirstlane_b32 s5, v5
    s_cmp_eq_u32 s5, 0
    s_cbranch_scc1 poll
)";

TEST_P(Races, AnAtomicOperationHandsOver) { expect_none(handed_over(kCount, kUntilCounted)); }

TEST_P(Races, WhoDoesNotLookIsNotHandedAnything) {
  expect_race(handed_over(kCount, "s_nop 0"), "reads LDS at 0x400, which wave 0 wrote");
  // Without the value before, it is not known who came first.
  expect_race(handed_over(kCount, "ds_add_u32 v3, v4"), "reads LDS at 0x400, which wave 0 wrote");
  // On another address.
  expect_race(handed_over(kCount, "ds_add_rtn_u32 v5, v3, v4 offset:8"),
              "reads LDS at 0x400, which wave 0 wrote");
}

TEST_P(Races, WhatIsStoredBehindTheAtomicOperationIsNotHandedOver) {
  expect_race(handed_over("ds_add_u32 v3, v4\n ds_write_b32 v1, v4 offset:1024", kUntilCounted),
              "reads LDS at 0x400, which wave 0 wrote");
}

// A sum: all waves add, and all read it.
TEST_P(Races, AReadIsBehindAtomicOperationsByABarrier) {
  constexpr const char* kAdd = "v_mov_b32 v3, 0\n v_mov_b32 v4, 1\n ds_add_u32 v3, v4\n";
  expect_race(fmt::format("{} ds_read_b32 v5, v3\n {{lds 0}}", kAdd),
              "updates LDS at 0x0, which wave 0 read");
  expect_none(fmt::format("{} {{lds 0}}\n {{barrier}}\n ds_read_b32 v5, v3\n {{lds 0}}", kAdd));
  // Also when the last to add was the wave that reads.
  expect_none(fmt::format("{} ds_add_u32 v3, v4", kAdd));
  const Texts told = run(fmt::format(R"(
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc0 second
    {0}
    s_branch end
   second:
    {0}
    ds_read_b32 v5, v3
   end:
    {{lds 0}}
  )",
                                     kAdd),
                         "error,AMD-RACE=error", 0, 2);
  expect_one(told, "reads LDS at 0x0, which wave 0 updated");
}

// A counter that one wave sets to zero, and another counts.
TEST_P(Races, AnAtomicOperationIsBehindAStoreByABarrier) {
  const auto set_and_counted = [](const char* between) {
    return fmt::format(R"(
    v_mov_b32 v3, 0
    v_mov_b32 v4, 1
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc0 second
    ds_write_b32 v3, v3
    {0}
    s_branch end
   second:
    {0}
    ds_add_u32 v3, v4
   end:
    {{lds 0}}
  )",
                       between);
  };
  const Texts told = run(set_and_counted("s_nop 0"), "error,AMD-RACE=error", 0, 2);
  expect_one(told, "updates LDS at 0x0, which wave 0 wrote");
  expect_none(set_and_counted("{barrier}"));
}

// ---- waves that end

// A barrier does not wait for waves that have ended, and comes behind all that they did.
TEST_P(Races, TheEndOfAWaveIsBeforeTheBarrier) {
  constexpr const char* kEnds = R"(
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc0 others
    ds_write_b32 v1, v0
    s_endpgm
   others:
    {}
    v_and_b32 v3, {{lanes}} - 1, v0
    v_lshlrev_b32 v3, 2, v3
    ds_read_b32 v4, v3
    {{lds 0}}
  )";
  expect_none(fmt::format(fmt::runtime(kEnds), "{barrier}"), 3);
  expect_race(fmt::format(fmt::runtime(kEnds), "s_nop 0"), "reads LDS at 0x0, which wave 0 wrote",
              3);
}

std::string chip_name(const ::testing::TestParamInfo<const char*>& info) { return info.param; }
INSTANTIATE_TEST_SUITE_P(Chips, Races, ::testing::Values("gfx1030", "gfx1100", "gfx1201", "gfx942"),
                         chip_name);

// ---- the split barrier

using SplitBarrierRaces = Races;

TEST_P(SplitBarrierRaces, OnlyWhatIsBeforeTheSignalIsOrdered) {
  constexpr const char* kWait = "s_barrier_wait -1\n ds_read_b32 v3, v2\n s_wait_dscnt 0";
  expect_none(fmt::format("ds_write_b32 v1, v0\n s_barrier_signal -1\n s_nop 0\n {}", kWait));
  expect_race(fmt::format("s_barrier_signal -1\n ds_write_b32 v1, v0\n {}", kWait), "LDS at 0x");
  // What is read between signal and wait is behind nothing.
  expect_race(
      "ds_write_b32 v1, v0\n s_barrier_signal -1\n ds_read_b32 v3, v2\n s_wait_dscnt 0\n "
      "s_barrier_wait -1",
      "LDS at 0x");
}

INSTANTIATE_TEST_SUITE_P(Chips, SplitBarrierRaces, ::testing::Values("gfx1201"), chip_name);

// ---- loads from memory to LDS

class CopyRaces : public Races {
 protected:
  // To the LDS of this wave's lanes, `offset` bytes further.
  std::string copy(u32 offset) const {
    const std::string to = fmt::format("s_lshl_b32 m0, s4, 2\n s_add_u32 m0, m0, {}\n", offset);
    if (generation() == Generation::Gfx9)
      return to + "s_nop 0\n global_load_lds_dword v1, s[2:3]\n";
    return to + R"(
      s_mov_b32 s8, s2
      s_mov_b32 s9, s3
      s_mov_b32 s10, 4096
      s_mov_b32 s11, 0x31016fac
      buffer_load_dword v1, s[8:11], 0 offen lds
    )";
  }
};

TEST_P(CopyRaces, AWaveWaitsForWhatItCopied) {
  expect_race(copy(0) + "ds_read_b32 v3, v1\n {lds 0}",
              "the wave has not waited for vmcnt between them", 1);
  expect_none(copy(0) + "{vm 0}\n ds_read_b32 v3, v1\n {lds 0}", 1);
}

TEST_P(CopyRaces, ABarrierIsBehindTheWait) {
  expect_race(copy(0) + "{barrier}\n ds_read_b32 v3, v2\n {lds 0}",
              "no wait for vmcnt with a barrier behind it orders them");
  expect_race(copy(0) + "{barrier}\n {vm 0}\n ds_read_b32 v3, v2\n {lds 0}",
              "no wait for vmcnt with a barrier behind it orders them");
  expect_none(copy(0) + "{vm 0}\n {barrier}\n ds_read_b32 v3, v2\n {lds 0}");
}

TEST_P(CopyRaces, CopiesComeBackInTheirOrder) {
  const std::string two = copy(0) + copy(1024) + "{vm 1}\n {barrier}\n";
  expect_none(two + "ds_read_b32 v3, v2\n {lds 0}");
  expect_race(two + "ds_read_b32 v3, v2 offset:1024\n {lds 0}", "copied to by ");
  // A load of a register counts as well.
  const std::string load = copy(0) + "global_load_dword v5, v1, s[2:3]\n {vm 1}\n {barrier}\n";
  expect_none(load + "ds_read_b32 v3, v2\n {lds 0}");
}

// A copy is a write: the others have read what was there.
TEST_P(CopyRaces, ACopyIsBehindReadsByABarrier) {
  const std::string read = "ds_read_b32 v3, v2\n {lds 0}\n ";
  expect_race(read + copy(0) + "{vm 0}", "copied to by ");
  expect_none(read + "{barrier}\n" + copy(0) + "{vm 0}");
}

INSTANTIATE_TEST_SUITE_P(Chips, CopyRaces, ::testing::Values("gfx1030", "gfx942", "gfx950"),
                         chip_name);

}  // namespace
}  // namespace doorbell::emu::amdgpu
