// The inner loops of contractions, counted from object code (loop_count.h). Nothing runs: that the
// code computes the right thing is shown by tests/codegen/lower/tensor_core_test.cc and, on the
// emulator, by the conformance suite.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <ostream>

#include "codegen/compile/llvm_build.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/lower/lower.h"
#include "codegen/opt/split_depth.h"
#include "codegen/render/amd_caps.h"
#include "tests/codegen/render/nv_emulated.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/loop_count.h"

namespace doorbell::codegen::testing {
namespace {

using core::DType;
namespace dt = core::dtypes;

enum class Kind : u8 { Square, Transposed, Skinny, Batched, Scores, Values, Convolution, Padded };

// Of one Kind.
struct Shape {
  const char* name;
  ProductSizes sizes;
  bool transposed = false;
};

// By Kind. Scores and Values are the two products of attention over 64 heads.
constexpr Shape kShapes[] = {{"square", {1, 4096, 4096, 4096}},
                             {"transposed", {1, 4096, 4096, 4096}, true},
                             {"skinny", {1, 64, 4096, 4096}},
                             {"batched", {16, 512, 512, 512}},
                             {"scores", {64, 512, 512, 128}, true},
                             {"values", {64, 512, 128, 512}},
                             {"3x3 convolution", {}},
                             {"padded 3x3 convolution", {}}};

// Of NVIDIA's code. The instructions of warp groups do as much as up to 128 of warps.
enum class By : u8 { Chosen, Warps, Boxes };  // Boxes: warp groups, fed by tensor maps

// Bounds on what a loop has: they only get tighter. PRINT_LOOPS=1 prints the counts, PRINT_LOOPS=2
// the loops too, PRINT_LOOPS=3 all code of AMD's kernels.
struct Bound {
  const char* chip;
  DType dtype;
  Kind kind;
  int others;  // for a hundred matrix instructions, or multiply-adds if there are none
  By by = By::Chosen;

