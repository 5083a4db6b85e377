// Packets of gfx10 and SDMA 5.2, which tinygrad does not drive, against what others write there,
// evaluated by hand: the kernel's emitters (torvalds/linux gfx_v10_0.c and sdma_v5_2.c, with the
// macros of nvd.h and navi10_sdma_pkt_open.h), and the KFD's own tests, which launch from user
// queues of PM4 on every chip (ROCm/rocm-systems 1b1610f
// projects/rocr-runtime/libhsakmt/tests/kfdtest/src: Dispatch.cpp BuildIb(), PM4Packet.cpp
// InitPacketNV()).
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

// gfx_v10_0_emit_mem_sync(): GL2 and GLM written back and invalidated, GL1, GLV, GLK, GLI
// invalidated; a poll interval of 10. gfx_v12_0_emit_mem_sync() sends the same words, though gfx12
// has neither GLM nor GL1.
TEST(Gfx10, AcquiresAsTheKernelDoes) {
  EXPECT_EQ(encode(AcquireMem{.size = 0xff'ffff'ffff'ffff,
                              .poll_interval = 0xa,
                              .gli_inv = 1,
                              .glm_wb = true,
                              .glm_inv = true,
                              .glk_inv = true,
                              .glv_inv = true,
                              .gl1_inv = true,
                              .gl2_inv = true,
                              .gl2_wb = true}),
            (Words<AcquireMem>{0xc0065800, 0, 0xffffffff, 0xffffff, 0, 0, 0xa, 0xc3b1}));
}

// gfx_v10_0_ring_emit_fence(): GCR_SEQ, GL2_WB, GLM_INV, GLM_WB, CACHE_POLICY(3), event 0x14 with
// index 5; 64 bits of data, an interrupt when they are confirmed.
TEST(Gfx10, ReleasesAsTheKernelDoes) {
  EXPECT_EQ(encode(ReleaseMem{.glm_wb = true,
                              .glm_inv = true,
                              .gl2_wb = true,
                              .seq = GcrSequence::Forward,
                              .cache_policy = CachePolicy::Bypass,
                              .int_sel = ReleaseInterrupt::AfterWriteConfirm,
                              .data_sel = ReleaseData::Data64,
                              .addr = kFence,
                              .data = 0x1'0000'0009}),
            (Words<ReleaseMem>{0xc0064900, 0x06603514, 0x42000000, 0x34560040, 0x7f12, 9, 1, 0}));
}

// gfx_v10_0_ring_emit_ib_compute() and gfx_v10_0_ring_emit_pipeline_sync(): 0x123 words for VMID 5;
// a wait of the ME until memory is equal, at intervals of 4.
TEST(Gfx10, RunsIndirectBuffersAndWaitsAsTheKernelDoes) {
  EXPECT_EQ(encode(IndirectBuffer{.addr = kFrom, .words = 0x123, .vmid = 5}),
            (Words<IndirectBuffer>{0xc0023f00, 0x2000, 0x7f11, 0x05800123}));
  EXPECT_EQ(encode(WaitRegMem{.function = Compare::Equal, .addr = kFence, .reference = 9}),
            (Words<WaitRegMem>{0xc0053c00, 0x13, 0x34560040, 0x7f12, 9, 0xffffffff, 4}));
}

// PM4AcquireMemoryPacket and PM4ReleaseMemoryPacket, polled, of 32 bits. Their headers have bit 1,
// "compute shader", too, which the compute engines ignore.
TEST(Gfx10, SynchronisesAsKfdtestDoes) {
  auto acquire = encode(AcquireMem{.size = 0xffff'ffff,
                                   .poll_interval = 4,
                                   .gli_inv = 1,
                                   .glk_inv = true,
                                   .glv_inv = true,
                                   .gl1_inv = true,
                                   .gl2_inv = true});
  EXPECT_EQ(acquire, (Words<AcquireMem>{0xc0065800, 0, 0xffffffff, 0, 0, 0, 4, 0x4381}));
  EXPECT_EQ(encode(ReleaseMem{.glv_inv = true,
                              .gl1_inv = true,
                              .gl2_inv = true,
                              .gl2_wb = true,
                              .seq = GcrSequence::Forward,
                              .int_sel = ReleaseInterrupt::DataAfterWriteConfirm,
                              .data_sel = ReleaseData::Low32,
                              .addr = kFence,
                              .data = 9,
                              .int_ctxid = 9}),
            (Words<ReleaseMem>{0xc0064900, 0x0070c514, 0x23000000, 0x34560040, 0x7f12, 9, 0, 9}));
}

