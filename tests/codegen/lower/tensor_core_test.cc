// Contractions by matrix instructions, run by the definition of linear programs: the right numbers,
// whichever tensor core, layout and plan; and which kernels get one at all.
// Long because all of them compare with products that the same few functions compute.
#include "codegen/tensor_core.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codegen/lower/lower.h"
#include "codegen/render/amd_caps.h"
#include "codegen/render/memory.h"
#include "codegen/render/metal_renderer.h"
#include "codegen/render/nv_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/products.h"
#include "tests/codegen/support/run_linear.h"
#include "tests/codegen/support/shared_memory.h"

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

Caps caps_of(std::string_view chip) {
  if (chip == "apple7") return metal_caps({.bfloat = true, .matrices = true});
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
  for (const char* chip : {"gfx1100", "gfx1201", "gfx942", "gfx950", "sm_80", "sm_90", "apple7"}) {
    for (const DType t : {dt::f16, dt::bf16}) {
      for (const bool transposed : {false, true}) check(chip, t, {1, 64, 32, 64}, transposed);
    }
  }
}

TEST(TensorCores, MultiplyPartsOfTheDepth) {
  for (const char* chip : {"gfx1100", "gfx1201", "gfx942", "sm_80", "sm_90", "apple7"})
    for (const bool transposed : {false, true})
      check(chip, dt::f16, {2, 64, 32, 256, 4}, transposed);
}

// Apple's keep all bits of f32.
TEST(TensorCores, MultiplyFloatsOnApple) {
  for (const bool transposed : {false, true}) check("apple7", dt::f32, {1, 24, 40, 72}, transposed);
  EXPECT_TRUE(metal_caps({.bfloat = true}).tensor_cores.none());
  EXPECT_EQ(metal_caps({.matrices = true}).tensor_cores.count(), 2u);
}

