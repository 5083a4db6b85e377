// Persistent groups: a few compute all blocks, one after the other, by a ring that goes on from
// block to block. Run by the definition of linear programs, which finds bytes that are not there
// yet and buffers that are still read.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>

#include "codegen/linear/tensor_copy.h"
#include "codegen/lower/lower.h"
#include "codegen/render/nv_caps.h"
#include "core/rewrite/rewriter.h"
#include "core/rules/rules.h"
#include "core/uop/arena.h"
#include "tests/codegen/support/products.h"

namespace doorbell::codegen {
namespace {

using core::Op;
using core::UOp;
namespace dt = core::dtypes;

constexpr i64 kCore = 35;                         // wgmma of f16, 64 x 64
constexpr ProductSizes kSizes{1, 128, 192, 256};  // 6 blocks, 4 tiles of the depth

Caps caps(bool maps) { return nv_caps(*nv::hw::find_chip("sm_90"), {.tensor_maps = maps}); }

Plan plan_of(i64 groups, i64 stages, i64 batch = 1) {
  const i64 b = batch > 1 ? 1 : 0;
  return {{OptOp::Rows, b, kCore},      {OptOp::Columns, b + 1, kCore},
          {OptOp::Depth, b + 2, kCore}, {OptOp::Persistent, 0, groups},
          {OptOp::Tile, b + 2, 64},     {OptOp::Stage, 1, stages},
          {OptOp::Stage, 2, stages}};
}

LinearProgram lower_persistent(i64 groups, i64 stages, core::Arena& arena, ProductSizes s = kSizes,
                               bool transposed = true, bool maps = true) {
  const Plan plan = plan_of(groups, stages, s.batch);
  return lower(narrow_product_kernel(dt::f16, s, transposed), caps(maps), arena, {.plan = &plan});
}

// Blocks divide into the groups or not; more groups than blocks; ends inside of blocks; batches.
TEST(PersistentGroups, ComputeAllBlocks) {
  for (const i64 stages : {2, 3, 4}) {
    for (const i64 groups : {stages == 2 ? 1 : 2, 4}) {
      SCOPED_TRACE(fmt::format("{} groups, {} stages", groups, stages));
      core::Arena arena;
      const LinearProgram program = lower_persistent(groups, stages, arena);
      EXPECT_EQ(program.grid_groups[0], groups);
      EXPECT_EQ(program.grid_groups[1] * program.grid_groups[2], 1);
      EXPECT_EQ(program.tensor_maps.size(), 2u);
      EXPECT_EQ(std::ranges::count_if(program.ops, [](UOp u) { return u.is(Op::Barrier); }), 1);
      expect_product(program, dt::f16, kSizes, true);
    }
  }
  for (const ProductSizes s : {ProductSizes{3, 100, 72, 256}, {2, 64, 128, 320}}) {
    for (const bool transposed : {false, true}) {
      core::Arena arena;
      expect_product(lower_persistent(4, 3, arena, s, transposed), dt::f16, s, transposed);
    }
  }
  core::Arena arena;
  const LinearProgram whole = lower_persistent(8, 3, arena);
  EXPECT_EQ(whole.grid_groups[0] * whole.grid_groups[1], 6);
  expect_product(whole, dt::f16, kSizes, true);
}

// Of a target with as many multiprocessors: where there are more blocks, and one has a core for
// itself.
TEST(PersistentGroups, AreChosenForMoreBlocksThanMultiprocessors) {
  struct Case {
    ProductSizes sizes;
    i64 multiprocessors;
    const char* part;  // of the plan; null: none is persistent
  };
  for (const Case& c : {Case{{1, 4096, 4096, 4096}, 132, "PERSISTENT(132)"},
                        {{1, 4096, 4096, 4096}, 16, "PERSISTENT(16)"},
                        {{1, 1024, 1024, 4096}, 132, nullptr},
                        {{1, 384, 512, 320}, 1, "PERSISTENT(1)"},
                        {{1, 384, 512, 320}, 132, nullptr}}) {
    for (const bool transposed : {false, true}) {
      const Caps target = nv_caps(*nv::hw::find_chip("sm_90"),
                                  {.multiprocessors = c.multiprocessors, .tensor_maps = true});
      core::Arena arena;
      const std::string plan =
          lower(narrow_product_kernel(dt::f16, c.sizes, transposed), target, arena).plan;
      const bool found = plan.find(c.part ? c.part : "PERSISTENT") != std::string::npos;
      EXPECT_EQ(found, c.part != nullptr) << plan;
      const Result<Plan> parsed = parse_plan(plan);
      ASSERT_TRUE(parsed) << plan;
      EXPECT_EQ(print(*parsed), plan);
    }
  }
}

// Rings that would be longer than a block's tiles, and copies by each item: one buffer, and no more
// copies ahead than it has.
TEST(PersistentGroups, ComputeWithoutRings) {
  for (const bool maps : {false, true}) {
    const ProductSizes s{1, 128, 192, maps ? 128 : 256};
    core::Arena arena;
    const LinearProgram program = lower_persistent(4, 4, arena, s, true, maps);
    EXPECT_TRUE(program.tensor_maps.empty());
    expect_product(program, dt::f16, s, true);
  }
}

// Copies of the next block's tiles are begun while this one's last are used: behind the first
// block, no copy stands outside of the loop over tiles.
TEST(PersistentGroups, CopyAheadOfTheirBlock) {
  core::Arena arena;
  const LinearProgram program = lower_persistent(2, 4, arena);
  i64 depth = 0, before = 0, inside = 0;
  for (UOp u : program.ops) {
    depth += u.is(Op::Range) ? 1 : u.is(Op::End) ? -1 : 0;
    if (!is_tensor_copy(u)) continue;
    EXPECT_TRUE(depth == 0 || depth == 2) << depth;
    (depth == 0 ? before : inside) += 1;
  }
  EXPECT_EQ(before, 4);  // two tiles of each operand
  EXPECT_EQ(inside, 2);
}

TEST(PersistentGroups, NeedTheirBarrierAndWait) {
  core::Arena arena;
  Plan plan = plan_of(2, 3);
  plan.push_back({OptOp::Local, 0, 2});  // two warp groups, of which one has the thread that copies
  const LinearProgram program =
      lower(narrow_product_kernel(dt::f16, kSizes, true), caps(true), arena, {.plan = &plan});
  expect_product(program, dt::f16, kSizes, true);
  int removed = 0;
  for (usize i = 0; i < program.ops.size(); ++i) {
    if (!program.ops[i].is(Op::Barrier) && !is_phase_wait(program.ops[i])) continue;
    LinearProgram broken = program;
    broken.ops.erase(broken.ops.begin() + static_cast<i64>(i));
    EXPECT_TRUE(is_broken_product(broken, dt::f16, kSizes, true)) << removed;
    ++removed;
  }
  EXPECT_EQ(removed, 2);
}

// Phases that are counted anew in each block are those of the block before, wherever a block's
// tiles are no multiple of both rounds of the ring.
TEST(PersistentGroups, CountPhasesOn) {
  core::Arena arena;
  LinearProgram program = lower_persistent(2, 4, arena);
  core::Rewriter rewriter(arena, core::simplify_rules());
  const auto walk = std::ranges::find_if(program.ops, [](UOp u) { return u.is(Op::Range); });
  const auto wait = std::ranges::find_if(program.ops, is_phase_wait);
  ASSERT_LT(walk, wait);
  const UOp zero = arena.make(Op::Const, walk->dtype(), {}, {0});
  const std::pair<UOp, UOp> anew[] = {{*walk, zero}};
  const UOp parity = rewriter.substitute(wait->src(1), anew);
  ASSERT_NE(parity, wait->src(1));
  const UOp srcs[] = {wait->src(0), parity};
  const UOp changed = arena.with_srcs(*wait, srcs);
  std::vector<UOp> more;
  for (UOp u : core::topological_order(arena, {&changed, 1}))
    if (std::ranges::find(program.ops, u) == program.ops.end()) more.push_back(u);
  const auto at = program.ops.erase(wait);
  program.ops.insert(at, more.begin(), more.end());
  EXPECT_TRUE(is_broken_product(program, dt::f16, kSizes, true));
}

}  // namespace
}  // namespace doorbell::codegen
