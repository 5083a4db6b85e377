// HIP as people see it with DEBUG=4, and that comgr makes of it what the driver expects. Without
// comgr the latter is skipped; the conformance suite runs what it makes on the emulator.
#include "codegen/render/hip_renderer.h"

#include "base/elf/elf_file.h"
#include "codegen/compile/comgr_compiler.h"
#include "codegen/lower/lower.h"
#include "tests/codegen/render/cpu_kernel.h"
#include "tests/codegen/render/neighbours.h"
#include "tests/codegen/support/kernels.h"
#include "tests/support/golden.h"

namespace doorbell::codegen::testing {
namespace {

using core::UOp;

Caps caps() { return hip_caps(*amd::hw::find_chip("gfx1030")); }

TEST(HipSource, GroupsItemsAndArguments) {
  ProgramBuilder b("neighbours");
  fill_neighbours(b);
  const std::string source = make_hip_renderer(caps())->render(b.program);
  EXPECT_GOLDEN("tests/golden/codegen/hip_neighbours.txt", source);
}

TEST(HipSource, IsAllScalars) {
  core::Arena arena;
  const LinearProgram program = lower(matmul_kernel(128, 128, 128), caps(), arena);
  for (UOp u : program.ops) EXPECT_EQ(u.dtype().lanes, 1);
}

TEST(Comgr, SaysWhatToDoWhereItIsNot) {
  auto compiler = make_comgr_compiler("gfx1030", {"libno_such_comgr.so"});
  ASSERT_FALSE(compiler);
  EXPECT_EQ(compiler.error().kind, ErrorKind::NotFound);
  for (const char* part : {"libamd-comgr2", "DEV=AMD:LLVM", "libno_such_comgr.so"})
    EXPECT_NE(compiler.error().message.find(part), std::string::npos) << compiler.error().message;
}

TEST(Comgr, MakesRelocatableCodeObjects) {
  auto compiler = make_comgr_compiler("gfx1030");
  if (!compiler) GTEST_SKIP() << compiler.error().message;
  ProgramBuilder b("neighbours");
  fill_neighbours(b);
  const std::string source = make_hip_renderer(caps())->render(b.program);
  Result<std::vector<u8>> image = (*compiler)->compile(b.program, source);
  ASSERT_TRUE(image) << to_string(image.error());
  auto file = elf::ElfFile::parse(*image);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->type(), ET_REL);
  EXPECT_EQ(file->machine(), 224);         // EM_AMDGPU
  EXPECT_EQ(file->flags() & 0xff, 0x36u);  // EF_AMDGPU_MACH_AMDGCN_GFX1030
  const elf::Section* table = file->find_section(".symtab");
  ASSERT_NE(table, nullptr);
  const std::vector<elf::Symbol> symbols = *file->symbols(*table);
  bool found = false;
  for (const elf::Symbol& symbol : symbols)
    found |= symbol.name == "neighbours.kd" && symbol.size == 64;
  EXPECT_TRUE(found);
  const std::string text = *(*compiler)->disassemble(*image);
  EXPECT_NE(text.find("s_barrier"), std::string::npos) << text;
}

TEST(Comgr, SaysWhatIsWrongWithASource) {
  auto compiler = make_comgr_compiler("gfx1030");
  if (!compiler) GTEST_SKIP() << compiler.error().message;
  ProgramBuilder b("broken");
  Result<std::vector<u8>> image = (*compiler)->compile(b.program, "this is no program");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().kind, ErrorKind::Compile);
  for (const char* part : {"kernel broken", "error:", "this is no program"})
    EXPECT_NE(image.error().message.find(part), std::string::npos) << image.error().message;
}

TEST(Comgr, SaysWhichChipItDoesNotKnow) {
  auto compiler = make_comgr_compiler("gfx1030");
  if (!compiler) GTEST_SKIP() << compiler.error().message;
  auto other = make_comgr_compiler("gfx12345");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("does not know gfx12345"), std::string::npos);
}

}  // namespace
}  // namespace doorbell::codegen::testing
