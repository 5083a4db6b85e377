// Packets of gfx10 and SDMA 5.2, which tinygrad does not drive, against what the kernel's emitters
// write: gfx_v10_0.c and sdma_v5_2.c of torvalds/linux, with the macros of nvd.h and
// navi10_sdma_pkt_open.h, evaluated by hand.
#include <gtest/gtest.h>

#include "drivers/amd/hw/pm4/release.h"
#include "drivers/amd/hw/pm4/sync.h"
#include "drivers/amd/hw/sdma/copy.h"
#include "drivers/amd/hw/sdma/sync.h"

namespace doorbell::amd::hw {
namespace {

constexpr u64 kFence = 0x7f12'3456'0040, kFrom = 0x7f11'0000'2000, kTo = 0x7f22'0000'1000;

// gfx_v10_0_emit_mem_sync(): GL2 and GLM written back and invalidated, GL1, GLV, GLK, GLI
// invalidated; a poll interval of 10.
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

// sdma_v5_2_emit_copy_buffer(), of the most that sdma_v5_0.c and later give a packet, 1 << 30.
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
