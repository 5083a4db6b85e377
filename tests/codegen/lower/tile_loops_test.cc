// The loops of a blocked contraction (opt/tile.cc): what is packed at once, and where they end.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codegen/lower/lower.h"
#include "tests/codegen/support/cpu_caps.h"
#include "tests/codegen/support/kernels.h"

namespace doorbell::codegen {
namespace {

LinearProgram tiled_product(core::Arena& arena, i64 m, i64 n, i64 lanes, i64 k = 32) {
  const Plan plan{{OptOp::Tile, 2, 32},  {OptOp::Tile, 1, 256},     {OptOp::Tile, 0, 4},
                  {OptOp::Upcast, 0, 2}, {OptOp::Vector, 1, lanes}, {OptOp::Stage, 1, 1},
                  {OptOp::Stage, 2, 1}};
  return lower(matmul_kernel(m, n, k), cpu_caps(32), arena, {.plan = &plan});
}

// Of each row of B 256 bytes are packed at a time, whatever a panel has of them: a tile is of 32
// rows of 64 floats.
TEST(TileLoops, NarrowPanelsArePackedTogether) {
  for (const i64 lanes : {8, 16, 32, 64}) {
    core::Arena arena;
    i64 largest = 0;
    for (core::UOp u : tiled_product(arena, 4, 512, lanes).ops)
      if (u.is(core::Op::DefinePrivate)) largest = std::max(largest, u.arg(1));
    EXPECT_EQ(largest, 32 * 64) << lanes;
  }
}

// Blocks are of 2 tiles of 2 rows and of 16 panels of 16 columns, 4 in a group: 3 tiles and 18
// panels leave 1 and 2 for the last.
TEST(TileLoops, LastBlocksHaveFewerTiles) {
  core::Arena arena;
  std::vector<std::pair<i64, i64>> sizes;
  for (core::UOp u : tiled_product(arena, 5, 18 * 16, 16).ops)
    if (u.is(core::Op::Range) && !u.src(0).is_const())
      sizes.emplace_back(u.src(0).vmin(), u.src(0).vmax());
  EXPECT_EQ(std::ranges::count(sizes, std::pair<i64, i64>(1, 2)), 1);  // tiles
  EXPECT_EQ(std::ranges::count(sizes, std::pair<i64, i64>(2, 4)), 1);  // rows of A to pack
  EXPECT_EQ(std::ranges::count(sizes, std::pair<i64, i64>(1, 4)), 1);  // groups
}

// Neither the innermost loop nor those that pack A and B have gates where only rows and depth end
// within a block: 5 rows are 3 tiles of 2, and 100 of depth are 3 blocks of 32 and 4, of which the
// last is too short for vectors.
TEST(TileLoops, LoadsOfWholePanelsHaveNoGates) {
  for (const auto& [depth, gated] : {std::pair<i64, bool>(120, false), {100, true}}) {
    core::Arena arena;
    i64 loads = 0, gates = 0;
    for (core::UOp u : tiled_product(arena, 5, 256, 16, depth).ops) {
      if (!u.is(core::Op::Load) || !u.src(0).src(0).is(core::Op::Param)) continue;
      if (u.src(0).src(0).arg(0) == 3) continue;  // the bias
      ++loads, gates += u.src(0).nsrc() > 2;
    }
    EXPECT_GE(loads, 2) << depth;
    EXPECT_EQ(gates > 0, gated) << depth;
  }
}

// Streams of B add to sums in L1 every few steps: a load and a store, in whose time a core with two
// ports does twice as many multiply-adds. It packs B for as few rows as make that pay.
TEST(TileLoops, CoresThatMultiplyTwicePackForFewerRows) {
  const auto has = [](const std::string& plan, const char* op) {
    return plan.find(op) != std::string::npos;
  };
  const auto packs = [&](i64 rows, i64 in_flight) {
    core::Arena arena;
    Caps caps = cpu_caps(32);
    caps.core.fma_in_flight = in_flight;
    const std::string plan = lower(matmul_kernel(rows, 512, 512), caps, arena).plan;
    EXPECT_NE(has(plan, "STAGE(2)"), has(plan, "UNROLL")) << plan;
    return has(plan, "STAGE(2)");
  };
  EXPECT_TRUE(packs(32, 8));
  EXPECT_FALSE(packs(32, 4));
  EXPECT_FALSE(packs(8, 8));
  EXPECT_TRUE(packs(256, 4));
}

}  // namespace
}  // namespace doorbell::codegen
