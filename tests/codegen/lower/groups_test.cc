// How output axes become work groups and work items, and that the grid keeps to its limits.
#include <gtest/gtest.h>

#include <numeric>

#include "codegen/linear/multiple.h"
#include "codegen/lower/lower.h"
#include "codegen/opt/group_ids.h"
#include "core/rules/rules.h"
#include "core/uop/print.h"
#include "tests/codegen/support/group_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {
namespace {

using core::Op;
using core::UOp;

int count(const LinearProgram& program, Op op) {
  int n = 0;
  for (UOp u : program.ops) n += u.is(op);
  return n;
}

std::vector<i64> sizes(const LinearProgram& program) {
  std::vector<i64> all(program.grid_groups, program.grid_groups + 3);
  all.insert(all.end(), program.group_items, program.group_items + 3);
  return all;
}

// out[a, b, c, d] = x[d, c, b, a]: no two axes walk as one.
core::KernelAst reversed_axes_kernel(i64 a, i64 b, i64 c, i64 d) {
  KernelBuilder k;
  i64 n = a * b * c * d;
  UOp out = k.param(0, n), x = k.param(1, n);
  UOp i = k.loop(a), j = k.loop(b), l = k.loop(c), m = k.loop(d);
  UOp to = k.add(k.mul(k.add(k.mul(k.add(k.mul(i, b), j), c), l), d), m);
  UOp from = k.add(k.mul(k.add(k.mul(k.add(k.mul(m, c), l), b), j), a), i);
  return k.store(out, to, k.load(x, from), {i, j, l, m});
}

void expect_reversed(const LinearProgram& program, i64 a, i64 b, i64 c, i64 d) {
  std::vector<f32> x(static_cast<usize>(a * b * c * d)), out(x.size(), -1);
  std::iota(x.begin(), x.end(), 0.0f);
  void* params[2] = {out.data(), x.data()};
  run_linear(program, params);
  usize at = 0;
  for (i64 i = 0; i < a; ++i)
    for (i64 j = 0; j < b; ++j)
      for (i64 l = 0; l < c; ++l)
        for (i64 m = 0; m < d; ++m) {
          ASSERT_EQ(out[at++], static_cast<f32>(((m * c + l) * b + j) * a + i));
        }
}

TEST(Groups, WithoutOptsAreOneItemEach) {
  core::Arena arena;
  LinearProgram program = lower(matmul_kernel(6, 8, 4), group_caps(), arena, {.optimise = false});
  EXPECT_EQ(sizes(program), (std::vector<i64>{8, 6, 1, 1, 1, 1}));
  EXPECT_EQ(count(program, Op::Range), 1);  // the reduced axis alone
}

TEST(Groups, NeighbouringItemsAreOfTheInnermostAxis) {
  core::Arena arena;
  Plan plan{{OptOp::Local, 1, 16}, {OptOp::Local, 0, 2}};
  LinearProgram program = lower(matmul_kernel(6, 32, 4), group_caps(), arena, {.plan = &plan});
  EXPECT_EQ(sizes(program), (std::vector<i64>{2, 3, 1, 16, 2, 1}));
}

// 4 axes over a grid of 3, then over one with little room.
TEST(Groups, AnyNumberOfAxesFitsTheGrid) {
  Caps caps = group_caps();
  core::KernelAst ast = reversed_axes_kernel(3, 4, 5, 6);
  core::Arena arena;
  LinearProgram program = lower(ast, caps, arena, {.optimise = false});
  EXPECT_EQ(sizes(program), (std::vector<i64>{360, 1, 1, 1, 1, 1}));
  expect_reversed(program, 3, 4, 5, 6);
}

TEST(Groups, AGridThatIsTooSmallIsSplit) {
  Caps caps = group_caps();
  caps.max_global[0] = caps.max_global[1] = caps.max_global[2] = 8;
  for (auto [a, b, c, d] : {std::array<i64, 4>{3, 4, 5, 6}, {1, 1, 7, 67}, {2, 3, 1, 11}}) {
    core::Arena arena;
    LinearProgram program =
        lower(reversed_axes_kernel(a, b, c, d), caps, arena, {.optimise = false});
    for (i64 n : program.grid_groups) EXPECT_LE(n, 8);
    expect_reversed(program, a, b, c, d);
  }
}

TEST(Groups, MoreGroupsThanTheGridIsAnError) {
  Caps caps = group_caps();
  caps.max_global[0] = caps.max_global[1] = caps.max_global[2] = 2;
  core::Arena arena;
  EXPECT_THROW(lower(add_kernel(9), caps, arena, {.optimise = false}), InternalError);
}

TEST(Groups, TooManyItemsAreAnError) {
  core::KernelAst ast = reversed_axes_kernel(8, 8, 8, 8);
  for (const Plan& plan : {Plan{{OptOp::Local, 0, 128}},                       // on an axis
                           Plan{{OptOp::Local, 0, 16}, {OptOp::Local, 1, 8}},  // together
                           Plan{{OptOp::Local, 0, 1}, {OptOp::Local, 1, 1}, {OptOp::Local, 2, 8}},
                           Plan{{OptOp::Local, 0, 1},
                                {OptOp::Local, 1, 1},
                                {OptOp::Local, 2, 1},
                                {OptOp::Local, 3, 1}}}) {
    core::Arena arena;
    EXPECT_THROW(lower(ast, group_caps(), arena, {.plan = &plan}), InternalError) << print(plan);
  }
}

// 13 elements in groups of 4 items: the last group has 3 too many.
TEST(Groups, ItemsPastTheEndDoNothing) {
  core::Arena arena;
  Plan plan{{OptOp::Local, 0, 4}};
  LinearProgram program = lower(add_kernel(13), group_caps(), arena, {.plan = &plan});
  EXPECT_EQ(sizes(program), (std::vector<i64>{4, 1, 1, 4, 1, 1}));
  std::vector<f32> a(13), b(13, 100), out(13, -1), expected;
  std::iota(a.begin(), a.end(), 0.0f);
  for (f32 x : a) expected.push_back(x + 100);
  void* params[3] = {out.data(), a.data(), b.data()};
  run_linear(program, params);  // itself fails outside of memory
  EXPECT_EQ(out, expected);
}

// Vectors of an axis whose size they divide are whole vectors, gated as one.
TEST(Groups, WholeVectorsHaveOneGate) {
  core::Arena arena;
  Plan plan{{OptOp::Local, 0, 8}, {OptOp::Vector, 0, 4}};
  LinearProgram program = lower(add_kernel(40), group_caps(), arena, {.plan = &plan});
  int stores = 0;
  for (UOp u : program.ops) {
    if (!u.is(Op::Store)) continue;
    ++stores;
    EXPECT_EQ(u.src(1).dtype().lanes, 4);
    EXPECT_EQ(u.src(0).src(2).dtype().lanes, 1);
  }
  EXPECT_EQ(stores, 1);
}

// A row of a run-time length: groups for the longest, gated by the real one.
TEST(Groups, SymbolicAxes) {
  KernelBuilder k;
  i64 name = core::intern_name("groups_test_n");
  UOp n = k.arena().make(Op::Variable, core::dtypes::index, {}, {name, 1, 50});
  UOp out = k.param(0, 100), x = k.param(1, 100);
  UOp r = k.loop(2), c = k.arena().range(1, core::AxisType::Loop, n);
  UOp at = k.add(k.mul(r, 50), c);
  core::KernelAst ast = k.store(out, at, k.load(x, at), {r, c});
  ast.variables = {name};
  for (bool optimise : {false, true}) {
    core::Arena arena;
    LinearProgram program = lower(ast, group_caps(), arena, {.optimise = optimise});
    for (i64 length : {1, 7, 50}) {
      std::vector<f32> from(100, 3), to(100, 0);
      void* params[2] = {to.data(), from.data()};
      run_linear(program, params, {&length, 1});
      for (i64 i = 0; i < 100; ++i) {
        ASSERT_EQ(to[static_cast<usize>(i)], i % 50 < length ? 3 : 0) << i << " of " << length;
      }
    }
  }
}

// Rows of a run-time length: x - the sum of its row.
TEST(Groups, SymbolicRows) {
  KernelBuilder k;
  i64 name = core::intern_name("groups_test_n");
  UOp n = k.arena().make(Op::Variable, core::dtypes::index, {}, {name, 1, 300});
  UOp out = k.param(0, 1200), x = k.param(1, 1200), r = k.loop(4);
  UOp c = k.arena().range(1, core::AxisType::Loop, n);
  UOp t = k.arena().range(2, core::AxisType::Reduce, n), row = k.mul(r, 300);
  UOp sum = k.reduce(Op::Add, k.load(x, k.add(row, t)), {t});
  UOp at = k.add(row, c);
  core::KernelAst ast = k.store(out, at, k.op(Op::Sub, k.load(x, at), sum), {r, c});
  ast.variables = {name};
  for (bool optimise : {false, true}) {
    core::Arena arena;
    LinearProgram program = lower(ast, group_caps(), arena, {.optimise = optimise});
    if (optimise) {
      EXPECT_EQ(sizes(program), (std::vector<i64>{4, 1, 1, 64, 1, 1}));
    }
    for (i64 length : {1, 5, 64, 299}) {
      std::vector<f32> from(1200, 3), to(1200, -1);
      void* params[2] = {to.data(), from.data()};
      run_linear(program, params, {&length, 1});
      for (i64 i = 0; i < 1200; ++i) {
        f32 expected = i % 300 < length ? 3 - 3 * static_cast<f32>(length) : -1;
        ASSERT_EQ(to[static_cast<usize>(i)], expected) << i << " of " << length;
      }
    }
  }
}

TEST(Groups, IndexesAreNarrowWhereTheyFit) {
  core::Arena arena, wide_arena;
  LinearProgram program = lower(matmul_kernel(64, 64, 64), group_caps(), arena);
  for (UOp u : program.ops) EXPECT_NE(u.dtype().scalar, core::Scalar::I64) << core::name_of(u.op());
  // 2^33 elements: the address needs 64 bits, the work item's number does not.
  i64 big = i64{1} << 33;
  program = lower(transpose_kernel(1 << 13, big >> 13), group_caps(), wide_arena);
  bool wide_address = false;
  for (UOp u : program.ops) {
    if (u.is(Op::Special)) {
      EXPECT_EQ(u.dtype().scalar, core::Scalar::I32);
    }
    if (u.is(Op::Index)) wide_address |= u.src(1).dtype().scalar == core::Scalar::I64;
  }
  EXPECT_TRUE(wide_address);
}

// Without any one of its barriers a program has a race, which the interpreter finds.
TEST(Groups, EveryBarrierIsNeeded) {
  struct Staged {
    core::KernelAst ast;
    Plan plan;
    int barriers;
    bool waves = false;  // combine values themselves
  };
  std::vector<Staged> all;
  all.push_back({row_reduce_kernel(Op::Add, 3, 96), {{OptOp::Group, 1, 8}}, 1});
  all.push_back({row_reduce_kernel(Op::Add, 3, 96), {{OptOp::Group, 1, 32}}, 2});
  // In a loop over the rows of an item.
  all.push_back(
      {row_reduce_kernel(Op::Max, 8, 40), {{OptOp::Tile, 0, 4}, {OptOp::Group, 1, 8}}, 2});
  all.push_back(
      {row_reduce_kernel(Op::Max, 8, 40), {{OptOp::Tile, 0, 4}, {OptOp::Group, 1, 32}}, 2});
  // By waves: an item reads what all have stored.
  all.push_back({row_reduce_kernel(Op::Add, 3, 96), {{OptOp::Group, 1, 32}}, 1, true});
  all.push_back(
      {row_reduce_kernel(Op::Max, 8, 40), {{OptOp::Tile, 0, 4}, {OptOp::Group, 1, 32}}, 2, true});
  all.push_back({matmul_kernel(8, 8, 32),
                 {{OptOp::Local, 1, 8},
                  {OptOp::Local, 0, 4},
                  {OptOp::Tile, 2, 8},
                  {OptOp::Stage, 1, 1},
                  {OptOp::Stage, 2, 1}},
                 2});
  // With a ring of two buffers.
  all.push_back({matmul_kernel(8, 8, 32),
                 {{OptOp::Local, 1, 8},
                  {OptOp::Local, 0, 4},
                  {OptOp::Tile, 2, 8},
                  {OptOp::Stage, 1, 2},
                  {OptOp::Stage, 2, 2}},
                 1});
  for (Staged& s : all) {
    core::Arena arena;
    Caps caps = group_caps();
    caps.ops.set(static_cast<usize>(Op::Reduce), s.waves);
    const LinearProgram program = lower(s.ast, caps, arena, {.plan = &s.plan});
    EXPECT_EQ(count(program, Op::Barrier), s.barriers) << print(s.plan);
    std::vector<std::vector<f32>> buffers;
    std::vector<void*> params;
    for (const ProgramParam& p : program.params) buffers.emplace_back(p.count, 1.0f);
    for (auto& b : buffers) params.push_back(b.data());
    run_linear(program, params);
    for (usize i = 0; i < program.ops.size(); ++i) {
      if (!program.ops[i].is(Op::Barrier)) continue;
      LinearProgram broken = program;
      broken.ops.erase(broken.ops.begin() + static_cast<i64>(i));
      EXPECT_THROW(run_linear(broken, params), InternalError) << print(s.plan) << " op " << i;
    }
  }
}

// The rows of a register tile are neighbours in the staged tile: one load, four lanes.
TEST(Groups, NeighbouringLoadsAreVectors) {
  core::Arena arena;
  Plan plan{{OptOp::Local, 1, 8},
            {OptOp::Local, 0, 8},
            {OptOp::Upcast, 0, 4},
            {OptOp::Tile, 2, 8},
            {OptOp::Stage, 1, 1}};
  LinearProgram program = lower(matmul_kernel(32, 32, 32), group_caps(), arena, {.plan = &plan});
  int vectors = 0, scalars = 0;
  for (UOp u : program.ops) {
    if (!u.is(Op::Load) || !u.src(0).is(Op::Index) || u.src(0).src(0).is(Op::Param)) continue;
    ++(u.dtype().lanes == 4 ? vectors : scalars);
  }
  EXPECT_EQ(vectors, 1);
  EXPECT_EQ(scalars, 0);
}

TEST(KnownMultiple, OfSums) {
  KernelBuilder k;
  UOp r = k.loop(10), n = k.arena().make(Op::Variable, core::dtypes::index, {}, {1, 0, 9});
  EXPECT_EQ(known_multiple(r), 1);
  EXPECT_EQ(known_multiple(k.mul(r, 12)), 4);
  EXPECT_EQ(known_multiple(k.add(k.mul(r, 8), 6)), 2);
  EXPECT_EQ(known_multiple(k.add(k.mul(k.add(n, k.mul(r, 4)), 4), 16)), 4);
  EXPECT_EQ(known_multiple(k.mul(k.add(k.mul(n, 6), -2), 2)), 4);
  EXPECT_EQ(known_multiple(k.arena().index(0)), 64);
}

TEST(Groups, HostThreadsAreForTheHost) {
  Caps caps = group_caps();
  caps.host_threads = true;
  caps.threads = 8;
  core::Arena arena;
  EXPECT_EQ(lower(matmul_kernel(256, 256, 64), caps, arena).threads, 1);
}

}  // namespace
}  // namespace doorbell::codegen
