// What each pass of lowering does to a small kernel, as text: the reviewer's view.
#include <gtest/gtest.h>

#include "codegen/linear/linearize.h"
#include "codegen/lower/expand.h"
#include "codegen/lower/lower.h"
#include "codegen/lower/lower_index.h"
#include "codegen/opt/apply.h"
#include "codegen/opt/merge_ranges.h"
#include "core/rules/rules.h"
#include "core/uop/print.h"
#include "tests/codegen/support/group_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/support/golden.h"

namespace doorbell::codegen {
namespace {

using core::Arena;
using core::KernelAst;
using core::Rewriter;
using core::UOp;

Caps caps_of_avx() {
  Caps caps;
  caps.vector_bytes = 32;
  caps.masked_access = true;
  return caps;
}

// The kernel in the Rewriter's arena, in simplest form.
UOp simplest(const KernelAst& ast, Rewriter& rewriter) { return rewriter.rewrite(ast.sink); }

TEST(PassGolden, MergeRanges) {
  KernelBuilder k;
  UOp out = k.param(0, 60), x = k.param(1, 60), bias = k.param(2, 5);
  UOp a = k.loop(3), b = k.loop(4), c = k.loop(5);
  UOp at = k.add(k.mul(k.add(k.mul(a, 4), b), 5), c);
  KernelAst ast = k.store(out, at, k.add(k.load(x, at), k.load(bias, c)), {a, b, c});
  Rewriter rewriter(*ast.arena, core::simplify_rules());
  UOp before = simplest(ast, rewriter);
  UOp after = merge_ranges(rewriter, before);
  EXPECT_GOLDEN(
      "tests/golden/codegen/merge_ranges.txt",
      "before\n" + core::print(*ast.arena, before) + "after\n" + core::print(*ast.arena, after));
}

// A 4x8 matrix product over k = 6: rows in registers, columns in lanes, k unrolled by 2.
TEST(PassGolden, ApplyExpandLowerLinearize) {
  KernelAst ast = matmul_kernel(4, 8, 6);
  Arena& arena = *ast.arena;
  Rewriter rewriter(arena, core::simplify_rules());
  UOp sink = merge_ranges(rewriter, simplest(ast, rewriter));
  Plan plan{{OptOp::Upcast, 0, 2}, {OptOp::Vector, 1, 8}, {OptOp::Unroll, 2, 2}};
  Applied applied = apply(rewriter, analyse(arena, sink), sink, plan);
  EXPECT_GOLDEN("tests/golden/codegen/apply.txt", "before\n" + core::print(arena, sink) + "after " +
                                                      print(plan) + "\n" +
                                                      core::print(arena, applied.sink));
  UOp expanded = expand(rewriter, applied.sink, caps_of_avx());
  EXPECT_GOLDEN("tests/golden/codegen/expand.txt", core::print(arena, expanded));
  UOp lowered = lower_index(rewriter, expanded, caps_of_avx());
  EXPECT_GOLDEN("tests/golden/codegen/lower_index.txt", core::print(arena, lowered));
  EXPECT_GOLDEN("tests/golden/codegen/linearize.txt", core::print_ops(linearize(arena, lowered)));
}

TEST(PassGolden, ApplyTiled) {
  KernelAst ast = matmul_kernel(8, 16, 8);
  Rewriter rewriter(*ast.arena, core::simplify_rules());
  UOp sink = merge_ranges(rewriter, simplest(ast, rewriter));
  Plan plan{{OptOp::Tile, 2, 4},  {OptOp::Tile, 0, 4},   {OptOp::Tile, 1, 8},  {OptOp::Stage, 1, 1},
            {OptOp::Stage, 2, 1}, {OptOp::Upcast, 0, 2}, {OptOp::Vector, 1, 4}};
  Applied applied = apply(rewriter, analyse(*ast.arena, sink), sink, plan);
  EXPECT_GOLDEN("tests/golden/codegen/apply_tiled.txt",
                "after " + print(plan) + "\n" + core::print(*ast.arena, applied.sink));
}

std::string program_text(const LinearProgram& p) {
  std::string text;
  for (i64 n : p.grid_groups) text += std::to_string(n) + " ";
  text += "groups of";
  for (i64 n : p.group_items) text += " " + std::to_string(n);
  return text + "\n" + core::print_ops(p.ops);
}

// A sum of 48 values over 4 work items.
TEST(PassGolden, GroupedReduction) {
  Arena arena;
  Plan plan{{OptOp::Group, 1, 4}, {OptOp::Vector, 1, 4}};
  LinearProgram program =
      lower(row_reduce_kernel(core::Op::Add, 3, 48), group_caps(), arena, {.plan = &plan});
  EXPECT_GOLDEN("tests/golden/codegen/grouped_reduction.txt", program_text(program));
}

// A matrix product of 4x4 items with 2x2 results each, operands by way of local memory.
TEST(PassGolden, StagedOperands) {
  Arena arena;
  Plan plan{{OptOp::Local, 1, 4},  {OptOp::Local, 0, 4}, {OptOp::Vector, 1, 2},
            {OptOp::Upcast, 0, 2}, {OptOp::Tile, 2, 8},  {OptOp::Stage, 1, 1},
            {OptOp::Stage, 2, 1}};
  LinearProgram program = lower(matmul_kernel(8, 8, 16), group_caps(), arena, {.plan = &plan});
  EXPECT_GOLDEN("tests/golden/codegen/staged_operands.txt", program_text(program));
}

}  // namespace
}  // namespace doorbell::codegen