// Where memory is aligned, and all of a wave's items load whole rows.
TEST(TensorCores, LoadsTranspose) {
  const auto loads = [](ProductSizes s, DType t, bool transposed, bool aligned) {
    core::Arena arena;
    const LinearProgram program = lower(narrow_product_kernel(t, s, transposed), caps_of("gfx1201"),
                                        arena, {.aligned = aligned});
    EXPECT_GT(count(program, Op::Wmma), 0);
    expect_product(program, t, s, transposed);
    return std::ranges::count_if(program.ops, is_transposing_load);
  };
  for (const DType t : {dt::f16, dt::bf16, dt::i8, dt::f8e4m3}) {
    EXPECT_GT(loads({1, 64, 128, 64}, t, false, true), 0) << t.str();
    EXPECT_EQ(loads({1, 64, 128, 64}, t, true, true), 0) << t.str();
    EXPECT_EQ(loads({1, 64, 128, 64}, t, false, false), 0) << t.str();
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

// Bytes that lie along the output, of either operand or of both: tiles are copied asynchronously as
// they are, in blocks that run past the end too, and matrix loads transpose pairs.
TEST(TensorCores, PairsOfBytes) {
  const auto transposes = [](UOp u) { return is_matrix_load(u) && u.arg(0) & kMatrixTransposed; };
  struct Case {
    const char* chip;
    DType t;
    ProductSizes sizes;
  };
  for (const auto& [chip, t, s] : {Case{"sm_80", dt::i8, {1, 64, 32, 512}},
                                   {"sm_90", dt::u8, {1, 80, 48, 576}},
                                   {"sm_89", dt::f8e4m3, {1, 16, 80, 512}},
                                   {"sm_90", dt::f8e5m2, {1, 48, 16, 320}}}) {
    for (const auto& [of_columns, transposed] :
         {std::pair{true, true}, {true, false}, {false, false}}) {
      SCOPED_TRACE(fmt::format("{} {}{}", chip, t.str(), of_columns ? ", of columns" : ""));
      core::Arena arena;
      const LinearProgram program =
          lower(narrow_product_kernel(t, s, transposed, of_columns), caps_of(chip), arena);
      EXPECT_TRUE(std::ranges::any_of(program.ops, transposes)) << program.plan;
      EXPECT_TRUE(std::ranges::any_of(program.ops, is_async_store)) << program.plan;
      expect_product(program, t, s, transposed, of_columns);
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

// f32 as tf32 where it is allowed, from sm_80 on.
void expect_convolution(std::string_view chip, i64 pad, const Plan* plan = nullptr,
                        i64 result = 16) {
  SCOPED_TRACE(fmt::format("{} padded by {}: {}", chip, pad, plan ? print(*plan) : ""));
  constexpr i64 kIn = 32, kOut = 16, kKernel = 3;
  const i64 size = result + kKernel - 1 - 2 * pad;
  const core::KernelAst kernel = conv_kernel(1, kIn, kOut, size, kKernel, pad, dt::f16);
  core::Arena arena;
  const LinearProgram program = lower(kernel, caps_of(chip), arena, {.plan = plan});
  EXPECT_GT(count(program, Op::Wmma), 0);
  std::vector<u8> x = numbers(dt::f16, kIn * size * size, 1);
  std::vector<u8> w = numbers(dt::f16, kOut * kIn * kKernel * kKernel, 2);
  std::vector<u8> out(static_cast<usize>(kOut * result * result * 4), 0xff);
  void* params[] = {out.data(), x.data(), w.data()};
  run_linear(program, params);
  auto pixel = [&](i64 plane, i64 row, i64 column) {
    const bool inside = row >= 0 && row < size && column >= 0 && column < size;
    return inside ? number(dt::f16, x, (plane * size + row) * size + column) : 0;
  };
  for (i64 at = 0; at < kOut * result * result; ++at) {
    const i64 column = at % result, row = at / result % result;
    const i64 o = at / (result * result);
    f64 want = 0;
    for (i64 d = 0; d < kIn * kKernel * kKernel; ++d) {
      const i64 kx = d % kKernel, ky = d / kKernel % kKernel, i = d / (kKernel * kKernel);
      want += pixel(i, row + ky - pad, column + kx - pad) *
              number(dt::f16, w, o * kIn * kKernel * kKernel + d);
    }
    ASSERT_EQ(number(dt::f32, out, at), want) << "result " << at;
  }
}

TEST(TensorCores, Convolve) {
  for (const char* chip : {"gfx1100", "gfx942", "sm_75", "sm_80", "sm_90", "apple7"}) {
    for (const i64 pad : {0, 1}) expect_convolution(chip, pad);
  }
}

// Of 16 x 4 results, 16 channels of an image of 18 x 6, in rows of 24 halves; and of all weights.
// Rows of results are of two groups, a wave each, or in registers.
TEST(TensorCores, ConvolveWithWholeWindows) {
  constexpr i64 kRowHalves = 24;
  const Plan blocks = {{OptOp::Rows, 2, 2},   {OptOp::Columns, 0, 2}, {OptOp::Depth, 3, 2},
                       {OptOp::Unroll, 4, 3}, {OptOp::Tile, 4, 3},    {OptOp::Unroll, 5, 3},
                       {OptOp::Tile, 5, 3},   {OptOp::Tile, 3, 16},   {OptOp::Stage, 1, 1},
                       {OptOp::Stage, 2, 1}};
  for (const OptOp op : {OptOp::Local, OptOp::Upcast}) {
    Plan plan = blocks;
    plan.push_back({op, 1, 4});
    for (const i64 pad : {0, 1}) expect_convolution("gfx1201", pad, &plan);
    core::Arena arena;
    const LinearProgram program = lower(conv_kernel(1, 32, 16, 18, 3, 0, dt::f16),
                                        caps_of("gfx1201"), arena, {.plan = &plan});
    std::vector<i64> counts;
    for (UOp u : program.ops)
      if (u.is(Op::DefineLocal)) counts.push_back(u.arg(1));
    std::ranges::sort(counts);
    EXPECT_EQ(counts, (std::vector<i64>{18 * 6 * kRowHalves, 16 * 9 * kRowHalves}));
  }
}

// That a load of a convolution's image has, or 0 where some have others.
i64 pixels_of_load(const LinearProgram& program) {
  std::vector<i64> lanes;
  for (UOp u : program.ops) {
    if (!u.is(Op::Load) || !u.src(0).is(Op::Index)) continue;
    UOp memory = memory_of(u.src(0));
    if (memory.is(Op::Param) && memory.arg(0) == 1) lanes.push_back(u.dtype().lanes);
  }
  std::ranges::sort(lanes);
  return !lanes.empty() && lanes.front() == lanes.back() ? lanes.front() : 0;
}

// Where no pair is cut by the end of a row or by padding: in one block of a row, and in two.
TEST(TensorCores, WindowsAreReadByPairs) {
  const Plan plan = {{OptOp::Rows, 2, 2},   {OptOp::Columns, 0, 2}, {OptOp::Depth, 3, 2},
                     {OptOp::Unroll, 4, 3}, {OptOp::Tile, 4, 3},    {OptOp::Unroll, 5, 3},
                     {OptOp::Tile, 5, 3},   {OptOp::Tile, 3, 16},   {OptOp::Stage, 1, 1},
                     {OptOp::Stage, 2, 1},  {OptOp::Local, 1, 4}};
  for (const i64 result : {16, 32}) {
    for (const i64 pad : {0, 1, 2}) {
      expect_convolution("gfx1100", pad, &plan, result);
      core::Arena arena;
      const LinearProgram program =
          lower(conv_kernel(1, 32, 16, result + 2 - 2 * pad, 3, pad, dt::f16), caps_of("gfx1100"),
                arena, {.plan = &plan});
      EXPECT_EQ(pixels_of_load(program), 2) << result << " padded by " << pad;
    }
  }
}

TEST(TensorCores, PixelsOfOddRowsAreReadOneByOne) {
  for (const i64 pad : {0, 1}) {
    core::Arena arena;
    const LinearProgram program =
        lower(conv_kernel(8, 64, 128, 67 - 2 * pad, 3, pad, dt::f16), caps_of("gfx1100"), arena);
    EXPECT_EQ(pixels_of_load(program), 1) << "padded by " << pad;
  }
}

TEST(TensorCores, WholeWindowsAreChosen) {
  for (const char* chip : {"gfx1100", "gfx1201", "gfx942", "sm_75", "sm_80", "sm_90"}) {
    for (const i64 pad : {0, 1}) {
      core::Arena arena;
      const LinearProgram program =
          lower(conv_kernel(8, 64, 128, 66 - 2 * pad, 3, pad, dt::f16), caps_of(chip), arena);
      EXPECT_NE(program.plan.find("UNROLL(5,3) TILE(5,3) UNROLL(6,3) TILE(6,3)"), std::string::npos)
          << program.plan;
    }
  }
}

TEST(TensorCores, MultiplyFloatsWhereAllowed) {
  for (const auto& [chip, allowed] :
       {std::pair{"sm_75", true}, {"sm_80", false}, {"sm_80", true}, {"sm_90", true}}) {
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(fmt::format("{}{}", chip, transposed ? ", transposed" : ""));
      core::Arena arena;
      const Caps caps = nv_caps(*nv::hw::find_chip(chip), {.allow_tf32 = allowed});
      const LinearProgram program =
          lower(narrow_product_kernel(dt::f32, {1, 64, 32, 64}, transposed), caps, arena);
      EXPECT_EQ(count(program, Op::Wmma) > 0, allowed && chip != std::string_view("sm_75"));
      expect_product(program, dt::f32, {1, 64, 32, 64}, transposed);
    }
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
      // What is copied after the barrier, in the loop, may be behind the last tile.
      bool in_loop = false;
      for (UOp u : program.ops) {
        if (u.is(Op::Barrier)) {
          EXPECT_EQ(u.arg(0), used - 2);
          in_loop = true;
        }
        if (is_async_store(u)) {
          EXPECT_EQ(u.src(0).nsrc(), in_loop ? 3u : 2u);
        }
      }
      expect_product(program, dt::f16, s, transposed);
    }
  }
}

// out[i, j] = sum of x[i - 1, k] * y[j, k], rows before the first being zeros, as those that pad an
// image: whole blocks are copied, or zeros in their place.
TEST(TensorCores, GatedRowsAreCopiedAsynchronously) {
  constexpr i64 kSize = 64, kDepth = 512;
  KernelBuilder k;
  const UOp out = k.param(0, kSize * kSize), x = k.param(1, kSize * kDepth, dt::f16);
  const UOp y = k.param(2, kSize * kDepth, dt::f16);
  const UOp i = k.loop(kSize), j = k.loop(kSize), d = k.reduced(kDepth);
  const UOp row = k.add(i, -1);
  const UOp left = k.load(x, k.add(k.mul(row, kDepth), d), k.ge(row, 0));
  const UOp right = k.load(y, k.add(k.mul(j, kDepth), d));
  const UOp product = k.arena().make(Op::Cast, dt::f32, {k.mul(left, right)});
  const core::KernelAst kernel =
      k.store(out, k.add(k.mul(i, kSize), j), k.reduce(Op::Add, product, {d}), {i, j});
  core::Arena arena;
  const LinearProgram program = lower(kernel, caps_of("sm_80"), arena);
  EXPECT_TRUE(std::ranges::any_of(program.ops, [](UOp u) {
    return is_async_store(u) && u.src(1).src(0).nsrc() > 2;
  })) << program.plan;
  std::vector<u8> xs = numbers(dt::f16, kSize * kDepth, 1);
  std::vector<u8> ys = numbers(dt::f16, kSize * kDepth, 2);
  std::vector<u8> outs(kSize * kSize * 4, 0xff);
  void* params[] = {outs.data(), xs.data(), ys.data()};
  run_linear(program, params);
  for (i64 at = 0; at < kSize * kSize; ++at) {
    const i64 row_of_x = at / kSize - 1;
    f64 want = 0;
    for (i64 n = 0; row_of_x >= 0 && n < kDepth; ++n) {
      want +=
          number(dt::f16, xs, row_of_x * kDepth + n) * number(dt::f16, ys, at % kSize * kDepth + n);
    }
    ASSERT_EQ(number(dt::f32, outs, at), want) << "result " << at;
  }
}

// Waves with the same results, of parts of the depth, which are added at the end.
TEST(TensorCores, WavesShareTheDepth) {
  const ProductSizes s{1, 32, 64, 256};
  struct Target {
    const char* chip;
    i64 core, depth, items;
  };
  for (const auto& [chip, core, depth, items] :
       {Target{"gfx1100", 0, 16, 32}, {"gfx942", 22, 32, 64}, {"sm_80", 28, 32, 32}}) {
    for (const i64 buffers : {1, 2, 3}) {
      for (const bool transposed : {false, true}) {
        SCOPED_TRACE(
            fmt::format("{} {} buffers{}", chip, buffers, transposed ? ", transposed" : ""));
        const Plan plan{{OptOp::Rows, 0, core},     {OptOp::Columns, 1, core},
                        {OptOp::Depth, 2, core},    {OptOp::Local, 1, 2},
                        {OptOp::Group, 2, 2},       {OptOp::Upcast, 0, 2},
                        {OptOp::Upcast, 1, 2},      {OptOp::Tile, 2, 2 * depth},
                        {OptOp::Stage, 1, buffers}, {OptOp::Stage, 2, buffers}};
        core::Arena arena;
        const LinearProgram program = lower(narrow_product_kernel(dt::f16, s, transposed),
                                            caps_of(chip), arena, {.plan = &plan});
        EXPECT_EQ(program.group_items[0], items);
        EXPECT_EQ(program.group_items[1] * program.group_items[2], 4);
        EXPECT_EQ(count(program, Op::DefineLocal), 3);  // the operands' and the partial sums'
        expect_product(program, dt::f16, s, transposed);
      }
    }
  }
}

// A product with few rows, and so few groups: waves share the depth, in a ring of several tiles.
TEST(TensorCores, FewRowsShareTheDepth) {
  const Caps warps_only = nv_caps(*nv::hw::find_chip("sm_90"), {.warp_groups = false});
  for (const auto& [caps, group] :
       {std::pair{warps_only, "GROUP(2,4)"}, {caps_of("sm_90"), "GROUP(2,2)"}}) {
    core::Arena arena;
    const LinearProgram program =
        lower(narrow_product_kernel(dt::f16, {1, 64, 4096, 4096}, false), caps, arena);
    EXPECT_NE(program.plan.find(group), std::string::npos) << program.plan;
    EXPECT_NE(program.plan.find("STAGE(1,4)"), std::string::npos) << program.plan;
    EXPECT_GT(program.dynamic_shared_bytes, 48 << 10);
    EXPECT_LE(program.dynamic_shared_bytes, 227 << 10);
  }
}

// Where sizes are multiples of an instruction's, and operands lie as it reads them.
TEST(TensorCores, WarpGroupsWhereTheyFit) {
  struct Case {
    DType t;
    ProductSizes sizes;
    bool transposed, fits;
  };
  for (const Case& c : {Case{dt::f16, {1, 256, 256, 256}, false, true},
                        {dt::bf16, {4, 320, 192, 64}, true, true},
                        {dt::f16, {1, 64, 64, 64}, false, true},
                        {dt::f16, {1, 256, 256, 32}, false, false},  // more than half of 64 deep
                        {dt::f16, {1, 128, 192, 40}, false, true},
                        {dt::f16, {1, 128, 192, 200}, true, true},
                        {dt::i8, {1, 100, 192, 80}, true, true},
                        {dt::f16, {1, 128, 192, 100}, false, false},  // copies of 16 bytes
                        {dt::f16, {1, 32, 256, 256}, false, false},   // more than half of 64 rows
                        {dt::f16, {1, 256, 32, 256}, false, false},   // and of 64 columns
                        {dt::f16, {1, 100, 72, 128}, false, true},
                        {dt::bf16, {3, 33, 77, 128}, true, true},
                        {dt::i8, {1, 65, 130, 128}, true, true},
                        {dt::i8, {1, 256, 256, 256}, true, true},
                        {dt::i8, {1, 256, 256, 256}, false, false},  // bytes along the output
                        {dt::f8e4m3, {1, 256, 256, 256}, true, true}}) {
    SCOPED_TRACE(
        fmt::format("{} {}x{}x{}x{}", c.t.str(), c.sizes.batch, c.sizes.m, c.sizes.n, c.sizes.k));
    core::Arena arena;
    const LinearProgram program =
        lower(narrow_product_kernel(c.t, c.sizes, c.transposed), caps_of("sm_90"), arena);
    EXPECT_EQ(count(program, Op::Wmma) > 0, c.fits || c.sizes.k % 32 == 0) << program.plan;
    EXPECT_EQ(std::ranges::any_of(program.ops, reads_local), c.fits) << program.plan;
    expect_product(program, c.t, c.sizes, c.transposed);
  }
}

// Of a warp group: a plan by hand, of rings of several stages, of waves that share the depth, of
// several instructions of each, in both orders of memory.
TEST(TensorCores, ReadLocalMemory) {
  struct Case {
    DType t;
    i64 core, columns;  // the first of the dtype is of 64 columns
    ProductSizes sizes;
    Plan more;
    i64 tile, stages;
  };
  const Plan one, waves{{OptOp::Local, 0, 2}}, tiles{{OptOp::Upcast, 1, 2}, {OptOp::Upcast, 0, 2}},
      depth{{OptOp::Group, 2, 2}};
  for (const Case& c : {Case{dt::f16, 35, 64, {1, 64, 64, 320}, one, 64, 4},
                        {dt::bf16, 38, 64, {1, 64, 64, 128}, one, 64, 3},
                        {dt::f16, 36, 128, {1, 128, 128, 192}, waves, 64, 2},
                        {dt::f16, 35, 64, {1, 128, 128, 256}, tiles, 64, 3},
                        {dt::f16, 35, 64, {1, 64, 64, 512}, depth, 128, 3},
                        {dt::f16, 35, 64, {2, 192, 64, 64}, waves, 64, 1},
                        {dt::i8, 41, 64, {1, 64, 64, 512}, one, 128, 4},
                        {dt::u8, 44, 64, {1, 64, 64, 256}, one, 256, 2},
                        {dt::f8e4m3, 47, 64, {1, 64, 64, 512}, one, 128, 3},
                        {dt::f8e5m2, 50, 64, {1, 64, 64, 256}, waves, 256, 1}}) {
    for (const bool transposed : {false, true}) {
      if (!transposed && c.t.bytes() == 1) continue;
      const i64 batched = c.sizes.batch > 1 ? 1 : 0;
      Plan plan{{OptOp::Rows, 0, c.core}, {OptOp::Columns, 1, c.core}, {OptOp::Depth, 2, c.core}};
      plan.insert(plan.end(), c.more.begin(), c.more.end());
      if (!has_opt(plan, OptOp::Group) && c.tile > 128 / c.t.bytes())
        plan.push_back({OptOp::Unroll, 2, c.tile * c.t.bytes() / 128});
      plan.push_back({OptOp::Tile, 2, c.tile});
      for (Opt& o : plan) o.axis += batched;
      for (const i64 slot : {1, 2}) plan.push_back({OptOp::Stage, slot, c.stages});
      SCOPED_TRACE(c.t.str() + (transposed ? " transposed " : " ") + print(plan));
      Caps caps = caps_of("sm_90");
      caps.tensor_copies = transposed || c.t != dt::f16;  // else each thread copies its part
      const bool rings = c.stages > 1 && c.sizes.k > c.tile;
      core::Arena arena;
      const LinearProgram program =
          lower(narrow_product_kernel(c.t, c.sizes, transposed), caps, arena, {.plan = &plan});
      EXPECT_EQ(program.group_items[0], 128);
      EXPECT_EQ(std::ranges::count_if(program.ops, is_matrix_load), 0);
      EXPECT_EQ(program.tensor_maps.size(), caps.tensor_copies && rings ? 2u : 0u);
      expect_product(program, c.t, c.sizes, transposed);
    }
  }
}

// What a matrix instruction may still read is not stored to, until its batch is done.
TEST(TensorCores, BuffersAreFreeWhenTheirProductsAreDone) {
  core::Arena arena;
  const UOp memory = arena.make(Op::DefineLocal, dt::f16, {}, {0, 16});
  SharedMemory shared;
  const auto store = [&](i64 at) { shared.at(memory, at, 0, true) = {core::Scalar::F16, 0}; };
  for (const i64 at : {0, 1}) store(at);
  for (const i64 at : {0, 1}) {
    shared.barrier();
    shared.read_later(memory, at, 0);
    shared.end_batch();
  }
  shared.barrier();
  EXPECT_THROW(store(0), InternalError);
  shared.finish(1);
  store(0);
  EXPECT_THROW(store(1), InternalError);
  shared.finish(0);
  store(1);
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
      for (i64 e = 0; e < core.operand_elements && !core.reads_local; ++e) {
        ++a.at(static_cast<usize>(core.a_row.of(l, e) * core.depth + core.a_depth.of(l, e)));
        ++b.at(static_cast<usize>(core.b_column.of(l, e) * core.depth + core.b_depth.of(l, e)));
      }
    }
    for (int n : results) EXPECT_EQ(n, 1);
    for (const auto& operand : {a, b}) {
      for (int n : operand) EXPECT_EQ(n, operand[0]);
    }
    const bool of_64 = std::string_view(core.name).find("mfma") != std::string::npos;
    EXPECT_EQ(core.items(), core.reads_local ? 128 : of_64 ? 64 : 32);
  }
}

}  // namespace
}  // namespace doorbell::codegen
