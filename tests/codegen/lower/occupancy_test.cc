// Waves of a SIMD by what a kernel takes, and that plans for AMD's chips leave room for several.
#include "codegen/opt/occupancy.h"

#include <gtest/gtest.h>

#include <tuple>

#include "codegen/lower/lower.h"
#include "codegen/opt/heuristic.h"
#include "codegen/render/amd_caps.h"
#include "tests/codegen/support/kernels.h"

namespace doorbell::codegen {
namespace {

Caps caps_of(std::string_view chip) { return amd_caps(*amd::hw::find_chip(chip)); }

// 1536 registers of an RDNA3 SIMD by 24; 1024 of others by 16; 512 of CDNA's by 8.
TEST(Occupancy, RegistersBoundWaves) {
  for (auto [chip, registers, waves] : {std::tuple{"gfx1100", 24, 16.0},
                                        {"gfx1100", 96, 16.0},
                                        {"gfx1100", 97, 12.0},
                                        {"gfx1100", 256, 5.0},
                                        {"gfx1102", 96, 10.0},
                                        {"gfx1030", 128, 8.0},
                                        {"gfx942", 64, 8.0},
                                        {"gfx942", 128, 4.0},
                                        {"gfx942", 512, 1.0}}) {
    const Demand demand{registers, 0, amd::hw::find_chip(chip)->wave_size};
    EXPECT_EQ(waves_of_simd(caps_of(chip), demand), waves) << chip << " " << registers;
  }
}

// 128 KiB for the four SIMDs of a WGP: groups of 8 waves, 4 of them where each takes 32 KiB.
TEST(Occupancy, LocalMemoryBoundsGroups) {
  EXPECT_EQ(waves_of_simd(caps_of("gfx1100"), {32, 32 << 10, 256}), 8.0);
  EXPECT_EQ(waves_of_simd(caps_of("gfx1100"), {32, 64 << 10, 256}), 4.0);
  EXPECT_EQ(waves_of_simd(caps_of("gfx942"), {32, 64 << 10, 256}), 1.0);
  EXPECT_EQ(waves_of_simd(caps_of("gfx950"), {32, 64 << 10, 256}), 2.0);
}

// 10 waves a SIMD hold two groups of 16 waves on four SIMDs, not two and a half.
TEST(Occupancy, GroupsAreWhole) { EXPECT_EQ(waves_of_simd(caps_of("gfx1102"), {96, 0, 512}), 8.0); }

TEST(Occupancy, UnknownWhereTheTargetDoesNotSay) {
  EXPECT_EQ(waves_of_simd(Caps(), {32, 1024, 256}), 0.0);
  EXPECT_EQ(stall_factor(Caps(), 0, 100), 1.0);
}

TEST(Occupancy, OthersHideWaits) {
  const Caps caps = caps_of("gfx1100");
  EXPECT_EQ(stall_factor(caps, 16, 1000), 1.0);
  EXPECT_GT(stall_factor(caps, 1, 1000), 1.5);
  EXPECT_GT(stall_factor(caps, 2, 100), stall_factor(caps, 8, 100));
}

std::string plan_of(std::string_view chip, const core::KernelAst& kernel) {
  core::Arena arena;
  return print(choose_group_plan(merged_info(kernel, arena), caps_of(chip)));
}

// Large products get an item's 8 x 8 sums, which leave room for several waves; products too small
// to fill a chip smaller tiles.
TEST(Occupancy, PlansOfProducts) {
  for (const char* chip : {"gfx1030", "gfx1100", "gfx1201", "gfx942"}) {
    EXPECT_EQ(plan_of(chip, matmul_kernel(4096, 4096, 4096)),
              "LOCAL(1,16) LOCAL(0,16) VECTOR(1,4) UPCAST(1,2) UPCAST(0,8) TILE(2,16) UNROLL(2,4) "
              "STAGE(1) STAGE(2)")
        << chip;
    EXPECT_EQ(plan_of(chip, matmul_kernel(256, 256, 256)),
              "LOCAL(1,16) LOCAL(0,16) VECTOR(1,4) TILE(2,16) UNROLL(2,4) STAGE(1) STAGE(2)")
        << chip;
  }
}

// 16 bytes of each of many inputs would be 16 registers each, once they are floats: kernels with
// that many kept up to 1500 bytes an item in memory. Fewer lanes are taken, the fewer the smaller
// the register file.
TEST(Occupancy, ManyInputsGetFewerLanes) {
  const i64 n = i64{1} << 24;
  for (const auto& [chip, inputs, plan] : {std::tuple{"gfx1100", 8, "VECTOR(0,16) LOCAL(0,256)"},
                                           {"gfx1100", 16, "VECTOR(0,8) LOCAL(0,256)"},
                                           {"gfx1100", 28, "VECTOR(0,4) LOCAL(0,256)"},
                                           {"gfx942", 8, "VECTOR(0,16) LOCAL(0,256)"},
                                           {"gfx942", 28, "VECTOR(0,8) LOCAL(0,256)"}}) {
    EXPECT_EQ(plan_of(chip, many_inputs_kernel(core::dtypes::u8, inputs, n)), plan)
        << chip << " " << inputs;
  }
  // Halves are computed in pairs.
  EXPECT_EQ(plan_of("gfx1100", many_inputs_kernel(core::dtypes::f16, 28, n)),
            "VECTOR(0,8) LOCAL(0,256)");
}

// A short reduction is straight-line code where its operands fit.
TEST(Occupancy, ManyInputsAreUnrolledLess) {
  const i64 n = i64{1} << 24;
  EXPECT_EQ(plan_of("gfx1100", window_sum_kernel(1, 16, n)),
            "VECTOR(0,4) UNROLL(1,16) LOCAL(0,256)");
  EXPECT_EQ(plan_of("gfx1100", window_sum_kernel(4, 16, n)),
            "VECTOR(0,4) UNROLL(1,4) LOCAL(0,256)");
  EXPECT_EQ(plan_of("gfx942", window_sum_kernel(3, 16, n)),
            "VECTOR(0,4) UNROLL(1,16) LOCAL(0,256)");
}

// 28 lots of 16 u8 and the result are 24 + 29 * 16 registers; 256 is what an item of RDNA3 has.
TEST(Occupancy, CountsWhatAPlanLoads) {
  core::Arena arena;
  const core::KernelAst kernel = many_inputs_kernel(core::dtypes::u8, 28, 4096);
  const KernelInfo info = merged_info(kernel, arena);
  const Caps caps = caps_of("gfx1100");
  EXPECT_EQ(item_registers(info, caps, {{OptOp::Vector, 0, 16}}), 488);
  EXPECT_EQ(item_registers(info, caps, {{OptOp::Local, 0, 256}}), 53);
  EXPECT_TRUE(is_crowded(caps, {488, 0, 256}));
  EXPECT_FALSE(is_crowded(caps, {170, 0, 256}));
  EXPECT_TRUE(is_crowded(caps, {171, 0, 256}));
  EXPECT_TRUE(is_crowded(caps, {32, 64 << 10, 32}));  // two waves of a WGP
  EXPECT_FALSE(is_crowded(Caps(), {488, 0, 256}));
}

// A partition of an MI300X has fewer items to keep busy: a sum of a row is split over fewer.
TEST(Occupancy, PlansAreForTheComputeUnitsAtHand) {
  const auto plan = [](i64 units) {
    core::Arena arena;
    return print(choose_group_plan(merged_info(row_reduce_kernel(core::Op::Add, 1024, 4096), arena),
                                   amd_caps(*amd::hw::find_chip("gfx942"), units)));
  };
  EXPECT_EQ(amd_caps(*amd::hw::find_chip("gfx942")).busy_items, 304 * 256);
  EXPECT_EQ(amd_caps(*amd::hw::find_chip("gfx942"), 38).busy_items, 38 * 256);
  EXPECT_EQ(plan(0), "VECTOR(1,4) GROUP(1,128)");  // 1024 x 128 items > 77824
  // 1024 x 32 > 9728, two rows to a wave of 64
  EXPECT_EQ(plan(38), "VECTOR(1,4) GROUP(1,32) LOCAL(0,2)");
}

}  // namespace
}  // namespace doorbell::codegen
