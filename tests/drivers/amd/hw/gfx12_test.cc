// Packets of gfx12 and SDMA 7.0 against what others write there, evaluated by hand: the kernel's
// emitters (Linux 6.12 gfx_v12_0.c and sdma_v7_0.c, with the macros of nvd.h and
// sdma_v6_0_0_pkt_open.h), the KFD's own tests (ROCm/rocm-systems 1b1610f
// projects/rocr-runtime/libhsakmt/tests/kfdtest/src/Dispatch.cpp BuildIb()), and tinygrad a9069c1
// runtime/ops_amd.py.
#include <gtest/gtest.h>

#include "drivers/amd/hw/pm4/flow.h"
#include "drivers/amd/hw/pm4/release.h"
#include "drivers/amd/hw/pm4/set_register.h"
#include "drivers/amd/hw/pm4/sync.h"
#include "drivers/amd/hw/program_registers.h"
#include "drivers/amd/hw/sdma/copy.h"
#include "drivers/amd/hw/sdma/sync.h"

namespace doorbell::amd::hw {
namespace {

constexpr u64 kFence = 0x7f12'3456'0040, kFrom = 0x7f11'0000'2000, kTo = 0x7f22'0000'1000;

// gfx_v12_0_ring_emit_fence(): GCR_SEQ, GL2_WB, CACHE_POLICY(3), but no GLM, unlike gfx10's.
TEST(Gfx12, ReleasesAsTheKernelDoes) {
  EXPECT_EQ(encode(ReleaseMem{.gl2_wb = true,
                              .seq = GcrSequence::Forward,
                              .cache_policy = CachePolicy::Bypass,
                              .int_sel = ReleaseInterrupt::AfterWriteConfirm,
                              .data_sel = ReleaseData::Data64,
                              .addr = kFence,
                              .data = 0x1'0000'0009}),
            (Words<ReleaseMem>{0xc0064900, 0x06600514, 0x42000000, 0x34560040, 0x7f12, 9, 1, 0}));
}

// gfx_v12_0_ring_emit_ib_compute() and gfx_v12_0_wait_reg_mem().
TEST(Gfx12, RunsIndirectBuffersAndWaitsAsTheKernelDoes) {
  EXPECT_EQ(encode(IndirectBuffer{.addr = kFrom, .words = 0x123, .vmid = 5}),
            (Words<IndirectBuffer>{0xc0023f00, 0x2000, 0x7f11, 0x05800123}));
  EXPECT_EQ(encode(WaitRegMem{.function = Compare::Equal, .addr = kFence, .reference = 9}),
            (Words<WaitRegMem>{0xc0053c00, 0x13, 0x34560040, 0x7f12, 9, 0xffffffff, 4}));
}

// kfdtest leaves SGPRS and TRAP_PRESENT 0 on gfx12, whose bits mean nothing and dynamic VGPRs.
TEST(Gfx12, LaunchesAsKfdtestDoes) {
  const auto set = [](const auto& record) { return set_sh_reg(Generation::Gfx12, record); };
  EXPECT_EQ(set(ComputePgm{.entry = kTo}),
            (std::array<u32, 4>{0xc0027600, 0x20c, 0x22000010, 0x7f}));
  EXPECT_EQ(set(ComputeDispatchScratchBase{.base = 0x7f33'0000'0000}),
            (std::array<u32, 4>{0xc0027600, 0x210, 0x33000000, 0x7f}));
  EXPECT_EQ(set(ComputePgmRsrc1{.vgprs = 4, .float_mode = 0xc0})[2], 0xc0004u);
  EXPECT_EQ(set(ComputePgmRsrc2{
                .user_sgpr = 4, .tgid_x_en = true, .tidig_comp_cnt = 1, .excp_en_msb = 1})[2],
            0x2888u);
  EXPECT_EQ(encode(DispatchInitiator{
                .force_start_at_000 = false, .use_thread_dimensions = true, .cs_w32_en = true})[0],
            0x8021u);
}

// tinygrad's _ensure_has_local_memory(): 64 lanes of 1024 bytes are 256 units of 256 bytes a wave;
// 32 waves on an engine.
TEST(Gfx12, ScratchCountsUnitsOf256Bytes) {
  EXPECT_EQ(encode(ComputeTmpringSizeGfx12{
                .waves = 32, .wave_size = 64 * 1024 / ComputeTmpringSizeGfx12::kUnit})[0],
            0x100020u);
}

// tinygrad's copy(), of its most, 0x40000000 bytes. sdma_v7_0_emit_copy_buffer() sets CPV (bit 19)
// and has an eighth word for it.
TEST(Sdma70, CopiesAsOthersDo) {
  EXPECT_EQ(encode(SdmaCopyLinear{.count = 0x3fff'ffff, .src = kFrom, .dst = kTo}),
            (Words<SdmaCopyLinear>{1, 0x3fffffff, 0, 0x2000, 0x7f11, 0x1000, 0x7f22}));
  EXPECT_EQ(encode(SdmaCopyLinear{.cpv = true, .count = 0xfff, .src = kFrom, .dst = kTo})[0],
            0x80001u);
}

// sdma_v7_0_ring_emit_fence(): MTYPE 3, of 64 bits in two packets, and a trap;
// sdma_v7_0_ring_emit_pipeline_sync().
TEST(Sdma70, FencesAndPollsAsTheKernelDoes) {
  EXPECT_EQ(encode(SdmaFence{.mtype = 3, .addr = kFence + 4, .data = 1}),
            (Words<SdmaFence>{0x30005, 0x34560044, 0x7f12, 1}));
  EXPECT_EQ(encode(SdmaTrap{}), (Words<SdmaTrap>{6, 0}));
  EXPECT_EQ(encode(SdmaPollRegmem{.function = Compare::Equal, .addr = kFence, .value = 9}),
            (Words<SdmaPollRegmem>{0xb0000008, 0x34560040, 0x7f12, 9, 0xffffffff, 0x0fff0004}));
}

}  // namespace
}  // namespace doorbell::amd::hw
