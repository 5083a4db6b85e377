// Groups that wait for each other by DS_GWS_*. Expected results are those of the instructions'
// pseudo-code in the CDNA3 ISA document.
#include "emulator/amd/compute/wave_sync.h"

#include <gtest/gtest.h>

#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::AssemblyOptions;
using testing::TestGpu;
using testing::TestKernel;

using Op = WaveSync::Op;

constexpr AssemblyOptions kFew = {.vgprs = 16};

// A launch of groups of one wave, that can be run on.
struct Launched {
  Launched(TestGpu& gpu, const TestKernel& kernel, u32 groups, u64 argument, GlobalWaveSync* sync,
           const GridOptions& options = {})
      : grid(gpu.chip(), gpu.code_cache(), gpu.memory(),
             dispatch(gpu, kernel, groups, argument, sync), options) {}

  static Dispatch dispatch(TestGpu& gpu, const TestKernel& kernel, u32 groups, u64 argument,
                           GlobalWaveSync* sync) {
    Dispatch dispatch = gpu.dispatch(kernel, {.groups = {groups, 1, 1}}, Arguments().add(argument));
    dispatch.group_size = {kernel.wave32() ? 32u : 64u, 1, 1};
    dispatch.wave_sync = sync;
    return dispatch;
  }

  Grid grid;
};

class GlobalWaveSyncTest : public ::testing::TestWithParam<const char*> {
 protected:
  GridStop run(std::string_view body, u32 groups, u64 argument, const GridOptions& options = {}) {
    Launched launched(gpu, gpu.assemble(body, kFew), groups, argument, &sync, options);
    return launched.grid.run();
  }
  bool waits(Op op, u32 resource, u32 value = 0) {
    return sync.ask({.op = op, .resource = resource, .value = value}).has_value();
  }

  TestGpu gpu{GetParam()};
  GlobalWaveSync sync;
};

// Every group adds one to a counter, and finds behind a barrier that all have: twice over. The
// counter is set by a dispatch of its own, as HIP does before a cooperative launch.
TEST_P(GlobalWaveSyncTest, BarriersHoldAllGroupsOfAGrid) {
  constexpr u32 kGroups = 24;
  constexpr const char* kInit = "s_mov_b32 m0, 0\nv_mov_b32 v6, 23\nds_gws_init v6 gds\ns_endpgm";
  constexpr const char* kMeet = R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_mov_b32 m0, 0
    s_lshl_b32 s6, s2, 3
    v_mov_b32 v6, 23
    v_mov_b32 v2, 0
    v_mov_b32 v3, 1
    v_mov_b32 v4, s6
    s_mov_b64 exec, 1
    s_waitcnt 0
    global_atomic_add v2, v3, s[4:5]
    s_waitcnt 0
    ds_gws_barrier v6 gds
    global_load_dword v5, v2, s[4:5]
    s_waitcnt 0
    global_store_dword v4, v5, s[4:5] offset:64
    ds_gws_barrier v6 gds
    global_atomic_add v2, v3, s[4:5]
    s_waitcnt 0
    ds_gws_barrier v6 gds
    global_load_dword v5, v2, s[4:5]
    s_waitcnt 0
    global_store_dword v4, v5, s[4:5] offset:68
    s_endpgm
  )";
  for (u64 seed : {0, 1, 2, 3}) {
    const u64 out = gpu.allocate(4096);
    ASSERT_EQ(run(kInit, 1, out).kind, GridStop::Kind::Done);
    GridStop stop = run(kMeet, kGroups, out, {.seed = seed});
    ASSERT_EQ(stop.kind, GridStop::Kind::Done) << stop.what << " waiting " << stop.waiting;
    const std::vector<u32> seen = gpu.read<u32>(out + 64, 2 * kGroups);
    for (u32 i = 0; i < 2 * kGroups; ++i)
      EXPECT_EQ(seen[i], i % 2 == 0 ? kGroups : 2 * kGroups) << seed << " " << i;
  }
}

