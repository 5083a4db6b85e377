// DISPATCH_DIRECT and DISPATCH_INDIRECT: from registers to a Dispatch (pm4_interpreter.h).
// [asic_reg/gc/gc_*_sh_mask.h COMPUTE_*; Mesa radv_cmd_buffer.c radv_emit_dispatch_packets; LLVM
// AMDGPUUsage "Kernel Dispatch"]
#include <algorithm>
#include <bit>
#include <utility>

#include "drivers/amd/hw/program_registers.h"
#include "emulator/amd/cp/pm4_interpreter.h"
#include "emulator/amd/cp/rules.h"
#include "emulator/amd/cp/scratch_ring.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

namespace {

template <class R>
R read_record(const ShRegisters& registers, hw::Generation generation) {
  std::array<u32, R::kWords> words{};
  for (u32 i = 0; i < R::kWords; ++i) words[i] = registers.read(R::kRegister.at(generation) + i);
  return decode<R>(words);
}

}  // namespace

Outcome Pm4Interpreter::execute(const hw::DispatchDirect& packet) {
  return dispatch({packet.x, packet.y, packet.z}, packet.initiator);
}

Outcome Pm4Interpreter::execute(const hw::DispatchIndirect& packet) {
  std::array<u32, 3> size{};
  if (auto fault = gpu_.memory.read(Client::CommandProcessor, packet.addr,
                                    std::span(reinterpret_cast<u8*>(size.data()), sizeof size)))
    return stopped(std::move(*fault));
  return dispatch(size, packet.initiator);
}

Outcome Pm4Interpreter::dispatch(std::array<u32, 3> size, u32 initiator_word) {
  std::array<u32, 1> word{initiator_word};
  auto initiator = decode<hw::DispatchInitiator>(word);
  if (u32 stray = stray_bits<hw::DispatchInitiator>(word)[0];
      stray != 0 &&
      report_violation(kReservedBits, fmt::format("DISPATCH_INITIATOR has {:#x}", stray)))
    return Outcome::Stop;
  // [gc_9_4_3_sh_mask.h COMPUTE_DISPATCH_INITIATOR]
  if (!gpu_.wave32_possible() && initiator.cs_w32_en &&
      report_violation(
          kReservedBits,
          fmt::format("DISPATCH_INITIATOR {:#x} asks a gfx9 for waves of 32", initiator_word)))
    return Outcome::Stop;
  if (!initiator.compute_shader_en) {
    if (report_violation(kDispatchEnable,
                         fmt::format("DISPATCH_INITIATOR is {:#x}", initiator_word)))
      return Outcome::Stop;
    return Outcome::Done;  // nothing is launched
  }
  if (initiator.ordered_append_enbl || initiator.restore || initiator.amp_shader_en)
    return stopped(fmt::format("DISPATCH_INITIATOR {:#x} is not emulated", initiator_word));
  if (!check_unusual("SCALAR_L1_INV_VOL or VECTOR_L1_INV_VOL",
                     initiator.scalar_l1_inv_vol || initiator.vector_l1_inv_vol) ||
      !check_unusual("DISABLE_DISP_PREMPT_EN", initiator.disable_disp_prempt_en))
    return Outcome::Stop;
  bool is_first = true;
  for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc) {
    if (!(mask_ >> xcc & 1)) continue;
    if (std::exchange(is_first, false))
      dispatcher_.begin_dispatch(static_cast<u32>(std::popcount(mask_ & gpu_.xcc_mask())),
                                 read_record<hw::ComputePgm>(sh_[xcc], gpu_.generation).entry);
    Outcome outcome =
        dispatch_xcc(xcc, static_cast<u32>(std::popcount(ring_.xccs())), size, initiator);
    if (outcome != Outcome::Done) return outcome;
  }
  return Outcome::Done;
}

// False: the queue has stopped. Of what the dispatch before has left nobody is told.
bool Pm4Interpreter::check_unread(const ShRegisters& registers,
                                  const hw::DispatchInitiator& initiator) {
  struct Unread {
    const hw::Register& first;
    u32 count, mask;
    bool is_read;
  };
  constexpr u32 kPartial = 0xffff0000;
  const Unread kUnread[] = {
      {hw::kComputeStartX, 3, ~u32{0}, !initiator.force_start_at_000},
      {hw::kComputeRestartX, 3, ~u32{0}, initiator.restore},
      {hw::kComputeNumThreadX, 3, kPartial, initiator.partial_tg_en},
  };
  for (const Unread& unread : kUnread)
    for (u32 i = 0; i < unread.count && !unread.is_read; ++i) {
      const u32 address = unread.first.at(gpu_.generation) + i;
      const u32 value = registers.read(address);
      if ((value & unread.mask) == 0 || !registers.is_fresh(address)) continue;
      if (report_violation(
              kDispatchUnread,
              fmt::format("{} is {:#x}", hw::register_name(gpu_.generation, address), value)))
        return false;
    }
  return !initiator.ordered_append_mode || initiator.ordered_append_enbl ||
         !report_violation(kDispatchUnread, "ORDERED_APPEND_MODE without ORDERED_APPEND_ENBL");
}

