// Contractions by matrix instructions, run by the definition of linear programs: the right numbers,
// whichever tensor core, layout and plan; and which kernels get one at all.
#include "codegen/tensor_core.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codegen/lower/lower.h"
#include "codegen/render/amd_caps.h"
#include "codegen/render/nv_caps.h"
#include "core/eval/eval.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {
namespace {

using core::DType;
using core::Op;
using core::UOp;
namespace dt = core::dtypes;

int count(const LinearProgram& program, Op op) {
  int n = 0;
  for (UOp u : program.ops) n += u.is(op);
  return n;
}

// Small whole numbers are exact in every dtype, and so are their sums.
std::vector<u8> numbers(DType t, i64 count, i64 seed) {
  std::vector<u8> values(static_cast<usize>(count * t.bytes()));
  for (i64 i = 0; i < count; ++i) {
    const i64 value = (i * 7 + i / 16 * 5 + seed) % 9 - (t.is_unsigned() ? 0 : 4);
    const core::ScalarValue scalar = t.is_float()
                                         ? core::ScalarValue::of_float(t, static_cast<f64>(value))
                                         : core::ScalarValue::of_int(t, value);
    core::store_scalar(scalar, &values[static_cast<usize>(i * t.bytes())]);
  }
  return values;
}

f64 number(DType t, const std::vector<u8>& values, i64 at) {
  const core::ScalarValue scalar =
      core::load_scalar(t, &values[static_cast<usize>(at * t.bytes())]);
  return t.is_float() ? scalar.as_float() : static_cast<f64>(scalar.as_int());
}

void expect_product(const LinearProgram& program, DType t, ProductSizes s, bool transposed) {
  std::vector<u8> x = numbers(t, s.batch * s.m * s.k, 1), y = numbers(t, s.batch * s.k * s.n, 2);
  const DType wide = t.is_float() ? dt::f32 : dt::i32;
  std::vector<u8> out(static_cast<usize>(s.batch * s.m * s.n * 4), 0xff);
  void* params[] = {out.data(), x.data(), y.data()};
  run_linear(program, params);
  for (i64 b = 0; b < s.batch; ++b) {
    for (i64 i = 0; i < s.m; ++i) {
      for (i64 j = 0; j < s.n; ++j) {
        f64 want = 0;
        for (i64 d = 0; d < s.k; ++d) {
          const i64 at_y = transposed ? (b * s.n + j) * s.k + d : (b * s.k + d) * s.n + j;
          want += number(t, x, (b * s.m + i) * s.k + d) * number(t, y, at_y);
        }
        ASSERT_EQ(number(wide, out, (b * s.m + i) * s.n + j), want) << b << ", " << i << ", " << j;
      }
    }
  }
}

Caps caps_of(std::string_view chip) {
  if (chip.starts_with("gfx")) return amd_caps(*amd::hw::find_chip(chip));
  return nv_caps(*nv::hw::find_chip(chip));
}

void check(std::string_view chip, DType t, ProductSizes s, bool transposed) {
  SCOPED_TRACE(std::string(chip) + " " + t.str() + (transposed ? " transposed" : ""));
  core::Arena arena;
  const LinearProgram program =
      lower(narrow_product_kernel(t, s, transposed), caps_of(chip), arena);
  EXPECT_GT(count(program, Op::Wmma), 0);
  expect_product(program, t, s, transposed);
}

TEST(TensorCores, MultiplyOnEveryGeneration) {
  for (const char* chip : {"gfx1100", "gfx1201", "gfx942", "gfx950", "sm_80", "sm_90"}) {
    for (const DType t : {dt::f16, dt::bf16}) {
      for (const bool transposed : {false, true}) check(chip, t, {1, 64, 32, 64}, transposed);
    }
  }
}

TEST(TensorCores, MultiplyBytes) {
  for (const auto& [chip, dtypes] :
       {std::pair<const char*, std::vector<DType>>{"gfx1100", {dt::i8, dt::u8}},
        {"gfx1201", {dt::i8, dt::u8, dt::f8e4m3, dt::f8e5m2}},
        {"gfx942", {dt::i8, dt::f8e4m3fnuz, dt::f8e5m2fnuz}},
        {"gfx950", {dt::i8, dt::f8e4m3, dt::f8e5m2}},
        {"sm_80", {dt::i8, dt::u8}},
        {"sm_90", {dt::i8, dt::u8, dt::f8e4m3, dt::f8e5m2}}}) {
    for (const DType t : dtypes) {
      // Depths of 32 leave gfx950 its shorter instructions.
      for (const i64 depth : {128, std::string_view(chip).starts_with("sm") ? 64 : 32}) {
        for (const bool transposed : {false, true}) check(chip, t, {1, 64, 32, depth}, transposed);
      }
    }
  }
}

// gfx942 has the kind of 8-bit floats without infinities, the others the OCP's.
TEST(TensorCores, OnlyOfTheChipsFormats) {
  for (const auto& [chip, t] : {std::pair{"gfx1100", dt::f8e4m3},
                                {"gfx1201", dt::f8e4m3fnuz},
                                {"gfx942", dt::f8e4m3},
                                {"gfx942", dt::u8},
                                {"gfx950", dt::f8e5m2fnuz},
                                {"sm_75", dt::bf16},
                                {"sm_80", dt::f8e4m3},
                                {"sm_90", dt::f8e4m3fnuz}}) {
    SCOPED_TRACE(std::string(chip) + " " + t.str());
    core::Arena arena;
    const LinearProgram program =
        lower(narrow_product_kernel(t, {1, 64, 32, 64}, false), caps_of(chip), arena);
    EXPECT_EQ(count(program, Op::Wmma), 0);
  }
}

TEST(TensorCores, BlocksMayRunPastTheEnd) {
  for (const char* chip : {"gfx1100", "gfx1201", "gfx942"})
    check(chip, dt::f16, {3, 80, 48, 48}, false);
  check("sm_75", dt::f16, {3, 80, 48, 96}, false);
}

TEST(TensorCores, WholeInstructionsOnly) {
  for (const ProductSizes s : {ProductSizes{1, 40, 64, 64}, {1, 64, 40, 64}, {1, 64, 64, 40}}) {
    core::Arena arena;
    const LinearProgram program =
        lower(narrow_product_kernel(dt::f16, s, false), caps_of("gfx1100"), arena);
    EXPECT_EQ(count(program, Op::Wmma), 0);
    expect_product(program, dt::f16, s, false);
  }
}

TEST(TensorCores, OnlyWhereTheChipHasThem) {
  core::Arena arena;
  const LinearProgram program =
      lower(narrow_product_kernel(dt::f16, {1, 64, 64, 64}, false), caps_of("gfx1030"), arena);
  EXPECT_EQ(count(program, Op::Wmma), 0);
}

// A plan by hand: several waves, each with several instructions, with and without local memory.
TEST(TensorCores, PlansByHand) {
  const ProductSizes s{1, 64, 128, 64};
  const Caps caps = caps_of("gfx1100");
  const Plan direct{{OptOp::Rows, 0, 0},
                    {OptOp::Columns, 1, 0},
                    {OptOp::Depth, 2, 0},
                    {OptOp::Local, 1, 2},
                    {OptOp::Upcast, 0, 2}};
  Plan staged = direct;
  staged.insert(staged.end(), {{OptOp::Upcast, 1, 2},
                               {OptOp::Unroll, 2, 2},
                               {OptOp::Tile, 2, 32},
                               {OptOp::Stage, 1, 1},
                               {OptOp::Stage, 2, 1}});
  Plan ring = staged;
  for (Opt& o : ring) {
    if (o.op == OptOp::Stage) o.amount = 2;
  }
  for (const Plan& plan : {direct, staged, ring}) {
    SCOPED_TRACE(print(plan));
    core::Arena arena;
    const LinearProgram program =
        lower(narrow_product_kernel(dt::f16, s, false), caps, arena, {.plan = &plan});
    EXPECT_EQ(program.group_items[0] * program.group_items[1], 64);
    EXPECT_EQ(count(program, Op::DefineLocal), plan == direct ? 0 : 2);
    EXPECT_EQ(count(program, Op::Barrier), plan == direct ? 0 : plan == staged ? 2 : 1);
    expect_product(program, dt::f16, s, false);
  }
}

// Asynchronous copies into rings of several stages, of more than there are tiles too.
TEST(TensorCores, RingsOfStages) {
  const ProductSizes s{1, 64, 64, 96};
  constexpr i64 kCore = 28, kTiles = 3;  // mma.sync of f16
  for (const i64 stages : {2, 3, 4}) {
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(fmt::format("{} stages{}", stages, transposed ? ", transposed" : ""));
      const Plan plan{{OptOp::Rows, 0, kCore},   {OptOp::Columns, 1, kCore},
                      {OptOp::Depth, 2, kCore},  {OptOp::Local, 1, 2},
                      {OptOp::Upcast, 0, 2},     {OptOp::Tile, 2, 32},
                      {OptOp::Stage, 1, stages}, {OptOp::Stage, 2, stages}};
      core::Arena arena;
      const LinearProgram program = lower(narrow_product_kernel(dt::f16, s, transposed),
                                          caps_of("sm_80"), arena, {.plan = &plan});
      const i64 used = std::min(stages, kTiles);
      EXPECT_EQ(std::ranges::count_if(program.ops, is_async_batch), used);
      EXPECT_GT(std::ranges::count_if(program.ops, is_async_store), 0);
      EXPECT_EQ(count(program, Op::Barrier), 1);
      for (UOp u : program.ops) {
        if (u.is(Op::Barrier)) {
          EXPECT_EQ(u.arg(0), used - 2);
        }
      }
      expect_product(program, dt::f16, s, transposed);
    }
  }
}