  const Shape& shape() const { return kShapes[static_cast<usize>(kind)]; }
};

std::ostream& operator<<(std::ostream& out, const Bound& b) {
  return out << b.chip << " " << b.dtype.str() << " " << b.shape().name
             << (b.by == By::Boxes ? " by boxes" : "");
}

// Few rows: the depth is split over groups where the target is the faster for it.
i64 parts_of(const Bound& b, const Caps& caps) {
  if (b.kind != Kind::Skinny) return 1;
  const ProductSizes& s = b.shape().sizes;
  return depth_parts({b.dtype, b.dtype.is_float() ? dt::f32 : dt::i32, s.batch, s.m, s.n, s.k, true,
                      b.shape().transposed},
                     caps);
}

core::KernelAst kernel_of(const Bound& b, const Caps& caps) {
  Shape s = b.shape();
  s.sizes.parts = parts_of(b, caps);
  if (b.kind == Kind::Convolution) return conv_kernel(8, 256, 128, 66, 3, 0, b.dtype);
  if (b.kind == Kind::Padded) return conv_kernel(8, 256, 128, 64, 3, 1, b.dtype);
  if (b.dtype != dt::f32 || s.sizes.parts > 1)
    return narrow_product_kernel(b.dtype, s.sizes, s.transposed);
  return matmul_kernel(s.sizes.m, s.sizes.n, s.sizes.k, s.transposed);
}

LinearProgram lower_product(const Bound& b, const Caps& caps, core::Arena& arena) {
  return lower(kernel_of(b, caps), caps, arena);
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
  if (std::getenv("PRINT_LOOPS") && *std::getenv("PRINT_LOOPS") == '3') fmt::print("{}\n", *text);
  return text ? count_inner_loop(*text) : LoopCount();
}

LoopCount count_nv(const Bound& b, std::string_view renderer, std::string* absent) {
  const NvToolchain nv = make_nv_toolchain(renderer, b.chip, b.by == By::Boxes);
  if (!nv.compiler) return *absent = nv.compiler.error().message, LoopCount();
  core::Arena arena;
  Caps caps = nv.renderer->caps();
  for (usize i = 0; i < kTensorCoreCount; ++i)
    if (b.by == By::Warps && tensor_cores()[i].reads_local) caps.tensor_cores.reset(i);
  const LinearProgram program = lower_product(b, caps, arena);
  Result<std::vector<u8>> cubin = (*nv.compiler)->compile(program, nv.renderer->render(program));
  EXPECT_TRUE(cubin) << to_string(cubin.error());
  if (!cubin) return {};
  Result<std::string> text = (*nv.compiler)->disassemble(*cubin);
  if (!text && text.error().kind == ErrorKind::NotFound)
    return *absent = text.error().message, LoopCount();
  EXPECT_TRUE(text);
  if (std::getenv("PRINT_LOOPS")) fmt::print("{}\n", program.plan);
  if (std::getenv("PRINT_LOOPS") && *std::getenv("PRINT_LOOPS") == '3') fmt::print("{}\n", *text);
  return text ? count_inner_loop(*text) : LoopCount();
}

void check(const Bound& b, std::string_view renderer, const LoopCount& n) {
  if (const char* how = std::getenv("PRINT_LOOPS"))
    fmt::print("{} {} {} {}: {:.2f}: {}\n{}", b.chip, renderer, b.dtype.str(), b.shape().name,
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
    Bound{"gfx1100", dt::f16, Kind::Square, 197},
    Bound{"gfx1100", dt::f16, Kind::Transposed, 166},
    Bound{"gfx1100", dt::f16, Kind::Skinny, 291},
    Bound{"gfx1100", dt::f16, Kind::Batched, 197},
    Bound{"gfx1100", dt::f16, Kind::Scores, 166},
    Bound{"gfx1100", dt::f16, Kind::Values, 197},
    Bound{"gfx1100", dt::f16, Kind::Convolution, 192},
    Bound{"gfx1100", dt::f16, Kind::Padded, 192},
    Bound{"gfx1100", dt::bf16, Kind::Square, 197},
    Bound{"gfx1100", dt::bf16, Kind::Transposed, 166},
    Bound{"gfx1100", dt::bf16, Kind::Convolution, 192},
    Bound{"gfx1100", dt::i8, Kind::Square, 126},
    Bound{"gfx1100", dt::i8, Kind::Transposed, 91},
    Bound{"gfx1100", dt::i8, Kind::Skinny, 257},
    Bound{"gfx1100", dt::i8, Kind::Batched, 126},
    Bound{"gfx1100", dt::i8, Kind::Scores, 97},
    Bound{"gfx1100", dt::i8, Kind::Values, 126},
    Bound{"gfx1100", dt::f32, Kind::Square, 16},
    Bound{"gfx1100", dt::f32, Kind::Transposed, 16},
    Bound{"gfx1100", dt::f32, Kind::Skinny, 18},
    Bound{"gfx1100", dt::f32, Kind::Convolution, 16},
    Bound{"gfx1201", dt::f16, Kind::Square, 132},
    Bound{"gfx1201", dt::f16, Kind::Transposed, 121},
    Bound{"gfx1201", dt::f16, Kind::Skinny, 158},
    Bound{"gfx1201", dt::f16, Kind::Batched, 136},
    Bound{"gfx1201", dt::f16, Kind::Scores, 121},
    Bound{"gfx1201", dt::f16, Kind::Values, 132},
    Bound{"gfx1201", dt::f16, Kind::Convolution, 153},
    Bound{"gfx1201", dt::f16, Kind::Padded, 155},
    Bound{"gfx1201", dt::bf16, Kind::Square, 132},
    Bound{"gfx1201", dt::bf16, Kind::Transposed, 121},
    Bound{"gfx1201", dt::i8, Kind::Square, 77},
    Bound{"gfx1201", dt::i8, Kind::Transposed, 69},
    Bound{"gfx1201", dt::i8, Kind::Skinny, 100},
    Bound{"gfx1201", dt::i8, Kind::Batched, 79},
    Bound{"gfx1201", dt::i8, Kind::Scores, 91},
    Bound{"gfx1201", dt::i8, Kind::Values, 77},
    Bound{"gfx1201", dt::f8e4m3, Kind::Square, 77},
    Bound{"gfx1201", dt::f8e4m3, Kind::Transposed, 69},
    Bound{"gfx1201", dt::f8e4m3, Kind::Skinny, 96},
    Bound{"gfx1201", dt::f8e4m3, Kind::Batched, 79},
    Bound{"gfx1201", dt::f8e4m3, Kind::Scores, 91},
    Bound{"gfx1201", dt::f8e4m3, Kind::Values, 77},
    Bound{"gfx1201", dt::f8e4m3, Kind::Convolution, 85},
    Bound{"gfx1201", dt::f8e4m3, Kind::Padded, 85},
    Bound{"gfx1201", dt::f32, Kind::Square, 16},
    Bound{"gfx1201", dt::f32, Kind::Transposed, 16},
    Bound{"gfx1201", dt::f32, Kind::Skinny, 18},
    Bound{"gfx1201", dt::f32, Kind::Convolution, 16},
    Bound{"gfx942", dt::f16, Kind::Square, 70},
    Bound{"gfx942", dt::f16, Kind::Transposed, 53},
    Bound{"gfx942", dt::f16, Kind::Skinny, 132},
    Bound{"gfx942", dt::f16, Kind::Batched, 70},
    Bound{"gfx942", dt::f16, Kind::Scores, 53},
    Bound{"gfx942", dt::f16, Kind::Values, 70},
    Bound{"gfx942", dt::f16, Kind::Convolution, 105},
    Bound{"gfx942", dt::f16, Kind::Padded, 105},
    Bound{"gfx942", dt::bf16, Kind::Square, 70},
    Bound{"gfx942", dt::bf16, Kind::Transposed, 53},
    Bound{"gfx942", dt::i8, Kind::Square, 90},
    Bound{"gfx942", dt::i8, Kind::Transposed, 53},
    Bound{"gfx942", dt::i8, Kind::Skinny, 191},
    Bound{"gfx942", dt::i8, Kind::Batched, 90},
    Bound{"gfx942", dt::i8, Kind::Scores, 61},
    Bound{"gfx942", dt::i8, Kind::Values, 90},
    Bound{"gfx942", dt::f8e4m3fnuz, Kind::Square, 90},
    Bound{"gfx942", dt::f8e4m3fnuz, Kind::Transposed, 53},
    Bound{"gfx942", dt::f8e4m3fnuz, Kind::Skinny, 191},
    Bound{"gfx942", dt::f8e4m3fnuz, Kind::Batched, 90},
    Bound{"gfx942", dt::f8e4m3fnuz, Kind::Scores, 61},
    Bound{"gfx942", dt::f8e4m3fnuz, Kind::Values, 90},
    Bound{"gfx942", dt::f32, Kind::Square, 29},
    Bound{"gfx942", dt::f32, Kind::Transposed, 29},
    Bound{"gfx942", dt::f32, Kind::Skinny, 47},
    Bound{"gfx942", dt::f32, Kind::Convolution, 46}));

INSTANTIATE_TEST_SUITE_P(Nv, NvContractionCode, ::testing::Values(
    Bound{"sm_80", dt::f16, Kind::Square, 72},
    Bound{"sm_80", dt::f16, Kind::Transposed, 74},
    Bound{"sm_80", dt::f16, Kind::Skinny, 124},
    Bound{"sm_80", dt::f16, Kind::Batched, 80},
    Bound{"sm_80", dt::f16, Kind::Scores, 72},
    Bound{"sm_80", dt::f16, Kind::Values, 79},
    Bound{"sm_80", dt::f16, Kind::Convolution, 99},
    Bound{"sm_80", dt::f16, Kind::Padded, 133},
    Bound{"sm_80", dt::bf16, Kind::Square, 72},
    Bound{"sm_80", dt::i8, Kind::Square, 113},
    Bound{"sm_80", dt::i8, Kind::Transposed, 82},
    Bound{"sm_80", dt::i8, Kind::Skinny, 188},
    Bound{"sm_80", dt::i8, Kind::Batched, 115},
    Bound{"sm_80", dt::i8, Kind::Values, 115},
    Bound{"sm_89", dt::f8e4m3, Kind::Square, 157},
    Bound{"sm_89", dt::f8e4m3, Kind::Transposed, 129},
    Bound{"sm_89", dt::f8e4m3, Kind::Skinny, 180},
    Bound{"sm_80", dt::f32, Kind::Square, 12},
    Bound{"sm_90", dt::f16, Kind::Square, 75, By::Warps},
    Bound{"sm_90", dt::f16, Kind::Transposed, 78, By::Warps},
    Bound{"sm_90", dt::f16, Kind::Skinny, 110, By::Warps},
    Bound{"sm_90", dt::f16, Kind::Batched, 75, By::Warps},
    Bound{"sm_90", dt::f16, Kind::Scores, 76, By::Warps},
    Bound{"sm_90", dt::f16, Kind::Values, 75, By::Warps},
    Bound{"sm_90", dt::f16, Kind::Convolution, 102},
    Bound{"sm_90", dt::f16, Kind::Padded, 135},
    Bound{"sm_90", dt::bf16, Kind::Square, 75, By::Warps},
    Bound{"sm_90", dt::i8, Kind::Square, 115},
    Bound{"sm_90", dt::i8, Kind::Transposed, 84, By::Warps},
    Bound{"sm_90", dt::i8, Kind::Skinny, 165},
    Bound{"sm_90", dt::i8, Kind::Batched, 115, By::Warps},
    Bound{"sm_90", dt::f16, Kind::Square, 2575},
    Bound{"sm_90", dt::f16, Kind::Transposed, 2525},
    Bound{"sm_90", dt::f16, Kind::Skinny, 2450},
    Bound{"sm_90", dt::f16, Kind::Batched, 2575},
    Bound{"sm_90", dt::f16, Kind::Scores, 2375},
    Bound{"sm_90", dt::f16, Kind::Values, 2600},
    Bound{"sm_90", dt::bf16, Kind::Square, 2575},
    Bound{"sm_90", dt::i8, Kind::Transposed, 2750},
    Bound{"sm_90", dt::f8e4m3, Kind::Transposed, 3850},
    Bound{"sm_90", dt::f16, Kind::Square, 2200, By::Boxes},
    Bound{"sm_90", dt::f16, Kind::Transposed, 2150, By::Boxes},
    Bound{"sm_90", dt::f16, Kind::Skinny, 1825, By::Boxes},
    Bound{"sm_90", dt::f16, Kind::Batched, 1900, By::Boxes},
    Bound{"sm_90", dt::f16, Kind::Scores, 1900, By::Boxes},
    Bound{"sm_90", dt::f16, Kind::Values, 1925, By::Boxes},
    Bound{"sm_90", dt::bf16, Kind::Square, 2200, By::Boxes},
    Bound{"sm_90", dt::i8, Kind::Transposed, 2125, By::Boxes},
    Bound{"sm_90", dt::f8e4m3, Kind::Transposed, 3625, By::Boxes},
    Bound{"sm_90", dt::f32, Kind::Square, 9}));
// clang-format on

}  // namespace
}  // namespace doorbell::codegen::testing