TEST_P(GlobalWaveSyncTest, SemaphoresLetSoManyPass) {
  constexpr const char* kTake = R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_mov_b32 m0, 0x20000
    v_mov_b32 v2, 0
    v_mov_b32 v3, 1
    s_mov_b64 exec, 1
    s_waitcnt 0
    ds_gws_sema_p offset:1 gds
    global_atomic_add v2, v3, s[4:5]
    s_endpgm
  )";
  const u64 out = gpu.allocate(4096);
  const auto passed = [&] { return gpu.read<u32>(out, 1)[0]; };
  Launched takers(gpu, gpu.assemble(kTake, kFew), 8, out, &sync);
  const auto go_on = [&](const char* how) {
    EXPECT_EQ(
        run("s_mov_b32 m0, 0x30000\nv_mov_b32 v2, 3\n" + std::string(how) + "\ns_endpgm", 1, out)
            .kind,
        GridStop::Kind::Done);
    return takers.grid.run();
  };
  GridStop stop = takers.grid.run();
  EXPECT_EQ(stop.kind, GridStop::Kind::Running);
  EXPECT_TRUE(stop.waiting);
  EXPECT_EQ(passed(), 0u);
  EXPECT_TRUE(go_on("ds_gws_sema_br v2 gds").waiting);
  EXPECT_EQ(passed(), 3u);
  EXPECT_TRUE(go_on("ds_gws_sema_v gds").waiting);
  EXPECT_EQ(passed(), 4u);
  EXPECT_EQ(go_on("ds_gws_sema_release_all gds").kind, GridStop::Kind::Done);
  EXPECT_EQ(passed(), 8u);
  EXPECT_TRUE(waits(Op::SemaphoreTake, 3)) << "nothing is left";
}

// M0's bits 21:16 and the offset, modulo 64, of the first active lane's value.
TEST_P(GlobalWaveSyncTest, InstructionsNameAResourceAndALane) {
  ASSERT_EQ(run("s_mov_b32 m0, 0xffff3cff\nv_or_b32 v2, 2, v0\ns_mov_b64 exec, 6\n"
                "ds_gws_init v2 offset:9 gds\ns_endpgm",
                1, 0)
                .kind,
            GridStop::Kind::Done);
  // 0x3f + 9 is 8 modulo 64; lane 1 has 3.
  EXPECT_TRUE(waits(Op::Barrier, 8, 0));
  EXPECT_TRUE(waits(Op::Barrier, 8, 0));
  EXPECT_TRUE(waits(Op::Barrier, 8, 0));
  EXPECT_FALSE(waits(Op::Barrier, 8, 0));
  EXPECT_FALSE(waits(Op::Barrier, 7, 0)) << "nobody set it";
}

TEST_P(GlobalWaveSyncTest, StopsWithoutSyncOrLanes) {
  for (const char* instruction : {"ds_gws_barrier v2 gds", "ds_gws_sema_p gds"}) {
    const std::string body = "s_mov_b32 m0, 0\n" + std::string(instruction) + "\ns_endpgm";
    const TestKernel kernel = gpu.assemble(body, kFew);
    GridStop stop = Launched(gpu, kernel, 1, 0, nullptr).grid.run();
    EXPECT_EQ(stop.kind, GridStop::Kind::Illegal);
    EXPECT_EQ(stop.exit.pc, kernel.code + 4);
    EXPECT_NE(stop.what.find("the process has no global wave sync"), std::string::npos)
        << stop.what;
    stop = run("s_mov_b64 exec, 0\n" + body, 1, 0);
    EXPECT_EQ(stop.kind, GridStop::Kind::Illegal);
    EXPECT_NE(stop.what.find("without an active lane"), std::string::npos) << stop.what;
  }
}

TEST_P(GlobalWaveSyncTest, ValuesAreInRegistersOfTheWave) {
  GridStop stop = run("s_mov_b32 m0, 0\nds_gws_init v16 gds\ns_endpgm", 1, 0);
  EXPECT_EQ(stop.kind, GridStop::Kind::Bounds);
  EXPECT_NE(stop.what.find("17 vector"), std::string::npos) << stop.what;
}

INSTANTIATE_TEST_SUITE_P(Chips, GlobalWaveSyncTest,
                         ::testing::Values("gfx942", "gfx1030", "gfx1100"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace doorbell::emu::amdgpu