// Every instruction's layout names each element of the result, and of the operands, the same
// number of times.
TEST(TensorCores, LayoutsAreWhole) {
  for (const TensorCore& core : tensor_cores()) {
    SCOPED_TRACE(core.name);
    std::vector<int> results(static_cast<usize>(core.rows * core.columns));
    std::vector<int> a(static_cast<usize>(core.rows * core.depth));
    std::vector<int> b(static_cast<usize>(core.columns * core.depth));
    for (i64 l = 0; l < core.items(); ++l) {
      for (i64 e = 0; e < core.result_elements; ++e) {
        const i64 row = core.result_row.of(l, e), column = core.result_column.of(l, e);
        ++results.at(static_cast<usize>(row * core.columns + column));
      }
      for (i64 e = 0; e < core.operand_elements; ++e) {
        const i64 depth = core.operand_depth.of(l, e);
        ++a.at(static_cast<usize>(core.operand_row.of(l, e) * core.depth + depth));
        ++b.at(static_cast<usize>(core.operand_column.of(l, e) * core.depth + depth));
      }
    }
    for (int n : results) EXPECT_EQ(n, 1);
    for (const auto& operand : {a, b}) {
      for (int n : operand) EXPECT_EQ(n, operand[0]);
    }
    EXPECT_EQ(core.items(),
              std::string_view(core.name).find("mfma") != std::string::npos ? 64 : 32);
  }
}

}  // namespace
}  // namespace doorbell::codegen
