// Matrix products by NVIDIA's compilers on the interpreter of their machine code: rings of tiles in
// more shared memory than a kernel has without its launch's help, and f32 rounded to tf32. All sums
// are exact in any order.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/util/check.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/lower/lower.h"
#include "codegen/render/nv_caps.h"
#include "core/eval/eval.h"
#include "emulator/nv/compute/cubin.h"
#include "tests/codegen/render/nv_emulated.h"
#include "tests/codegen/support/kernels.h"

namespace doorbell::codegen::testing {
namespace {

namespace dt = core::dtypes;

constexpr i64 kRows = 128, kColumns = 128;

std::vector<u8> halves(i64 count, i64 (*value)(i64)) {
  std::vector<u8> bytes(static_cast<usize>(count * 2));
  for (i64 i = 0; i < count; ++i)
    core::store_scalar(core::ScalarValue::of_float(dt::f16, static_cast<f64>(value(i))),
                       &bytes[static_cast<usize>(i * 2)]);
  return bytes;
}
i64 left(i64 i) { return i * 7 % 9 - 4; }
i64 right(i64 i) { return (i * 5 + i / 16) % 7 - 3; }

NvKernel compile(const NvToolchain& nv, LinearProgram program) {
  const Result<std::vector<u8>> image =
      (*nv.compiler)->compile(program, nv.renderer->render(program));
  CHECK(image.has_value(), "{}", to_string(image.error()));
  NvKernel made{std::move(program), *emu::nvgpu::Cubin::parse(*image)};
  made.cubin->place(0);
  return made;
}

struct Ring {
  const char* target;
  i64 depth, stages;
};

class NvProduct : public ::testing::TestWithParam<Ring> {};

TEST_P(NvProduct, RingsInDynamicSharedMemory) {
  const auto& [target, depth, stages] = GetParam();
  if (std::string_view(target).starts_with("PTX") && !has_llvm()) GTEST_SKIP() << "needs LLVM";
  const NvToolchain nv = make_nv_toolchain(target);
  if (!nv.compiler) GTEST_SKIP() << nv.compiler.error().message;
  constexpr i64 kCore = 28;  // mma.sync of f16
  const Plan plan{{OptOp::Rows, 0, kCore},  {OptOp::Columns, 1, kCore}, {OptOp::Depth, 2, kCore},
                  {OptOp::Local, 1, 2},     {OptOp::Local, 0, 2},       {OptOp::Upcast, 1, 4},
                  {OptOp::Upcast, 0, 4},    {OptOp::Tile, 2, 32},       {OptOp::Stage, 1, stages},
                  {OptOp::Stage, 2, stages}};
  core::Arena arena;
  const core::KernelAst kernel = narrow_product_kernel(dt::f16, {1, kRows, kColumns, depth}, true);
  const NvKernel made = compile(nv, lower(kernel, nv.renderer->caps(), arena, {.plan = &plan}));
  // Rows of 64 bytes and 16 of padding, for both operands.
  const i64 bytes = stages * (kRows + kColumns) * 80;
  EXPECT_EQ(made.program.dynamic_shared_bytes, bytes > 48 << 10 ? bytes : 0);
  std::vector<u8> x = halves(kRows * depth, left), y = halves(kColumns * depth, right);
  std::vector<float> out(kRows * kColumns, -1);
  made.run({out.data(), x.data(), y.data()}, {});
  for (i64 i = 0; i < kRows; ++i) {
    for (i64 j = 0; j < kColumns; ++j) {
      i64 want = 0;
      for (i64 d = 0; d < depth; ++d) want += left(i * depth + d) * right(j * depth + d);
      ASSERT_EQ(out[static_cast<usize>(i * kColumns + j)], static_cast<float>(want))
          << i << ", " << j;
    }
  }
}

// More tiles than stages, and as many.
INSTANTIATE_TEST_SUITE_P(Rings, NvProduct,
                         ::testing::Values(Ring{"CUDA_sm_86", 160, 2}, Ring{"CUDA_sm_86", 160, 4},
                                           Ring{"CUDA_sm_90", 160, 3}, Ring{"CUDA_sm_90", 128, 4},
                                           Ring{"PTX_sm_90", 160, 2}, Ring{"PTX_sm_90", 160, 4}),
                         [](const auto& info) {
                           const Ring& r = info.param;
                           return fmt::format("{}_{}_{}", r.target, r.depth, r.stages);
                         });

class NvTf32 : public ::testing::TestWithParam<const char*> {};

// 1 + 2^-11 lies between two numbers of tf32, 1 and 1 + 2^-10, and is rounded away from zero.
TEST_P(NvTf32, RoundsToTheNearest) {
  const std::string target = GetParam();
  if (target.starts_with("PTX") && !has_llvm()) GTEST_SKIP() << "needs LLVM";
  const NvToolchain nv = make_nv_toolchain(target);
  if (!nv.compiler) GTEST_SKIP() << nv.compiler.error().message;
  constexpr i64 kSize = 64;
  const nv::hw::Chip& chip = *nv::hw::find_chip(target.substr(target.find('_') + 1));
  Caps caps = nv.renderer->caps();
  caps.tensor_cores = nv_caps(chip, {.allow_tf32 = true}).tensor_cores;
  for (const bool transposed : {false, true}) {
    core::Arena arena;
    const NvKernel made = compile(
        nv,
        lower(narrow_product_kernel(dt::f32, {1, kSize, kSize, kSize}, transposed), caps, arena));
    std::vector<float> x(kSize * kSize, 1 + 0x1p-11f), y(kSize * kSize, 1 + 0x1p-12f);
    std::vector<float> out(kSize * kSize, -1);
    made.run({out.data(), x.data(), y.data()}, {});
    for (const float value : out) ASSERT_EQ(value, kSize * (1 + 0x1p-10f));
  }
}
INSTANTIATE_TEST_SUITE_P(Targets, NvTf32,
                         ::testing::ValuesIn({"CUDA_sm_86", "CUDA_sm_90", "PTX_sm_90"}),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::codegen::testing
