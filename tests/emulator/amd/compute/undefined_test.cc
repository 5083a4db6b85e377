// Where undefined values decide something, and where they do not: kernels in assembly, chip by
// chip. Addresses, branches, lanes and operands are each decided by a register, LDS, scratch or
// memory that nobody wrote; copies, masks and lanes that are not active pass.
#include <gtest/gtest.h>

#include "emulator/amd/compute/grid.h"
#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::AssemblyOptions;
using testing::TestGpu;
using testing::TestKernel;

class Undefined : public ::testing::TestWithParam<const char*> {
 protected:
  // Runs on one wave; the uses are in `uses`, and with `go_on` do not stop it.
  void run(std::string_view body, const Arguments& arguments = {}, bool go_on = false,
           const AssemblyOptions& options = {.lds_bytes = 1024, .scratch_bytes = 64}) {
    const TestKernel kernel = gpu.assemble(with_names(body), options);
    code = kernel.code;
    UndefinedTracking tracking{
        .memory = &memory, .space = &gpu.space(), .report = [&](Use use, const std::string& what) {
          uses.emplace_back(use, what);
          return !go_on;
        }};
    const u32 lanes = gpu.chip().wave32 && !options.wave64 ? 32 : 64;
    stop = gpu.launch(kernel, {.group_size = {lanes, 1, 1}, .options = {.undefined = &tracking}},
                      arguments);
  }
  // One use, which stopped the wave at the instruction of this offset.
  void expect_use(Use use, std::string_view what, u64 offset) {
    ASSERT_EQ(uses.size(), 1u) << stop.what;
    EXPECT_EQ(uses[0].first, use);
    EXPECT_NE(uses[0].second.find(what), std::string::npos) << uses[0].second;
    EXPECT_EQ(stop.kind, GridStop::Kind::Undefined) << stop.what;
    EXPECT_EQ(stop.exit.pc, code + offset) << stop.what;
  }
  void expect_none() {
    EXPECT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
    EXPECT_TRUE(uses.empty()) << uses[0].second;
  }
  // VCC and EXEC are one register in waves of 32.
  std::string with_names(std::string_view body) const {
    std::string text(body);
    const bool wave32 = gpu.chip().wave32;
    const bool gfx12 = gpu.chip().generation == Generation::Gfx12;
    const std::pair<std::string_view, std::string_view> kNames[] = {
        {"{vcc}", wave32 ? "vcc_lo" : "vcc"},
        {"{exec}", wave32 ? "exec_lo" : "exec"},
        {"{b}", wave32 ? "b32" : "b64"},
        {"{mask}", wave32 ? "s20" : "s[20:21]"},
        {"{wait}", gfx12 ? "s_wait_idle" : "s_waitcnt 0"}};
    for (const auto& [name, is] : kNames) {
      for (usize at = 0; (at = text.find(name)) != text.npos;) text.replace(at, name.size(), is);
    }
    return text;
  }

  TestGpu gpu{GetParam()};
  UndefinedMemory memory;
  std::vector<std::pair<Use, std::string>> uses;
  GridStop stop;
  u64 code = 0;
};

// ---- what decides

TEST_P(Undefined, RegisterIsAnAddress) {
  run(R"(
    s_nop 0
    global_load_dword v1, v5, s[0:1]
    s_endpgm
  )",
      Arguments().add(u64{0}));
  expect_use(Use::Address, "v5, which the wave has not written", 4);
  EXPECT_EQ(stop.exit.lane, 0u);
}

TEST_P(Undefined, ScalarRegisterIsAnAddress) {
  run("s_load_dword s8, s[30:31], 0x0\ns_endpgm");
  expect_use(Use::Address, "s30, which the wave has not written", 0);
}

