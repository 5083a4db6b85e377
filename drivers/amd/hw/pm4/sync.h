// PM4 packets that order work and move caches: ACQUIRE_MEM, RELEASE_MEM, EVENT_WRITE. Gfx9 names
// caches by CP_COHER_CNTL (TC = L2, TCL1 = vector L1, SH_KCACHE, SH_ICACHE), gfx10 and later by
// GCR_CNTL (GL2, GL1, GLV = vector L0, GLK = scalar, GLI = instructions, GLM = metadata). Which
// bits an access needs is the driver's policy and the emulator's cache model.
#pragma once

#include "base/bits/record.h"
#include "drivers/amd/hw/pm4/memory.h"
#include "drivers/amd/hw/pm4/opcode.h"

namespace doorbell::amd::hw {

// Of VGT_EVENT_TYPE those that compute queues meet.
// [torvalds/linux include/soc21_enum.h VGT_EVENT_TYPE; vega10_enum.h]
enum class Event : u8 {
  CacheFlushTs = 4,
  CsPartialFlush = 7,
  CacheFlushAndInvTs = 20,
  CacheFlushAndInv = 22,
  PerfCounterStart = 23,
  PerfCounterStop = 24,
  PerfCounterSample = 27,
  BottomOfPipeTs = 40,
  CsDone = 47,
  ThreadTraceStart = 51,
  ThreadTraceStop = 52,
  ThreadTraceMarker = 53,
  ThreadTraceFinish = 55
};
std::string_view name_of(Event event);

// [nvd.h EVENT_INDEX; kfd_pm4_headers_ai.h mec_release_mem_event_index_enum]
enum class EventIndex : u8 {
  Other,
  ZpassDone,
  SamplePipelineStat,
  SampleStreamoutStat,
  PartialFlush,
  EndOfPipe,
  ShaderDone
};
std::string_view name_of(EventIndex index);

// EVENT_WRITE: sends an event down the pipe. CsPartialFlush with index PartialFlush stalls the
// command processor until all launched waves have retired.
// [nvd.h PACKET3_EVENT_WRITE, EVENT_TYPE, EVENT_INDEX]
struct EventWrite {
  static constexpr Pm4Id kId{0x46, "EVENT_WRITE"};
  static constexpr u32 kWords = 2, kHeader = packet3(kId, kWords);

  Event event = Event::CsPartialFlush;
  EventIndex index = EventIndex::PartialFlush;
  bool offload_enable = false;

  static constexpr void fields(auto& p, auto f) {
    f("event", word(1, 5, 0), p.event);
    f("index", word(1, 11, 8), p.index);
    f("offload_enable", word(1, 31, 31), p.offload_enable);
  }
};
static_assert(sound<EventWrite>());

// Everything, in the units of `size`.
inline constexpr u64 kWholeMemory = (u64{1} << 56) - 1;

// ACQUIRE_MEM of gfx9: for the range, the caches of the set bits are written back and invalidated;
// the command processor goes on when that is done.
// [soc15d.h PACKET3_ACQUIRE_MEM, its list of words and PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_*]
struct AcquireMemGfx9 {
  static constexpr Pm4Id kId{0x58, "ACQUIRE_MEM", Generations::Gfx9};
  static constexpr u32 kWords = 7, kHeader = packet3(kId, kWords);

  bool tc_nc_action_ena = false, tc_wc_action_ena = false, tc_inv_metadata_action_ena = false;
  bool tcl1_vol_action_ena = false;
  bool tc_wb_action_ena = false;  // L2: write back
  bool tcl1_action_ena = false;   // vector L1: invalidate
  bool tc_action_ena = false;     // L2: invalidate
  bool cb_action_ena = false, db_action_ena = false;
  bool sh_kcache_action_ena = false;  // scalar cache: invalidate
  bool sh_kcache_vol_action_ena = false;
  bool sh_icache_action_ena = false;  // instruction cache: invalidate
  bool sh_kcache_wb_action_ena = false;
  bool engine_pfp = false;  // graphics rings
  u64 size = kWholeMemory;  // in 256 bytes; the register behind the upper word keeps its low bits
  u64 base = 0;             // the address in 256 bytes
  u16 poll_interval = 10;

