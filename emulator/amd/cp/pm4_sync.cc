// PM4 packets that order a queue's work and move its caches: ACQUIRE_MEM, RELEASE_MEM, EVENT_WRITE
// (pm4_interpreter.h). [nvd.h, soc15d.h; kfd_pm4_headers_ai.h pm4_mec_release_mem; Mesa
// src/amd/common/ac_cmdbuf* ac_emit_cp_release_mem, ac_emit_cp_acquire_mem]
#include "emulator/amd/cp/compare.h"
#include "emulator/amd/cp/pm4_interpreter.h"
#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

// RELEASE_MEM of any generation.
struct Pm4Interpreter::Release {
  hw::Event event = hw::Event::CacheFlushAndInvTs;
  hw::EventIndex index = hw::EventIndex::EndOfPipe;
  hw::ReleaseTarget target = hw::ReleaseTarget::MemoryController;
  hw::ReleaseInterrupt interrupt = hw::ReleaseInterrupt::None;
  hw::ReleaseData select = hw::ReleaseData::None;
  u64 addr = 0, data = 0;
  u32 context_id = 0;
  CacheActions caches;

  bool writes() const { return select != hw::ReleaseData::None; }
  unsigned bytes() const { return select == hw::ReleaseData::Low32 ? 4 : 8; }
  bool interrupts() const {
    return interrupt == hw::ReleaseInterrupt::Only ||
           interrupt == hw::ReleaseInterrupt::AfterWriteConfirm ||
           interrupt == hw::ReleaseInterrupt::Unconditional;
  }
};

namespace {

// [base, base + size) in units of 256 bytes, as the packets give it.
void set_range(CacheActions& actions, u64 base, u64 size) {
  constexpr u64 kUnits = u64{1} << 56;
  actions.start = base >= kUnits ? ~u64{0} : base << 8;
  u64 bytes = size >= kUnits - 1 ? ~u64{0} : size << 8;
  actions.end = bytes > ~u64{0} - actions.start ? ~u64{0} : actions.start + bytes;
}

template <class Release, class Packet>
Release common(const Packet& packet) {
  Release release;
  release.event = packet.event;
  release.index = packet.index;
  release.target = packet.dst_sel;
  release.interrupt = packet.int_sel;
  release.select = packet.data_sel;
  release.addr = packet.addr;
  release.data = packet.data;
  release.context_id = packet.int_ctxid;
  return release;
}

}  // namespace

// What is dirty below a cache that is invalidated must not be lost: L2 first.
void Pm4Interpreter::act_on_caches(const CacheActions& l2, const CacheActions& upper) {
  for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc) {
    if (!(mask_ >> xcc & 1)) continue;
    amdgpu::act_on_caches(gpu_, xcc, l2);
    amdgpu::act_on_caches(gpu_, xcc, upper);
  }
}

// False: the queue has stopped. `base` and `size` are in units of 256 bytes.
bool Pm4Interpreter::check_range(u64 base, u64 size) {
  // Of what addresses can be: 48 bits.
  constexpr u64 kEverything = (u64{1} << 40) - 1;
  if (base == 0 && size >= kEverything && (size & (size + 1)) == 0) return true;
  constexpr u64 kUnits = u64{1} << 40;
  if (base < kUnits && size < kUnits && size > 0 &&
      gpu_.memory.in_one_mapping(base << 8, size << 8))
    return true;
  return !report_violation(kAcquireRange, fmt::format("{} of {:#x} from {:#x} on, in 256 bytes",
                                                      describe(), size, base));
}

