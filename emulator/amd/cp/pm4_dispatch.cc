// DISPATCH_DIRECT and DISPATCH_INDIRECT: from registers to a Dispatch, and what must hold of them
// (compute_queue.h). [asic_reg/gc/gc_*_sh_mask.h COMPUTE_*; Mesa radv_cmd_buffer.c
// radv_emit_dispatch_packets; LLVM AMDGPUUsage "Kernel Dispatch"]
#include <algorithm>
#include <bit>

#include "drivers/amd/hw/program_registers.h"
#include "emulator/amd/cp/pm4_packet.h"
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

// What a driver may add to the compiler's RSRC1 and RSRC2: PRIV, which keeps a debugger's context
// save away (tinygrad ops_amd.py), the LDS of the launch, and the trap handler's bit.
u32 compilers_rsrc1(u32 rsrc1) {
  auto record = decode<hw::ComputePgmRsrc1>(std::array<u32, 1>{rsrc1});
  record.priv = false;
  record.priority = 0;
  return encode(record)[0];
}

u32 compilers_rsrc2(u32 rsrc2) {
  auto record = decode<hw::ComputePgmRsrc2>(std::array<u32, 1>{rsrc2});
  record.lds_size = 0;
  record.trap_present = false;
  return encode(record)[0];
}

// Where the kernel is told that its private memory lies, or 0: gfx10 has no register for it, and
// the values stand in user SGPRs. [LLVM AMDGPUUsage "Initial Kernel Execution State"]
u64 scratch_in_sgprs(const Dispatch& dispatch, const hw::KernelDescriptor& descriptor) {
  const std::vector<u32>& sgprs = dispatch.user_sgprs;
  if (descriptor.enable_sgpr_private_segment_buffer && sgprs.size() >= 4)
    return sgprs[0] | u64{sgprs[1] & 0xffff} << 32;
  usize at = (descriptor.enable_sgpr_dispatch_ptr ? 2 : 0) +
             (descriptor.enable_sgpr_queue_ptr ? 2 : 0) +
             (descriptor.enable_sgpr_kernarg_segment_ptr ? 2 : 0) +
             (descriptor.enable_sgpr_dispatch_id ? 2 : 0);
  if (descriptor.enable_sgpr_flat_scratch_init && sgprs.size() >= at + 2)
    return sgprs[at] | u64{sgprs[at + 1]} << 32;
  return 0;
}

// User SGPRs that the kernel finds something in. [LLVM AMDGPUUsage KERNEL_CODE_PROPERTIES]
u32 values_of(const hw::KernelDescriptor& descriptor) {
  return (descriptor.enable_sgpr_private_segment_buffer ? 4 : 0) +
         (descriptor.enable_sgpr_dispatch_ptr ? 2 : 0) +
         (descriptor.enable_sgpr_queue_ptr ? 2 : 0) +
         (descriptor.enable_sgpr_kernarg_segment_ptr ? 2 : 0) +
         (descriptor.enable_sgpr_dispatch_id ? 2 : 0) +
         (descriptor.enable_sgpr_flat_scratch_init ? 2 : 0) +
         (descriptor.enable_sgpr_private_segment_size ? 1 : 0) + descriptor.kernarg_preload_length;
}

}  // namespace

ComputeQueue::Outcome ComputeQueue::execute(const hw::DispatchDirect& packet) {
  return dispatch({packet.x, packet.y, packet.z}, packet.initiator);
}

ComputeQueue::Outcome ComputeQueue::execute(const hw::DispatchIndirect& packet) {
  std::array<u32, 3> size{};
  if (auto fault = gpu_.memory.read(Client::CommandProcessor, packet.addr,
                                    std::span(reinterpret_cast<u8*>(size.data()), sizeof size)))
    return stopped(std::move(*fault));
  return dispatch(size, packet.initiator);
}

