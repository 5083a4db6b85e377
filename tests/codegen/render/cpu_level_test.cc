// Code for less than this CPU: the registers that a level of x86-64 lacks do not occur in it.
#include <gtest/gtest.h>

#include "codegen/compile/llvm_compiler.h"
#include "codegen/lower/lower.h"
#include "codegen/render/cpu_caps.h"
#include "tests/codegen/support/kernels.h"

namespace doorbell::codegen {
namespace {

TEST(CpuLevel, RefusesWhatIsNoLevel) {
  Result<Caps> caps = cpu_caps_of("znver4");
  ASSERT_FALSE(caps);
  EXPECT_EQ(caps.error().message, "no CPU architecture znver4; there are x86-64-v2, -v3 and -v4");
}

TEST(CpuLevel, CodeUsesTheRegistersOfTheLevel) {
  if (!has_llvm()) GTEST_SKIP() << "this build has no LLVM";
  struct Level {
    const char *name, *has, *lacks;
  };
  for (const Level& level : {Level{"x86-64-v2", "xmm", "ymm"},
                             {"x86-64-v3", "ymm", "zmm"},
                             {"x86-64-v4", "zmm", "tmm"}}) {
    Result<Caps> caps = cpu_caps_of(level.name);
    if (!caps) continue;  // this CPU is older
    core::Arena arena;
    const LinearProgram program = lower(matmul_kernel(100, 100, 100), *caps, arena);
    auto compiler = make_llvm_compiler({LlvmTarget::Family::Host, level.name});
    Result<std::vector<u8>> object = compiler->compile(program, "");
    ASSERT_TRUE(object) << to_string(object.error());
    Result<std::string> text = compiler->disassemble(*object);
    ASSERT_TRUE(text) << to_string(text.error());
    EXPECT_NE(text->find(level.has), std::string::npos) << level.name;
    EXPECT_EQ(text->find(level.lacks), std::string::npos) << level.name;
  }
}

}  // namespace
}  // namespace doorbell::codegen
