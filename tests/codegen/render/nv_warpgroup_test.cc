// Matrix products of warp groups (wgmma) by NVIDIA's compilers, on the interpreter of their machine
// code: every dtype, both orders of memory, several warp groups, rings of several stages, filled by
// each thread or by boxes of tensor maps. All sums are exact in any order.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/util/check.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/lower/lower.h"
#include "core/eval/eval.h"
#include "emulator/nv/compute/cubin.h"
#include "tests/codegen/render/nv_emulated.h"
#include "tests/codegen/support/kernels.h"

namespace doorbell::codegen::testing {
namespace {

using core::DType;
namespace dt = core::dtypes;

i64 left(i64 i) { return i * 7 % 9 - 4; }
i64 right(i64 i) { return (i * 5 + i / 16) % 7 - 3; }

std::vector<u8> numbers(DType t, i64 count, i64 (*value)(i64)) {
  std::vector<u8> bytes(static_cast<usize>(count * t.bytes()));
  for (i64 i = 0; i < count; ++i) {
    const i64 v = t.is_unsigned() ? value(i) + 4 : value(i);
    const auto scalar = t.is_float() ? core::ScalarValue::of_float(t, static_cast<f64>(v))
                                     : core::ScalarValue::of_int(t, v);
    core::store_scalar(scalar, &bytes[static_cast<usize>(i * t.bytes())]);
  }
  return bytes;
}

// Every element of the product, a f32 or an i32.
void expect_product(const NvKernel& made, DType t, ProductSizes s, bool transposed) {
  std::vector<u8> x = numbers(t, s.batch * s.m * s.k, left);
  std::vector<u8> y = numbers(t, s.batch * s.n * s.k, right);
  std::vector<i32> out(static_cast<usize>(s.batch * s.m * s.n), -1);
  made.run({out.data(), x.data(), y.data()}, {});
  const i64 more = t.is_unsigned() ? 4 : 0;
  for (i64 b = 0; b < s.batch; ++b) {
    for (i64 i = 0; i < s.m; ++i) {
      for (i64 j = 0; j < s.n; ++j) {
        i64 want = 0;
        for (i64 d = 0; d < s.k; ++d) {
          const i64 at = transposed ? (b * s.n + j) * s.k + d : (b * s.k + d) * s.n + j;
          want += (left((b * s.m + i) * s.k + d) + more) * (right(at) + more);
        }
        const i32 bits = out[static_cast<usize>((b * s.m + i) * s.n + j)];
        const i64 got = t.is_float() ? static_cast<i64>(std::bit_cast<f32>(bits)) : bits;
        ASSERT_EQ(got, want) << b << ", " << i << ", " << j;
      }
    }
  }
}

class NvWarpgroupProduct : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string_view(GetParam()).starts_with("PTX") && !has_llvm())
      GTEST_SKIP() << "needs LLVM";
    const std::string_view name(GetParam());
    const bool maps = name.ends_with("Maps");
    nv_ = std::make_unique<NvToolchain>(
        make_nv_toolchain(name.starts_with("PTX") ? "PTX" : "CUDA", "sm_90", maps));
    if (!nv_->compiler) GTEST_SKIP() << nv_->compiler.error().message;
  }
  // By `plan`, or, where it is empty, by the one that is chosen, which must be of warp groups too.
  void check(DType t, ProductSizes s, bool transposed, const Plan& plan = {}) {
    SCOPED_TRACE(fmt::format("{} {}x{}x{}x{}{} {}", t.str(), s.batch, s.m, s.n, s.k,
                             transposed ? " transposed" : "", print(plan)));
    core::Arena arena;
    LinearProgram program = lower(narrow_product_kernel(t, s, transposed), nv_->renderer->caps(),
                                  arena, {.plan = plan.empty() ? nullptr : &plan});
    EXPECT_TRUE(std::ranges::any_of(program.ops, reads_local)) << program.plan;
    const Result<std::vector<u8>> image =
        (*nv_->compiler)->compile(program, nv_->renderer->render(program));
    ASSERT_TRUE(image) << to_string(image.error());
    NvKernel made{std::move(program), *emu::nvgpu::Cubin::parse(*image)};
    made.cubin->place(0);
    expect_product(made, t, s, transposed);
  }

  std::unique_ptr<NvToolchain> nv_;
};