ComputeQueue::Outcome ComputeQueue::dispatch(std::array<u32, 3> size, u32 initiator_word) {
  std::array<u32, 1> word{initiator_word};
  auto initiator = decode<hw::DispatchInitiator>(word);
  if (u32 stray = stray_bits<hw::DispatchInitiator>(word)[0];
      stray != 0 &&
      report_violation(kReservedBits, fmt::format("DISPATCH_INITIATOR has {:#x}", stray)))
    return Outcome::Stop;
  // [gc_9_4_3_sh_mask.h COMPUTE_DISPATCH_INITIATOR]
  if (!wave32_possible() && initiator.cs_w32_en &&
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
  for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc) {
    if (!(mask_ >> xcc & 1)) continue;
    Outcome outcome =
        dispatch_xcc(xcc, static_cast<u32>(std::popcount(own_xccs())), size, initiator);
    if (outcome != Outcome::Done) return outcome;
  }
  return Outcome::Done;
}

ComputeQueue::Outcome ComputeQueue::dispatch_xcc(u32 xcc, u32 xccs, std::array<u32, 3> size,
                                                 const hw::DispatchInitiator& initiator) {
  ShRegisters& registers = sh_[xcc];
  hw::Generation generation = gpu_.generation;
  Dispatch dispatch;
  dispatch.code = read_record<hw::ComputePgm>(registers, generation).entry;
  dispatch.rsrc1 = registers.read(hw::kComputePgmRsrc1.at(generation));
  dispatch.rsrc2 = registers.read(hw::kComputePgmRsrc2.at(generation));
  dispatch.rsrc3 = registers.read(hw::kComputePgmRsrc3.at(generation));
  dispatch.wave32 = initiator.cs_w32_en && wave32_possible();
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
  if (const u64 place = find_descriptor(dispatch.code)) descriptor = read_descriptor(place);
  if (!check_dispatch(dispatch, xcc, descriptor)) return Outcome::Stop;
  last_entry_[xcc] = dispatch.code;
  registers.begin_dispatch();

  std::vector<Snapshot> snapshots;
  if (descriptor && descriptor->enable_sgpr_kernarg_segment_ptr) {
    usize at = arguments_sgpr(*descriptor);
    if (at + 1 < dispatch.user_sgprs.size()) {
      u64 arguments = dispatch.user_sgprs[at] | u64{dispatch.user_sgprs[at + 1]} << 32;
      if (!check_arguments(arguments, descriptor->kernarg_size) ||
          !check_announced(Announcements::Kind::Arguments, arguments))
        return Outcome::Stop;
      if (auto taken = snapshot("the kernel's arguments", arguments, descriptor->kernarg_size))
        snapshots.push_back(std::move(*taken));
    }
  }
  return launch(dispatch, std::move(snapshots));
}

bool ComputeQueue::check_arguments(u64 va, u32 bytes) {
  if (bytes == 0) return true;
  if (va % 16 != 0 && report_violation(kArgumentAlignment, fmt::format("arguments at {:#x}", va)))
    return false;
  return gpu_.memory.in_one_mapping(va, bytes) ||
         !report_violation(kArgumentMapped, fmt::format("{} bytes at {:#x}: {}", bytes, va,
                                                        gpu_.memory.space().describe(va)));
}

// What holds of every dispatch, however it came.
bool ComputeQueue::check_group(const Dispatch& dispatch) {
  const auto& size = dispatch.group_size;
  u64 items = u64{size[0]} * size[1] * size[2];
  bool fits = items >= 1 && items <= 1024 && std::ranges::max(size) <= 1024;
  if (!fits && report_violation(kDispatchGroup,
                                fmt::format("a group of {} x {} x {}", size[0], size[1], size[2])))
    return false;
  // No compute unit ever has room for such a group, so it would be waited for without end.
  return dispatch.lds_bytes <= gpu_.lds_bytes ||
         !report_violation(kDispatchLdsLimit, fmt::format("{} bytes of LDS, a group may have {}",
                                                          dispatch.lds_bytes, gpu_.lds_bytes));
}

