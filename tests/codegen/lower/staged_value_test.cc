// What tiles in local memory hold of an operand: values are made once for a group where that pays.
#include <gtest/gtest.h>

#include <functional>

#include "codegen/lower/lower.h"
#include "tests/codegen/support/group_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {
namespace {

using core::Op;
using core::UOp;

constexpr i64 kRows = 8, kColumns = 8, kDepth = 32;
// Of four rows by eight columns of items: an item copies one element of a tile that is 8 deep.
constexpr i64 kTile = 8, kTiles = kDepth / kTile;

// out[i, j] = sum over k of body(x[i, k]) * y[k, j]
core::KernelAst kernel(core::DType type, const std::function<UOp(KernelBuilder&, UOp)>& body) {
  KernelBuilder k;
  UOp i = k.loop(kRows), j = k.loop(kColumns), d = k.reduced(kDepth);
  UOp out = k.param(0, kRows * kColumns), x = k.param(1, kRows * kDepth, type);
  UOp y = k.load(k.param(2, kDepth * kColumns), k.add(k.mul(d, kColumns), j));
  UOp value = body(k, k.load(x, k.add(k.mul(i, kDepth), d)));
  UOp sum = k.reduce(Op::Add, k.mul(value, y), {d});
  return k.store(out, k.add(k.mul(i, kColumns), j), sum, {i, j});
}

UOp third(KernelBuilder& k, UOp x) {
  return k.op(Op::FDiv, x, k.arena().const_float(core::dtypes::f32, 3));
}

UOp third_of_int(KernelBuilder& k, UOp x) {
  return third(k, k.arena().make(Op::Cast, core::dtypes::f32, {x}));
}

// How often one item executes an operation.
i64 executions(const LinearProgram& program, Op op) {
  i64 trips = 1, total = 0;
  for (UOp u : program.ops) {
    if (u.is(Op::Range)) trips *= u.src(0).const_int();
    if (u.is(Op::End)) trips /= u.src(1).src(0).const_int();
    if (u.is(op)) total += trips;
  }
  return total;
}

// Of an operation, in a program that computes what the kernel says.
i64 run(const core::KernelAst& ast, i64 buffers, Op op) {
  const Plan plan{{OptOp::Local, 1, 8},
                  {OptOp::Local, 0, 4},
                  {OptOp::Tile, 2, kTile},
                  {OptOp::Stage, 1, buffers},
                  {OptOp::Stage, 2, buffers}};
  core::Arena arena;
  const LinearProgram program = lower(ast, group_caps(), arena, {.plan = &plan});
  const i64 counts[] = {kRows * kColumns, kRows * kDepth, kDepth * kColumns};
  const BothOutputs outputs = run_both(ast, program, counts, 5);
  EXPECT_EQ(outputs.got, outputs.expected);
  return executions(program, op);
}

TEST(StagedValue, IsMadeOnceForAGroup) {
  for (i64 buffers : {1, 2}) {
    EXPECT_EQ(run(kernel(core::dtypes::f32, third), buffers, Op::FDiv), kTiles);
    EXPECT_EQ(run(kernel(core::dtypes::i32, third_of_int), buffers, Op::FDiv), kTiles);
  }
}

TEST(StagedValue, OfFewOperationsIsMadeInRegisters) {
  const auto relu = [](KernelBuilder& k, UOp x) {
    return k.op(Op::Max, x, k.arena().const_of(core::dtypes::f32, 0));
  };
  EXPECT_EQ(run(kernel(core::dtypes::f32, relu), 1, Op::Max), kDepth);
}

TEST(StagedValue, WithTheElementItselfIsMadeInRegisters) {
  const auto both = [](KernelBuilder& k, UOp x) {
    UOp square = k.mul(x, third(k, x));
    return k.arena().make(Op::Max, core::dtypes::f32, {square, x});
  };
  // All of it is one value.
  EXPECT_EQ(run(kernel(core::dtypes::f32, both), 1, Op::FDiv), kTiles);
  // Here the sum reads two.
  KernelBuilder k;
  UOp i = k.loop(kRows), j = k.loop(kColumns), d = k.reduced(kDepth);
  UOp x = k.load(k.param(1, kRows * kDepth), k.add(k.mul(i, kDepth), d));
  UOp y = k.load(k.param(2, kDepth * kColumns), k.add(k.mul(d, kColumns), j));
  UOp sum = k.reduce(Op::Add, k.add(k.mul(third(k, x), y), x), {d});
  const core::KernelAst ast =
      k.store(k.param(0, kRows * kColumns), k.add(k.mul(i, kColumns), j), sum, {i, j});
  EXPECT_EQ(run(ast, 1, Op::FDiv), kDepth);
}

}  // namespace
}  // namespace doorbell::codegen
