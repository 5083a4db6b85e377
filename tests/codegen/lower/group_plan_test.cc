// The plans that kernels get on a large GPU: which axes are items, vectors, registers, staged.
#include <gtest/gtest.h>

#include "codegen/lower/lower.h"
#include "codegen/opt/heuristic.h"
#include "tests/codegen/support/group_caps.h"
#include "tests/codegen/support/kernels.h"

namespace doorbell::codegen {
namespace {

using core::KernelAst;
using core::Op;

Caps large_caps() {
  Caps caps = group_caps();
  caps.max_local = caps.max_local_axis[0] = caps.max_local_axis[1] = 1024;
  caps.max_local_axis[2] = 64;
  caps.max_shared_bytes = 48 << 10;
  return caps;
}

std::string plan_of(const KernelAst& ast, const Caps& caps = large_caps()) {
  core::Arena arena, lowered;
  KernelInfo info = merged_info(ast, arena);
  lower(ast, caps, lowered);  // the target takes it
  return print(choose_group_plan(info, caps));
}

TEST(GroupPlan, ElementwiseTakesWholeVectors) {
  EXPECT_EQ(plan_of(add_kernel(1 << 20)), "VECTOR(0,4) LOCAL(0,256)");
  EXPECT_EQ(plan_of(add_kernel(1000)), "LOCAL(0,256)");  // rather more items
  EXPECT_EQ(plan_of(add_kernel(1000003)), "LOCAL(0,128)");
}

TEST(GroupPlan, TranspositionsTakeTilesOfItems) {
  EXPECT_EQ(plan_of(transpose_kernel(1024, 1024)), "LOCAL(1,16) LOCAL(0,16)");
}

TEST(GroupPlan, FewLongSumsAreSplitOverItems) {
  EXPECT_EQ(plan_of(row_reduce_kernel(Op::Add, 1, 1 << 20)), "VECTOR(0,4) GROUP(0,256)");
  EXPECT_EQ(plan_of(row_reduce_kernel(Op::Add, 256, 4096)), "VECTOR(1,4) GROUP(1,128)");
  // a matrix times a vector, rows in memory one after another, and columns
  EXPECT_EQ(plan_of(matmul_kernel(1, 4096, 4096, true)), "VECTOR(1,4) GROUP(1,32)");
  EXPECT_EQ(plan_of(matmul_kernel(1, 4096, 4096)), "LOCAL(0,16) GROUP(1,8)");
}

TEST(GroupPlan, SumsThatFillNoWaveShareIt) {
  // of 24 columns 8 items; of 32 features 4, which fill the wave, rather than of 5 positions
  EXPECT_EQ(plan_of(conv_weights_kernel(8, 1, 32, 28, 5)), "GROUP(4,8) UNROLL(5,4) LOCAL(0,4)");
  Caps caps = large_caps();
  caps.simd.wave_items = 64;
  EXPECT_EQ(plan_of(conv_weights_kernel(8, 1, 32, 28, 5), caps),
            "GROUP(4,8) UNROLL(5,4) LOCAL(0,8)");
}

TEST(GroupPlan, ManyShortSumsAreNot) {
  EXPECT_EQ(plan_of(row_reduce_kernel(Op::Add, 65536, 10)), "UNROLL(1,10) LOCAL(0,256)");
}

TEST(GroupPlan, ARowIsAGroups) {
  EXPECT_EQ(plan_of(two_row_sums_kernel(1024, 1024)),
            "VECTOR(3,4) GROUP(3,256) VECTOR(2,4) GROUP(2,256) VECTOR(1,4) LOCAL(1,256) "
            "TILE(1,1024)");
  // short rows together
  EXPECT_EQ(plan_of(two_row_sums_kernel(64, 10)),
            "VECTOR(3,2) GROUP(3,4) VECTOR(2,2) GROUP(2,4) VECTOR(1,2) LOCAL(1,4) TILE(1,16) "
            "LOCAL(0,16)");
}

TEST(GroupPlan, ContractionsAreBlockedAndStaged) {
  EXPECT_EQ(plan_of(matmul_kernel(1024, 1024, 1024)),
            "LOCAL(1,16) LOCAL(0,16) VECTOR(1,4) UPCAST(1,2) UPCAST(0,4) TILE(2,16) UNROLL(2,4) "
            "STAGE(1) STAGE(2)");
  // smaller register tiles, so that there are groups enough
  EXPECT_EQ(plan_of(matmul_kernel(256, 256, 256)),
            "LOCAL(1,16) LOCAL(0,16) VECTOR(1,4) TILE(2,16) UNROLL(2,4) STAGE(1) STAGE(2)");
  EXPECT_EQ(plan_of(conv_kernel(8, 64, 128, 56, 3, 1)),
            "LOCAL(3,14) LOCAL(1,16) VECTOR(3,4) UPCAST(2,2) UPCAST(1,8) TILE(4,16) UNROLL(4,4) "
            "STAGE(1) STAGE(2)");
}

TEST(GroupPlan, NothingIsStagedWhereLocalMemoryIsSlow) {
  Caps caps = large_caps();
  caps.fast_shared = false;
  EXPECT_EQ(plan_of(matmul_kernel(1024, 1024, 1024), caps).find("STAGE"), std::string::npos);
}

TEST(GroupPlan, WithoutRoomForPartialsItemsSumAlone) {
  Caps caps = large_caps();
  caps.max_shared_bytes = 64;
  EXPECT_EQ(plan_of(two_row_sums_kernel(1024, 1024), caps).find("GROUP"), std::string::npos);
  EXPECT_EQ(plan_of(matmul_kernel(1024, 1024, 1024), caps).find("STAGE"), std::string::npos);
}

}  // namespace
}  // namespace doorbell::codegen