// BuildIb(): a grid of 3 x 2 x 1 threads in waves of 32, code at 0x7f2200001000, arguments in four
// user SGPRs, 32 VGPRs.
TEST(Gfx10, LaunchesAsKfdtestDoes) {
  const auto set = [](const auto& record) { return set_sh_reg(Generation::Gfx10, record); };
  EXPECT_EQ(set(ComputePgm{.entry = kTo}),
            (std::array<u32, 4>{0xc0027600, 0x20c, 0x22000010, 0x7f}));
  EXPECT_EQ(set(ComputePgmRsrc1{.vgprs = 4, .sgprs = 2, .float_mode = 0xc0})[2], 0xc0084u);
  EXPECT_EQ(set(ComputePgmRsrc2{.user_sgpr = 4,
                                .trap_present = true,
                                .tgid_x_en = true,
                                .tidig_comp_cnt = 1,
                                .excp_en_msb = 1})[2],
            0x28c8u);
  EXPECT_EQ(kComputeTmpringSize.at(Generation::Gfx10) - kShRegStart, 0x218u);
  EXPECT_EQ(kComputeUserData0.at(Generation::Gfx10) - kShRegStart, 0x240u);
  const u32 initiator = encode(DispatchInitiator{
      .force_start_at_000 = false, .use_thread_dimensions = true, .cs_w32_en = true})[0];
  EXPECT_EQ(initiator, 0x8021u);
  EXPECT_EQ(encode(DispatchDirect{.compute = true, .x = 3, .y = 2, .z = 1, .initiator = initiator}),
            (Words<DispatchDirect>{0xc0031502, 3, 2, 1, 0x8021}));
}

// sdma_v5_2_emit_copy_buffer(), of the most that newer kernels give a packet, 1 << 30.
TEST(Sdma52, CopiesAsTheKernelDoes) {
  EXPECT_EQ(encode(SdmaCopyLinear{.count = 0x12344, .src = kFrom, .dst = kTo}),
            (Words<SdmaCopyLinear>{1, 0x12344, 0, 0x2000, 0x7f11, 0x1000, 0x7f22}));
  EXPECT_EQ(encode(SdmaCopyLinear{.count = (1u << 30) - 1, .src = kFrom, .dst = kTo})[1],
            0x3fffffffu);
}

// sdma_v5_2_ring_emit_fence(): MTYPE 3, and a trap; sdma_v5_2_ring_emit_pipeline_sync(): a poll of
// memory until it is equal (3), retried 0xfff times at intervals of 4.
TEST(Sdma52, FencesAndPollsAsTheKernelDoes) {
  EXPECT_EQ(encode(SdmaFence{.mtype = 3, .addr = kFence, .data = 9}),
            (Words<SdmaFence>{0x30005, 0x34560040, 0x7f12, 9}));
  EXPECT_EQ(encode(SdmaTrap{}), (Words<SdmaTrap>{6, 0}));
  EXPECT_EQ(encode(SdmaPollRegmem{.function = Compare::Equal, .addr = kFence, .value = 9}),
            (Words<SdmaPollRegmem>{0xb0000008, 0x34560040, 0x7f12, 9, 0xffffffff, 0x0fff0004}));
}

// sdma_v5_2_emit_fill_buffer(): bytes, less one.
TEST(Sdma52, FillsAsTheKernelDoes) {
  EXPECT_EQ(
      encode(SdmaConstFill{.fill_size = FillSize::Byte, .dst = kTo, .data = 0xaa, .count = 0xfff}),
      (Words<SdmaConstFill>{11, 0x1000, 0x7f22, 0xaa, 0xfff}));
}

}  // namespace
}  // namespace doorbell::amd::hw
