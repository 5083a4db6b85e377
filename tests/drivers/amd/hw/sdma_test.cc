// SDMA packets against words that others emit: unless a test says else, tinygrad's AMDCopyQueue
// (tinygrad/runtime/ops_amd.py of August 2026) with the packet headers of SDMA 4.0 or 6.0, dumped.
#include <gtest/gtest.h>

#include "drivers/amd/hw/sdma/copy.h"
#include "drivers/amd/hw/sdma/sync.h"

namespace doorbell::amd::hw {
namespace {

constexpr u64 kSignal = 0x7f12'3456'0040, kFrom = 0x7f11'0000'2000, kTo = 0x7f22'0000'1000;

// copy(kTo, kFrom, 0x12345), and the first of two packets of a copy beyond the limit of 4.x and 6.x
static_assert(encode(SdmaCopyLinear{.count = 0x12344, .src = kFrom, .dst = kTo}) ==
              Words<SdmaCopyLinear>{1, 0x12344, 0, 0x2000, 0x7f11, 0x1000, 0x7f22});
static_assert(kSdmaMaxCopy4 - 1 == 0x3fffff && kSdmaMaxCopy6 - 1 == 0x3fffffff);
static_assert(encode(SdmaCopyLinear{.count = kSdmaMaxCopy6 - 1, .src = kFrom, .dst = kTo}) ==
              Words<SdmaCopyLinear>{1, 0x3fffffff, 0, 0x2000, 0x7f11, 0x1000, 0x7f22});

// signal(kSignal, 9) of 4.x, and of 6.x with MTYPE 3
static_assert(encode(SdmaFence{.addr = kSignal, .data = 9}) ==
              Words<SdmaFence>{5, 0x34560040, 0x7f12, 9});
static_assert(encode(SdmaFence{.mtype = 3, .addr = kSignal, .data = 9}) ==
              Words<SdmaFence>{0x30005, 0x34560040, 0x7f12, 9});
static_assert(encode(SdmaTrap{.int_context = 5}) == Words<SdmaTrap>{6, 5});

// wait(kSignal, 9); timestamp
static_assert(encode(SdmaPollRegmem{.addr = kSignal, .value = 9}) ==
              Words<SdmaPollRegmem>{0xd0000008, 0x34560040, 0x7f12, 9, 0xffffffff, 0xfff0004});
static_assert(encode(SdmaTimestamp{.addr = 0x7f12'3456'0048}) ==
              Words<SdmaTimestamp>{0x20d, 0x34560048, 0x7f12});

// write(kFrom, 0x11223344) before its data, and with 64 bits
static_assert(encode(SdmaWrite{.dst = kFrom}) == Words<SdmaWrite>{2, 0x2000, 0x7f11, 0});
static_assert(encode(SdmaWrite{.dst = kFrom, .count = 1}) ==
              Words<SdmaWrite>{2, 0x2000, 0x7f11, 1});

// _submit() of a bound queue of 0x20 words
static_assert(encode(SdmaIndirect{.addr = 0x7f11'2233'4440, .words = 0x20}) ==
              Words<SdmaIndirect>{4, 0x22334440, 0x7f11, 0x20, 0, 0});

// The kernel's fill of 0x1000 bytes: SDMA_OP_CONST_FILL, dst, dst >> 32, data, bytes - 1.
// [torvalds/linux sdma_v4_0.c sdma_v4_0_emit_fill_buffer]; in words: Mesa sets fillsize 2, bits
// 31:30.
static_assert(encode(SdmaConstFill{
                  .fill_size = FillSize::Byte, .dst = kTo, .data = 0xaa, .count = 0xfff}) ==
              Words<SdmaConstFill>{11, 0x1000, 0x7f22, 0xaa, 0xfff});
static_assert(encode(SdmaConstFill{.dst = kTo, .data = 7, .count = 3})[0] == (11u | 2u << 30));

// The kernel's invalidation: SDMA_PKT_HEADER_OP(SDMA_OP_GCR_REQ), base 0, GCR_CONTROL of GL2_INV |
// GL2_WB | GLM_INV | GL1_INV | GLV_INV | GLK_INV | GLI_INV(1) in 31:16, then 0 and 0.
// [torvalds/linux sdma_v5_2.c sdma_v5_2_ring_emit_mem_sync(), SDMA_GCR_*, worked out by hand; the
// same in sdma_v7_0.c sdma_v7_0_ring_emit_mem_sync()]
static_assert(encode(SdmaGcr{.sub_op = SdmaGcr::kKernel,
                             .gli_inv = 1,
                             .glm_inv = true,
                             .glk_inv = true,
                             .glv_inv = true,
                             .gl1_inv = true,
                             .gl2_inv = true,
                             .gl2_wb = true}) == Words<SdmaGcr>{0x11, 0, 0xc3a10000, 0, 0});
// ROCr's before and behind copies: SDMA_OP_GCR | SDMA_SUBOP_USER_GCR << 8, GL2_WB and GLK_WB,
// before also GL2_INV, GL1_INV, GLV_INV and GLK_INV. [ROCm/rocm-systems 1b1610f
// amd_blit_sdma.cpp#1087 BuildGCRCommand(), sdma_registers.h#649, worked out by hand]
static_assert(encode(SdmaGcr{.glk_wb = true,
                             .glk_inv = true,
                             .glv_inv = true,
                             .gl1_inv = true,
                             .gl2_inv = true,
                             .gl2_wb = true}) == Words<SdmaGcr>{0x111, 0, 0xc3c00000, 0, 0});
static_assert(encode(SdmaGcr{.glk_wb = true, .gl2_wb = true}) ==
              Words<SdmaGcr>{0x111, 0, 0x80400000, 0, 0});
static_assert(
    encode(SdmaGcr{
        .base = 0x7f12'3456'0080, .limit = 0x7f12'3456'1000, .range_is_pa = true, .vmid = 1}) ==
    Words<SdmaGcr>{0x111, 0x34560080, 0x7f12, 0x34561004, 0x01007f12});

// The kernel's register write: SDMA_OP_SRBM_WRITE with all bytes enabled.
// [sdma_v4_0.c sdma_v4_0_ring_emit_wreg]
static_assert(encode(SdmaSrbmWrite{.reg = 0x1234, .data = 5}) ==
              Words<SdmaSrbmWrite>{0xf000000e, 0x1234, 5});

// ROCr's signal decrement: SDMA_OP_ATOMIC | SDMA_ATOMIC_ADD64 << 25, adding -1.
// [ROCR-Runtime amd_blit_sdma.cpp BuildAtomicDecrementCommand, sdma_registers.h]
static_assert(encode(SdmaAtomic{.addr = kSignal, .data = ~u64{0}}) ==
              Words<SdmaAtomic>{10 | 47u << 25, 0x34560040, 0x7f12, 0xffffffff, 0xffffffff, 0, 0,
                                0});

// [sdma_v4_0.c sdma_v4_0_ring_insert_nop: nop | SDMA_PKT_NOP_HEADER_COUNT(count - 1)]
static_assert(encode(SdmaNop{.count = 6}) == Words<SdmaNop>{6u << 16});

TEST(Sdma, RefusesAddressesThatPacketsCannotHold) {
  u64 odd = kSignal + 4;
  EXPECT_THROW(encode(SdmaTimestamp{.addr = odd}), InternalError);
  EXPECT_THROW(encode(SdmaIndirect{.addr = odd}), InternalError);
  u32 beyond = kSdmaMaxCopy6;
  EXPECT_THROW(encode(SdmaCopyLinear{.count = beyond}), InternalError);
}

}  // namespace
}  // namespace doorbell::amd::hw
