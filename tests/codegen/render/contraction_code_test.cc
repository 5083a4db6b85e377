// The inner loops of contractions, counted from object code (loop_count.h). Nothing runs: that the
// code computes the right thing is shown by tests/codegen/lower/tensor_core_test.cc and, on the
// emulator, by the conformance suite.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>

#include "codegen/compile/llvm_build.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/lower/lower.h"
#include "codegen/render/amd_caps.h"
#include "tests/codegen/render/nv_emulated.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/loop_count.h"

namespace doorbell::codegen::testing {
namespace {

using core::DType;
namespace dt = core::dtypes;

// Bounds on what a loop has: they only get tighter. PRINT_LOOPS=1 prints the counts, PRINT_LOOPS=2
// the loops too.
struct Bound {
  const char* chip;
  DType dtype;
  ProductSizes sizes;
  bool transposed;
  int others;  // for a hundred matrix instructions, or multiply-adds if there are none
};

LinearProgram lower_product(const Bound& b, const Caps& caps, core::Arena& arena) {
  const core::KernelAst kernel = b.dtype == dt::f32
                                     ? matmul_kernel(b.sizes.m, b.sizes.n, b.sizes.k, b.transposed)
                                     : narrow_product_kernel(b.dtype, b.sizes, b.transposed);
  return lower(kernel, caps, arena);
}

LoopCount count_amd(const Bound& b) {
  core::Arena arena;
  const LinearProgram program = lower_product(b, amd_caps(*amd::hw::find_chip(b.chip)), arena);
  const std::unique_ptr<Compiler> compiler = make_llvm_compiler({LlvmTarget::Family::Amd, b.chip});
  Result<std::vector<u8>> object = compiler->compile(program, "");
  EXPECT_TRUE(object) << to_string(object.error());
  if (!object) return {};
  Result<std::string> text = compiler->disassemble(*object);
  EXPECT_TRUE(text);
  if (std::getenv("PRINT_LOOPS")) fmt::print("{}\n", program.plan);
  return text ? count_inner_loop(*text) : LoopCount();
}

LoopCount count_nv(const Bound& b, std::string_view renderer, std::string* absent) {
  const NvToolchain nv = make_nv_toolchain(renderer, b.chip);
  if (!nv.compiler) return *absent = nv.compiler.error().message, LoopCount();
  core::Arena arena;
  const LinearProgram program = lower_product(b, nv.renderer->caps(), arena);
  Result<std::vector<u8>> cubin = (*nv.compiler)->compile(program, nv.renderer->render(program));
  EXPECT_TRUE(cubin) << to_string(cubin.error());
  if (!cubin) return {};
  Result<std::string> text = (*nv.compiler)->disassemble(*cubin);
  if (!text && text.error().kind == ErrorKind::NotFound)
    return *absent = text.error().message, LoopCount();
  EXPECT_TRUE(text);
  if (std::getenv("PRINT_LOOPS")) fmt::print("{}\n", program.plan);
  return text ? count_inner_loop(*text) : LoopCount();
}

constexpr ProductSizes kSquare{1, 4096, 4096, 4096}, kSkinny{1, 64, 4096, 4096},
    kBatched{16, 512, 512, 512};

void check(const Bound& b, std::string_view renderer, const LoopCount& n) {
  if (const char* how = std::getenv("PRINT_LOOPS"))
    fmt::print("{} {} {} {}x{}x{}x{}{}: {:.2f}: {}\n{}", b.chip, renderer, b.dtype.str(),
               b.sizes.batch, b.sizes.m, b.sizes.n, b.sizes.k, b.transposed ? " transposed" : "",
               n.others() / static_cast<f64>(std::max(n.work(), 1)), print(n),
               *how == '2' ? n.text : "");
  ASSERT_GT(n.work(), 0);
  EXPECT_LE(n.others() * 100, b.others * n.work()) << print(n);
  EXPECT_EQ(n.matrix > 0, b.dtype != dt::f32);
  EXPECT_EQ(n.narrow_stores, 0) << print(n);
  EXPECT_EQ(n.scratch, 0) << print(n);
}

class ContractionCode : public ::testing::TestWithParam<Bound> {};

TEST_P(ContractionCode, Counts) {
  if (std::atoi(kLlvmVersion) < 22) GTEST_SKIP() << "the bounds are those of LLVM 22";
  check(GetParam(), "LLVM", count_amd(GetParam()));
}

class NvContractionCode : public ::testing::TestWithParam<Bound> {};

TEST_P(NvContractionCode, Counts) {
  for (const char* renderer : {"CUDA", "PTX"}) {
    SCOPED_TRACE(renderer);
    if (renderer == std::string_view("PTX") && !has_llvm()) continue;
    std::string absent;
    const LoopCount n = count_nv(GetParam(), renderer, &absent);
    if (!absent.empty()) GTEST_SKIP() << absent;
    check(GetParam(), renderer, n);
  }
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(Amd, ContractionCode, ::testing::Values(
    Bound{"gfx1100", dt::f16,    kSquare,  false, 275},
    Bound{"gfx1100", dt::f16,    kSquare,  true,  257},
    Bound{"gfx1100", dt::f16,    kSkinny,  false, 1175},
    Bound{"gfx1100", dt::f16,    kBatched, false, 275},
    Bound{"gfx1100", dt::bf16,   kSquare,  false, 275},
    Bound{"gfx1100", dt::i8,     kSquare,  false, 188},
    Bound{"gfx1100", dt::f32,    kSquare,  false, 16},
    Bound{"gfx1201", dt::f16,    kSquare,  false, 247},
    Bound{"gfx1201", dt::f16,    kSquare,  true,  219},
    Bound{"gfx1201", dt::f16,    kSkinny,  false, 663},
    Bound{"gfx1201", dt::f16,    kBatched, false, 241},
    Bound{"gfx1201", dt::bf16,   kSquare,  false, 247},
    Bound{"gfx1201", dt::f8e4m3, kSquare,  false, 149},
    Bound{"gfx1201", dt::f32,    kSquare,  false, 16},
    Bound{"gfx942",  dt::f16,    kSquare,  false, 96},
    Bound{"gfx942",  dt::f16,    kSquare,  true,  82},
    Bound{"gfx942",  dt::f16,    kSkinny,  false, 1175},
    Bound{"gfx942",  dt::f16,    kBatched, false, 96},
    Bound{"gfx942",  dt::bf16,   kSquare,  false, 96},
    Bound{"gfx942",  dt::i8,     kSquare,  false, 115},
    Bound{"gfx942",  dt::f32,    kSquare,  false, 29}));

INSTANTIATE_TEST_SUITE_P(Nv, NvContractionCode, ::testing::Values(
    Bound{"sm_80", dt::f16,   kSquare,  false, 97},
    Bound{"sm_80", dt::f16,   kSquare,  true,  96},
    Bound{"sm_80", dt::f16,   kSkinny,  false, 188},
    Bound{"sm_80", dt::f16,   kBatched, false, 97},
    Bound{"sm_80", dt::bf16,  kSquare,  false, 97},
    Bound{"sm_80", dt::i8,    kSquare,  false, 147},
    Bound{"sm_80", dt::i8,    kSquare,  true,  93},
    Bound{"sm_80", dt::f32,   kSquare,  false, 12},
    Bound{"sm_90", dt::f16,   kSquare,  false, 99},
    Bound{"sm_90", dt::f16,   kSquare,  true,  100},
    Bound{"sm_90", dt::f16,   kSkinny,  false, 344},
    Bound{"sm_90", dt::f16,   kBatched, false, 99},
    Bound{"sm_90", dt::bf16,  kSquare,  false, 99},
    Bound{"sm_90", dt::i8,    kSquare,  false, 158},
    Bound{"sm_90", dt::i8,    kSquare,  true,  99},
    Bound{"sm_90", dt::f32,   kSquare,  false, 9}));
// clang-format on

}  // namespace
}  // namespace doorbell::codegen::testing