  static constexpr void fields(auto& p, auto f) {
    f("tc_nc_action_ena", word(1, 3, 3), p.tc_nc_action_ena);
    f("tc_wc_action_ena", word(1, 4, 4), p.tc_wc_action_ena);
    f("tc_inv_metadata_action_ena", word(1, 5, 5), p.tc_inv_metadata_action_ena);
    f("tcl1_vol_action_ena", word(1, 15, 15), p.tcl1_vol_action_ena);
    f("tc_wb_action_ena", word(1, 18, 18), p.tc_wb_action_ena);
    f("tcl1_action_ena", word(1, 22, 22), p.tcl1_action_ena);
    f("tc_action_ena", word(1, 23, 23), p.tc_action_ena);
    f("cb_action_ena", word(1, 25, 25), p.cb_action_ena);
    f("db_action_ena", word(1, 26, 26), p.db_action_ena);
    f("sh_kcache_action_ena", word(1, 27, 27), p.sh_kcache_action_ena);
    f("sh_kcache_vol_action_ena", word(1, 28, 28), p.sh_kcache_vol_action_ena);
    f("sh_icache_action_ena", word(1, 29, 29), p.sh_icache_action_ena);
    f("sh_kcache_wb_action_ena", word(1, 30, 30), p.sh_kcache_wb_action_ena);
    f("engine_pfp", word(1, 31, 31), p.engine_pfp);
    f("size", Bits{127, 64}, p.size);
    f("base", Bits{191, 128}, p.base);
    f("poll_interval", word(6, 15, 0), p.poll_interval);
  }
};
static_assert(sound<AcquireMemGfx9>());

// In which order the levels of cache act. [Mesa src/amd/common/sid.h S_586_SEQ, V_586_SEQ_*]
enum class GcrSequence : u8 { Parallel, Forward, Reverse };
std::string_view name_of(GcrSequence sequence);

// ACQUIRE_MEM of gfx10 and later: the same with GCR_CNTL, in an eighth word.
// [nvd.h PACKET3_ACQUIRE_MEM_GCR_CNTL_*; torvalds/linux gfx_v10_0.c gfx_v10_0_emit_mem_sync]
struct AcquireMem {
  static constexpr Pm4Id kId = AcquireMemGfx9::kId.on(Generations::Gfx10Up);
  static constexpr u32 kWords = 8, kHeader = packet3(kId, kWords);

  u32 coher_cntl = 0;  // 0 for the compute engines
  u64 size = kWholeMemory;
  u64 base = 0;
  u16 poll_interval = 0;
  u8 gli_inv = 0;  // 1 all, 2 the range, 3 the first of it
  u8 gl1_range = 0;
  bool glm_wb = false, glm_inv = false;
  bool glk_wb = false, glk_inv = false;
  bool glv_inv = false;
  bool gl1_inv = false;
  bool gl2_us = false;
  u8 gl2_range = 0;
  bool gl2_discard = false, gl2_inv = false, gl2_wb = false;
  GcrSequence seq = GcrSequence::Parallel;
  bool range_is_pa = false;

  static constexpr void fields(auto& p, auto f) {
    f("coher_cntl", word(1), p.coher_cntl);
    f("size", Bits{127, 64}, p.size);
    f("base", Bits{191, 128}, p.base);
    f("poll_interval", word(6, 15, 0), p.poll_interval);
    f("gli_inv", word(7, 1, 0), p.gli_inv);
    f("gl1_range", word(7, 3, 2), p.gl1_range);
    f("glm_wb", word(7, 4, 4), p.glm_wb);
    f("glm_inv", word(7, 5, 5), p.glm_inv);
    f("glk_wb", word(7, 6, 6), p.glk_wb);
    f("glk_inv", word(7, 7, 7), p.glk_inv);
    f("glv_inv", word(7, 8, 8), p.glv_inv);
    f("gl1_inv", word(7, 9, 9), p.gl1_inv);
    f("gl2_us", word(7, 10, 10), p.gl2_us);
    f("gl2_range", word(7, 12, 11), p.gl2_range);
    f("gl2_discard", word(7, 13, 13), p.gl2_discard);
    f("gl2_inv", word(7, 14, 14), p.gl2_inv);
    f("gl2_wb", word(7, 15, 15), p.gl2_wb);
    f("seq", word(7, 17, 16), p.seq);
    f("range_is_pa", word(7, 18, 18), p.range_is_pa);
  }
};
static_assert(sound<AcquireMem>());

}  // namespace doorbell::amd::hw
