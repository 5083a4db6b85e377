// Work groups and grids on kernels in assembly: what waves start with, barriers, partial groups,
// stops.
#include "emulator/amd/compute/grid.h"

#include <gtest/gtest.h>

#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emulator::amd {
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
    EXPECT_NE(stop.what.find("18 vector and 0 accumulation registers, the wave has 16"),
              std::string::npos)
        << stop.what;
  }
}

}  // namespace
}  // namespace doorbell::emulator::amd
