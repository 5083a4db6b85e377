// PM4 RELEASE_MEM: what happens when all work before it has ended. Two layouts of the word that
// names caches; the rest is the same.
#pragma once

#include "base/bits/record.h"
#include "drivers/amd/hw/pm4/sync.h"

namespace doorbell::amd::hw {

// [kfd_pm4_headers_ai.h mec_release_mem_dst_sel_enum]
enum class ReleaseTarget : u8 { MemoryController, Tcl2, QueueWritePointer, QueueWritePointerPoll };
std::string_view name_of(ReleaseTarget target);

// [nvd.h PACKET3_RELEASE_MEM_INT_SEL; kfd_pm4_headers_ai.h mec_release_mem_int_sel_enum]
enum class ReleaseInterrupt : u8 {
  None,
  Only,
  AfterWriteConfirm,
  DataAfterWriteConfirm,
  Unconditional,
  IfEqual32,
  IfEqual64
};
std::string_view name_of(ReleaseInterrupt interrupt);

// [nvd.h PACKET3_RELEASE_MEM_DATA_SEL; kfd_pm4_headers_ai.h mec_release_mem_data_sel_enum]
enum class ReleaseData : u8 { None, Low32, Data64, GpuClockCounter, CpPerfCounter, GdsData };
std::string_view name_of(ReleaseData data);

// RELEASE_MEM of gfx9, with an end-of-pipe event:
//   when all waves launched before have retired: act on the caches of the set bits; then write
//   data_sel's value to addr; then raise the interrupt of int_sel with int_ctxid.
// The queue must have an end-of-pipe buffer.
// [soc15d.h PACKET3_RELEASE_MEM, EOP_*; kfd_pm4_headers_ai.h pm4_mec_release_mem]
struct ReleaseMemGfx9 {
  static constexpr Pm4Id kId{0x49, "RELEASE_MEM", Generations::Gfx9};
  static constexpr u32 kWords = 8, kHeader = packet3(kId, kWords);

  Event event = Event::CacheFlushAndInvTs;
  EventIndex index = EventIndex::EndOfPipe;
  bool tcl1_vol_action_ena = false, tc_vol_action_ena = false;
  bool tc_wb_action_ena = false;  // L2: write back
  bool tcl1_action_ena = false, tc_action_ena = false;
  bool tc_nc_action_ena = false;  // of lines that are not coherent
  bool tc_wc_action_ena = false, tc_md_action_ena = false;
  CachePolicy cache_policy = CachePolicy::Lru;
  bool execute = false;
  bool pq_exe_status = false;
  ReleaseTarget dst_sel = ReleaseTarget::MemoryController;
  ReleaseInterrupt int_sel = ReleaseInterrupt::None;
  ReleaseData data_sel = ReleaseData::None;
  u64 addr = 0;
  u64 data = 0;
  u32 int_ctxid = 0;

  static constexpr void fields(auto& p, auto f) {
    f("event", word(1, 5, 0), p.event);
    f("index", word(1, 11, 8), p.index);
    f("tcl1_vol_action_ena", word(1, 12, 12), p.tcl1_vol_action_ena);
    f("tc_vol_action_ena", word(1, 13, 13), p.tc_vol_action_ena);
    f("tc_wb_action_ena", word(1, 15, 15), p.tc_wb_action_ena);
    f("tcl1_action_ena", word(1, 16, 16), p.tcl1_action_ena);
    f("tc_action_ena", word(1, 17, 17), p.tc_action_ena);
    f("tc_nc_action_ena", word(1, 19, 19), p.tc_nc_action_ena);
    f("tc_wc_action_ena", word(1, 20, 20), p.tc_wc_action_ena);
    f("tc_md_action_ena", word(1, 21, 21), p.tc_md_action_ena);
    f("cache_policy", word(1, 26, 25), p.cache_policy);
    f("execute", word(1, 28, 28), p.execute);
    f("pq_exe_status", word(1, 29, 29), p.pq_exe_status);
    f("dst_sel", word(2, 17, 16), p.dst_sel);
    f("int_sel", word(2, 26, 24), p.int_sel);
    f("data_sel", word(2, 31, 29), p.data_sel);
    f("addr", Bits{159, 98}, p.addr, Shift{2});
    f("data", Bits{223, 160}, p.data);
    f("int_ctxid", word(7, 27, 0), p.int_ctxid);
  }
};
static_assert(sound<ReleaseMemGfx9>());

// RELEASE_MEM of gfx10 and later: the same with the caches of GCR.
// [nvd.h PACKET3_RELEASE_MEM_GCR_*, _EXECUTE; Mesa src/amd/common/sid.h S_490_*]
struct ReleaseMem {
  static constexpr Pm4Id kId = ReleaseMemGfx9::kId.on(Generations::Gfx10Up);
  static constexpr u32 kWords = 8, kHeader = packet3(kId, kWords);

  Event event = Event::CacheFlushAndInvTs;
  EventIndex index = EventIndex::EndOfPipe;
  bool glm_wb = false, glm_inv = false;
  bool glv_inv = false;
  bool gl1_inv = false;
  bool gl2_us = false;
  u8 gl2_range = 0;
  bool gl2_discard = false, gl2_inv = false, gl2_wb = false;
  GcrSequence seq = GcrSequence::Parallel;
  bool glk_wb = false;  // gfx11 and later
  CachePolicy cache_policy = CachePolicy::Lru;
  bool execute = false;
  bool pq_exe_status = false;
  bool glk_inv = false;     // gfx11 and later
  bool pws_enable = false;  // gfx11 and later
  ReleaseTarget dst_sel = ReleaseTarget::MemoryController;
  ReleaseInterrupt int_sel = ReleaseInterrupt::None;
  ReleaseData data_sel = ReleaseData::None;
  u64 addr = 0;
  u64 data = 0;
  u32 int_ctxid = 0;

  static constexpr void fields(auto& p, auto f) {
    f("event", word(1, 5, 0), p.event);
    f("index", word(1, 11, 8), p.index);
    f("glm_wb", word(1, 12, 12), p.glm_wb);
    f("glm_inv", word(1, 13, 13), p.glm_inv);
    f("glv_inv", word(1, 14, 14), p.glv_inv);
    f("gl1_inv", word(1, 15, 15), p.gl1_inv);
    f("gl2_us", word(1, 16, 16), p.gl2_us);
    f("gl2_range", word(1, 18, 17), p.gl2_range);
    f("gl2_discard", word(1, 19, 19), p.gl2_discard);
    f("gl2_inv", word(1, 20, 20), p.gl2_inv);
    f("gl2_wb", word(1, 21, 21), p.gl2_wb);
    f("seq", word(1, 23, 22), p.seq);
    f("glk_wb", word(1, 24, 24), p.glk_wb);
    f("cache_policy", word(1, 26, 25), p.cache_policy);
    f("execute", word(1, 28, 28), p.execute);
    f("pq_exe_status", word(1, 29, 29), p.pq_exe_status);
    f("glk_inv", word(1, 30, 30), p.glk_inv);
    f("pws_enable", word(1, 31, 31), p.pws_enable);
    f("dst_sel", word(2, 17, 16), p.dst_sel);
    f("int_sel", word(2, 26, 24), p.int_sel);
    f("data_sel", word(2, 31, 29), p.data_sel);
    f("addr", Bits{159, 98}, p.addr, Shift{2});
    f("data", Bits{223, 160}, p.data);
    f("int_ctxid", word(7, 27, 0), p.int_ctxid);
  }
};
static_assert(sound<ReleaseMem>());

}  // namespace doorbell::amd::hw
