// AQL kernel dispatch: from packet, kernel descriptor and the queue's structure to a Dispatch
// (aql_queue.h). Its scratch is found in aql_scratch.cc. [LLVM AMDGPUUsage "Kernel Descriptor",
// "Initial Kernel Execution State"; ROCr amd_aql_queue.cpp DynamicQueueEventsHandler]
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "drivers/amd/hw/program_registers.h"
#include "emulator/amd/cp/aql_packet.h"
#include "emulator/amd/cp/reserved_bits.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

namespace {

u32 round_up(u32 value, u32 unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::optional<MemoryFault> AqlQueue::read_queue(Connected& queue) {
  // Right behind the read index lies how far it is from the structure's start.
  constexpr u64 kOffset = offsetof(hw::AmdQueue, read_dispatch_id_field_base_byte_offset) -
                          offsetof(hw::AmdQueue, read_dispatch_id);
  u32 offset = 0;
  if (auto fault =
          gpu_.memory.load(Client::CommandProcessor, description_.read_pointer + kOffset, offset))
    return fault;
  queue.va = description_.read_pointer - offset;
  return gpu_.memory.read(Client::CommandProcessor, queue.va,
                          std::span(reinterpret_cast<u8*>(&queue.queue), sizeof queue.queue));
}

bool AqlQueue::connect() {
  Connected now;
  auto fault = read_queue(now);
  if (!fault) fault = exchange_capabilities(now);
  if (fault) {
    stop(std::move(*fault));
    return false;
  }
  connected_ = now;
  return check_queue(now.queue);
}

// Bits that the structure and the register in it do not have. [amd_hsa_queue.h
// AMD_QUEUE_PROPERTIES_RESERVED1: 31:5]
bool AqlQueue::check_queue(const hw::AmdQueue& queue) {
  constexpr u32 kProperties = 0x1f;
  const u32 tmpring = hw::kComputeTmpringSize.at(gpu_.generation);
  if (queue.queue_properties > kProperties &&
      report_violation(kReservedBits,
                       fmt::format("amd_queue_t has queue_properties {:#x}, of which {:#x} are",
                                   queue.queue_properties, kProperties)))
    return false;
  if (!check_waves(queue)) return false;
  return (queue.compute_tmpring_size & reserved_bits(gpu_.generation, tmpring)) == 0 ||
         !report_violation(kRegisterBits, fmt::format("amd_queue_t has COMPUTE_TMPRING_SIZE {:#x}",
                                                      queue.compute_tmpring_size));
}

bool AqlQueue::check_waves(const hw::AmdQueue& queue) {
  const u32 unit = gpu_.compute_units - 1, wave = gpu_.waves_per_unit - 1;
  return gpu_.compute_units == 0 || (queue.max_cu_id == unit && queue.max_wave_id == wave) ||
         !report_violation(kAqlQueueWaves,
                           fmt::format("max_cu_id {} and max_wave_id {}, the GPU's are {} and {}",
                                       queue.max_cu_id, queue.max_wave_id, unit, wave));
}

// Of packets only: that a wave stopped, the processor does not know. It is ROCr's first trap
// handler that writes 0x20000000 and above into this signal; its second one sends an interrupt to
// the kernel instead. [ROCR-Runtime c7785a6 amd_trap_handler_v1.h, SIGNAL_CODE_*; ROCm/rocm-systems
// 1b1610f trap_handler.s, .send_interrupt]
bool AqlQueue::tell_client(const HwException& exception) {
  // A signal that is itself wrong was told of already.
  if (exception.cause != HwException::Cause::Packet || reporting_) return false;
  Connected now;
  if (connected_)
    now = *connected_;
  else if (read_queue(now))
    return false;
  return report_inactive(now.queue, error_);
}

// False: the queue has no signal for it.
bool AqlQueue::report_inactive(const hw::AmdQueue& queue, hw::QueueError error) {
  u64 signal = queue.queue_inactive_signal;
  hw::AmdSignal now;
  reporting_ = true;
  if (signal == 0 || !check_signal(signal) || read_signal(signal, now)) return false;
  if (gpu_.memory.store(Client::CommandProcessor, signal + offsetof(hw::AmdSignal, value),
                        static_cast<u64>(error)))
    return false;
  if (now.event_mailbox != 0 && check_mailbox(now.event_mailbox) &&
      !gpu_.memory.store(Client::CommandProcessor, now.event_mailbox, u64{now.event_id}))
    gpu_.interrupts.emplace_back(EventInterrupt{now.event_id, 32});
  return true;
}

bool AqlQueue::check_dispatch(const hw::KernelDispatchPacket& packet,
                              const hw::KernelDescriptor& descriptor) {
  const u32 kGroup[] = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  const u32 kGrid[] = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  bool sound = packet.dimensions >= 1 && packet.dimensions <= 3;
  for (u32 i = 0; i < 3; ++i) {
    sound &= kGroup[i] != 0 && kGrid[i] != 0;
    if (i >= packet.dimensions) sound &= kGroup[i] == 1 && kGrid[i] == 1;
  }
  if (!sound &&
      report_violation(kAqlSetup, fmt::format("{} dimensions, groups of {} x {} x {}, a grid of {} "
                                              "x {} x {}",
                                              unsigned{packet.dimensions}, kGroup[0], kGroup[1],
                                              kGroup[2], kGrid[0], kGrid[1], kGrid[2])))
    return false;
  u64 entry = packet.kernel_object + static_cast<u64>(descriptor.entry_offset);
  if (entry % hw::kCodeAlignment != 0 &&
      report_violation(kDispatchEntry, fmt::format("{:#x}, the entry of the descriptor at {:#x}",
                                                   entry, u64{packet.kernel_object})))
    return false;
  if (packet.group_segment_size < descriptor.group_segment_fixed_size &&
      report_violation(kAqlSegments,
                       fmt::format("{} bytes of LDS, the descriptor has {}",
                                   packet.group_segment_size, descriptor.group_segment_fixed_size)))
    return false;
  if (packet.private_segment_size < descriptor.private_segment_fixed_size &&
      report_violation(
          kAqlSegments,
          fmt::format("{} bytes of scratch a work item, the descriptor has {}",
                      packet.private_segment_size, descriptor.private_segment_fixed_size)))
    return false;
  return !descriptor.enable_sgpr_kernarg_segment_ptr ||
         judge_.check_arguments(packet.kernarg_address, descriptor.kernarg_size);
}

// What the packet and the descriptor say of every XCC's part.
Dispatch AqlQueue::describe_dispatch(const hw::KernelDispatchPacket& packet,
                                     const hw::KernelDescriptor& descriptor) const {
  Dispatch dispatch;
  dispatch.code = packet.kernel_object + static_cast<u64>(descriptor.entry_offset);
  dispatch.rsrc1 = descriptor.rsrc1;
  dispatch.rsrc3 = descriptor.rsrc3;
  dispatch.wave32 = descriptor.enable_wavefront_size32 && gpu_.wave32_possible();
  dispatch.group_size = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z};
  const std::array<u32, 3> kGrid{packet.grid_size_x, packet.grid_size_y, packet.grid_size_z};
  for (usize i = 0; i < 3; ++i) {
    u32 group = std::max<u32>(dispatch.group_size[i], 1);
    dispatch.groups[i] = (kGrid[i] + group - 1) / group;
    dispatch.partial_size[i] = kGrid[i] % group;
  }
  dispatch.lds_bytes = round_up(packet.group_segment_size, gpu_.lds_unit);
  auto rsrc2 = decode<hw::ComputePgmRsrc2>(std::array<u32, 1>{descriptor.rsrc2});
  rsrc2.lds_size = static_cast<u16>(dispatch.lds_bytes / gpu_.lds_unit);
  rsrc2.scratch_en = rsrc2.scratch_en || packet.private_segment_size != 0;
  dispatch.rsrc2 = encode(rsrc2)[0];
  return dispatch;
}

Outcome AqlQueue::kernel_dispatch(const hw::KernelDispatchPacket& packet) {
  if (short_of_scratch_) {
    const u64 signal = connected_ ? connected_->queue.queue_inactive_signal : 0;
    u64 value = 0;
    if (signal != 0)
      if (auto fault = gpu_.memory.load(Client::CommandProcessor,
                                        signal + offsetof(hw::AmdSignal, value), value))
        return stopped(std::move(*fault));
    if (value != 0) return Outcome::Wait;
    short_of_scratch_ = reporting_ = false;
    leave();
  }
  if (!connected_ && !connect()) return Outcome::Stop;
  if (!check_unchanged()) return Outcome::Stop;
  Connected queue = *connected_;
  std::array<u32, hw::KernelDescriptor::kWords> words{};
  if (auto fault = gpu_.memory.read(Client::CommandProcessor, packet.kernel_object,
                                    std::span(reinterpret_cast<u8*>(words.data()), sizeof words)))
    return stopped(std::move(*fault));
  auto descriptor = decode<hw::KernelDescriptor>(words);
  // Nothing ever has room for such a group, whatever the rule's level.
  if (packet.group_segment_size > gpu_.lds_bytes) {
    error_ = hw::QueueError::GroupMemory;
    std::string why = fmt::format("{} bytes of LDS, a group may have {}", packet.group_segment_size,
                                  gpu_.lds_bytes);
    return report_violation(kDispatchLdsLimit, why) ? Outcome::Stop : stopped(why);
  }
  Dispatch dispatch = describe_dispatch(packet, descriptor);
  error_ = hw::QueueError::Dimensions;
  if (!check_dispatch(packet, descriptor) || !judge_.check_group(dispatch)) return Outcome::Stop;
  error_ = hw::QueueError::PacketFormat;
  Outcome scratch = find_scratch(packet, queue.queue, dispatch);
  return scratch == Outcome::Done ? launch_parts(packet, words, queue.queue, queue.va, dispatch)
                                  : scratch;
}

// A grid on each XCC, and what completes the packet behind them.
Outcome AqlQueue::launch_parts(const hw::KernelDispatchPacket& packet,
                               const Words<hw::KernelDescriptor>& words, const hw::AmdQueue& queue,
                               u64 queue_va, Dispatch& dispatch) {
  auto descriptor = decode<hw::KernelDescriptor>(words);
  if (!ahead_.check_announced(Announcements::Kind::Arguments, packet.kernarg_address))
    return Outcome::Stop;
  std::vector<u32> preload(descriptor.kernarg_preload_length);
  if (auto fault =
          gpu_.memory.read(Client::CommandProcessor,
                           packet.kernarg_address + u64{descriptor.kernarg_preload_offset} * 4,
                           std::span(reinterpret_cast<u8*>(preload.data()), preload.size() * 4)))
    return stopped(std::move(*fault));

  UserSgprSources sources{.dispatch_packet = slot(),
                          .queue = queue_va,
                          .kernel_arguments = packet.kernarg_address,
                          .dispatch_id = read_,
                          .private_segment_bytes = packet.private_segment_size};
  std::copy_n(queue.scratch_resource_descriptor, 4, sources.private_segment_buffer.begin());
  // INDEX_STRIDE is the processor's to fill in: 2 for waves of 32, 3 for waves of 64.
  // [FillBufRsrcWord3_Gfx10: "filled in by CP"]
  if (gpu_.generation != hw::Generation::Gfx9)
    sources.private_segment_buffer[3] |= (dispatch.wave32 ? 2u : 3u) << 21;

  const std::shared_ptr<RaceTask> task = dispatcher_.begin_dispatch(gpu_.xccs, dispatch.code);
  u64 start = gpu_.clock();
  usize before = pipeline_.grids();
  const u64 share = scratch_share(queue);
  for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc) {
    std::vector<Snapshot> snapshots;
    if (auto taken = dispatcher_.snapshot("the kernel's arguments", packet.kernarg_address,
                                          descriptor.kernarg_size))
      snapshots.push_back(std::move(*taken));
    // Without the word that gives the slot back.
    if (descriptor.enable_sgpr_dispatch_ptr)
      if (auto taken =
              dispatcher_.snapshot("the AQL packet", slot() + 4, hw::kAqlPacketBytes - 4)) {
        taken->of_slot = true;
        snapshots.push_back(std::move(*taken));
      }
    dispatch.scratch_base = queue.scratch_backing_memory_location + xcc * share;
    sources.flat_scratch_init = dispatch.scratch_base;
    dispatch.user_sgprs = user_sgprs(static_cast<u16>(words[14]), sources, preload);
    // A descriptor may count more than it has values for: gfx1100 starts no wave with fewer than 16
    // SGPRs. [LLVM AMDGPU.td FeatureUserSGPRInit16Bug]
    auto counted = decode<hw::ComputePgmRsrc2>(std::array<u32, 1>{dispatch.rsrc2}).user_sgpr;
    if (dispatch.user_sgprs.size() < counted) dispatch.user_sgprs.resize(counted);
    dispatch.xcc = xcc, dispatch.xcc_count = gpu_.xccs;
    dispatcher_.launch(dispatch, std::move(snapshots));
  }
  pipeline_.when_done(pipeline_.grids() - before, [=, this] {
    const ActingAs as(gpu_.memory, task.get());
    return complete(packet.release, packet.completion_signal, start);
  });
  return Outcome::Done;
}

}  // namespace doorbell::emu::amdgpu
