// Work groups and grids on kernels in assembly: what waves start with, barriers, partial groups,
// stops.
#include "emulator/amd/compute/grid.h"

#include <gtest/gtest.h>

#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::AssemblyOptions;
using testing::TestGpu;
using testing::TestKernel;
using testing::TestLaunch;

TEST(Grid, EndsAtOnce) {
  for (const char* chip : {"gfx942", "gfx1030", "gfx1100", "gfx1201"}) {
    TestGpu gpu(chip);
    TestKernel kernel = gpu.assemble("s_endpgm");
    GridStop stop = gpu.launch(kernel, {.groups = {3, 2, 1}}, {});
    EXPECT_EQ(stop.kind, GridStop::Kind::Done) << chip << ": " << stop.what;
    const u64 waves = gpu.chip().wave32 ? 2 : 1;
    EXPECT_EQ(gpu.instructions(), 6 * waves);
  }
}

TEST(Grid, StopsAtRegistersThatTheKernelWasNotGiven) {
  for (const char* chip : {"gfx942", "gfx1030", "gfx1100", "gfx1201"}) {
    TestGpu gpu(chip);
    TestKernel kernel =
        gpu.assemble("s_nop 0\nglobal_load_dwordx4 v[14:17], v0, s[0:1]\ns_endpgm", {.vgprs = 16});
    GridStop stop = gpu.launch(kernel, {}, Arguments().add(gpu.allocate(4096)));
    EXPECT_EQ(stop.kind, GridStop::Kind::Bounds) << chip;
    EXPECT_EQ(stop.exit.pc, kernel.code + 4);
    EXPECT_NE(stop.what.find("18 vector, 0 accumulation and 2 scalar registers, the wave has 16"),
              std::string::npos)
        << stop.what;
  }
}

TEST(Grid, CountsAccumulationRegistersApart) {
  TestGpu gpu("gfx942");
  constexpr const char* kBody = R"(
    v_accvgpr_write_b32 a20, v1
    v_accvgpr_mov_b32 a21, a20
    v_accvgpr_read_b32 v2, a21
    v_mfma_f32_16x16x4_f32 a[24:27], v1, v2, a[20:23]
    global_load_dwordx4 a[28:31], v0, s[0:1]
    s_endpgm
  )";
  // 8 vector registers, and 32 for accumulation behind them.
  TestKernel kernel = gpu.assemble(kBody, {.vgprs = 8});
  kernel.rsrc1 = (kernel.rsrc1 & ~0x3fu) | 4;  // 40 registers in all
  Arguments arguments;
  arguments.add(gpu.allocate(4096));
  GridStop stop = gpu.launch(kernel, {}, arguments);
  EXPECT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
  kernel.rsrc1 -= 1;  // 24 for accumulation
  stop = gpu.launch(kernel, {}, arguments);
  EXPECT_EQ(stop.kind, GridStop::Kind::Bounds);
  EXPECT_NE(stop.what.find("V_MFMA"), std::string::npos) << stop.what;
}

// Uninitialised registers, LDS and scratch hold noise, which a seed repeats.
TEST(Grid, PoisonsWhatALaunchLeavesUndefined) {
  TestGpu gpu("gfx1100");
  TestKernel kernel = gpu.assemble(R"(
    s_load_b64 s[0:1], s[0:1], 0x0
    v_mov_b32 v1, 0
    ds_load_b32 v2, v1 offset:16
    scratch_load_b32 v3, off, off offset:4
    v_mov_b32 v4, s20
    s_waitcnt vmcnt(0) lgkmcnt(0)
    global_store_b128 v1, v[2:5], s[0:1]
    s_endpgm
  )",
                                   {.vgprs = 8, .lds_bytes = 64, .scratch_bytes = 16});
  const u64 out = gpu.allocate(16);
  const auto run = [&](u64 seed) {
    const GridOptions options{.seed = seed, .poison = true};
    GridStop stop =
        gpu.launch(kernel, {.group_size = {1, 1, 1}, .options = options}, Arguments().add(out));
    EXPECT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
    return gpu.read<u32>(out, 4);
  };
  const std::vector<u32> first = run(1), again = run(1), other = run(2);
  EXPECT_EQ(first, again);
  for (u32 i = 0; i < 4; ++i) {
    EXPECT_NE(first[i], 0u) << i;
    EXPECT_NE(first[i], other[i]) << i;
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