bool ComputeQueue::check_dispatch(const Dispatch& dispatch, u32 xcc,
                                  const std::optional<hw::KernelDescriptor>& descriptor) {
  const ShRegisters& registers = sh_[xcc];
  hw::Generation generation = gpu_.generation;
  const hw::Register* const kNeeded[] = {&hw::kComputePgmLo, &hw::kComputePgmRsrc1,
                                         &hw::kComputePgmRsrc2, &hw::kComputeNumThreadX};
  for (const hw::Register* needed : kNeeded)
    if (!registers.was_written(needed->at(generation)) &&
        report_violation(kDispatchInherited, fmt::format("{} was never written", needed->name)))
      return false;
  if (!check_group(dispatch)) return false;
  // A kernel that follows itself may keep its arguments: a bound queue does. A descriptor may count
  // more user SGPRs than it has values for. [LLVM AMDGPU.td FeatureUserSGPRInit16Bug]
  u32 read = static_cast<u32>(dispatch.user_sgprs.size());
  if (descriptor) read = std::min(read, values_of(*descriptor));
  for (u32 i = 0; i < read && last_entry_[xcc] != dispatch.code; ++i)
    if (!registers.is_fresh(hw::kComputeUserData0.at(generation) + i)) {
      if (report_violation(
              kDispatchUserData,
              fmt::format("COMPUTE_USER_DATA_{} of {} is of the dispatch before", i, read)))
        return false;
      break;
    }
  if (!descriptor) return true;

  struct Rsrc {
    const char* name;
    u32 is, should;
  };
  const Rsrc kRsrc[] = {
      {"RSRC1", compilers_rsrc1(dispatch.rsrc1), compilers_rsrc1(descriptor->rsrc1)},
      {"RSRC2", compilers_rsrc2(dispatch.rsrc2), compilers_rsrc2(descriptor->rsrc2)},
      {"RSRC3", dispatch.rsrc3, descriptor->rsrc3}};
  for (const Rsrc& rsrc : kRsrc)
    if (rsrc.is != rsrc.should &&
        report_violation(kDispatchRsrc, fmt::format("{} is {:#x}, the descriptor has {:#x}",
                                                    rsrc.name, rsrc.is, rsrc.should)))
      return false;
  if (wave32_possible() && dispatch.wave32 != descriptor->enable_wavefront_size32 &&
      report_violation(kDispatchWave,
                       fmt::format("CS_W32_EN is {}, the descriptor has {}", dispatch.wave32,
                                   descriptor->enable_wavefront_size32)))
    return false;
  if (dispatch.lds_bytes < descriptor->group_segment_fixed_size &&
      report_violation(kDispatchLds,
                       fmt::format("{} bytes of LDS, the descriptor has {}", dispatch.lds_bytes,
                                   descriptor->group_segment_fixed_size)))
    return false;
  return check_scratch(dispatch, *descriptor);
}

bool ComputeQueue::check_scratch(const Dispatch& dispatch, const hw::KernelDescriptor& descriptor) {
  u64 lanes = dispatch.wave32 ? 32 : 64;
  u64 needed = lanes * descriptor.private_segment_fixed_size;
  if (needed == 0) return true;
  if ((dispatch.scratch_waves == 0 || dispatch.scratch_wave_bytes < needed) &&
      report_violation(kDispatchScratch,
                       fmt::format("{} waves of {} bytes, a wave needs {}", dispatch.scratch_waves,
                                   dispatch.scratch_wave_bytes, needed)))
    return false;
  u64 ring = u64{dispatch.scratch_waves} * dispatch.scratch_wave_bytes;
  u64 base = gpu_.generation == hw::Generation::Gfx10 ? scratch_in_sgprs(dispatch, descriptor)
                                                      : dispatch.scratch_base;
  return gpu_.memory.in_one_mapping(base, ring) ||
         !report_violation(
             kDispatchScratch,
             fmt::format("a ring of {:#x} bytes at {:#x}, {} waves of {:#x}: {}", ring, base,
                         dispatch.scratch_waves, dispatch.scratch_wave_bytes,
                         gpu_.memory.space().describe(base)));
}

