// The rules that are checked while waves run: a kernel's resources (AMD-RES), barriers (AMD-BAR),
// undefined values (AMD-INI), waits (AMD-LOAD) and races (AMD-RACE). Each by name: broken, kept,
// and the behaviour at each level.
#include <gtest/gtest.h>

#include "emulator/amd/all_checks.h"
#include "emulator/amd/grid_launcher.h"
#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::AssemblyOptions;
using testing::TestGpu;
using testing::TestKernel;

constexpr const char* kLevels[] = {"off", "warn", "error"};

class Rules {
 public:
  Rules(const char* chip, const std::string& levels) : gpu(chip) {
    EXPECT_TRUE(checks_.configure(levels, all_checks()));
    undefined_on_ = levels.find("AMD-INI") != std::string::npos;
    out = gpu.allocate(4096);
  }

  // One group of one wave, or of `waves`. The address of `out` is its argument.
  GridState run(std::string_view body, const AssemblyOptions& options = {}, u32 waves = 1) {
    GridLauncher launcher({.chip = &gpu.chip(),
                           .space = &gpu.space(),
                           .checks = &checks_,
                           .undefined = undefined_on_ ? &undefined_ : nullptr});
    const TestKernel kernel = gpu.assemble(body, options);
    const u32 lanes = gpu.chip().wave32 ? 32 : 64;
    const Dispatch dispatch =
        gpu.dispatch(kernel, {.group_size = {waves * lanes, 1, 1}}, Arguments().add(out));
    auto grid = launcher.launch(dispatch, nullptr);
    const GridState state = grid->run(~u64{0});
    what = state == GridState::Failed && grid->exception() ? grid->exception()->what : "";
    return state;
  }
  // The rules that were broken, each as often.
  std::vector<std::string> broken() const {
    std::vector<std::string> ids;
    for (const Report& report : checks_.reports()) ids.emplace_back(report.check->id);
    return ids;
  }
  std::vector<u32> results(usize count) const { return gpu.read<u32>(out, count); }

  TestGpu gpu;
  u64 out = 0;
  std::string what;

 private:
  Checks checks_;
  UndefinedMemory undefined_;
  bool undefined_on_ = false;
};

using Ids = std::vector<std::string>;

// Runs at each level: at `error` the grid stops, else it goes on to its end; what it then did is
// for `expect`.
template <class Expect>
void at_each_level(const char* chip, const char* rule, std::string_view body,
                   const AssemblyOptions& options, Expect&& expect) {
  for (const char* level : kLevels) {
    SCOPED_TRACE(fmt::format("{} {}", chip, level));
    Rules test(chip, level);
    const bool error = level == std::string_view("error"), off = level == std::string_view("off");
    EXPECT_EQ(test.run(body, options), error ? GridState::Failed : GridState::Done) << test.what;
    EXPECT_EQ(test.broken(), off ? Ids{} : Ids{rule});
    if (!error) expect(test);
  }
}

// ---- a kernel's resources

// [RDNA3 ISA 3.3.2.2: a source out of range is VGPR0, an instruction with such a result is ignored]
TEST(ResourceRules, VectorRegisters) {
  constexpr const char* kBody = R"(
    s_load_b64 s[0:1], s[0:1], 0x0
    v_lshlrev_b32 v3, 2, v0
    v_add_nc_u32 v1, 100, v24
    v_mov_b32 v24, 7
    v_add_nc_u32 v2, 200, v24
    v_lshlrev_b64 v[4:5], 0, v[23:24]
    s_waitcnt lgkmcnt(0)
    global_store_b32 v3, v1, s[0:1]
    global_store_b32 v3, v2, s[0:1] offset:128
    global_store_b32 v3, v5, s[0:1] offset:256
    global_load_b32 v24, v3, s[0:1]
    s_endpgm
  )";
  at_each_level("gfx1100", "AMD-RES-001", kBody, {.vgprs = 24}, [](const Rules& test) {
    const std::vector<u32> out = test.results(96);
    for (u32 lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(out[lane], 100 + lane);
      EXPECT_EQ(out[32 + lane], 200 + lane);
      EXPECT_EQ(out[64 + lane], lane);
    }
  });
  Rules enough("gfx1100", "error");
  EXPECT_EQ(enough.run(kBody, {.vgprs = 25}), GridState::Done) << enough.what;
}

