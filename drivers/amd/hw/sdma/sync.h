// SDMA packets that order, signal, wait, and move caches.
#pragma once

#include "base/bits/record.h"
#include "drivers/amd/hw/pm4/sync.h"
#include "drivers/amd/hw/sdma/opcode.h"

namespace doorbell::amd::hw {

// FENCE: when all packets before it are done, 32 bits of data go to addr.
// [sdma_v6_0_0_pkt_open.h SDMA_PKT_FENCE_*; mtype to l2_policy from 5.0 on, llc_policy, cpv 6.0]
struct SdmaFence {
  static constexpr SdmaId kId{5, "FENCE"};
  static constexpr u32 kWords = 4, kHeader = sdma_header(kId);

  u8 mtype = 0;  // 3: uncached
  bool gcc = false, sys = false, snp = false, gpa = false;
  u8 l2_policy = 0;
  bool llc_policy = false, cpv = false;
  u64 addr = 0;
  u32 data = 0;

  static constexpr void fields(auto& p, auto f) {
    f("mtype", word(0, 18, 16), p.mtype);
    f("gcc", word(0, 19, 19), p.gcc);
    f("sys", word(0, 20, 20), p.sys);
    f("snp", word(0, 22, 22), p.snp);
    f("gpa", word(0, 23, 23), p.gpa);
    f("l2_policy", word(0, 25, 24), p.l2_policy);
    f("llc_policy", word(0, 26, 26), p.llc_policy);
    f("cpv", word(0, 28, 28), p.cpv);
    f("addr", Bits{95, 34}, p.addr, Shift{2});
    f("data", word(3), p.data);
  }
};
static_assert(sound<SdmaFence>());

// TRAP: raises an interrupt that carries int_context.
// [sdma_v6_0_0_pkt_open.h SDMA_PKT_TRAP_*]
struct SdmaTrap {
  static constexpr SdmaId kId{6, "TRAP", std::nullopt};
  static constexpr u32 kWords = 2, kHeader = sdma_header(kId);

  u32 int_context = 0;

  static constexpr void fields(auto& p, auto f) { f("int_context", word(1, 27, 0), p.int_context); }
};
static_assert(sound<SdmaTrap>());

// POLL_REGMEM: waits until (*addr & mask) <function> value, looking every `interval`; gives up
// after retry_count looks, unless that is 0xfff: for ever. Without mem_poll addr is a register.
// [sdma_v6_0_0_pkt_open.h SDMA_PKT_POLL_REGMEM_*; sdma_v4_0.c sdma_v4_0_wait_reg_mem: "retry count,
// poll interval"]
struct SdmaPollRegmem {
  static constexpr SdmaId kId{8, "POLL_REGMEM"};
  static constexpr u32 kWords = 6, kHeader = sdma_header(kId);
  static constexpr u16 kForEver = 0xfff;

  u8 cache_policy = 0;
  bool cpv = false;
  bool hdp_flush = false;
  Compare function = Compare::GreaterEqual;
  bool mem_poll = true;
  u64 addr = 0;
  u32 value = 0, mask = ~u32{0};
  u16 interval = 4, retry_count = kForEver;

  static constexpr void fields(auto& p, auto f) {
    f("cache_policy", word(0, 22, 20), p.cache_policy);
    f("cpv", word(0, 24, 24), p.cpv);
    f("hdp_flush", word(0, 26, 26), p.hdp_flush);
    f("function", word(0, 30, 28), p.function);
    f("mem_poll", word(0, 31, 31), p.mem_poll);
    f("addr", Bits{95, 34}, p.addr, Shift{2});
    f("value", word(3), p.value);
    f("mask", word(4), p.mask);
    f("interval", word(5, 15, 0), p.interval);
    f("retry_count", word(5, 27, 16), p.retry_count);
  }
};
static_assert(sound<SdmaPollRegmem>());

// TIMESTAMP, get global: 64 bits of the GPU's clock go to addr.
// [sdma_v6_0_0_pkt_open.h SDMA_PKT_TIMESTAMP_GET_GLOBAL_*]
struct SdmaTimestamp {
  static constexpr SdmaId kId{13, "TIMESTAMP", 2};  // get global
  static constexpr u32 kWords = 3, kHeader = sdma_header(kId);

  u8 l2_policy = 0;
  bool llc_policy = false, cpv = false;
  u64 addr = 0;

