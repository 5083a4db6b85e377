// What LLVM's disassembler says of words: which are instructions, under which name, how long.
#include "emulator/amd/isa/instruction_source.h"

#include <gtest/gtest.h>

#include <array>

namespace doorbell::emulator::amd {
namespace {

TEST(InstructionSource, TakesWhatOlderCompilersEmit) {
  Result<const InstructionSources*> sources = instruction_sources();
  if (!sources) GTEST_SKIP() << sources.error().message;
  auto source = std::move(*(*sources)->open("gfx1030", 32));
  // v_cmpx_gt_i32_e64 s2, v0 of clang 15, whose destination is 0 where LLVM 22 writes 0x7e: a
  // vector add that hipcc 5.2.3 compiled.
  constexpr std::array<u8, 8> kOld = {0x00, 0x00, 0x94, 0xd4, 0x02, 0x00, 0x02, 0x00};
  InstructionSource::Instruction instruction = source->decode(kOld, 0);
  EXPECT_EQ(instruction.size, 8u);
  EXPECT_TRUE(instruction.name.starts_with("V_CMPX_GT_I32")) << instruction.name;
  EXPECT_EQ(source->print(kOld, 0), "v_cmpx_gt_i32_e64 s2, v0");
}

TEST(InstructionSource, RefusesWhatIsNone) {
  Result<const InstructionSources*> sources = instruction_sources();
  if (!sources) GTEST_SKIP() << sources.error().message;
  auto source = std::move(*(*sources)->open("gfx1030", 32));
  constexpr std::array<u8, 8> kNone = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  EXPECT_EQ(source->decode(kNone, 0).size, 0u);
}

}  // namespace
}  // namespace doorbell::emulator::amd
