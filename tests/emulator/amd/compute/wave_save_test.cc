// What is saved of waves in the middle of a kernel, read back as a driver reads it (whose reader
// has tests of its own): where they stand, and every register that the kernel set.
#include "emulator/amd/compute/wave_save.h"

#include <gtest/gtest.h>

#include "drivers/amd/hw/saved_waves.h"
#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

namespace hw = amd::hw;

using testing::Arguments;
using testing::TestGpu;
using testing::TestKernel;

constexpr u32 kStackBytes = 0x1000;

// As the kernel's door puts a context into memory.
std::vector<u8> area_of(const SavedContext& context) {
  const std::vector<u32> stack = context.stack();
  const u32 bytes = static_cast<u32>(stack.size() * 4);
  const u32 state = static_cast<u32>(context.state.size());
  const hw::ContextSaveHeader header{.control_stack_offset = kStackBytes - bytes,
                                     .control_stack_size = bytes,
                                     .wave_state_offset = kStackBytes + state,
                                     .wave_state_size = state};
  std::vector<u8> area(kStackBytes + state);
  std::memcpy(area.data(), &header, sizeof header);
  if (bytes > 0) std::memcpy(area.data() + kStackBytes - bytes, stack.data(), bytes);
  if (state > 0) std::memcpy(area.data() + kStackBytes, context.state.data(), state);
  return area;
}

SavedContext context() { return {.stack_room = kStackBytes - 40, .state_room = u64{1} << 24}; }

// For ever between two instructions of four bytes, at 0x18 and 0x1c of the kernel.
constexpr const char* kBody = R"(
  s_movk_i32 s9, 0x77
  v_mul_u32_u24 v1, 5, v0
  s_mov_b32 m0, 0x33
  s_mov_b64 vcc, 0x35
  s_cmp_eq_u32 s9, s9
  s_nop 0
spin:
  s_nop 1
  s_branch spin
)";

TEST(WaveSave, HasTheRegistersOfWavesInALoop) {
  struct Case {
    const char* chip;
    u32 lanes;
    hw::Generation generation;
  };
  for (const Case& c :
       {Case{"gfx942", 64, hw::Generation::Gfx9}, Case{"gfx1030", 32, hw::Generation::Gfx10},
        Case{"gfx1030", 64, hw::Generation::Gfx10}, Case{"gfx1100", 32, hw::Generation::Gfx11},
        Case{"gfx1201", 32, hw::Generation::Gfx12}}) {
    SCOPED_TRACE(::testing::Message() << c.chip << ", " << c.lanes);
    TestGpu gpu(c.chip);
    TestKernel kernel =
        gpu.assemble(kBody, {.vgprs = 12, .lds_bytes = 700, .wave64 = c.lanes == 64});
    Grid grid(gpu.chip(), gpu.code_cache(), gpu.memory(),
              gpu.dispatch(kernel, {.groups = {1, 2, 1}, .group_size = {96, 1, 1}}, Arguments()));
    // A wave has 65536 instructions before another's turn.
    ASSERT_EQ(grid.run(1 << 18).kind, GridStop::Kind::Running);
    SavedContext saved = context();
    grid.save_waves({.trap_registers = true}, saved);
    const std::vector<u8> area = area_of(saved);
    Result<std::vector<hw::SavedWave>> waves = hw::read_saved_waves(c.generation, area);
    ASSERT_TRUE(waves) << waves.error().message;
    const usize of_group = c.lanes == 64 ? 2 : 3;
    ASSERT_EQ(waves->size() % of_group, 0u);
    ASSERT_GE(waves->size(), of_group);
    for (usize i = 0; i < waves->size(); ++i) {
      const hw::SavedWave& wave = (*waves)[i];
      const u32 place = static_cast<u32>(i % of_group);
      EXPECT_TRUE(wave.pc == kernel.code + 0x18 || wave.pc == kernel.code + 0x1c)
          << wave.pc - kernel.code;
      EXPECT_EQ(wave.lanes, c.lanes);
      // The last wave of 64 has half its lanes.
      const u64 all = c.lanes == 32 || place == 1 ? 0xffffffff : ~u64{0};
      EXPECT_EQ(wave.exec, all);
      EXPECT_EQ(wave.first_of_group, place == 0);
      EXPECT_EQ(wave.last_of_group, place + 1 == of_group);
      EXPECT_EQ(wave.position_in_group(c.generation), place);
      EXPECT_EQ(wave.group(c.generation)[1], waves->size() == of_group || i >= of_group ? 0u : 1u);
      EXPECT_EQ(wave.m0, 0x33u);
      EXPECT_EQ(wave.scalar(9), 0x77u);
      EXPECT_EQ(wave.lds.size(), place == 0 ? 1024u : 0u);
      EXPECT_FALSE(wave.in_barrier || wave.memory_violation);
      EXPECT_EQ(wave.vector_count >= 12 && wave.vector_count <= 24, true) << wave.vector_count;
      for (u32 lane = 0; lane < c.lanes && (wave.exec >> lane & 1); ++lane)
        ASSERT_EQ(wave.vector(1, lane), 5 * (place * c.lanes + lane)) << lane;
      // VCC: at 106, on gfx9 in the last two that were allocated.
      const usize vcc = c.generation == hw::Generation::Gfx9
                            ? std::min<usize>(wave.scalars.size() / 4, 108) - 2
                            : 106;
      EXPECT_EQ(wave.scalar(vcc), 0x35u);
      const u32 scc = c.generation == hw::Generation::Gfx12 ? wave.status >> 9 : wave.status;
      EXPECT_EQ(scc & 1, 1u);
    }
    // They go on as if nothing had been saved.
    EXPECT_EQ(grid.run(1000).kind, GridStop::Kind::Running);
  }
}