// [CDNA3 ISA 3.6.1: a source out of range is SGPR0, such a result is not written]
TEST(ResourceRules, ScalarRegistersOfGfx9) {
  constexpr const char* kBody = R"(
    s_load_dwordx2 s[2:3], s[0:1], 0x0
    v_mov_b32 v1, 0
    s_mov_b32 s48, 7
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s0, 77
    v_mov_b32 v2, s48
    global_store_dword v1, v2, s[2:3]
    s_endpgm
  )";
  // VCC and the like count too: 16 + 6 are 32.
  at_each_level("gfx942", "AMD-RES-001", kBody, {.sgprs = 16},
                [](const Rules& test) { EXPECT_EQ(test.results(1), std::vector<u32>{77}); });
  for (const char* chip : {"gfx942", "gfx1030"}) {
    Rules enough(chip, "error");
    EXPECT_EQ(enough.run(kBody, {.sgprs = 49}), GridState::Done) << enough.what;
    EXPECT_EQ(enough.results(1), std::vector<u32>{7});
  }
  // gfx10 has all of them always.
  Rules all("gfx1030", "error");
  EXPECT_EQ(all.run(kBody, {.sgprs = 16}), GridState::Done) << all.what;
}

// [RDNA3 ISA 3.3.4.1: nothing of an access that is not wholly within; RDNA4 ISA 3.3.5.1: by dwords]
TEST(ResourceRules, Lds) {
  constexpr const char* kBody = R"(
    s_load_b64 s[0:1], s[0:1], 0x0
    v_mov_b32 v1, 0
    v_mov_b32 v2, 5
    v_mov_b32 v3, 6
    ds_store_b32 v1, v2 offset:508
    ds_store_b32 v1, v3 offset:512
    s_waitcnt lgkmcnt(0)
    ds_load_b64 v[4:5], v1 offset:508
    ds_load_b32 v6, v1 offset:4096
    ds_add_rtn_u32 v7, v1, v2 offset:4096
    s_waitcnt lgkmcnt(0)
    global_store_b128 v1, v[4:7], s[0:1]
    s_endpgm
  )";
  at_each_level("gfx1100", "AMD-RES-002", kBody, {.lds_bytes = 512}, [](const Rules& test) {
    EXPECT_EQ(test.results(4), (std::vector<u32>{0, 0, 0, 0}));
  });
  std::string gfx12(kBody);
  for (usize at = 0; (at = gfx12.find("s_waitcnt lgkmcnt(0)")) != gfx12.npos;)
    gfx12.replace(at, 20, "s_wait_idle");
  at_each_level("gfx1201", "AMD-RES-002", gfx12, {.lds_bytes = 512}, [](const Rules& test) {
    EXPECT_EQ(test.results(4), (std::vector<u32>{5, 0, 0, 0}));
  });
  Rules enough("gfx1100", "error");
  EXPECT_EQ(enough.run(kBody, {.lds_bytes = 4100}), GridState::Done) << enough.what;
  EXPECT_EQ(enough.results(2), (std::vector<u32>{5, 6}));
}

// What is behind a lane's segment is another wave's, and there to be read.
TEST(ResourceRules, Scratch) {
  constexpr const char* kBody = R"(
    s_load_b64 s[0:1], s[0:1], 0x0
    v_mov_b32 v1, 0
    v_mov_b32 v2, 9
    scratch_store_b32 off, v2, off offset:256
    scratch_load_b32 v3, off, off offset:256
    s_waitcnt vmcnt(0) lgkmcnt(0)
    global_store_b32 v1, v3, s[0:1]
    s_endpgm
  )";
  at_each_level("gfx1100", "AMD-RES-003", kBody,
                {.scratch_bytes = 256, .directives = ".amdhsa_enable_private_segment 1\n"},
                [](const Rules& test) { EXPECT_EQ(test.results(1), std::vector<u32>{9}); });
  Rules enough("gfx1100", "error");
  EXPECT_EQ(
      enough.run(kBody, {.scratch_bytes = 260, .directives = ".amdhsa_enable_private_segment 1\n"}),
      GridState::Done)
      << enough.what;
}