// Also of what stores, and the offset of scratch.
TEST_P(Undefined, ScalarRegistersAreAddressesOfStores) {
  if (gpu.chip().generation != Generation::Gfx9) GTEST_SKIP() << "has no scalar stores";
  run("s_store_dword s0, s[30:31], 0x0\ns_endpgm");
  expect_use(Use::Address, "s30, which the wave has not written", 0);
  uses.clear();
  run("s_nop 0\ns_scratch_store_dword s0, s[0:1], s33\ns_endpgm", Arguments().add(u64{0}));
  expect_use(Use::Address, "s33, which the wave has not written", 4);
}

// Neither what the register holds nor its complement is 7.
TEST_P(Undefined, ScalarRegisterDecidesABranch) {
  run(R"(
    s_cmp_eq_u32 s30, 7
    s_cbranch_scc1 end
    s_nop 0
    end:
    s_endpgm
  )");
  expect_use(Use::Branch, "s30, which the wave has not written", 4);
}

TEST_P(Undefined, LdsDecidesABranch) {
  run(R"(
    v_mov_b32 v1, 0
    ds_read_b32 v2, v1 offset:16
    {wait}
    v_cmp_eq_u32 {vcc}, 7, v2
    s_cbranch_vccnz end
    s_nop 0
    end:
    s_endpgm
  )");
  expect_use(Use::Branch, "LDS at 0x10, which the group has not written", 20);
}

TEST_P(Undefined, TheSecondOfTwoInLdsIsAnAddress) {
  run(R"(
    v_mov_b32 v1, 0
    ds_write_b32 v1, v1 offset:4
    {wait}
    ds_read2_b32 v[2:3], v1 offset0:1 offset1:3
    {wait}
    ds_read_b32 v4, v2
    ds_read_b32 v5, v3
    s_endpgm
  )");
  ASSERT_EQ(uses.size(), 1u) << stop.what;
  EXPECT_EQ(uses[0].first, Use::Address);
  EXPECT_NE(uses[0].second.find("v3 is"), std::string::npos) << uses[0].second;
  EXPECT_NE(uses[0].second.find("LDS at 0xc,"), std::string::npos) << uses[0].second;
}

TEST_P(Undefined, RegisterDecidesLanes) {
  run(R"(
    v_cmp_gt_u32 {vcc}, 5, v7
    s_and_saveexec_{b} {mask}, {vcc}
    s_endpgm
  )");
  expect_use(Use::Lanes, "v7, which the wave has not written", 4);
}

TEST_P(Undefined, ScratchDecidesABranch) {
  if (!gpu.chip().architected_flat_scratch) GTEST_SKIP() << "its kernels set scratch up themselves";
  run(R"(
    v_mov_b32 v1, 0
    scratch_store_dword off, v1, off offset:4
    scratch_load_dword v2, off, off offset:4
    {wait}
    v_readfirstlane_b32 s20, v2
    s_cmp_lg_u32 s20, 0
    s_cbranch_scc1 end
    scratch_load_dword v3, off, off offset:8
    {wait}
    v_readfirstlane_b32 s20, v3
    s_cmp_lg_u32 s20, 3
    s_cbranch_scc1 end
    s_nop 0
    end:
    s_endpgm
  )",
      {}, false, {.scratch_bytes = 64, .directives = ".amdhsa_enable_private_segment 1\n"});
  ASSERT_EQ(uses.size(), 1u) << stop.what;
  EXPECT_EQ(uses[0].first, Use::Branch);
  EXPECT_NE(uses[0].second.find("scratch at 0x8, which the lane has not written"),
            std::string::npos)
      << uses[0].second;
}

constexpr const char* kGather = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  {wait}
  v_lshlrev_b32 v1, 2, v0
  global_load_dword v2, v1, s[4:5]
  {wait}
  global_load_dword v3, v2, s[6:7]
  s_endpgm
)";

