// What LLVM's disassembler says of words: which are instructions, under which name, how long.
#include "emulator/amd/isa/decode/instruction_source.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace doorbell::emu::amdgpu {
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

// Words at which LLVM 22's disassembler ends the process: a literal of which the code has no bytes
// left, or that gfx9's VOP3 and buffer instructions have no room for; matrices that are constants.
TEST(InstructionSource, RefusesWhatLlvmFallsOver) {
  struct Words {
    const char* chip;
    u32 lanes;
    std::vector<u32> words;
  };
  Result<const InstructionSources*> sources = instruction_sources();
  if (!sources) GTEST_SKIP() << sources.error().message;
  for (const Words& none : {
           Words{"gfx942", 64, {0xbe8000ff}},               // s_mov_b32 s0, literal
           Words{"gfx1100", 32, {0xbe8000ff}},              // the same
           Words{"gfx1030", 32, {0xd5010000, 0x000000ff}},  // v_cndmask_b32 v0, literal, ...
           Words{"gfx942", 64, {0xd1010000, 0x000000ff, 0, 0, 0}},
           Words{"gfx942", 64, {0xe0500000, 0xff000084, 0, 0, 0}},  // buffer_load_dword
           Words{"gfx950", 64, {0xd3ac0000, 0x00027b3c, 0xd3ad0820, 0x42119900}},
           Words{"gfx950", 64, {0xd3ad0000, 0x04019900, 0, 0}},
       }) {
    auto source = std::move(*(*sources)->open(none.chip, none.lanes));
    const std::span<const u8> bytes(reinterpret_cast<const u8*>(none.words.data()),
                                    none.words.size() * 4);
    EXPECT_EQ(source->decode(bytes, 0).size, 0u) << none.chip << std::hex << " " << none.words[0];
    EXPECT_EQ(source->print(bytes, 0), "") << none.chip << std::hex << " " << none.words[0];
  }
  // With the literal it is an instruction; so is the product of two matrices in registers.
  const u32 literal[] = {0xbe8000ff, 0x1234}, product[] = {0xd3ad0000, 0x04020500};
  const auto size_of = [&](const char* chip, const u32(&words)[2]) {
    auto source = std::move(*(*sources)->open(chip, 64));
    return source->decode({reinterpret_cast<const u8*>(words), sizeof words}, 0).size;
  };
  EXPECT_EQ(size_of("gfx942", literal), 8u);
  EXPECT_EQ(size_of("gfx950", product), 8u);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
