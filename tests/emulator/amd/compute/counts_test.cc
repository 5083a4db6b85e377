// Counts of kernels in assembly, worked out by hand from their text.
#include "emulator/core/counts.h"

#include <gtest/gtest.h>

#include "emulator/amd/isa/count/wave_counter.h"
#include "emulator/amd/machine.h"
#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::AssemblyOptions;
using testing::TestGpu;
using testing::TestKernel;
using testing::TestLaunch;
using enum InstructionClass;

KernelCounts count(TestGpu& gpu, const TestKernel& kernel, TestLaunch launch,
                   const Arguments& arguments) {
  Counts counts;
  launch.options.counts = &counts;
  const GridStop stop = gpu.launch(kernel, launch, arguments);
  EXPECT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
  const CountsByKernel kernels = counts.kernels();
  EXPECT_EQ(kernels.size(), 1u);
  return kernels.begin()->second;
}

// Each lane stores to LDS with a stride of 128 bytes, all in one bank, and reads that back.
TEST(AmdCounts, OfAKernelByHand) {
  for (const bool wave64 : {false, true}) {
    TestGpu gpu("gfx1100");
    const TestKernel kernel = gpu.assemble(R"(
      s_load_b64 s[0:1], s[0:1], 0x0
      v_lshlrev_b32 v1, 7, v0
      v_lshlrev_b32 v2, 2, v0
      s_waitcnt lgkmcnt(0)
      global_load_b32 v3, v2, s[0:1]
      s_waitcnt vmcnt(0)
      ds_store_b32 v1, v3
      s_mov_b32 s2, 5
      s_barrier
      ds_load_b32 v4, v1
      s_waitcnt lgkmcnt(0)
      global_store_b32 v2, v4, s[0:1]
      s_endpgm
    )",
                                           {.vgprs = 8, .lds_bytes = 64 * 128, .wave64 = wave64});
    const u64 buffer = gpu.allocate(256);
    const KernelCounts counts = count(gpu, kernel, {.groups = {3, 1, 1}}, Arguments().add(buffer));
    const u64 waves = wave64 ? 3 : 6;  // of 64 items, three groups
    EXPECT_EQ(counts.launches, 1u);
    EXPECT_EQ(counts.of(Vector), 2 * waves);
    EXPECT_EQ(counts.of(Matrix), 0u);
    EXPECT_EQ(counts.of(Scalar), waves);
    EXPECT_EQ(counts.of(Constant), waves);
    EXPECT_EQ(counts.of(Shared), 2 * waves);
    EXPECT_EQ(counts.of(Global), 2 * waves);
    EXPECT_EQ(counts.of(Local), 0u);
    EXPECT_EQ(counts.of(Branch), waves);
    EXPECT_EQ(counts.of(Barrier), waves);
    EXPECT_EQ(counts.of(Other), 3 * waves);
    EXPECT_EQ(counts.all_instructions(), gpu.instructions());
    // 32 lanes in a cycle: each takes 31 more.
    EXPECT_EQ(counts.bank_conflicts, 3 * 2 * 2 * 31u);
    EXPECT_EQ(counts.bytes_read, 3 * 256 + waves * 8);
    EXPECT_EQ(counts.bytes_written, 3 * 256u);
    EXPECT_EQ(counts.sectors, 3 * 16 + waves);
  }
}

// Two accesses of an instruction, a dual one, lanes that are off, and a loop of one instruction.
TEST(AmdCounts, InstructionsOnce) {
  TestGpu gpu("gfx1100");
  const TestKernel kernel = gpu.assemble(R"(
    v_lshlrev_b32 v1, 2, v0
    v_dual_mov_b32 v2, 1 :: v_dual_mov_b32 v3, 2
    ds_store_2addr_b32 v1, v2, v3 offset1:32
    v_cmpx_eq_u32 0, v0
    ds_load_b32 v4, v1
    s_mov_b32 s2, 3
  again:
    s_sub_i32 s2, s2, 1
    s_cmp_lg_i32 s2, 0
    s_cbranch_scc1 again
    s_endpgm
  )",
                                         {.vgprs = 8, .lds_bytes = 1024});
  const KernelCounts counts = count(gpu, kernel, {.group_size = {32, 1, 1}}, {});
  EXPECT_EQ(counts.of(Vector), 3u);
  EXPECT_EQ(counts.of(Shared), 2u);
  EXPECT_EQ(counts.of(Scalar), 1 + 2 * 3u);
  EXPECT_EQ(counts.of(Branch), 3 + 1u);
  EXPECT_EQ(counts.bank_conflicts, 0u);
  EXPECT_EQ(counts.bytes_read + counts.bytes_written + counts.sectors, 0u);
}