// A memory violation, whatever the level. [RDNA3 ISA 3.3.3, 3.3.4.1]
TEST(ResourceRules, AtomicsAreAligned) {
  for (const char* body : {"s_load_b64 s[2:3], s[0:1], 0x0\nv_mov_b32 v1, 2\ns_waitcnt lgkmcnt(0)\n"
                           "global_atomic_add_u32 v1, v1, s[2:3]\ns_endpgm",
                           "v_mov_b32 v1, 2\nds_add_u32 v1, v1\ns_endpgm",
                           "v_mov_b32 v1, 4\nv_mov_b32 v2, 0\nds_add_u64 v1, v[1:2]\ns_endpgm",
                           "s_mov_b64 s[2:3], src_shared_base\nv_mov_b32 v2, s3\nv_mov_b32 v1, 2\n"
                           "flat_atomic_add_u32 v[1:2], v0\ns_endpgm"}) {
    for (const char* level : kLevels) {
      SCOPED_TRACE(fmt::format("{} {}", level, body));
      Rules test("gfx1100", level);
      EXPECT_EQ(test.run(body, {.lds_bytes = 512}), GridState::Failed);
      EXPECT_NE(test.what.find("an atomic operation of "), std::string::npos) << test.what;
      EXPECT_EQ(test.broken(), level == std::string_view("off") ? Ids{} : Ids{"AMD-RES-004"});
    }
  }
  Rules aligned("gfx1100", "error");
  EXPECT_EQ(aligned.run("v_mov_b32 v1, 8\nv_mov_b32 v2, 0\nds_add_u64 v1, v[1:2]\ns_endpgm",
                        {.lds_bytes = 512}),
            GridState::Done);
  EXPECT_EQ(aligned.broken(), Ids{});
}

// Loads and stores need not be: the kernel sets SH_MEM_CONFIG.ALIGNMENT_MODE to UNALIGNED.
// [linux kfd_device_queue_manager_v9.c, _v10.c, _v11.c, _v12.c update_qpd_*()]
TEST(ResourceRules, LoadsAndStoresOfLdsMayBeUnaligned) {
  for (const char* chip : {"gfx942", "gfx1030", "gfx1100"}) {
    Rules test(chip, "error");
    EXPECT_EQ(test.run(R"(
      s_load_dwordx2 s[2:3], s[0:1], 0x0
      v_mov_b32 v1, 0
      v_mov_b32 v4, 0x03020100
      v_mov_b32 v5, 0x07060504
      v_mov_b32 v6, 0x0b0a0908
      v_mov_b32 v7, 0x0f0e0d0c
      ds_write_b128 v1, v[4:7] offset:1
      s_waitcnt lgkmcnt(0)
      ds_read_b64 v[8:9], v1 offset:3
      s_waitcnt lgkmcnt(0)
      global_store_dwordx2 v1, v[8:9], s[2:3]
      s_endpgm
    )",
                       {.lds_bytes = 512}),
              GridState::Done)
        << chip << ": " << test.what;
    EXPECT_EQ(test.broken(), Ids{}) << chip;
    EXPECT_EQ(test.results(2), (std::vector<u32>{0x05040302, 0x09080706})) << chip;
  }
}

// ---- barriers

TEST(BarrierRule, SomebodySignals) {
  for (const char* level : kLevels) {
    Rules test("gfx1201", level);
    EXPECT_EQ(test.run("s_barrier_wait -1\ns_endpgm"), GridState::Failed) << level;
    EXPECT_NE(test.what.find("deadlock at barriers"), std::string::npos) << test.what;
    EXPECT_EQ(test.broken(), level == std::string_view("off") ? Ids{} : Ids{"AMD-BAR-001"});
  }
  Rules kept("gfx1201", "error");
  EXPECT_EQ(kept.run("s_barrier_signal -1\ns_barrier_wait -1\ns_endpgm"), GridState::Done);
  EXPECT_EQ(kept.broken(), Ids{});
}

// ---- undefined values

