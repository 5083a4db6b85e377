// What NVIDIA's compilers make of kernels: cubins, read here by base/elf, and what is said where
// there is no compiler, or it does not know the chip. Without NVRTC or nvJitLink the tests of code
// are skipped. Nothing runs.
#include "base/elf/elf_file.h"
#include "base/os/host.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/compile/nvdisasm.h"
#include "codegen/compile/nvjitlink_compiler.h"
#include "codegen/compile/nvrtc_compiler.h"
#include "codegen/lower/lower.h"
#include "codegen/render/cuda_renderer.h"
#include "tests/codegen/render/neighbours.h"
#include "tests/codegen/render/nv_emulated.h"
#include "tests/codegen/support/kernels.h"
#include "tests/support/fake_system.h"
#include "tests/support/golden.h"

namespace doorbell::codegen::testing {
namespace {

constexpr u16 kCuda = 190;  // EM_CUDA [elf.h]

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

LlvmTarget target_of(std::string_view chip) {
  return {LlvmTarget::Family::Nv, std::string(chip), nv::hw::find_chip(chip)->ptx};
}

class NvCode : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "PTX" && !has_llvm()) GTEST_SKIP() << "this build has no LLVM";
  }
};

// The code is in a section of the kernel's own, its shared memory in another.
void check_cubin(std::span<const u8> cubin, std::string_view kernel) {
  auto file = elf::ElfFile::parse(cubin);
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->type(), ET_EXEC);
  EXPECT_EQ(file->machine(), kCuda);
  const elf::Section* text = file->find_section(".text." + std::string(kernel));
  ASSERT_NE(text, nullptr);
  EXPECT_GT(text->size, 0u);
  EXPECT_EQ(text->size % 16, 0u);  // instructions of 128 bits
}

TEST_P(NvCode, CubinsOfEveryChip) {
  ProgramBuilder b("neighbours");
  fill_neighbours(b);
  for (const nv::hw::Chip& chip : nv::hw::chips()) {
    const NvToolchain nv = make_nv_toolchain(GetParam(), chip.name);
    if (!nv.compiler && nv.compiler.error().kind == ErrorKind::NotFound)
      GTEST_SKIP() << nv.compiler.error().message;
    if (!nv.compiler) {  // older than the chip
      EXPECT_TRUE(contains(nv.compiler.error().message, "does not know")) << chip.name;
      continue;
    }
    const std::string source = nv.renderer->render(b.program);
    Result<std::vector<u8>> cubin = (*nv.compiler)->compile(b.program, source);
    ASSERT_TRUE(cubin) << chip.name << ": " << to_string(cubin.error());
    check_cubin(*cubin, "neighbours");
    Result<std::string> text = (*nv.compiler)->disassemble(*cubin);
    if (!text && text.error().kind == ErrorKind::NotFound) continue;
    ASSERT_TRUE(text) << chip.name << ": " << to_string(text.error());
    for (const char* part : {"STS", "BAR.SYNC", "LDS", "STG", "EXIT"})
      EXPECT_TRUE(contains(*text, part)) << part << " of " << chip.name << "\n" << *text;
  }
}

TEST_P(NvCode, KernelsOfPlans) {
  const nv::hw::Chip& row = *nv::hw::find_chip("sm_89");
  const NvToolchain nv = make_nv_toolchain(GetParam(), row.name);
  if (!nv.compiler) GTEST_SKIP() << nv.compiler.error().message;
  const auto check = [&](const core::KernelAst& kernel) {
    core::Arena arena;
    const LinearProgram program = lower(kernel, nv.renderer->caps(), arena);
    Result<std::vector<u8>> cubin = (*nv.compiler)->compile(program, nv.renderer->render(program));
    ASSERT_TRUE(cubin) << to_string(cubin.error());
    check_cubin(*cubin, program.name);
  };
  check(add_kernel(1000));
  check(matmul_kernel(256, 256, 256));
  check(row_reduce_kernel(core::Op::Max, 64, 4096));
  check(conv_kernel(2, 8, 8, 16, 3, 1));
  check(narrow_product_kernel(core::dtypes::f16, {2, 64, 64, 64}));
  check(narrow_product_kernel(core::dtypes::bf16, {2, 64, 64, 64}));
}