Outcome Pm4Interpreter::dispatch_xcc(u32 xcc, u32 xccs, std::array<u32, 3> size,
                                     const hw::DispatchInitiator& initiator) {
  ShRegisters& registers = sh_[xcc];
  if (!check_unread(registers, initiator)) return Outcome::Stop;
  hw::Generation generation = gpu_.generation;
  Dispatch dispatch;
  dispatch.code = read_record<hw::ComputePgm>(registers, generation).entry;
  dispatch.rsrc1 = registers.read(hw::kComputePgmRsrc1.at(generation));
  dispatch.rsrc2 = registers.read(hw::kComputePgmRsrc2.at(generation));
  dispatch.rsrc3 = registers.read(hw::kComputePgmRsrc3.at(generation));
  dispatch.wave32 = initiator.cs_w32_en && gpu_.wave32_possible();
  auto rsrc2 = decode<hw::ComputePgmRsrc2>(std::array<u32, 1>{dispatch.rsrc2});
  for (u32 i = 0; i < std::min<u32>(rsrc2.user_sgpr, hw::kUserDataRegisters); ++i)
    dispatch.user_sgprs.push_back(registers.read(hw::kComputeUserData0.at(generation) + i));

  auto threads = read_record<hw::ComputeNumThread>(registers, generation);
  dispatch.group_size = {threads.x, threads.y, threads.z};
  if (!initiator.force_start_at_000) {
    // The packet then has the end of the grid, not its size. [radv_emit_dispatch_packets]
    auto start = read_record<hw::ComputeStart>(registers, generation);
    dispatch.first_group = {start.x, start.y, start.z};
  }
  std::array<u32, 3> partial{threads.x_partial, threads.y_partial, threads.z_partial};
  for (usize i = 0; i < 3; ++i) {
    u32 group = std::max<u32>(dispatch.group_size[i], 1);
    u32 end = initiator.use_thread_dimensions ? (size[i] + group - 1) / group : size[i];
    dispatch.groups[i] = end - std::min(end, dispatch.first_group[i]);
    if (initiator.use_thread_dimensions)
      dispatch.partial_size[i] = size[i] % group;
    else if (initiator.partial_tg_en && partial[i] != 0 && partial[i] != group)
      dispatch.partial_size[i] = partial[i];
  }
  dispatch.lds_bytes = rsrc2.lds_size * gpu_.lds_unit;
  auto ring = scratch_ring(generation, gpu_.engines,
                           registers.read(hw::kComputeTmpringSize.at(generation)));
  dispatch.scratch_base = read_record<hw::ComputeDispatchScratchBase>(registers, generation).base;
  dispatch.scratch_wave_bytes = ring.wave_bytes;
  dispatch.scratch_waves = ring.waves;
  dispatch.xcc = xcc;
  dispatch.xcc_count = xccs;

  std::optional<hw::KernelDescriptor> descriptor;
  if (const u64 place = dispatcher_.find_descriptor(dispatch.code))
    descriptor = dispatcher_.read_descriptor(place);
  if (!judge_.check_registers(dispatch, registers, descriptor)) return Outcome::Stop;
  registers.begin_dispatch();

  std::vector<Snapshot> snapshots;
  if (descriptor && descriptor->enable_sgpr_kernarg_segment_ptr) {
    usize at = arguments_sgpr(*descriptor);
    if (at + 1 < dispatch.user_sgprs.size()) {
      u64 arguments = dispatch.user_sgprs[at] | u64{dispatch.user_sgprs[at + 1]} << 32;
      if (!judge_.check_arguments(arguments, descriptor->kernarg_size) ||
          !ahead_.check_announced(Announcements::Kind::Arguments, arguments))
        return Outcome::Stop;
      if (auto taken =
              dispatcher_.snapshot("the kernel's arguments", arguments, descriptor->kernarg_size))
        snapshots.push_back(std::move(*taken));
    }
  }
  dispatcher_.launch(dispatch, std::move(snapshots));
  return Outcome::Done;
}

}  // namespace doorbell::emu::amdgpu