TEST(UndefinedRules, EachUseHasItsName) {
  struct Case {
    const char* id;
    const char* body;
  };
  constexpr Case kCases[] = {
      {"AMD-INI-001", "s_load_b32 s8, s[30:31], 0x0\ns_endpgm"},
      {"AMD-INI-002", "s_cmp_eq_u32 s30, 7\ns_cbranch_scc1 end\ns_nop 0\nend:\ns_endpgm"},
      {"AMD-INI-003", "v_cmp_gt_u32 vcc_lo, 5, v7\ns_and_saveexec_b32 s20, vcc_lo\ns_endpgm"},
      {"AMD-INI-004", "v_readlane_b32 s4, v0, s30\ns_endpgm"},
  };
  for (const Case& test : kCases) {
    Rules judged("gfx1100", "off,AMD-INI=error");
    EXPECT_EQ(judged.run(test.body), GridState::Failed) << test.id;
    EXPECT_EQ(judged.broken(), Ids{test.id});
    Rules off("gfx1100", fmt::format("off,AMD-INI=error,{}=off", test.id));
    off.run(test.body);
    EXPECT_EQ(off.broken(), Ids{}) << test.id;
  }
  Rules kept("gfx1100", "off,AMD-INI=error");
  EXPECT_EQ(kept.run("s_mov_b32 s30, 7\ns_cmp_eq_u32 s30, 7\ns_cbranch_scc1 end\n"
                     "v_readlane_b32 s4, v0, s30\nend:\ns_endpgm"),
            GridState::Done);
  EXPECT_EQ(kept.broken(), Ids{});
}

// ---- waits for loads

TEST(LoadRules, UsesBeforeTheWaitHaveAName) {
  const std::string body = "s_load_b32 s8, s[0:1], 0x0\n{}s_mov_b32 s9, s8\ns_endpgm";
  Rules judged("gfx1100", "off,AMD-LOAD=error");
  EXPECT_EQ(judged.run(fmt::format(fmt::runtime(body), "")), GridState::Failed);
  EXPECT_EQ(judged.broken(), Ids{"AMD-LOAD-001"});
  Rules warned("gfx1100", "off,AMD-LOAD=warn");
  EXPECT_EQ(warned.run(fmt::format(fmt::runtime(body), "")), GridState::Done);
  EXPECT_EQ(warned.broken(), Ids{"AMD-LOAD-001"});
  Rules off("gfx1100", "error");
  EXPECT_EQ(off.run(fmt::format(fmt::runtime(body), "")), GridState::Done);
  EXPECT_EQ(off.broken(), Ids{});
  Rules kept("gfx1100", "off,AMD-LOAD=error");
  EXPECT_EQ(kept.run(fmt::format(fmt::runtime(body), "s_waitcnt lgkmcnt(0)\n")), GridState::Done);
  EXPECT_EQ(kept.broken(), Ids{});
}

// ---- races in LDS

TEST(RaceRules, UnorderedAccessesHaveAName) {
  constexpr const char* kBody =
      "v_mov_b32 v1, 0\nds_store_b32 v1, v0\n{}ds_load_b32 v2, v1\ns_endpgm";
  const AssemblyOptions options{.lds_bytes = 64};
  const std::string race = fmt::format(fmt::runtime(kBody), "");
  Rules judged("gfx1100", "off,AMD-RACE=error");
  EXPECT_EQ(judged.run(race, options, 2), GridState::Failed);
  EXPECT_EQ(judged.broken(), Ids{"AMD-RACE-001"});
  Rules warned("gfx1100", "off,AMD-RACE=warn");
  EXPECT_EQ(warned.run(race, options, 2), GridState::Done);
  EXPECT_EQ(warned.broken(), (Ids{"AMD-RACE-001", "AMD-RACE-001"}));
  Rules off("gfx1100", "error");
  EXPECT_EQ(off.run(race, options, 2), GridState::Done);
  EXPECT_EQ(off.broken(), Ids{});
  Rules kept("gfx1100", "off,AMD-RACE=error");
  EXPECT_EQ(kept.run("v_lshl_add_u32 v1, v0, 2, 0\nds_store_b32 v1, v0\n"
                     "s_barrier\nds_load_b32 v2, v1\ns_endpgm",
                     {.lds_bytes = 256}, 2),
            GridState::Done);
  EXPECT_EQ(kept.broken(), Ids{});
  Rules alone("gfx1100", "off,AMD-RACE=error");
  EXPECT_EQ(alone.run(race, options, 1), GridState::Done);
  EXPECT_EQ(alone.broken(), Ids{});
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
