// Lowered programs compute what their kernels say: every kernel under the heuristic's plan, without
// opts, and under forced plans, against plain loops.
#include "codegen/lower/lower.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "codegen/opt/heuristic.h"
#include "tests/codegen/support/group_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {
namespace {

using core::KernelAst;
using core::Op;
using Floats = std::vector<f32>;

Caps test_caps() {
  Caps caps;
  caps.ops.set();
  caps.dtypes.set();
  caps.storage_dtypes.set();
  caps.masked_access = true;
  caps.host_threads = true;
  caps.threads = 2;
  caps.vector_bytes = 64;
  caps.vector_registers = 32;
  caps.l1_bytes = 48 << 10;
  caps.l2_bytes = 1 << 20;
  return caps;
}

// Small integers, so that sums in any order are exact.
Floats random_floats(usize n, u32 seed) {
  std::mt19937 random(seed);
  Floats x(n);
  for (f32& v : x) v = static_cast<f32>(static_cast<int>(random() % 17) - 8);
  return x;
}

struct Case {
  const char* name;
  std::function<KernelAst()> make;
  std::function<Floats(const std::vector<Floats>&)> expected;
};

void expect_runs(const Case& c, const Caps& caps, const LowerOptions& options) {
  KernelAst ast = c.make();
  core::Arena arena;
  LinearProgram program = lower(ast, caps, arena, options);
  std::vector<Floats> buffers;
  std::vector<void*> params;
  for (usize i = 0; i < program.params.size(); ++i) {
    usize n = static_cast<usize>(program.params[i].count);
    buffers.push_back(i == 0 ? Floats(n, std::nanf("")) : random_floats(n, static_cast<u32>(i)));
  }
  for (Floats& b : buffers) params.push_back(b.data());
  Floats expected = c.expected(buffers);
  run_linear(program, params);
  ASSERT_EQ(buffers[0].size(), expected.size()) << c.name;
  for (usize i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(buffers[0][i], expected[i]) << c.name << " element " << i;
  }
}

Floats matmul(const std::vector<Floats>& p, usize m, usize n, usize k, bool transposed) {
  Floats out(m * n);
  for (usize i = 0; i < m; ++i) {
    for (usize j = 0; j < n; ++j) {
      f32 sum = 0;
      for (usize r = 0; r < k; ++r)
        sum += p[1][i * k + r] * p[2][transposed ? j * k + r : r * n + j];
      out[i * n + j] = std::max(sum + p[3][j], 0.0f);
    }
  }
  return out;
}

Floats conv(const std::vector<Floats>& p, int batch, int in, int out, int size, int kernel,
            int pad) {
  int result = size + 2 * pad - kernel + 1;
  Floats dst;
  for (int b = 0; b < batch; ++b)
    for (int o = 0; o < out; ++o)
      for (int y = 0; y < result; ++y)
        for (int x = 0; x < result; ++x) {
          f32 sum = 0;
          for (int i = 0; i < in; ++i)
            for (int ky = 0; ky < kernel; ++ky)
              for (int kx = 0; kx < kernel; ++kx) {
                int sy = y + ky - pad, sx = x + kx - pad;
                if (sy < 0 || sx < 0 || sy >= size || sx >= size) continue;
                sum += p[1][static_cast<usize>(((b * in + i) * size + sy) * size + sx)] *
                       p[2][static_cast<usize>(((o * in + i) * kernel + ky) * kernel + kx)];
              }
          dst.push_back(sum);
        }
  return dst;
}

Floats conv_weights(const std::vector<Floats>& p, usize batch, usize in, usize out, usize size,
                    usize kernel) {
  usize result = size - kernel + 1;
  Floats dst;
  for (usize at = 0; at < out * in * kernel * kernel; ++at) {
    usize kx = at % kernel, ky = at / kernel % kernel;
    usize i = at / kernel / kernel % in, o = at / kernel / kernel / in;
    f32 sum = 0;
    for (usize b = 0; b < batch; ++b)
      for (usize y = 0; y < result; ++y)
        for (usize x = 0; x < result; ++x)
          sum += p[1][((b * in + i) * size + y + ky) * size + x + kx] *
                 p[2][((b * out + o) * result + y) * result + x];
    dst.push_back(sum);
  }
  return dst;
}

// Products whose axes no block divides, and of few rows. Behind the others, which plans name.
std::vector<Case> odd_products() {
  return {
      {"matmul of odd sizes", [] { return matmul_kernel(71, 67, 131); },
       [](const auto& p) { return matmul(p, 71, 67, 131, false); }},
      {"transposed matmul of odd sizes", [] { return matmul_kernel(71, 67, 131, true); },
       [](const auto& p) { return matmul(p, 71, 67, 131, true); }},
      {"dot products", [] { return matmul_kernel(16, 132, 300, true); },
       [](const auto& p) { return matmul(p, 16, 132, 300, true); }},
      {"few rows", [] { return matmul_kernel(5, 259, 517); },
       [](const auto& p) { return matmul(p, 5, 259, 517, false); }},
      {"one row", [] { return matmul_kernel(1, 1031, 517); },
       [](const auto& p) { return matmul(p, 1, 1031, 517, false); }},
  };
}

std::vector<Case> cases() {
  std::vector<Case> all{
      {"add", [] { return add_kernel(96); },
       [](const auto& p) {
         Floats out;
         for (usize i = 0; i < 96; ++i) out.push_back(p[1][i] + p[2][i]);
         return out;
       }},
      {"add of a prime", [] { return add_kernel(13); },
       [](const auto& p) {
         Floats out;
         for (usize i = 0; i < 13; ++i) out.push_back(p[1][i] + p[2][i]);
         return out;
       }},
      {"matmul", [] { return matmul_kernel(32, 48, 40); },
       [](const auto& p) { return matmul(p, 32, 48, 40, false); }},
      {"tiled matmul", [] { return matmul_kernel(64, 128, 96); },
       [](const auto& p) { return matmul(p, 64, 128, 96, false); }},
      {"tiled matmul transposed", [] { return matmul_kernel(64, 96, 128, true); },
       [](const auto& p) { return matmul(p, 64, 96, 128, true); }},
      {"conv", [] { return conv_kernel(2, 3, 8, 12, 3, 0); },
       [](const auto& p) { return conv(p, 2, 3, 8, 12, 3, 0); }},
      {"padded conv", [] { return conv_kernel(1, 4, 8, 8, 3, 1); },
       [](const auto& p) { return conv(p, 1, 4, 8, 8, 3, 1); }},
      {"row sum", [] { return row_reduce_kernel(Op::Add, 5, 256); },
       [](const auto& p) {
         Floats out(5, 0);
         for (usize i = 0; i < 5 * 256; ++i) out[i / 256] += p[1][i];
         return out;
       }},
      {"row max of 7", [] { return row_reduce_kernel(Op::Max, 4, 7); },
       [](const auto& p) {
         Floats out(4, -INFINITY);
         for (usize i = 0; i < 28; ++i) out[i / 7] = std::max(out[i / 7], p[1][i]);
         return out;
       }},
      {"transpose", [] { return transpose_kernel(16, 32); },
       [](const auto& p) {
         Floats out;
         for (usize j = 0; j < 32; ++j)
           for (usize i = 0; i < 16; ++i) out.push_back(p[1][i * 32 + j]);
         return out;
       }},
      {"reverse", [] { return reverse_kernel(64); },
       [](const auto& p) { return Floats(p[1].rbegin(), p[1].rend()); }},
      {"nested sums", [] { return nested_reduce_kernel(16, 6, 8); },
       [](const auto& p) {
         Floats out(16, 0);
         for (usize at = 0; at < 16 * 6; ++at)
           for (usize k = 0; k < 8; ++k) {
             if (p[1][at] > 0) out[at / 6] += p[2][at * 8 + k];
           }
         return out;
       }},
      {"iota", [] { return iota_kernel(60, 10); },
       [](const auto& p) {
         Floats out;
         for (usize i = 0; i < 60; ++i) out.push_back(static_cast<f32>(i) + p[1][i % 10]);
         return out;
       }},
      {"conv weights", [] { return conv_weights_kernel(2, 3, 4, 12, 3); },
       [](const auto& p) { return conv_weights(p, 2, 3, 4, 12, 3); }},
  };
  for (Case& c : odd_products()) all.push_back(std::move(c));
  return all;
}

TEST(Lower, WithoutOpts) {
  for (const Case& c : cases()) expect_runs(c, test_caps(), {.optimise = false});
}

TEST(Lower, WithTheHeuristic) {
  for (const Case& c : cases()) expect_runs(c, test_caps(), {});
}

TEST(Lower, WithTheHeuristicOfANarrowTargetWithoutMasks) {
  Caps caps = test_caps();
  caps.masked_access = false;
  caps.vector_bytes = 16;
  caps.vector_registers = 16;
  caps.threads = 1;
  for (const Case& c : cases()) expect_runs(c, caps, {});
}

TEST(Lower, WithScalarsOnly) {
  Caps caps = test_caps();
  caps.vector_bytes = 0;
  for (const Case& c : cases()) expect_runs(c, caps, {});
}

// Reductions are decomposed where they are expanded, and no rule brings back what is lacking.
TEST(Lower, ForATargetOfFewOps) {
  Caps caps = test_caps();
  caps.vector_bytes = 0;
  for (Op lacking :
       {Op::Max, Op::MulAcc, Op::Neg, Op::Recip, Op::CmpEq, Op::FloorDiv, Op::FloorMod, Op::CMod})
    caps.ops.reset(static_cast<usize>(lacking));
  for (const Case& c : cases()) {
    expect_runs(c, caps, {});
    KernelAst ast = c.make();
    core::Arena arena;
    for (core::UOp u : lower(ast, caps, arena, {}).ops)
      EXPECT_TRUE(!core::is_elementwise(u.op()) || caps.has(u.op()))
          << core::name_of(u.op()) << " in " << c.name;
  }
}

TEST(Lower, ToWorkGroups) {
  for (const Case& c : cases()) {
    expect_runs(c, group_caps(), {.optimise = false});
    expect_runs(c, group_caps(), {});
  }
}

// A loaded index over the lanes: every lane has an address of its own.
TEST(Lower, GathersByLoadedIndices) {
  constexpr usize kRows = 32, kColumns = 3, kTable = 7;
  KernelAst ast = gather_kernel(kRows, kColumns, kTable);
  Floats out(kRows * kColumns), table = random_floats(kTable * kColumns, 2);
  std::vector<i32> rows;
  for (usize i = 0; i < kRows; ++i) rows.push_back(static_cast<i32>(i * 5 % 9) - 1);  // -1 .. 7
  void* params[3] = {out.data(), rows.data(), table.data()};
  for (bool optimise : {false, true}) {
    core::Arena arena;
    Plan lanes{{OptOp::Vector, 1, 8}};
    LowerOptions options{.optimise = optimise, .plan = optimise ? &lanes : nullptr};
    run_linear(lower(ast, test_caps(), arena, options), params);
    for (usize c = 0; c < kColumns; ++c)
      for (usize i = 0; i < kRows; ++i) {
        bool inside = rows[i] >= 0 && rows[i] < static_cast<i32>(kTable);
        f32 expected = inside ? table[static_cast<usize>(rows[i]) * kColumns + c] : 0;
        ASSERT_EQ(out[c * kRows + i], expected) << i << " " << c;
      }
  }
}

TEST(Lower, ForcedPlans) {
  std::vector<Case> all = cases();
  struct Forced {
    usize index;
    Plan plan;
  } forced[] = {
      {0, {{OptOp::Vector, 0, 8}, {OptOp::Tile, 0, 48}, {OptOp::Thread, 0, 2}}},
      {2,
       {{OptOp::Upcast, 0, 4},
        {OptOp::Upcast, 1, 3},
        {OptOp::Vector, 2, 8},
        {OptOp::Unroll, 2, 5}}},
      {3,
       {{OptOp::Tile, 2, 32},
        {OptOp::Tile, 0, 16},
        {OptOp::Tile, 1, 64},
        {OptOp::Stage, 1, 1},
        {OptOp::Stage, 2, 1},
        {OptOp::Upcast, 0, 4},
        {OptOp::Vector, 1, 32},
        {OptOp::Thread, 0, 2}}},
      // parts of both axes
      {3,
       {{OptOp::Tile, 2, 32},
        {OptOp::Tile, 0, 16},
        {OptOp::Tile, 1, 32},
        {OptOp::Upcast, 0, 4},
        {OptOp::Vector, 1, 32},
        {OptOp::Thread, 0, 2},
        {OptOp::Thread, 1, 4}}},
      {4,
       {{OptOp::Tile, 2, 64},
        {OptOp::Tile, 0, 32},
        {OptOp::Tile, 1, 48},
        {OptOp::Stage, 1, 1},
        {OptOp::Stage, 2, 1},
        {OptOp::Upcast, 0, 8},
        {OptOp::Vector, 1, 16}}},
      {7, {{OptOp::Vector, 1, 16}, {OptOp::Unroll, 1, 4}, {OptOp::Upcast, 0, 5}}},
      // masked lanes: of the result, and of the reduced axis
      {1, {{OptOp::Vector, 0, 8}}},
      {8, {{OptOp::Vector, 1, 4}, {OptOp::Upcast, 0, 2}}},
      {5, {{OptOp::Vector, 3, 16}, {OptOp::Upcast, 1, 4}}},
      {2, {{OptOp::Vector, 2, 16}, {OptOp::Upcast, 0, 2}}},
  };
  for (const Forced& f : forced) {
    expect_runs(all[f.index], test_caps(), {.plan = &f.plan});
  }
}

struct GroupPlan {
  usize index;  // of cases()
  Plan plan;
};
const GroupPlan kGroupPlans[] = {
    // a reduction over items: all of the axis, in loops, in vectors, with items of outputs
    {7, {{OptOp::Group, 1, 64}}},
    {7, {{OptOp::Group, 1, 16}, {OptOp::Unroll, 1, 2}, {OptOp::Vector, 1, 4}}},
    {7, {{OptOp::Group, 1, 8}, {OptOp::Local, 0, 4}}},
    {7, {{OptOp::Local, 0, 2}, {OptOp::Group, 1, 32}, {OptOp::Upcast, 0, 2}}},
    {8, {{OptOp::Group, 1, 4}, {OptOp::Upcast, 0, 3}}},  // of 7: padded
    {2, {{OptOp::Local, 1, 4}, {OptOp::Group, 2, 8}, {OptOp::Vector, 1, 4}}},
    {11, {{OptOp::Group, 1, 4}}},
    // operands staged in local memory
    {3,
     {{OptOp::Local, 1, 8},
      {OptOp::Local, 0, 4},
      {OptOp::Tile, 2, 8},
      {OptOp::Stage, 1, 1},
      {OptOp::Stage, 2, 1}}},
    {3,
     {{OptOp::Local, 1, 8},
      {OptOp::Local, 0, 8},
      {OptOp::Upcast, 0, 4},
      {OptOp::Vector, 1, 4},
      {OptOp::Tile, 2, 16},
      {OptOp::Unroll, 2, 4},
      {OptOp::Stage, 1, 1},
      {OptOp::Stage, 2, 1}}},
    {4,
     {{OptOp::Local, 1, 16},
      {OptOp::Local, 0, 4},
      {OptOp::Upcast, 0, 3},
      {OptOp::Upcast, 1, 2},
      {OptOp::Tile, 2, 12},
      {OptOp::Unroll, 2, 2},
      {OptOp::Stage, 2, 1}}},
    // tiles that do not divide anything: 32 x 48, k = 40
    {2,
     {{OptOp::Local, 1, 8},
      {OptOp::Local, 0, 4},
      {OptOp::Upcast, 0, 3},
      {OptOp::Vector, 1, 4},
      {OptOp::Tile, 2, 16},
      {OptOp::Stage, 1, 1},
      {OptOp::Stage, 2, 1}}},
    // one tile for all of k, and convolutions
    {2,
     {{OptOp::Local, 1, 16},
      {OptOp::Local, 0, 4},
      {OptOp::Tile, 2, 40},
      {OptOp::Stage, 1, 1},
      {OptOp::Stage, 2, 1}}},
    {5,
     {{OptOp::Local, 3, 8},
      {OptOp::Local, 1, 4},
      {OptOp::Upcast, 1, 2},
      {OptOp::Tile, 4, 3},
      {OptOp::Stage, 1, 1},
      {OptOp::Stage, 2, 1}}},
    {6,
     {{OptOp::Local, 2, 8},
      {OptOp::Local, 0, 4},
      {OptOp::Tile, 3, 2},
      {OptOp::Tile, 5, 3},
      {OptOp::Stage, 1, 1},
      {OptOp::Stage, 2, 1}}},
    // a loop over the output in each item
    {0, {{OptOp::Local, 0, 16}, {OptOp::Vector, 0, 2}, {OptOp::Tile, 0, 64}}},
};

TEST(Lower, ForcedPlansOfWorkGroups) {
  std::vector<Case> all = cases();
  for (const GroupPlan& f : kGroupPlans) {
    SCOPED_TRACE(print(f.plan));
    for (bool masked : {false, true}) {
      Caps caps = group_caps();
      caps.masked_access = masked;
      expect_runs(all[f.index], caps, {.plan = &f.plan});
    }
  }
}

int private_arrays(i64 m, i64 n, i64 k) {
  KernelAst ast = matmul_kernel(m, n, k);
  core::Arena arena;
  int arrays = 0;
  for (core::UOp u : lower(ast, test_caps(), arena, {}).ops) arrays += u.is(Op::DefinePrivate);
  return arrays;
}

TEST(Lower, LargeMatmulIsTiledByTheHeuristic) {
  EXPECT_EQ(private_arrays(512, 512, 2048), 3);  // sums, and a tile of each operand
  EXPECT_EQ(private_arrays(512, 512, 512), 2);   // sums stay in registers
  EXPECT_EQ(private_arrays(4, 512, 2048), 1);    // sums: the large operand is read once, in order
}

// Few rows times a transposed operand: both are contiguous along the reduced axis, so nothing is
// packed and lanes run along it.
TEST(Lower, FewRowsOfDotProductsArePackedNowhere) {
  core::Arena arena;
  const KernelInfo info = merged_info(matmul_kernel(16, 512, 512, true), arena);
  const Plan plan = choose_plan(info, test_caps());
  EXPECT_EQ(amount_of(plan, OptOp::Vector, 2), 16) << print(plan);
  EXPECT_EQ(amount_of(plan, OptOp::Upcast, 0), 4) << print(plan);
  EXPECT_EQ(amount_of(plan, OptOp::Upcast, 1), 4) << print(plan);
  EXPECT_FALSE(has_opt(plan, OptOp::Stage)) << print(plan);
}

// Axes that no block of a useful size divides are computed in blocks all the same, with at most one
// value in twenty beyond their ends. The last block of rows or columns has the register tiles that
// are needed; of the depth, it is as long as the others.
TEST(Lower, BlocksOfAnySizeAreNearlyFull) {
  for (const i64 n : {777, 1000, 1009, 1500, 2500, 3000}) {
    core::Arena arena;
    const KernelInfo info = merged_info(matmul_kernel(n, n, n), arena);
    const Plan plan = choose_plan(info, test_caps());
    const i64 units[] = {amount_of(plan, OptOp::Upcast, 0), amount_of(plan, OptOp::Vector, 1),
                         amount_of(plan, OptOp::Tile, 2)};
    for (const i64 axis : {0, 1, 2}) {
      EXPECT_GE(amount_of(plan, OptOp::Tile, axis), 64) << n << ": " << print(plan);
      EXPECT_LE((n + units[axis] - 1) / units[axis] * units[axis], n + n / 20)
          << n << ": " << print(plan);
    }
    const i64 vectors = amount_of(plan, OptOp::Vector, 1) / 16;
    EXPECT_GE(amount_of(plan, OptOp::Upcast, 0) * vectors, 18) << n << ": " << print(plan);
  }
}

TEST(Lower, ContiguousElementwiseIsOneLoop) {
  KernelBuilder k;
  core::UOp out = k.param(0, 600), x = k.param(1, 600);
  core::UOp a = k.loop(10), b = k.loop(6), c = k.loop(10);
  core::UOp at = k.add(k.mul(k.add(k.mul(a, 6), b), 10), c);
  KernelAst ast = k.store(out, at, k.load(x, at), {a, b, c});
  core::Arena arena;
  LinearProgram program = lower(ast, test_caps(), arena, {.optimise = false});
  int loops = 0;
  for (core::UOp u : program.ops) loops += u.is(Op::Range);
  EXPECT_EQ(loops, 1);
}

}  // namespace
}  // namespace doorbell::codegen