// The plan of one instruction (its number) of one warp group, with tiles of one row.
Plan plan_of(i64 core, i64 tile, i64 stages, const Plan& more = {}) {
  Plan plan{{OptOp::Rows, 0, core}, {OptOp::Columns, 1, core}, {OptOp::Depth, 2, core}};
  plan.insert(plan.end(), more.begin(), more.end());
  plan.push_back({OptOp::Tile, 2, tile});
  for (const i64 slot : {1, 2}) plan.push_back({OptOp::Stage, slot, stages});
  return plan;
}

constexpr i64 kF16 = 35, kBf16 = 38, kI8 = 41, kU8 = 44, kE4m3 = 47, kE5m2 = 50;  // of 64 columns

TEST_P(NvWarpgroupProduct, OfEveryDtype) {
  for (const bool transposed : {false, true}) {
    check(dt::f16, {1, 64, 64, 256}, transposed, plan_of(kF16, 64, 4));
    check(dt::bf16, {1, 64, 64, 128}, transposed, plan_of(kBf16, 64, 2));
  }
  for (const auto& [t, core] :
       {std::pair{dt::i8, kI8}, {dt::u8, kU8}, {dt::f8e4m3, kE4m3}, {dt::f8e5m2, kE5m2}})
    check(t, {1, 64, 64, 384}, true, plan_of(core, 128, 3));
}

TEST_P(NvWarpgroupProduct, OfSeveralInstructions) {
  for (const bool transposed : {false, true}) {
    const ProductSizes s{1, 128, 256, 192};
    check(dt::f16, s, transposed, plan_of(kF16 + 2, 64, 3, {{OptOp::Local, 0, 2}}));
    check(dt::f16, s, transposed, plan_of(kF16 + 1, 64, 3, {{OptOp::Local, 1, 2}}));
    check(dt::f16, s, transposed,
          plan_of(kF16, 64, 4, {{OptOp::Upcast, 1, 2}, {OptOp::Upcast, 0, 2}}));
  }
}

TEST_P(NvWarpgroupProduct, OfSharedDepths) {
  for (const bool transposed : {false, true}) {
    check(dt::f16, {1, 64, 64, 512}, transposed, plan_of(kF16, 128, 3, {{OptOp::Group, 2, 2}}));
    check(dt::f16, {1, 64, 64, 512}, transposed, plan_of(kF16, 128, 3, {{OptOp::Unroll, 2, 2}}));
    check(dt::f16, {1, 64, 64, 64}, transposed, plan_of(kF16, 64, 3));
  }
}

// Two groups compute 6 blocks, and one of them all, by a ring that goes on.
TEST_P(NvWarpgroupProduct, OfPersistentGroups) {
  const ProductSizes s{1, 128, 192, 256};
  for (const bool transposed : {false, true}) {
    for (const i64 stages : {2, 4})
      check(dt::f16, s, transposed, plan_of(kF16, 64, stages, {{OptOp::Persistent, 0, stages}}));
  }
  check(dt::i8, {1, 128, 192, 512}, true, plan_of(kI8, 128, 3, {{OptOp::Persistent, 0, 1}}));
  check(dt::f16, {1, 100, 136, 320}, false, plan_of(kF16, 64, 3, {{OptOp::Persistent, 0, 4}}));
}

// Blocks that run past the end, in whole instructions and inside of one, batches, few rows.
TEST_P(NvWarpgroupProduct, OfChosenPlans) {
  check(dt::f16, {1, 100, 72, 128}, false);
  check(dt::bf16, {3, 33, 77, 128}, true);
  check(dt::f16, {1, 64, 64, 200}, false);
  check(dt::i8, {1, 100, 192, 80}, true);
  for (const bool transposed : {false, true}) {
    check(dt::f16, {1, 320, 192, 256}, transposed);
    check(dt::bf16, {2, 64, 512, 128}, transposed);
  }
  check(dt::i8, {1, 256, 256, 256}, true);
}

INSTANTIATE_TEST_SUITE_P(Renderers, NvWarpgroupProduct,
                         ::testing::Values("CUDA", "PTX", "CUDAMaps", "PTXMaps"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::codegen::testing