TEST_P(Undefined, MemoryThatNobodyWroteIsAnIndex) {
  const u64 indices = gpu.allocate(256), values = gpu.allocate(256);
  memory.allocate(gpu.host(indices), 256);
  run(kGather, Arguments().add(indices).add(values));
  ASSERT_EQ(uses.size(), 1u) << stop.what;
  EXPECT_EQ(uses[0].first, Use::Address);
  EXPECT_NE(uses[0].second.find(fmt::format("memory at {:#x}", indices)), std::string::npos)
      << uses[0].second;
  EXPECT_NE(uses[0].second.find("which was never written"), std::string::npos);
  // Written since, as a copy engine does.
  uses.clear();
  memory.define(gpu.host(indices), 256);
  run(kGather, Arguments().add(indices).add(values));
  expect_none();
}

TEST_P(Undefined, RegisterChoosesALane) {
  run("v_readlane_b32 s4, v0, s30\ns_endpgm");
  expect_use(Use::Operand, "s30, which the wave has not written", 0);
}

TEST_P(Undefined, RegisterChoosesABarrier) {
  if (gpu.chip().generation != Generation::Gfx12) GTEST_SKIP() << "names no barriers";
  for (const char* instruction :
       {"s_barrier_signal m0", "s_barrier_signal_isfirst m0", "s_get_barrier_state s4, m0"}) {
    uses.clear();
    run(std::string(instruction) + "\ns_endpgm");
    expect_use(Use::Operand, "m0, which the wave has not written", 0);
  }
}

TEST_P(Undefined, RegisterIsOfGlobalWaveSync) {
  if (gpu.chip().generation == Generation::Gfx12) GTEST_SKIP() << "has no global wave sync";
  run("ds_gws_sema_v gds\ns_endpgm");
  expect_use(Use::Address, "m0, which the wave has not written", 0);
  uses.clear();
  run("s_mov_b32 m0, 0\nv_mov_b32 v1, 5\nds_gws_init v30 gds\ns_endpgm");
  expect_use(Use::Operand, "v30, which the wave has not written", 8);
  uses.clear();
  // Of the value only the first active lane's counts.
  run("s_mov_b32 m0, 0\ns_mov_b64 exec, 2\nv_mov_b32 v30, 5\ns_mov_b64 exec, 6\n"
      "ds_gws_init v30 gds\ns_endpgm");
  EXPECT_TRUE(uses.empty());
  EXPECT_EQ(stop.kind, GridStop::Kind::Illegal) << stop.what;
}

TEST_P(Undefined, IsReportedOnceAndGoesOn) {
  const u64 buffer = gpu.allocate(4096);
  // Registers hold zeros before their first wave.
  run(R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    {wait}
    global_load_dword v1, v5, s[4:5]
    global_load_dword v2, v5, s[4:5]
    s_endpgm
  )",
      Arguments().add(buffer), true);
  EXPECT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
  EXPECT_EQ(uses.size(), 1u);
}

// ---- what does not

TEST_P(Undefined, BitsMayBeMasked) {
  const u64 buffer = gpu.allocate(4096);
  run(R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_and_b32 v1, 0xffff0000, v5
    v_or_b32 v1, v1, v0
    v_and_b32 v1, 0xfc, v1
    v_xor_b32 v2, v6, v6
    v_mov_b32 v3, 0xff
    v_bfi_b32 v3, v3, v0, v7
    v_and_b32 v3, 0x7c, v3
    {wait}
    global_load_dword v8, v1, s[4:5]
    global_load_dword v9, v2, s[4:5]
    global_load_dword v10, v3, s[4:5]
    global_load_short_d16 v11, v2, s[4:5]
    {wait}
    v_and_b32 v11, 0xffff, v11
    global_load_dword v12, v11, s[4:5]
    s_endpgm
  )",
      Arguments().add(buffer));
  expect_none();
}

// MSG_DEALLOC_VGPRS says nothing, MSG_INTERRUPT what is in M0.
TEST_P(Undefined, MessagesMayHaveAPayload) {
  run("s_sendmsg 3\ns_endpgm");
  if (gpu.chip().generation >= Generation::Gfx11) expect_none();
  uses.clear();
  run("s_sendmsg 1\ns_endpgm");
  expect_use(Use::Operand, "m0, which the wave has not written", 0);
}