ComputeQueue::Outcome ComputeQueue::launch(const Dispatch& dispatch,
                                           std::vector<Snapshot> snapshots) {
  if (gpu_.trace && gpu_.trace->enabled())
    trace("dispatch", fmt::format("code={:#x} groups={}x{}x{} size={}x{}x{} xcc={}", dispatch.code,
                                  dispatch.groups[0], dispatch.groups[1], dispatch.groups[2],
                                  dispatch.group_size[0], dispatch.group_size[1],
                                  dispatch.group_size[2], dispatch.xcc));
  if (dispatch.groups[0] == 0 || dispatch.groups[1] == 0 || dispatch.groups[2] == 0)
    return Outcome::Done;
  std::vector<Use> uses{{"its code", dispatch.code, hw::kCodeAlignment}};
  for (const Snapshot& taken : snapshots)
    uses.push_back({taken.what, taken.va, taken.bytes.size()});
  bool scratch = decode<hw::ComputePgmRsrc2>(std::array<u32, 1>{dispatch.rsrc2}).scratch_en;
  if (u64 bytes = u64{dispatch.scratch_waves} * dispatch.scratch_wave_bytes; scratch && bytes != 0)
    uses.push_back({"its scratch", dispatch.scratch_base, bytes});
  Dispatch launched = dispatch;
  if (gpu_.has_wave_sync) launched.wave_sync = &gpu_.wave_sync;
  pipeline_.launch(gpu_.launcher->launch(launched, gpu_.caches), std::move(snapshots),
                   std::move(uses));
  if (gpu_.caches) gpu_.caches->posted().launched(id_, gpu_.caches->last_dispatch());
  return Outcome::Done;
}

std::optional<Snapshot> ComputeQueue::snapshot(const char* what, u64 va, u64 bytes) const {
  const u8* host = gpu_.memory.space().at(va, bytes, false);
  if (host == nullptr || bytes == 0) return std::nullopt;
  return Snapshot{what, va, std::vector<u8>(host, host + bytes)};
}

std::optional<hw::KernelDescriptor> ComputeQueue::read_descriptor(u64 va) const {
  std::array<u32, hw::KernelDescriptor::kWords> words{};
  if (gpu_.memory.read(Client::CommandProcessor, va,
                       std::span(reinterpret_cast<u8*>(words.data()), sizeof words)))
    return std::nullopt;
  return decode<hw::KernelDescriptor>(words);
}

// A launch by registers does not say whose kernel it is, but the loader put the code object's
// descriptors near its code, and each names its entry by distance.
u64 ComputeQueue::find_descriptor(u64 entry) {
  constexpr u64 kNear = u64{1} << 20, kStep = hw::kKernelDescriptorBytes;
  auto names_entry = [&](const u8* host, u64 va) {
    std::array<u32, hw::KernelDescriptor::kWords> words;
    std::copy_n(host, kStep, reinterpret_cast<u8*>(words.data()));
    bool reserved = (words[3] | words[6] | words[7] | words[8] | words[9] | words[10]) == 0;
    return va != entry && reserved && (words[4] | u64{words[5]} << 32) == entry - va;
  };
  const AddressSpace& space = gpu_.memory.space();
  DescriptorPlace& known = descriptors_[entry];
  u64 generation = space.generation();
  if (known.none && known.generation == generation) return 0;
  known = {.none = true, .generation = generation};
  const Range* range = space.find(entry);
  if (!range || !range->host) return 0;
  // The nearest: what code that was here before has left behind lies beyond this code's end.
  u64 middle = entry / kStep * kStep;
  for (u64 away = 0; away <= kNear; away += kStep)
    for (u64 va : {middle + away, middle - away})
      if (va >= range->start && va + kStep <= range->end &&
          names_entry(range->host + (va - range->start), va)) {
        known.none = false;
        return va;
      }
  return 0;
}

}  // namespace doorbell::emu::amdgpu
