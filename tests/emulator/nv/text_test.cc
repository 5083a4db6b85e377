// The decoder's text of every instruction of kernels compiled for each chip, compared with
// nvdisasm's.
#include <string>

#include "codegen/lower/lower.h"
#include "emulator/nv/compute/cubin.h"
#include "emulator/nv/isa/operation.h"
#include "tests/codegen/render/nv_emulated.h"
#include "tests/codegen/support/kernels.h"
#include "tests/emulator/nv/cuda_kernel.h"
#include "tests/emulator/nv/nvdisasm_text.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

class NvText : public ::testing::TestWithParam<std::string> {};

TEST_P(NvText, AgreesWithNvdisasm) {
  using namespace codegen;
  const testing::CompiledCuda probe =
      compile_cuda("extern \"C\" __global__ void test() {}", "sm_86");
  if (!probe.cubin) GTEST_SKIP() << probe.missing;
  const codegen::testing::NvToolchain nv = codegen::testing::make_nv_toolchain(GetParam());
  if (!nv.compiler) GTEST_SKIP() << nv.compiler.error().message;
  usize compared = 0;
  const auto check = [&](const core::KernelAst& kernel) {
    core::Arena arena;
    const LinearProgram program = lower(kernel, nv.renderer->caps(), arena);
    auto image = (*nv.compiler)->compile(program, nv.renderer->render(program));
    ASSERT_TRUE(image) << to_string(image.error());
    auto text = (*nv.compiler)->disassemble(*image);
    if (!text && text.error().kind == ErrorKind::NotFound) return;
    ASSERT_TRUE(text) << to_string(text.error());
    auto cubin = Cubin::parse(*image);
    ASSERT_TRUE(cubin) << to_string(cubin.error());
    for (const std::string& line : compare_text(*text, **cubin).differences) ADD_FAILURE() << line;
    ++compared;
  };
  check(matmul_kernel(64, 64, 64));
  check(row_reduce_kernel(core::Op::Max, 64, 4096));
  const bool is_cuda = GetParam().starts_with("CUDA");
  check(narrow_product_kernel(is_cuda ? core::dtypes::f16 : core::dtypes::bf16, {2, 32, 32, 32}));
  if (compared == 0) GTEST_SKIP() << "no nvdisasm (pip install nvidia-cuda-nvdisasm)";
}

INSTANTIATE_TEST_SUITE_P(Chips, NvText,
                         ::testing::Values("CUDA_sm_86", "CUDA_sm_89", "CUDA_sm_90", "PTX_sm_86",
                                           "PTX_sm_89", "PTX_sm_90"),
                         [](const auto& info) { return info.param; });

// The fields of a control word, as its bits were set by hand.
TEST(NvControl, FieldsOfTheControlWord) {
  // Bits 105 to 125: stall 5, yield, scoreboards 2 (written) and 7 (read), wait for 0 and 3,
  // reuse 2.
  const u64 high = (u64{5} | u64{1} << 4 | u64{2} << 5 | u64{7} << 8 | u64{9} << 11 | u64{2} << 17)
                   << 41;
  const Control control = control_of({0, high});
  EXPECT_EQ(control.stall, 5u);
  EXPECT_TRUE(control.yield);
  EXPECT_EQ(control.write_barrier, 2u);
  EXPECT_EQ(control.read_barrier, 7u);
  EXPECT_EQ(control.wait, 9u);
  EXPECT_EQ(control.reuse, 2u);
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