TEST_P(Undefined, LanesThatAreNotActiveDoNotCount) {
  const u64 buffer = gpu.allocate(4096);
  run(R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    {wait}
    v_cmp_gt_u32 {vcc}, 4, v0
    s_and_saveexec_{b} {mask}, {vcc}
    v_lshlrev_b32 v1, 2, v0
    global_load_dword v2, v1, s[4:5]
    {wait}
    v_cmp_eq_u32 {vcc}, 7, v2
    s_and_{b} {vcc}, {exec}, {vcc}
    s_cbranch_vccnz end
    s_mov_{b} {exec}, {mask}
    v_mov_b32 v3, v2
    end:
    s_endpgm
  )",
      Arguments().add(buffer));
  expect_none();
}

// Copies of undefined bits are undefined, bit by bit, and are not reported.
TEST_P(Undefined, CopiesCarryIt) {
  const u64 from = gpu.allocate(4096), to = gpu.allocate(4096);
  memory.allocate(gpu.host(from), 4096);
  memory.define(gpu.host(from + 6), 4);
  run(R"(
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 4, v0
    {wait}
    global_load_dwordx4 v[4:7], v1, s[4:5]
    {wait}
    ds_write_b128 v1, v[4:7]
    {wait}
    ds_read_b128 v[8:11], v1
    {wait}
    global_store_dwordx4 v1, v[8:11], s[6:7]
    s_endpgm
  )",
      Arguments().add(from).add(to));
  expect_none();
  std::vector<u8> mask(16);
  EXPECT_TRUE(memory.read(gpu.host(to), mask));
  EXPECT_EQ(mask, (std::vector<u8>{255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 255, 255, 255, 255,
                                   255, 255}));
  EXPECT_TRUE(memory.read(gpu.host(to + 16 * 31), mask));
  EXPECT_FALSE(memory.read(gpu.host(to + 2048), mask));
}

TEST_P(Undefined, AtomicsAndStoresDefine) {
  const u64 buffer = gpu.allocate(4096);
  memory.allocate(gpu.host(buffer), 4096);
  run(R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    v_mov_b32 v2, 0
    {wait}
    global_atomic_swap v1, v2, s[4:5]
    {wait}
    global_load_dword v3, v1, s[4:5]
    {wait}
    global_load_dword v4, v3, s[4:5]
    s_endpgm
  )",
      Arguments().add(buffer));
  expect_none();
}

INSTANTIATE_TEST_SUITE_P(Chips, Undefined,
                         ::testing::Values("gfx942", "gfx1030", "gfx1100", "gfx1201"),
                         [](const auto& info) { return std::string(info.param); });

// ---- elements that change places among lanes, or are small

class UndefinedGfx950 : public Undefined {};
class UndefinedGfx1201 : public Undefined {};

// Lane 5 loads columns 8 to 15 of row 2: it did not write them.
constexpr const char* kColumns = R"(
  v_lshlrev_b32 v1, 3, v0
  v_mov_b32 v2, 0
  v_mov_b32 v3, 0
  s_bitset0_b64 exec, 5
  ds_write_b64 v1, v[2:3]
  s_mov_b64 exec, -1
  s_waitcnt 0
  ds_read_b64_tr_b8 v[4:5], v1
  s_waitcnt 0
)";

TEST_P(UndefinedGfx950, LdsOfAnotherLaneIsAnAddress) {
  run(std::string(kColumns) + "v_and_b32 v6, 0xff00ffff, v4\nds_read_b32 v7, v6\ns_endpgm");
  expect_none();
  run(std::string(kColumns) + "ds_read_b32 v7, v4\ns_endpgm");
  ASSERT_EQ(uses.size(), 1u) << stop.what;
  EXPECT_EQ(uses[0].first, Use::Address);
  EXPECT_EQ(stop.exit.lane, 8u);
  EXPECT_NE(uses[0].second.find("v4 is 0x0, of whose bits 0xff0000 are"), std::string::npos)
      << uses[0].second;
  EXPECT_NE(uses[0].second.find("LDS at 0x28,"), std::string::npos) << uses[0].second;
}