  static constexpr void fields(auto& p, auto f) {
    f("l2_policy", word(0, 25, 24), p.l2_policy);
    f("llc_policy", word(0, 26, 26), p.llc_policy);
    f("cpv", word(0, 28, 28), p.cpv);
    f("addr", Bits{95, 35}, p.addr, Shift{3});
  }
};
static_assert(sound<SdmaTimestamp>());

// GCR_REQ: the caches of the set bits act on the range, as with ACQUIRE_MEM (pm4/sync.h). From 5.0
// on. Sub-op 0 is what the kernel puts into its own rings, USER_GCR what ROCr puts into its queues.
// GCR_CONTROL's bits 17:16 are SEQ and 18 RANGE_IS_PA, as GCR_CNTL's; ROCr's header has them the
// other way round, and leaves both 0. [GPUOpen-Drivers/pal c5e8000 gfx10_merged_sdma_packets.h
// gcr_control_18_16, gfx12CmdUtil.cpp AcquireMemGcrCntl; navi10_sdma_pkt_open.h
// SDMA_PKT_GCR_REQ_*; bits of GCR_CONTROL: sdma_v5_2.c SDMA_GCR_* and
// sdma_v5_2_ring_emit_mem_sync(); ROCr sdma_registers.h SDMA_PKT_GCR, amd_blit_sdma.cpp
// BuildGCRCommand()]
struct SdmaGcr {
  static constexpr SdmaId kId{17, "GCR_REQ", std::nullopt, Generations::Gfx10Up};
  static constexpr u32 kWords = 5, kHeader = sdma_header(kId);
  static constexpr u8 kKernel = 0, kUser = 1;  // sub-ops
  static constexpr bool matches(u8 sub_op) { return sub_op <= kUser; }

  u8 sub_op = kUser;
  u64 base = 0, limit = 0;  // of 128 bytes; both 0: everything
  u8 gli_inv = 0, gl1_range = 0;
  bool glm_wb = false, glm_inv = false, glk_wb = false, glk_inv = false;
  bool glv_inv = false, gl1_inv = false, gl2_us = false;
  u8 gl2_range = 0;
  bool gl2_discard = false, gl2_inv = false, gl2_wb = false;
  GcrSequence seq = GcrSequence::Parallel;
  bool range_is_pa = false;
  u8 vmid = 0;

  static constexpr void fields(auto& p, auto f) {
    f("sub_op", kSdmaSubOp, p.sub_op);
    f("base", Bits{79, 39}, p.base, Shift{7});
    f("gli_inv", word(2, 17, 16), p.gli_inv);
    f("gl1_range", word(2, 19, 18), p.gl1_range);
    f("glm_wb", word(2, 20, 20), p.glm_wb);
    f("glm_inv", word(2, 21, 21), p.glm_inv);
    f("glk_wb", word(2, 22, 22), p.glk_wb);
    f("glk_inv", word(2, 23, 23), p.glk_inv);
    f("glv_inv", word(2, 24, 24), p.glv_inv);
    f("gl1_inv", word(2, 25, 25), p.gl1_inv);
    f("gl2_us", word(2, 26, 26), p.gl2_us);
    f("gl2_range", word(2, 28, 27), p.gl2_range);
    f("gl2_discard", word(2, 29, 29), p.gl2_discard);
    f("gl2_inv", word(2, 30, 30), p.gl2_inv);
    f("gl2_wb", word(2, 31, 31), p.gl2_wb);
    f("seq", word(3, 1, 0), p.seq);
    f("range_is_pa", word(3, 2, 2), p.range_is_pa);
    f("limit", Bits{143, 103}, p.limit, Shift{7});
    f("vmid", word(4, 27, 24), p.vmid);
  }
};
static_assert(sound<SdmaGcr>());

// ATOMIC: *addr = op(*addr, data); with loop until the old value equals compare.
// [sdma_v6_0_0_pkt_open.h SDMA_PKT_ATOMIC_*; ROCR-Runtime sdma_registers.h SDMA_ATOMIC_ADD64]
struct SdmaAtomic {
  static constexpr SdmaId kId{10, "ATOMIC", std::nullopt};
  static constexpr u32 kWords = 8, kHeader = sdma_header(kId);
  static constexpr u8 kAdd64 = 47;

  bool loop = false, tmz = false;
  u8 cache_policy = 0;
  bool cpv = false;
  u8 atomic_op = kAdd64;
  u64 addr = 0, data = 0, compare = 0;
  u16 loop_interval = 0;

  static constexpr void fields(auto& p, auto f) {
    f("loop", word(0, 16, 16), p.loop);
    f("tmz", word(0, 18, 18), p.tmz);
    f("cache_policy", word(0, 22, 20), p.cache_policy);
    f("cpv", word(0, 24, 24), p.cpv);
    f("atomic_op", word(0, 31, 25), p.atomic_op);
    f("addr", Bits{95, 32}, p.addr);
    f("data", Bits{159, 96}, p.data);
    f("compare", Bits{223, 160}, p.compare);
    f("loop_interval", word(7, 12, 0), p.loop_interval);
  }
};
static_assert(sound<SdmaAtomic>());

// SRBM_WRITE: a register gets data, where byte_en has ones.
// [vega10_sdma_pkt_open.h SDMA_PKT_SRBM_WRITE_*]
struct SdmaSrbmWrite {
  static constexpr SdmaId kId{14, "SRBM_WRITE", std::nullopt};
  static constexpr u32 kWords = 3, kHeader = sdma_header(kId);

  u8 byte_en = 0xf;
  u32 reg = 0;
  u32 data = 0;

  static constexpr void fields(auto& p, auto f) {
    f("byte_en", word(0, 31, 28), p.byte_en);
    f("reg", word(1, 17, 0), p.reg);
    f("data", word(2), p.data);
  }
};
static_assert(sound<SdmaSrbmWrite>());

}  // namespace doorbell::amd::hw