Outcome Pm4Interpreter::execute(const hw::AcquireMemGfx9& packet) {
  if (!check_interval(is_acquire_interval(packet.poll_interval), packet.poll_interval) ||
      !check_graphics("the PFP", packet.engine_pfp) ||
      !check_graphics("caches of colour or depth", packet.cb_action_ena || packet.db_action_ena))
    return Outcome::Stop;
  if (!check_range(packet.base, packet.size)) return Outcome::Stop;
  CacheActions upper{.vector = packet.tcl1_action_ena,
                     .scalar = packet.sh_kcache_action_ena,
                     .instructions = packet.sh_icache_action_ena};
  CacheActions l2{.l2_invalidate = packet.tc_action_ena, .l2_write_back = packet.tc_wb_action_ena};
  set_range(upper, packet.base, packet.size);
  set_range(l2, packet.base, packet.size);
  act_on_caches(l2, upper);
  return Outcome::Done;
}

Outcome Pm4Interpreter::execute(const hw::AcquireMem& packet) {
  if (packet.gl2_discard) return stopped(describe() + ": GL2_DISCARD is not emulated");
  // Caches are named by GCR_CNTL. [linux gfx_v10_0_mem_sync: CP_COHER_CNTL 0]
  if (packet.coher_cntl != 0 &&
      report_violation(kReservedBits,
                       fmt::format("{} has COHER_CNTL {:#x}", describe(), u32{packet.coher_cntl})))
    return Outcome::Stop;
  if (!check_interval(is_acquire_interval(packet.poll_interval), packet.poll_interval) ||
      !check_range(packet.base, packet.size) ||
      (packet.range_is_pa &&
       report_violation(kAcquireRange, describe() + " of a range of physical addresses")) ||
      !check_unusual("GL2_US", packet.gl2_us))
    return Outcome::Stop;
  CacheActions upper{.vector = packet.glv_inv,
                     .scalar = packet.glk_inv,
                     .instructions = packet.gli_inv != 0,
                     .gl1 = packet.gl1_inv};
  CacheActions l2{.l2_invalidate = packet.gl2_inv, .l2_write_back = packet.gl2_wb};
  // A range field of 0 means all, whatever base and size say. [Mesa sid.h V_586_GL2_ALL]
  if (packet.gl1_range != 0) set_range(upper, packet.base, packet.size);
  if (packet.gl2_range != 0) set_range(l2, packet.base, packet.size);
  act_on_caches(l2, upper);
  return Outcome::Done;
}

Outcome Pm4Interpreter::execute(const hw::ReleaseMemGfx9& packet) {
  auto normal = common<Release>(packet);
  normal.caches = {.vector = packet.tcl1_action_ena,
                   .l2_invalidate = packet.tc_action_ena,
                   .l2_write_back = packet.tc_wb_action_ena};
  return release(normal);
}

Outcome Pm4Interpreter::execute(const hw::ReleaseMem& packet) {
  // [Mesa sid.h S_490_GLK_WB, GLK_INV, PWS_ENABLE: gfx11]
  const bool of_gfx11 = packet.glk_wb || packet.glk_inv || packet.pws_enable;
  if (gpu_.generation == hw::Generation::Gfx10 && of_gfx11 &&
      report_violation(kReservedBits, describe() + ": GLK_WB, GLK_INV or PWS_ENABLE"))
    return Outcome::Stop;
  if (packet.gl2_discard || packet.pws_enable)
    return stopped(describe() + ": GL2_DISCARD and PWS are not emulated");
  if (!check_unusual("GL2_US", packet.gl2_us)) return Outcome::Stop;
  auto normal = common<Release>(packet);
  normal.caches = {.vector = packet.glv_inv,
                   .scalar = packet.glk_inv,
                   .gl1 = packet.gl1_inv,
                   .l2_invalidate = packet.gl2_inv,
                   .l2_write_back = packet.gl2_wb};
  return release(normal);
}