// In waves of 64 the upper half has no addresses.
TEST_P(UndefinedGfx1201, TransposedMemoryKeepsItsBits) {
  for (bool wave64 : {false, true}) {
    const u64 from = gpu.allocate(4096), to = gpu.allocate(4096);
    memory.allocate(gpu.host(from), 4096);
    memory.allocate(gpu.host(to), 4096);
    memory.define(gpu.host(from + 4 * 8 + 3), 1);  // lane 4's: row 0, column 11
    run(std::string("s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_wait_idle\n") +
            (wave64 ? "s_mov_b64 s[20:21], exec\ns_mov_b32 exec_hi, 0\n" : "") +
            "v_lshlrev_b32 v1, 3, v0\n" + (wave64 ? "s_mov_b64 exec, s[20:21]\n" : "") +
            (wave64 ? "global_load_tr_b64 v4, v1, s[4:5]\nv_mov_b32 v5, v4\n"
                    : "global_load_tr_b64 v[4:5], v1, s[4:5]\n") +
            "s_wait_idle\nv_lshlrev_b32 v2, 3, v0\nglobal_store_b64 v2, v[4:5], s[6:7]\n"
            "s_endpgm",
        Arguments().add(from).add(to), false, {.wave64 = wave64});
    expect_none();
    std::vector<u8> mask(wave64 ? 512 : 256), expected(mask.size(), 255);
    expected[11 * 8] = 0;
    if (wave64) expected[11 * 8 + 4] = 0;  // stored twice
    EXPECT_TRUE(memory.read(gpu.host(to), mask));
    EXPECT_EQ(mask, expected) << wave64;
  }
}

// In the wave the upper lanes' number is one of FP4's, with their undefined bit it lies between two
// and random bits decide: no other lane minds.
TEST_P(UndefinedGfx950, ScaledConversionsKeepLanesApart) {
  const u64 buffer = gpu.allocate(4096);
  memory.allocate(gpu.host(buffer), 4096);
  memory.define(gpu.host(buffer), 128);
  const std::string convert = R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    v_mov_b32 v2, 0
    s_waitcnt 0
    global_load_dword v3, v1, s[4:5]
    s_waitcnt 0
    v_and_b32 v3, 1, v3
    v_or_b32 v4, 0.5, v3
    v_or_b32 v5, 0.5, v3
    v_mov_b32 v6, 0
    v_cvt_scalef32_sr_pk_fp4_f32 v6, v[4:5], v2, 1.0
    v_cvt_scalef32_pk_fp8_f32 v7, v4, v5, 1.0 op_sel:[0,0,0,1]
  )";
  const Arguments arguments = Arguments().add(buffer);
  run(convert + "s_mov_b32 exec_hi, 0\nds_read_b32 v8, v6\ns_endpgm", arguments);
  expect_none();
  run(convert + "v_lshrrev_b32 v7, 30, v7\nds_read_b32 v8, v7\ns_endpgm", arguments);
  expect_none();
  run(convert + "v_and_b32 v7, 0xff, v7\nds_read_b32 v8, v7\ns_endpgm", arguments);
  ASSERT_EQ(uses.size(), 1u) << stop.what;
  EXPECT_NE(uses[0].second.find("v7 is 0x0, of whose bits 0xff are"), std::string::npos)
      << uses[0].second;
}

INSTANTIATE_TEST_SUITE_P(Chips, UndefinedGfx950, ::testing::Values("gfx950"));
INSTANTIATE_TEST_SUITE_P(Chips, UndefinedGfx1201, ::testing::Values("gfx1201"));

}  // namespace
}  // namespace doorbell::emu::amdgpu
