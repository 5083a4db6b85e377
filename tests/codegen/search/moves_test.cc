// Moves: the same ones each time, each plan once, and kernels compute the same under all of them.
#include "codegen/search/moves.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "codegen/lower/lower.h"
#include "codegen/opt/heuristic.h"
#include "tests/codegen/support/group_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {
namespace {

Caps cpu_like() {
  Caps caps = group_caps();
  caps.has_local = false;
  caps.masked_access = caps.host_threads = true;
  caps.vector_bytes = 16, caps.vector_registers = 16;
  caps.threads = 3;
  return caps;
}

bool has_word(const std::vector<Move>& moves, std::string_view word) {
  return std::ranges::any_of(moves, [&](const Move& move) { return move.word == word; });
}

TEST(MovesTest, AreTheSameEachTimeAndEachPlanOnce) {
  const core::KernelAst ast = matmul_kernel(96, 96, 96);
  core::Arena arena;
  const KernelInfo info = merged_info(ast, arena);
  const Plan plan = *parse_plan("VECTOR(1,4) UPCAST(0,4) UNROLL(2,2)");
  const std::vector<Move> moves = moves_from(info, cpu_like(), plan);
  std::set<std::string> plans;
  for (const Move& move : moves) {
    EXPECT_TRUE(plans.insert(print(move.plan)).second) << print(move.plan);
    EXPECT_NE(move.plan, plan);
  }
  const std::vector<Move> again = moves_from(info, cpu_like(), plan);
  ASSERT_EQ(again.size(), moves.size());
  for (usize i = 0; i < moves.size(); ++i) EXPECT_EQ(again[i].plan, moves[i].plan);
  for (const char* word : {"vector*2", "vector/2", "upcast*2", "upcast-", "unroll*2", "thread+"})
    EXPECT_TRUE(has_word(moves, word)) << word;
}

TEST(MovesTest, BlocksStayWholeNumbersOfRegisterTiles) {
  const core::KernelAst ast = matmul_kernel(96, 96, 96);
  core::Arena arena;
  const KernelInfo info = merged_info(ast, arena);
  const Plan plan = *parse_plan(
      "TILE(2,48) TILE(1,48) TILE(0,24) UPCAST(0,6) VECTOR(1,8) STAGE(1) STAGE(2) THREAD(0,4) "
      "THREAD(1,2)");
  const std::vector<Move> moves = moves_from(info, cpu_like(), plan);
  for (const char* word : {"tile.k*2", "tile.i/2", "tile.j*2", "upcast+1", "threads"})
    EXPECT_TRUE(has_word(moves, word)) << word;
  for (const Move& move : moves) {
    EXPECT_EQ(amount_of(move.plan, OptOp::Tile, 0) % amount_of(move.plan, OptOp::Upcast, 0), 0);
    EXPECT_EQ(amount_of(move.plan, OptOp::Tile, 1) % amount_of(move.plan, OptOp::Vector, 1), 0);
  }
}

struct Case {
  const char* name;
  core::KernelAst ast;
  std::vector<i64> counts;  // elements by slot
};

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back({"matmul", matmul_kernel(6, 12, 10), {6 * 12, 6 * 10, 10 * 12, 12}});
  all.push_back({"sum of rows", row_reduce_kernel(core::Op::Add, 6, 24), {6, 6 * 24}});
  all.push_back({"transpose", transpose_kernel(12, 10), {120, 120}});
  all.push_back({"sum", add_kernel(96), {96, 96, 96}});
  return all;
}

// Walks at random, so that plans come from plans that moves made.
void walk(const Case& c, const Caps& caps, const Plan& start, u32 seed) {
  std::mt19937 random(seed);
  core::Arena info_arena;
  const KernelInfo info = merged_info(c.ast, info_arena);
  Plan plan = start;
  for (int step = 0; step < 8; ++step) {
    std::vector<Move> moves = moves_from(info, caps, plan);
    if (moves.empty()) return;
    const Plan next = moves[random() % moves.size()].plan;
    core::Arena arena;
    LinearProgram program;
    try {
      program = lower(c.ast, caps, arena, {.plan = &next});
    } catch (const InternalError&) {
      continue;  // refused: a search leaves it out
    }
    plan = next;
    const BothOutputs outputs = run_both(c.ast, program, c.counts, seed);
    ASSERT_EQ(outputs.got, outputs.expected) << c.name << ", seed " << seed << ": " << print(plan);
  }
}

TEST(MovesFuzz, KernelsComputeTheSameUnderAllPlans) {
  for (u32 seed = 1; seed <= 4; ++seed) {
    for (const Case& c : cases()) {
      walk(c, cpu_like(), {}, seed);
      walk(c, group_caps(), {}, seed);
    }
    const Case matmul = std::move(cases()[0]);
    walk(matmul, cpu_like(),
         *parse_plan("TILE(2,4) TILE(1,8) TILE(0,4) UPCAST(0,2) VECTOR(1,4) STAGE(1) STAGE(2)"),
         seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace doorbell::codegen
