// PM4 packets against words that others emit: unless a test says else, tinygrad's AMDComputeQueue
// (tinygrad/runtime/ops_amd.py of August 2026), called with a device that has the registers of GC
// 9.4.3 or 11.0.0, its queue dumped.
#include <gtest/gtest.h>

#include "base/bits/print.h"
#include "drivers/amd/hw/pm4/flow.h"
#include "drivers/amd/hw/pm4/memory.h"
#include "drivers/amd/hw/pm4/release.h"
#include "drivers/amd/hw/pm4/sync.h"

namespace doorbell::amd::hw {
namespace {

constexpr u64 kSignal = 0x7f12'3456'0040;

// wait(signal at kSignal, 7) and poll_bit(0x7f0000001000, 5, 0xff)
static_assert(encode(WaitRegMem{.addr = kSignal, .reference = 7}) ==
              Words<WaitRegMem>{0xc0053c00, 0x15, 0x34560040, 0x7f12, 7, 0xffffffff, 4});
static_assert(
    encode(WaitRegMem{
        .function = Compare::Equal, .addr = 0x7f00'0000'1000, .reference = 5, .mask = 0xff}) ==
    Words<WaitRegMem>{0xc0053c00, 0x13, 0x1000, 0x7f00, 5, 0xff, 4});

// memory_barrier()'s flush of HDP
static_assert(encode(WaitReg{.function = Compare::GreaterEqual,
                             .operation = WaitOperation::WriteWaitWrite,
                             .reg = 0xe26,
                             .done_reg = 0xe27,
                             .reference = 0xffffffff}) ==
              Words<WaitReg>{0xc0053c00, 0x45, 0xe26, 0xe27, 0xffffffff, 0xffffffff, 4});

// acquire_mem(addr=0x123456789a, sz=0x1000) of gfx9 and gfx11, and exec()'s acquire_mem(gli=0,
// gl2=0)
static_assert(encode(AcquireMemGfx9{.tc_wb_action_ena = true,
                                    .tcl1_action_ena = true,
                                    .tc_action_ena = true,
                                    .sh_kcache_action_ena = true,
                                    .sh_icache_action_ena = true,
                                    .size = 0x1000,
                                    .base = 0x123456789a}) ==
              Words<AcquireMemGfx9>{0xc0055800, 0x28c40000, 0x1000, 0, 0x3456789a, 0x12, 0xa});
constexpr AcquireMem kAllCaches{.size = 0x1000,
                                .base = 0x123456789a,
                                .gli_inv = 1,
                                .glm_wb = true,
                                .glm_inv = true,
                                .glk_wb = true,
                                .glk_inv = true,
                                .glv_inv = true,
                                .gl1_inv = true,
                                .gl2_inv = true,
                                .gl2_wb = true};
static_assert(encode(kAllCaches) ==
              Words<AcquireMem>{0xc0065800, 0, 0x1000, 0, 0x3456789a, 0x12, 0, 0xc3f1});
static_assert(encode(AcquireMem{.size = ~u64{0},
                                .glm_wb = true,
                                .glm_inv = true,
                                .glk_wb = true,
                                .glk_inv = true,
                                .glv_inv = true,
                                .gl1_inv = true}) ==
              Words<AcquireMem>{0xc0065800, 0, 0xffffffff, 0xffffffff, 0, 0, 0, 0x3f0});

// The kernel: gfx_v9_0_emit_mem_sync writes this control word for INV and WB of L2, L1 and scalar
// caches, with the whole range as 0xffffffff, 0xffffff.
// [torvalds/linux drivers/gpu/drm/amd/amdgpu/gfx_v9_0.c gfx_v9_0_emit_mem_sync; soc15d.h]
static_assert(encode(AcquireMemGfx9{.tc_wb_action_ena = true,
                                    .tcl1_action_ena = true,
                                    .tc_action_ena = true,
                                    .sh_kcache_action_ena = true,
                                    .sh_icache_action_ena = true}) ==
              Words<AcquireMemGfx9>{0xc0055800,
                                    1u << 29 | 1u << 27 | 1u << 23 | 1u << 22 | 1u << 18,
                                    0xffffffff, 0xffffff, 0, 0, 0xa});

// signal(): release_mem(kSignal, 0x123456789abcdef0, 32 bits, no interrupt, cache_flush=True)
static_assert(encode(ReleaseMemGfx9{.tc_wb_action_ena = true,
                                    .tc_nc_action_ena = true,
                                    .data_sel = ReleaseData::Low32,
                                    .addr = kSignal,
                                    .data = 0x123456789abcdef0}) ==
              Words<ReleaseMemGfx9>{0xc0064900, 0x88514, 0x20000000, 0x34560040, 0x7f12, 0x9abcdef0,
                                    0x12345678, 0});
static_assert(encode(ReleaseMem{.glm_wb = true,
                                .glm_inv = true,
                                .glv_inv = true,
                                .gl1_inv = true,
                                .gl2_inv = true,
                                .gl2_wb = true,
                                .seq = GcrSequence::Forward,
                                .data_sel = ReleaseData::Low32,
                                .addr = kSignal,
                                .data = 0x123456789abcdef0}) ==
              Words<ReleaseMem>{0xc0064900, 0x70f514, 0x20000000, 0x34560040, 0x7f12, 0x9abcdef0,
                                0x12345678, 0});
// release_mem(0x7f1234560080, 5, 32 bits, interrupt after the write, ctxid=5); timestamp(); write
static_assert(encode(ReleaseMem{.int_sel = ReleaseInterrupt::AfterWriteConfirm,
                                .data_sel = ReleaseData::Low32,
                                .addr = 0x7f12'3456'0080,
                                .data = 5,
                                .int_ctxid = 5}) ==
              Words<ReleaseMem>{0xc0064900, 0x514, 0x22000000, 0x34560080, 0x7f12, 5, 0, 5});
static_assert(encode(ReleaseMem{.data_sel = ReleaseData::GpuClockCounter,
                                .addr = 0x7f12'3456'0048}) ==
              Words<ReleaseMem>{0xc0064900, 0x514, 0x60000000, 0x34560048, 0x7f12, 0, 0, 0});
static_assert(encode(ReleaseMemGfx9{.data_sel = ReleaseData::Data64,
                                    .addr = 0x7f00'0000'1000,
                                    .data = 0x1122334455667788}) ==
              Words<ReleaseMemGfx9>{0xc0064900, 0x514, 0x40000000, 0x1000, 0x7f00, 0x55667788,
                                    0x11223344, 0});

// exec()'s launch of 3x4x5 groups, gfx9 and gfx11, and its CS_PARTIAL_FLUSH
static_assert(encode(DispatchInitiator{}) == Words<DispatchInitiator>{0x5});
static_assert(encode(DispatchInitiator{.cs_w32_en = true}) == Words<DispatchInitiator>{0x8005});
static_assert(encode(DispatchDirect{.x = 3, .y = 4, .z = 5, .initiator = 0x8005}) ==
              Words<DispatchDirect>{0xc0031500, 3, 4, 5, 0x8005});
static_assert(encode(EventWrite{}) == Words<EventWrite>{0xc0004600, 0x407});

// pmc_read(): a counter into memory. bind(): an indirect buffer of 0x123 words. pred_exec(2).
static_assert(encode(CopyData{.src_sel = CopySource::PerfCounters,
                              .wr_confirm = true,
                              .src = 0x1234,
                              .dst = 0x7f00'0000'1000}) ==
              Words<CopyData>{0xc0044000, 0x100204, 0x1234, 0, 0x1000, 0x7f00});
// The kernel's fill of GDS on a compute ring, of 0x1000 bytes. [gfx_v9_0.c
// gfx_v9_0_do_edc_gds_workarounds: PACKET3(PACKET3_DMA_DATA, 5), CP_SYNC | DST_SEL(1) | SRC_SEL(2)
// | ENGINE(0), 0, 0, 0, 0, CMD_RAW_WAIT | size]
static_assert(encode(DmaData{.dst_sel = DmaTarget::Gds,
                             .src_sel = DmaSource::Data,
                             .byte_count = 0x1000,
                             .raw_wait = true}) ==
              Words<DmaData>{0xc0055000, 0xc0100000, 0, 0, 0, 0, 0x40001000});
// A copy through the L2, where Mesa has V_411_SRC_ADDR_TC_L2 and V_411_DST_ADDR_TC_L2.
static_assert(
    encode(DmaData{.src = 0x7f11'2233'4441, .dst = 0x7f12'3456'0083, .byte_count = 0x123}) ==
    Words<DmaData>{0xc0055000, 0xe0300000, 0x22334441, 0x7f11, 0x34560083, 0x7f12, 0x123});
static_assert(encode(IndirectBuffer{.addr = 0x7f11'2233'4440, .words = 0x123}) ==
              Words<IndirectBuffer>{0xc0023f00, 0x22334440, 0x7f11, 0x800123});
static_assert(encode(PredExec{.count = 3, .xcc_mask = 2}) ==
              Words<PredExec>{0xc0002300, 0x2000003});

// The kernel's filler of one word. [gfx_v10_0.c: .nop = PACKET3(PACKET3_NOP, 0x3FFF)]
static_assert(encode(Nop{}) == Words<Nop>{0xffff1000});

// The kernel's write of a register of the KIQ, here without its payload.
// [gfx_v10_0.c gfx_v10_0_ring_emit_wreg: PACKET3(PACKET3_WRITE_DATA, 3), (1 << 16), reg, 0, val]
static_assert(encode(WriteData{
                  .dst_sel = WriteTarget::Register, .one_addr = true, .addr = 0x1234}) ==
              Words<WriteData>{0xc0033700, 0x10000, 0x1234, 0});

// A launch of the compute queue with its size in memory.
// [Mesa radv_cmd_buffer.c: PKT3(PKT3_DISPATCH_INDIRECT, 2, 0) | PKT3_SHADER_TYPE_S(1), va, va >>
// 32, initiator]
static_assert(encode(DispatchIndirect{.compute = true, .addr = 0x7f00'0000'1000, .initiator = 5}) ==
              Words<DispatchIndirect>{0xc0021602, 0x1000, 0x7f00, 5});

TEST(Pm4, DecodesWhatOthersEmit) {
  constexpr Words<ReleaseMem> words{0xc0064900, 0x70f514,   0x20000000, 0x34560040,
                                    0x7f12,     0x9abcdef0, 0x12345678, 0};
  auto release = try_decode<ReleaseMem>(words);
  ASSERT_TRUE(release.has_value());
  EXPECT_EQ(release->addr, kSignal);
  EXPECT_EQ(release->data_sel, ReleaseData::Low32);
  EXPECT_TRUE(release->gl2_wb);
  EXPECT_FALSE(release->gl2_discard);
  EXPECT_EQ(stray_bits<ReleaseMem>(words), Words<ReleaseMem>{});
}

TEST(Pm4, RefusesAddressesThatPacketsCannotHold) {
  u64 odd = kSignal + 2;
  EXPECT_THROW(encode(WaitRegMem{.addr = odd}), InternalError);
  EXPECT_THROW(encode(ReleaseMem{.addr = odd}), InternalError);
  EXPECT_THROW(encode(IndirectBuffer{.addr = odd}), InternalError);
}

TEST(Pm4, PrintsNamesOfValues) {
  EXPECT_EQ(print(EventWrite{}),
            "EventWrite event=CsPartialFlush index=PartialFlush offload_enable=0");
  EXPECT_EQ(print(decode<EventWrite>(Words<EventWrite>{0xc0004600, 0x739})),
            "EventWrite event=0x39 index=7 offload_enable=0");
}

}  // namespace
}  // namespace doorbell::amd::hw
