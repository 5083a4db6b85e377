// Compiles by codegen's NVRTC, and maps a buffer of the host.
#include "tests/emulator/nv/cuda_kernel.h"

#include <cstring>

#include "base/elf/elf_file.h"
#include "base/util/check.h"
#include "codegen/compile/nvrtc_compiler.h"
#include "emulator/nv/compute/rules.h"
#include "tests/codegen/render/nv_emulated.h"

namespace doorbell::emu::nvgpu::testing {

namespace {

void edit_code(std::vector<u8>& image, const EditInstruction& edit) {
  const auto file = elf::ElfFile::parse(image);
  CHECK(file.has_value(), "{}", to_string(file.error()));
  const elf::Section* text = file->find_section(".text.test");
  CHECK(text != nullptr, "no kernel test");
  u8* const start = image.data() + (text->data.data() - image.data());
  for (u64 at = 0; at < text->size; at += sizeof(Words)) {
    Words words;
    std::memcpy(&words, start + at, sizeof(Words));
    edit(words);
    std::memcpy(start + at, &words, sizeof(Words));
  }
}

}  // namespace

CompiledCuda compile_cuda(const std::string& source, const std::string& chip,
                          const EditInstruction& edit) {
  auto compiler = codegen::make_nvrtc_compiler(chip, codegen::testing::nv_folders());
  if (!compiler) return {nullptr, compiler.error().message};
  codegen::LinearProgram program;
  program.name = "test";
  auto image = (*compiler)->compile(program, source);
  CHECK(image.has_value(), "{}", to_string(image.error()));
  if (edit) edit_code(*image, edit);
  auto cubin = Cubin::parse(*image);
  CHECK(cubin.has_value(), "{}", to_string(cubin.error()));
  return {std::move(*cubin), ""};
}

CudaRun run_cuda(const Cubin& cubin, std::vector<u32> words, const CudaLaunch& launch) {
  constexpr u64 kAddress = 0x10'0000, kPage = AddressSpace::kPage;
  AddressSpace memory;
  std::vector<u8> bytes((words.size() * 4 + kPage - 1) / kPage * kPage);
  std::memcpy(bytes.data(), words.data(), words.size() * 4);
  const u32 buffer = memory.add_buffer({kAddress, bytes.size(), "words", 0, 0, 0});
  const auto mapped =
      memory.map(kAddress, bytes.size(), bytes.data(), true, false, MemoryType{}, buffer);
  CHECK(mapped.has_value(), "{}", to_string(mapped.error()));
  const CubinKernel& kernel = cubin.kernels().at(0);
  std::vector<u8> parameters(kernel.parameter_bytes);
  std::memcpy(parameters.data(), &kAddress, 8);
  for (usize i = 0; i < launch.more.size(); ++i)
    std::memcpy(parameters.data() + 8 + 4 * i, &launch.more[i], 4);
  const Launch real{.grid = launch.grid,
                    .block = launch.block,
                    .dynamic_shared = launch.dynamic_shared,
                    .parameters = parameters,
                    .most_instructions = launch.most_instructions,
                    .counts = launch.counts};
  Checks checks(Level::Error);
  if (!launch.levels.empty()) {
    const auto configured = checks.configure(launch.levels, kAllRules);
    CHECK(configured.has_value(), "{}", to_string(configured.error()));
  }
  auto result = nvgpu::launch(cubin, kernel, real, memory, checks);
  CHECK(result.has_value(), "{}", to_string(result.error()));
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return {std::move(words), std::move(*result), checks.reports()};
}

void CudaTest::compile(const std::string& source, const EditInstruction& edit) {
  CompiledCuda compiled = compile_cuda(source, GetParam(), edit);
  if (!compiled.cubin) GTEST_SKIP() << compiled.missing;
  compiled.cubin->place(0);
  cubin_ = std::move(compiled.cubin);
}

}  // namespace doorbell::emu::nvgpu::testing