TEST(WaveSave, HasAccumulationRegisters) {
  TestGpu gpu("gfx942");
  TestKernel kernel = gpu.assemble(R"(
    v_accvgpr_write_b32 a3, v0
    v_accvgpr_write_b32 a31, 9
  spin:
    s_branch spin
  )",
                                   {.vgprs = 12});
  kernel.rsrc1 = (kernel.rsrc1 & ~0x3fu) | 5;  // 48 registers: 12, and 36 for accumulation
  Grid grid(gpu.chip(), gpu.code_cache(), gpu.memory(),
            gpu.dispatch(kernel, {.group_size = {64, 1, 1}}, Arguments()));
  ASSERT_EQ(grid.run(1000).kind, GridStop::Kind::Running);
  SavedContext saved = context();
  grid.save_waves({}, saved);
  const std::vector<u8> area = area_of(saved);
  Result<std::vector<hw::SavedWave>> waves = hw::read_saved_waves(hw::Generation::Gfx9, area);
  ASSERT_TRUE(waves) << waves.error().message;
  ASSERT_EQ(waves->size(), 1u);
  const hw::SavedWave& wave = waves->front();
  EXPECT_EQ(wave.vector_count, 12u);
  EXPECT_EQ(wave.accumulator_count, 36u);
  EXPECT_EQ(wave.vector(12 + 3, 17), 17u);
  EXPECT_EQ(wave.vector(12 + 31, 63), 9u);
}

TEST(WaveSave, LeavesOutGroupsThatFindNoRoom) {
  TestGpu gpu("gfx1100");
  TestKernel kernel = gpu.assemble("spin: s_branch spin", {.vgprs = 8});
  Grid grid(gpu.chip(), gpu.code_cache(), gpu.memory(),
            gpu.dispatch(kernel, {.groups = {3, 1, 1}, .group_size = {32, 1, 1}}, Arguments()));
  for (int i = 0; i < 4; ++i) ASSERT_EQ(grid.run(1 << 18).kind, GridStop::Kind::Running);
  SavedContext all = context(), saved = context();
  grid.save_waves({}, all);
  ASSERT_EQ(all.pushed.size(), 9u) << "three groups of one wave";
  saved.state_room = all.state.size() - 1;
  grid.save_waves({}, saved);
  const std::vector<u8> area = area_of(saved);
  Result<std::vector<hw::SavedWave>> waves = hw::read_saved_waves(hw::Generation::Gfx11, area);
  ASSERT_TRUE(waves) << waves.error().message;
  EXPECT_EQ(waves->size(), 2u);
  saved = context();
  saved.stack_room = 4 * 4;
  grid.save_waves({}, saved);
  EXPECT_TRUE(saved.pushed.empty() && saved.state.empty() && saved.stack().empty());
}

TEST(WaveSave, HasNothingOfWavesThatHaveEnded) {
  TestGpu gpu("gfx1100");
  TestKernel kernel = gpu.assemble(R"(
    v_readfirstlane_b32 s9, v0
    s_cmp_eq_u32 s9, 0
    s_cbranch_scc1 end
  spin:
    s_branch spin
  end:
    s_endpgm
  )",
                                   {.vgprs = 8, .lds_bytes = 512});
  Grid grid(gpu.chip(), gpu.code_cache(), gpu.memory(),
            gpu.dispatch(kernel, {.group_size = {64, 1, 1}}, Arguments()));
  ASSERT_EQ(grid.run(1 << 18).kind, GridStop::Kind::Running);
  SavedContext saved = context();
  grid.save_waves({.trap_registers = true}, saved);
  const std::vector<u8> area = area_of(saved);
  Result<std::vector<hw::SavedWave>> waves = hw::read_saved_waves(hw::Generation::Gfx11, area);
  ASSERT_TRUE(waves) << waves.error().message;
  ASSERT_EQ(waves->size(), 1u);
  EXPECT_TRUE(waves->front().first_of_group && waves->front().last_of_group);
  EXPECT_EQ(waves->front().position_in_group(hw::Generation::Gfx11), 1u);
  EXPECT_EQ(waves->front().lds.size(), 512u) << "whoever is left has it";
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