// False: the queue has stopped.
bool Pm4Interpreter::check_release(const Release& release) {
  if (queue_.description().eop == 0 && report_violation(kEopBuffer, describe())) return false;
  bool end_of_pipe =
      release.index == hw::EventIndex::EndOfPipe &&
      (release.event == hw::Event::CacheFlushAndInvTs || release.event == hw::Event::CacheFlushTs ||
       release.event == hw::Event::BottomOfPipeTs);
  bool shader_done =
      release.index == hw::EventIndex::ShaderDone && release.event == hw::Event::CsDone;
  if (!end_of_pipe && !shader_done && report_violation(kEopEvent, describe())) return false;
  bool only = release.interrupt == hw::ReleaseInterrupt::Only;
  // An interrupt after a write that is none comes at once: tinygrad's release_mem() asks for it by
  // default, on hardware too. [tinygrad ops_amd.py AMDComputeQueue.release_mem]
  bool confirmed = release.interrupt == hw::ReleaseInterrupt::DataAfterWriteConfirm;
  if (((only && release.writes()) || (confirmed && !release.writes())) &&
      report_violation(kEopSelect, describe()))
    return false;
  if (release.writes() && release.addr % release.bytes() != 0 &&
      report_violation(kEopAlignment, describe()))
    return false;
  bool several = (mask_ & (mask_ - 1)) != 0;
  return !(several && (release.writes() || release.interrupts()) &&
           report_violation(kEopOncePerXcc, fmt::format("{} on XCCs {:#x}", describe(), mask_)));
}

Outcome Pm4Interpreter::release(const Release& release) {
  if (!check_release(release)) return Outcome::Stop;
  bool known_data = release.select <= hw::ReleaseData::GpuClockCounter;
  bool known_interrupt = release.interrupt <= hw::ReleaseInterrupt::Unconditional;
  bool known_target = release.target == hw::ReleaseTarget::MemoryController ||
                      release.target == hw::ReleaseTarget::Tcl2;
  if (!known_data || !known_interrupt || !known_target)
    return stopped(describe() + ": this selection is not emulated");
  for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc) {
    if (!(mask_ >> xcc & 1)) continue;
    auto event = queue_.behind_all([this, release, xcc] { return end_of_pipe(release, xcc); });
    if (pipeline_.empty() && !gpu_.adversarial) {
      if (auto fault = event()) return stopped(std::move(*fault));
    } else {
      // The command processor goes on.
      pipeline_.at_end(std::move(event));
    }
  }
  return Outcome::Done;
}

std::optional<MemoryFault> Pm4Interpreter::end_of_pipe(const Release& release, u32 xcc) {
  gpu_.memory.land();
  amdgpu::act_on_caches(gpu_, xcc, release.caches);
  std::optional<MemoryFault> fault;
  constexpr Client kCp = Client::CommandProcessor;
  u64 addr = release.addr & ~u64{release.bytes() - 1};
  switch (release.select) {
    case hw::ReleaseData::Low32:
      fault = gpu_.memory.store(kCp, addr, static_cast<u32>(release.data));
      break;
    case hw::ReleaseData::Data64: fault = gpu_.memory.store(kCp, addr, release.data); break;
    case hw::ReleaseData::GpuClockCounter:
      fault = gpu_.memory.store(kCp, addr, gpu_.clock());
      break;
    default: break;
  }
  if (gpu_.caches && release.interrupts()) gpu_.caches->judge_host(where());
  if (fault || !release.interrupts()) return fault;
  gpu_.memory.release_to_host();
  gpu_.interrupts.emplace_back(EventInterrupt{release.context_id, 32});
  return fault;
}

Outcome Pm4Interpreter::execute(const hw::EventWrite& packet) {
  bool flush = packet.event == hw::Event::CsPartialFlush;
  if (flush != (packet.index == hw::EventIndex::PartialFlush) &&
      report_violation(kEventIndex, describe()))
    return Outcome::Stop;
  if (!check_unusual("OFFLOAD_ENABLE", packet.offload_enable)) return Outcome::Stop;
  if (flush && pipeline_.has_grids()) return Outcome::Wait;
  if (flush && queue_.races() != nullptr) queue_.races()->join_grids();
  if (flush) return Outcome::Done;
  if (name_of(packet.event).empty()) return stopped(describe() + ": this event is not emulated");
  // Counters and thread traces: nothing here counts.
  return Outcome::Done;
}

}  // namespace doorbell::emu::amdgpu