// Where arguments are aligned; otherwise by elements.
TEST_P(NvCode, AccessesOfSixteenBytes) {
  const NvToolchain nv = make_nv_toolchain(GetParam(), "sm_90");
  if (!nv.compiler) GTEST_SKIP() << nv.compiler.error().message;
  for (const bool aligned : {true, false}) {
    core::Arena arena;
    const LinearProgram program =
        lower(add_kernel(1 << 20), nv.renderer->caps(), arena, {.aligned = aligned});
    Result<std::vector<u8>> cubin = (*nv.compiler)->compile(program, nv.renderer->render(program));
    ASSERT_TRUE(cubin) << to_string(cubin.error());
    Result<std::string> text = (*nv.compiler)->disassemble(*cubin);
    if (!text && text.error().kind == ErrorKind::NotFound) GTEST_SKIP() << text.error().message;
    ASSERT_TRUE(text) << to_string(text.error());
    EXPECT_EQ(contains(*text, "LDG.E.128"), aligned) << *text;
    EXPECT_EQ(contains(*text, "STG.E.128"), aligned) << *text;
    EXPECT_FALSE(contains(*text, "STL") || contains(*text, "LDL")) << *text;
  }
}

bool multiplies_bytes_of_floats(const LinearProgram& program) {
  return std::ranges::any_of(program.ops, [](core::UOp u) {
    return u.is(core::Op::Wmma) && tensor_core(u.arg(0)).operand == core::Scalar::F8E4M3;
  });
}

// Every chip's matrix instructions, those of 8-bit floats only as far as the compiler has them.
TEST_P(NvCode, ProductsOfEveryChip) {
  for (const nv::hw::Chip& chip : nv::hw::chips()) {
    const NvToolchain nv = make_nv_toolchain(GetParam(), chip.name);
    if (!nv.compiler && nv.compiler.error().kind == ErrorKind::NotFound)
      GTEST_SKIP() << nv.compiler.error().message;
    if (!nv.compiler) continue;  // older than the chip
    for (const core::DType t : {core::dtypes::f16, core::dtypes::f8e4m3}) {
      core::Arena arena;
      const LinearProgram program =
          lower(narrow_product_kernel(t, {2, 64, 64, 64}), nv.renderer->caps(), arena);
      Result<std::vector<u8>> cubin =
          (*nv.compiler)->compile(program, nv.renderer->render(program));
      EXPECT_TRUE(cubin) << chip.name << ": " << to_string(cubin.error());
    }
  }
}

TEST(NvCaps, ProductsThatTheCompilerLacks) {
  const nv::hw::Chip& chip = *nv::hw::find_chip("sm_89");
  for (const int ptx : {83, 84}) {
    core::Arena arena;
    const LinearProgram program =
        lower(narrow_product_kernel(core::dtypes::f8e4m3, {2, 64, 64, 64}),
              nv_caps(chip, {.ptx = ptx}), arena);
    EXPECT_EQ(multiplies_bytes_of_floats(program), ptx == 84);
  }
}

// [docs.nvidia.com/cuda/parallel-thread-execution, "PTX Release History": CUDA 12.0, 12.3, 12.4,
// 12.6, 13.0]
TEST(CudaToolkit, NewestPtx) {
  EXPECT_EQ(newest_ptx(12, 0), 80);
  EXPECT_EQ(newest_ptx(12, 3), 83);
  EXPECT_EQ(newest_ptx(12, 4), 84);
  EXPECT_EQ(newest_ptx(12, 6), 85);
  EXPECT_EQ(newest_ptx(13, 0), 90);
}

