// Kernels that walk a row several times: reductions of the row, then its output.
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/lower/lower.h"
#include "codegen/opt/heuristic.h"
#include "tests/codegen/support/cpu_caps.h"
#include "tests/codegen/support/group_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {
namespace {

Caps test_caps() {
  Caps caps = cpu_caps(64);
  caps.vector_registers = 32;
  return caps;
}

// The loops over a row take lanes together: one left without would cost more than all else.
TEST(RowLanes, AllLoopsOverARowTakeThem) {
  core::KernelAst ast = two_row_sums_kernel(64, 4096);
  core::Arena arena;
  KernelInfo info = merged_info(ast, arena);
  Plan plan = choose_plan(info, test_caps());
  i64 lanes = amount_of(plan, OptOp::Vector, 1);
  EXPECT_GE(lanes, 16);
  EXPECT_EQ(amount_of(plan, OptOp::Vector, 2), lanes);
  EXPECT_EQ(amount_of(plan, OptOp::Vector, 3), lanes);
  EXPECT_EQ(amount_of(plan, OptOp::Vector, 0), 1);
}

void expect_rows(const Caps& caps, std::initializer_list<i64> widths) {
  for (i64 columns : widths) {
    constexpr i64 kRows = 6;
    std::vector<f32> x, out(static_cast<usize>(kRows * columns), -1), expected;
    for (i64 i = 0; i < kRows * columns; ++i) x.push_back(static_cast<f32>(i * 7 % 23 - 11));
    for (i64 r = 0; r < kRows; ++r) {
      const f32* row = x.data() + r * columns;
      f32 top = *std::max_element(row, row + columns), sum = 0;
      for (i64 c = 0; c < columns; ++c) sum += row[c] - top;
      for (i64 c = 0; c < columns; ++c) expected.push_back((row[c] - top) * sum);
    }
    core::Arena arena;
    LinearProgram program = lower(two_row_sums_kernel(kRows, columns), caps, arena);
    void* params[2] = {out.data(), x.data()};
    run_linear(program, params);
    EXPECT_EQ(out, expected) << columns;
  }
}

TEST(RowLanes, ComputeTheSame) { expect_rows(test_caps(), {128, 37, 8}); }

// Without a reduction for each element: a group has the row and its two sums.
TEST(RowLanes, AreAGroupsWork) {
  expect_rows(group_caps(), {1024, 500, 128, 37, 8, 1});
  core::Arena arena;
  LinearProgram program = lower(two_row_sums_kernel(50, 512), group_caps(), arena);
  EXPECT_EQ(program.grid_groups[0], 50);
  int vectors = 0, barriers = 0;
  for (core::UOp u : program.ops) {
    vectors += u.is(core::Op::Load) && u.src(0).is(core::Op::Index) && u.dtype().lanes == 4 &&
               u.src(0).src(0).is(core::Op::Param);
    barriers += u.is(core::Op::Barrier);
  }
  EXPECT_EQ(vectors, 3);   // the row is read three times
  EXPECT_EQ(barriers, 4);  // and combined twice
}

}  // namespace
}  // namespace doorbell::codegen
