// Groups that wait for each other: all that the compute units hold get on, and no more than those.
#include <gtest/gtest.h>

#include "emulator/amd/compute/grid.h"
#include "tests/emulator/support/grid_barrier_kernel.h"
#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::TestGpu;
using testing::TestKernel;

// Four units hold so many of the kernel's groups: 128 items are 4 waves of 32 or 2 of 64, each a
// barrier. gfx9: 16 barriers a unit. Later chips in WGP mode, two units together: 4 SIMDs with 16
// slots. [LLVM AMDGPUBaseInfo.cpp getMaxWorkGroupsPerCU()]
struct Form {
  const char* chip;
  const char* features;
  u32 groups;
};
void PrintTo(const Form& form, std::ostream* out) { *out << form.chip << form.features; }
constexpr Form kForms[] = {{"gfx942", "", 64},
                           {"gfx1100", "", 32},
                           {"gfx1100", "+wavefrontsize64", 64},
                           {"gfx1201", "", 32}};

constexpr ComputeUnits units_of(std::string_view chip) {
  if (chip == "gfx942") return {.count = 4, .simds = 4, .waves_per_simd = 8};
  return {.count = 4, .simds = 2, .waves_per_simd = 16, .vgpr_bytes = 196608};
}

struct GridBarrier : ::testing::TestWithParam<Form> {
  static constexpr u32 kPhases = 5;
  TestGpu gpu{GetParam().chip};
  TestKernel kernel = gpu.compile(testing::kGridBarrier, GetParam().features);
  u64 out = 0;

  Dispatch dispatch(u32 groups, const testing::TestLaunch& launch) {
    out = gpu.allocate(groups * 4);
    return gpu.dispatch(kernel, launch,
                        Arguments()
                            .add(gpu.allocate(4))
                            .add(gpu.allocate(groups * kPhases * 4))
                            .add(out)
                            .add(i64{groups})
                            .add(i64{kPhases}));
  }
  static testing::TestLaunch of(u32 groups, u64 seed) {
    return {.groups = {groups, 1, 1},
            .group_size = {testing::kGridBarrierItems, 1, 1},
            .options = {.seed = seed, .compute_units = units_of(GetParam().chip)}};
  }
};

TEST_P(GridBarrier, EndsWhenAllGroupsFit) {
  for (u64 seed : {0, 1, 2}) {
    for (u32 groups : {5u, GetParam().groups}) {
      const testing::TestLaunch launch = of(groups, seed);
      Grid grid(gpu.chip(), gpu.code_cache(), gpu.memory(), dispatch(groups, launch),
                launch.options);
      const GridStop stop = grid.run(u64{1} << 24);
      ASSERT_EQ(stop.kind, GridStop::Kind::Done) << groups << ", seed " << seed << stop.what;
      EXPECT_EQ(gpu.read<u32>(out, groups), testing::grid_barrier_values(groups, kPhases));
    }
  }
}

TEST_P(GridBarrier, NeverEndsWhenOneDoesNotFit) {
  for (u64 seed : {0, 1}) {
    const u32 groups = GetParam().groups + 1;
    const testing::TestLaunch launch = of(groups, seed);
    Grid grid(gpu.chip(), gpu.code_cache(), gpu.memory(), dispatch(groups, launch), launch.options);
    const GridStop stop = grid.run(u64{1} << 23);
    EXPECT_EQ(stop.kind, GridStop::Kind::Running) << seed;
    EXPECT_EQ(stop.spinning, seed == 0);
  }
}

// An XCC has its share of the groups, and does not get on without the others.
TEST_P(GridBarrier, LetsOtherXccsHaveTheirTurn) {
  constexpr u32 kGroups = 11;
  testing::TestLaunch launch = of(kGroups, 0);
  Dispatch part = dispatch(kGroups, launch);
  part.xcc_count = 2;
  Grid even(gpu.chip(), gpu.code_cache(), gpu.memory(), part, launch.options);
  part.xcc = 1;
  Grid odd(gpu.chip(), gpu.code_cache(), gpu.memory(), part, launch.options);
  GridStop first, second;
  for (int turn = 0; turn < 100 && first.kind == GridStop::Kind::Running; ++turn) {
    first = even.run(1 << 15);
    ASSERT_TRUE(first.spinning || first.kind == GridStop::Kind::Done);
    second = odd.run(1 << 15);
  }
  EXPECT_EQ(first.kind, GridStop::Kind::Done);
  EXPECT_EQ(second.kind, GridStop::Kind::Done);
  EXPECT_EQ(gpu.read<u32>(out, kGroups), testing::grid_barrier_values(kGroups, kPhases));
}

INSTANTIATE_TEST_SUITE_P(Chips, GridBarrier, ::testing::ValuesIn(kForms));

// A loop that counts how often it looked has other registers each time.
TEST(GridPolling, LetsGroupsStartWhateverTheOthersCount) {
  TestGpu gpu("gfx1100");
  const TestKernel kernel = gpu.compile(R"(
declare i32 @llvm.amdgcn.workgroup.id.x()
define amdgpu_kernel void @kernel(ptr addrspace(1) %flag, ptr addrspace(1) %out) {
entry:
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %waits = icmp ult i32 %g, 9
  br i1 %waits, label %wait, label %tell
wait:
  %n = phi i32 [ 0, %entry ], [ %n1, %wait ]
  %n1 = add i32 %n, 1
  %v = load atomic i32, ptr addrspace(1) %flag syncscope("agent") acquire, align 4
  %there = icmp ne i32 %v, 0
  br i1 %there, label %write, label %wait
write:
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %g
  store i32 %n1, ptr addrspace(1) %p
  ret void
tell:
  store atomic i32 42, ptr addrspace(1) %flag syncscope("agent") release, align 4
  ret void
}
)");
  for (u64 seed : {0, 1}) {
    const u64 out = gpu.allocate(64);
    const GridStop stop = gpu.launch(
        kernel, {.groups = {10, 1, 1}, .group_size = {1, 1, 1}, .options = {.seed = seed}},
        Arguments().add(gpu.allocate(4)).add(out));
    EXPECT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
    for (u32 count : gpu.read<u32>(out, 9)) EXPECT_NE(count, 0u);
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