INSTANTIATE_TEST_SUITE_P(Renderers, NvCode, ::testing::Values("CUDA", "PTX"),
                         [](const auto& info) { return info.param; });

TEST(Ptx, GroupsItemsAndArguments) {
  if (!has_llvm()) GTEST_SKIP() << "this build has no LLVM";
  ProgramBuilder b("neighbours");
  fill_neighbours(b);
  Result<std::vector<u8>> ptx = make_llvm_compiler(target_of("sm_80"))->compile(b.program, "");
  ASSERT_TRUE(ptx) << to_string(ptx.error());
  const std::string text(ptx->begin(), ptx->end());
  for (const char* part :
       {".target sm_80", ".visible .entry neighbours(", ".reqntid 64, 1, 1", ".shared .align 64",
        "%tid.x", "%ctaid.x", "bar.sync", "ld.global.nc", "st.shared", "sqrt.rn.f32", "st.global"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  EXPECT_FALSE(contains(text, ".ftz")) << text;
}

TEST(Nvrtc, SaysWhatIsWrongWithASource) {
  auto compiler = make_nvrtc_compiler("sm_80", nv_folders());
  if (!compiler) GTEST_SKIP() << compiler.error().message;
  ProgramBuilder b("broken");
  Result<std::vector<u8>> image = (*compiler)->compile(b.program, "this is no program");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().kind, ErrorKind::Compile);
  for (const char* part : {"kernel broken", "error:", "this is no program"})
    EXPECT_TRUE(contains(image.error().message, part)) << image.error().message;
}

TEST(Nvrtc, SaysWhichChipItDoesNotKnow) {
  if (auto some = make_nvrtc_compiler("sm_80", nv_folders()); !some)
    GTEST_SKIP() << some.error().message;
  auto compiler = make_nvrtc_compiler("sm_1", nv_folders());
  ASSERT_FALSE(compiler);
  EXPECT_EQ(compiler.error().kind, ErrorKind::Unsupported);
  for (const char* part : {"does not know sm_1;", "sm_80"})
    EXPECT_TRUE(contains(compiler.error().message, part)) << compiler.error().message;
}

// The newest of a folder first; a toolkit keeps them in lib64, a wheel in a folder of its own.
TEST(CudaToolkit, LooksIntoToolkitsAndWheels) {
  doorbell::testing::FakeFiles files;
  for (const char* path : {"/t/lib64/libnvrtc.so.12", "/t/lib64/libnvrtc.so.12.9.86",
                           "/t/lib64/libnvrtc.so.9", "/t/lib64/libnvrtc-builtins.so.12.9",
                           "/w/cuda_nvrtc/lib/libnvrtc.so.12", "/w/cu13/lib/libnvrtc.so.13"})
    files.add(path, "");
  for (const char* folder : {"/t/lib64", "/w/cuda_nvrtc/lib", "/w/cu13/lib"})
    EXPECT_TRUE(files.make_folders(folder));
  const CudaFolders where{&files, {"/t", "/w", "/none"}};
  EXPECT_EQ(cuda_library_names(where, "libnvrtc"),
            (std::vector<std::string>{"/t/lib64/libnvrtc.so.12", "/w/cu13/lib/libnvrtc.so.13",
                                      "/w/cuda_nvrtc/lib/libnvrtc.so.12", "libnvrtc.so.13",
                                      "libnvrtc.so.12"}));
}

TEST(CudaToolkit, SaysWhereItLooked) {
  doorbell::testing::FakeFiles files;
  auto library = open_cuda_library({&files, {"/t"}}, "libno_such", "install it");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().kind, ErrorKind::NotFound);
  for (const char* part : {"no libno_such", "install it", "CUDA_PATH", "/t, /usr/local/cuda"})
    EXPECT_TRUE(contains(library.error().message, part)) << library.error().message;
}

}  // namespace
}  // namespace doorbell::codegen::testing