// Scratch is no memory of the kernel's; an atomic operation writes; a stride of 64 bytes touches a
// sector for each lane.
TEST(AmdCounts, BytesOfGlobalMemory) {
  TestGpu gpu("gfx1100");
  const TestKernel kernel = gpu.assemble(R"(
    s_load_b64 s[0:1], s[0:1], 0x0
    v_mov_b32 v1, 7
    v_lshlrev_b32 v2, 6, v0
    scratch_store_b32 off, v1, off offset:4
    scratch_load_b32 v3, off, off offset:4
    s_waitcnt lgkmcnt(0)
    global_atomic_add_u32 v2, v1, s[0:1]
    global_load_b128 v[4:7], v2, s[0:1]
    s_endpgm
  )",
                                         {.vgprs = 8, .scratch_bytes = 16});
  const u64 buffer = gpu.allocate(64 * 32);
  const KernelCounts counts =
      count(gpu, kernel, {.group_size = {32, 1, 1}}, Arguments().add(buffer));
  EXPECT_EQ(counts.of(Local), 2u);
  EXPECT_EQ(counts.of(Global), 2u);
  EXPECT_EQ(counts.bytes_written, 32 * 4u);
  EXPECT_EQ(counts.bytes_read, 32 * 16 + 8u);
  EXPECT_EQ(counts.sectors, 32 + 32 + 1u);
}

TEST(AmdCounts, OfMatrixInstructions) {
  TestGpu gpu("gfx942");
  const TestKernel kernel = gpu.assemble(R"(
    v_mfma_f32_16x16x4_f32 v[4:7], v1, v2, v[4:7]
    v_accvgpr_write_b32 a0, v1
    s_endpgm
  )",
                                         {.vgprs = 16});
  const KernelCounts counts = count(gpu, kernel, {}, {});
  EXPECT_EQ(counts.of(Matrix), 1u);
  EXPECT_EQ(counts.of(Vector), 1u);
  EXPECT_EQ(counts.of(Branch), 1u);
}

// The lanes that CDNA serves together when it reads 16 bytes are no neighbours: 0 and 20, not 0 and
// 4. [ROCm, "Composable Kernel", "Understanding AMD GPU LDS and Bank Conflicts"]
TEST(AmdCounts, LanesThatLdsServesTogether) {
  struct Case {
    const char* chip;
    u32 other;
    bool is_write;
    u64 conflicts;
  };
  for (const Case& one :
       {Case{"gfx942", 20, false, 1}, Case{"gfx942", 4, false, 0}, Case{"gfx942", 3, false, 1},
        Case{"gfx942", 20, true, 0}, Case{"gfx942", 4, true, 1}, Case{"gfx1100", 20, false, 0},
        Case{"gfx1100", 4, false, 1}})
    EXPECT_EQ(bank_conflicts({{0, 0, 16}, {one.other, 128, 16}}, one.is_write,
                             lds_cycle(*find_chip(one.chip))),
              one.conflicts)
        << one.chip << ", lane " << one.other;
  // In rows of 16 bytes no lanes conflict.
  std::vector<SharedAccess> rows;
  for (u32 lane = 0; lane < 64; ++lane) rows.push_back({lane, lane * 16, 16});
  EXPECT_EQ(bank_conflicts(rows, false, lds_cycle(*find_chip("gfx942"))), 0u);
}

TEST(AmdCounts, AreNotTakenWithUndefinedValues) {
  MachineOptions options{.checks = "error,AMD-INI=error"};
  EXPECT_TRUE(Machine::create(options));
  options.counts = std::make_shared<Counts>();
  const auto refused = Machine::create(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("AMD-INI=off"), std::string::npos);
  options.checks = "error";
  EXPECT_TRUE(Machine::create(options));
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
