// Accesses whose lanes are far apart and whose registers are neighbours: by vectors, and right.
#include "codegen/lower/transpose.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/lower/lower.h"
#include "codegen/render/memory.h"
#include "tests/codegen/support/cpu_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {
namespace {

using core::Op;
using core::UOp;

Caps transposing_caps(int vector_bytes) {
  Caps caps = cpu_caps(vector_bytes);
  caps.host_threads = true;
  caps.vector_registers = 32;
  return caps;
}

// out[c, p] = x[p, c] + y[c, p]: with c in lanes and p in registers.
struct Turned {
  i64 columns, places;

  core::KernelAst make() const {
    KernelBuilder k;
    const i64 count = columns * places;
    UOp out = k.param(0, count), x = k.param(1, count), y = k.param(2, count);
    UOp c = k.loop(columns), p = k.loop(places);
    UOp at = k.add(k.mul(c, places), p), turned = k.add(k.mul(p, columns), c);
    return k.store(out, at, k.add(k.load(x, turned), k.load(y, at)), {c, p});
  }
};

struct Accesses {
  i64 vectors = 0, scalars = 0;  // of memory
};

Accesses accesses_of(const Turned& kernel, const Caps& caps, const Plan& plan) {
  core::Arena arena;
  const core::KernelAst ast = kernel.make();
  const LinearProgram program = lower(ast, caps, arena, {.plan = &plan});
  const i64 count = kernel.columns * kernel.places, counts[] = {count, count, count};
  const BothOutputs outputs = run_both(ast, program, counts, 1);
  EXPECT_EQ(outputs.got, outputs.expected) << print(plan);
  Accesses found;
  for (UOp u : program.ops) {
    if (!u.is(Op::Load) && !u.is(Op::Store)) continue;
    const UOp value = u.is(Op::Load) ? u : u.src(1);
    ++(value.dtype().lanes > 1 ? found.vectors : found.scalars);
  }
  return found;
}

Plan plan_of(i64 lanes, i64 registers) {
  return {{OptOp::Vector, 0, lanes}, {OptOp::Upcast, 1, registers}};
}

// The numbers of 0 .. n*n - 1 in rows, and in columns.
TEST(Transpose, PutsColumnsIntoRows) {
  for (i64 n : {4, 8, 16}) {
    EXPECT_EQ(accesses_of({n, n}, transposing_caps(static_cast<int>(n * 4)), plan_of(n, n)).scalars,
              0);
    core::Arena arena;
    const core::DType t = core::dtypes::f32.with_lanes(static_cast<u16>(n));
    std::vector<UOp> rows;
    for (i64 i = 0; i < n; ++i) rows.push_back(arena.make(Op::DefineReg, t, {}, {i}));
    const std::vector<UOp> columns = transpose(arena, rows);
    // Follows each lane back to its register.
    for (i64 c = 0; c < n; ++c) {
      for (i64 r = 0; r < n; ++r) {
        UOp vector = columns[static_cast<usize>(c)];
        i64 lane = r;
        while (vector.is(Op::Vec)) {
          const UOp from = vector.src(static_cast<usize>(lane));
          vector = from.src(0), lane = from.arg(0);
        }
        EXPECT_EQ(vector, rows[static_cast<usize>(r)]) << n;
        EXPECT_EQ(lane, c) << n;
      }
    }
  }
}

TEST(Transpose, StoresAndLoadsVectors) {
  const Accesses whole = accesses_of({16, 16}, transposing_caps(64), plan_of(16, 16));
  EXPECT_EQ(whole.vectors, 48);
  EXPECT_EQ(whole.scalars, 0);
  // 8 and 4 and 2 elements for each of 16 lanes.
  const Accesses pieces = accesses_of({16, 14}, transposing_caps(64), plan_of(16, 14));
  EXPECT_EQ(pieces.vectors, 14 + 16 + 3 * 16);
  EXPECT_EQ(pieces.scalars, 0);
}

TEST(Transpose, IsRightForAllSizes) {
  for (int bytes : {16, 32, 64}) {
    for (i64 lanes : {4, 8, 16, 32}) {
      for (i64 registers : {2, 4, 5, 7, 13, 16, 28}) {
        accesses_of({2 * lanes, 3 * registers}, transposing_caps(bytes), plan_of(lanes, registers));
        accesses_of({2 * lanes + 3, registers}, transposing_caps(bytes), plan_of(lanes, registers));
      }
    }
  }
}

TEST(Transpose, LeavesFewAlone) {
  EXPECT_EQ(accesses_of({16, 3}, transposing_caps(64), plan_of(16, 3)).scalars, 2 * 3 * 16);
  Caps unmasked = transposing_caps(64);
  unmasked.masked_access = false;
  EXPECT_EQ(accesses_of({16, 14}, unmasked, plan_of(16, 14)).scalars, 14 * 16);  // the loads
}

// An operand that is contiguous along the depth, packed with its other axis in lanes.
TEST(Transpose, PacksAnOperandAlongTheDepth) {
  for (i64 depth : {16, 24, 32, 96}) {
    const core::KernelAst ast = matmul_kernel(8, 32, 96, true);
    const Plan plan{{OptOp::Tile, 2, depth}, {OptOp::Tile, 1, 32},   {OptOp::Tile, 0, 8},
                    {OptOp::Upcast, 0, 4},   {OptOp::Vector, 1, 16}, {OptOp::Stage, 1, 1},
                    {OptOp::Stage, 2, 1}};
    core::Arena arena;
    const LinearProgram program = lower(ast, transposing_caps(64), arena, {.plan = &plan});
    const i64 counts[] = {8 * 32, 8 * 96, 32 * 96, 32};
    const BothOutputs outputs = run_both(ast, program, counts, 1);
    EXPECT_EQ(outputs.got, outputs.expected) << depth;
    for (UOp u : program.ops) {
      if (!u.is(Op::Load) || !memory_of(u.src(0)).is(Op::Param)) continue;
      EXPECT_GT(u.dtype().lanes, 1) << depth;
    }
  }
}

}  // namespace
}  // namespace doorbell::codegen
