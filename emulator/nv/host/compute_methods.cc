// The compute class: descriptors of grids that are sent, inline data, caches, and what a grid does
// when it ends.
#include <fmt/format.h>

#include <cstring>

#include "drivers/nv/hw/compute/methods.h"
#include "emulator/nv/compute/rules.h"
#include "emulator/nv/host/gpu.h"
#include "emulator/nv/host/records.h"
#include "emulator/nv/rules.h"

namespace doorbell::emu::nvgpu {

namespace {

// [clc6c0.h NVC6C0_INVALIDATE_SHADER_CACHES]
constexpr u32 kInvalidateShaderCaches = 0x021c;

}  // namespace

void Gpu::run_compute(Channel& channel, std::span<const u32> methods, u32 method, u32 value) {
  switch (method) {
    case hw::WaitForIdle::kMethod: drain_grids(channel); break;
    case kInvalidateShaderCaches:
    case hw::InvalidateShaderCachesNoWfi::kMethod: {
      if (method == kInvalidateShaderCaches) drain_grids(channel);
      const auto caches = record_of_word<hw::InvalidateShaderCachesNoWfi>(value);
      if (caches.instruction) caches_.invalidate_code();
      if (caches.constant) caches_.invalidate_constants();
      if (caches.global_data) data_caches_.invalidate();
      break;
    }
    case hw::InlineLaunch::kMethod: launch_inline(channel, methods, value); break;
    case hw::InlineData::kMethod: load_inline(channel, methods, value); break;
    case hw::SendSignalingPcasB::kMethod: {
      const auto action = record_of_word<hw::SendSignalingPcasB>(value);
      if (action.schedule) launch(channel, record_of<hw::SendPcasA>(methods).qmd_address);
      break;
    }
    case hw::SendSignalingPcas2B::kMethod: {
      const auto given = record_of_word<hw::SendSignalingPcas2B>(value);
      if ((given.select != 0 || given.offset_minus_one != 0) &&
          breaks(channel, ChannelError::ClassError, kHostMethod,
                 fmt::format("{}: SEND_SIGNALING_PCAS2_B {:#x}: SELECT and OFFSET_MINUS_ONE are "
                             "not emulated",
                             name(channel), value)))
        break;
      switch (given.action) {
        case hw::PcasAction::Nop:
        case hw::PcasAction::Invalidate:
        case hw::PcasAction::Prefetch: break;
        case hw::PcasAction::Schedule:
        case hw::PcasAction::InvalidateCopySchedule:
        case hw::PcasAction::PrefetchSchedule:
        case hw::PcasAction::InvalidatePrefetchCopySchedule:
          launch(channel, record_of<hw::SendPcasA>(methods).qmd_address);
          break;
        default:
          breaks(channel, ChannelError::ClassError, kHostMethod,
                 fmt::format("{}: SEND_SIGNALING_PCAS2_B {:#x}: that action does not exist or is "
                             "not emulated",
                             name(channel), value));
      }
      break;
    }
    default: break;
  }
}

void Gpu::launch_inline(Channel& channel, std::span<const u32> methods, u32 value) {
  const auto launch = record_of_word<hw::InlineLaunch>(value);
  const auto target = record_of<hw::InlineTarget>(methods);
  channel.inline_data.clear();
  std::string_view why;
  if (!launch.dst_pitch) why = "block-linear surfaces are not emulated";
  if (target.line_count != 1) why = "it is not one line, and several are not emulated";
  if (launch.reduction_enable) why = "reductions are not emulated";
  if (launch.completion > hw::InlineCompletion::FlushOnly) why = "semaphores are not emulated";
  if (!why.empty())
    breaks(channel, ChannelError::ClassError, kHostMethod,
           fmt::format("{}: LAUNCH_DMA {:#x} of {} lines of inline data: {}", name(channel), value,
                       target.line_count, why));
}

void Gpu::load_inline(Channel& channel, std::span<const u32> methods, u32 value) {
  const auto target = record_of<hw::InlineTarget>(methods);
  const u64 bytes = u64{target.line_length} * target.line_count;
  channel.inline_data.push_back(value);
  if (channel.inline_data.size() * 4 < bytes) return;
  // Ordered after the grids ahead of it, as a launch of the same class.
  drain_grids(channel);
  if (channel.group->error != 0) return;
  u8* host = at(channel, target.addr(), bytes, true, "inline data");
  if (host != nullptr && channel.races)
    judge(channel, &channel.races->processor(), target.addr(), host, bytes, AgentAccess::Write);
  if (host != nullptr) std::memcpy(host, channel.inline_data.data(), bytes);
  channel.inline_data.clear();
}

void Gpu::launch(Channel& channel, u64 qmd) {
  Channel::Grid grid{.qmd = qmd, .task = nullptr};
  if (channel.races)
    grid.task =
        channel.races->launch(race_place(channel, fmt::format("the grid of {:#x}", qmd)), 1);
  channel.grids.push_back(std::move(grid));
  while (!options_.adversarial && !channel.grids.empty() && channel.group->error == 0)
    run_grid(channel);
}

void Gpu::drain_grids(Channel& channel) {
  while (!channel.grids.empty() && channel.group->error == 0) run_grid(channel);
  if (channel.races) channel.races->join_grids();
}

void Gpu::drain(Channel& channel) {
  drain_grids(channel);
  drain_copies(channel);
  if (channel.races) channel.races->join_all();
}

void Gpu::run_late(Channel& channel) {
  const bool is_copy = channel.grids.empty() || (!channel.copies.empty() && random_() % 2 == 0);
  return is_copy ? run_copy(channel) : run_grid(channel);
}

void Gpu::run_grid(Channel& channel) {
  const Channel::Grid launched = channel.grids.front();
  const u64 address = launched.qmd;
  channel.grids.pop_front();
  struct End {
    RaceTask* task;
    ~End() {
      if (task != nullptr) task->end_part();
    }
  } end{launched.task.get()};
  const u32 bytes =
      4 * hw::qmd_words(model().qmd_major >= 4 ? hw::QmdVersion::V4_0 : hw::QmdVersion::V3_0);
  const u8* host = at(channel, address, bytes, false, "a descriptor");
  if (host == nullptr) return;
  std::vector<u32> words(bytes / 4);
  std::memcpy(words.data(), host, bytes);
  const FetchHook::Verdict verdict = show({Fetched::Kind::Descriptor, channel.id}, words);
  if (verdict == FetchHook::Verdict::Skip) return;
  if (verdict == FetchHook::Verdict::Again) {
    channel.grids.push_front(launched);
    end.task = nullptr;
  }
  if (judge(channel, launched.task.get(), address, host, bytes, AgentAccess::Read))
    run_descriptor(channel, launched, words);
}

void Gpu::run_descriptor(Channel& channel, const Channel::Grid& launched,
                         std::span<const u32> words) {
  const u64 address = launched.qmd;
  RaceTask* const task = launched.task.get();
  std::span<const u32> methods;
  for (u32 i = 0; i < hw::kSubchannels; ++i)
    if (hw::kind_of(channel.bound[i]) == hw::ClassKind::Compute) methods = channel.methods[i];
  const auto window = record_of<hw::SharedMemoryWindow>(methods);
  const auto local = record_of<hw::LocalMemoryWindow>(methods);
  const QmdGrid grid{
      .model = *options_.model,
      .address = address,
      .words = words,
      .space = channel.space(),
      .checks = *options_.checks,
      .caches = caches_,
      .data_caches = options_.adversarial ? &data_caches_ : nullptr,
      .shared_window = window.addr(),
      .local_window = local.addr(),
      .local_memory = record_of<hw::LocalMemory>(methods).addr(),
      .local_bytes_of_tpc = record_of<hw::LocalMemorySize>(methods).size(),
      .most_instructions = options_.hang_after,
      .counts = options_.counts,
      .adversarial = options_.adversarial,
      .who = name(channel),
      .task = task,
      .show_bank = [&](u32 number, std::vector<u8>* bytes) { show_bank(channel, number, bytes); }};
  Result<hw::Qmd> qmd = check_qmd(grid);
  if (!qmd) return stop_reported(channel, ChannelError::GraphicsException, qmd.error().message);
  if (options_.trace->enabled()) {
    write_trace(channel, "packet", to_text(describe_qmd(*qmd)));
    write_trace(channel, "dispatch", describe_grid(grid, *qmd));
  }
  Result<std::optional<Fault>> ran = run_qmd(grid, *qmd);
  if (!ran) return stop_reported(channel, ChannelError::GraphicsException, ran.error().message);
  if (*ran) return stop_for(channel, **ran);
  for (u32 number = 0; number < 3; ++number)
    if (!release_grid(channel, *qmd, task, number)) return;
  constexpr u32 kSchedule = 1;  // DEPENDENT_QMD0_ACTION_QMD_SCHEDULE
  for (const auto& [enable, action, pointer] :
       {std::tuple(hw::QmdField::DependentQmd0Enable, hw::QmdField::DependentQmd0Action,
                   hw::QmdField::DependentQmd0Pointer),
        std::tuple(hw::QmdField::DependentQmd1Enable, hw::QmdField::DependentQmd1Action,
                   hw::QmdField::DependentQmd1Pointer)}) {
    if (qmd->get(enable) == 0) continue;
    if (qmd->get(action) != kSchedule &&
        breaks(channel, ChannelError::GraphicsException, kQmdVersion,
               fmt::format("{}: the descriptor at {:#x} does {} with one that depends on it, "
                           "which is not emulated",
                           name(channel), address, qmd->get(action))))
      return;
    const u64 next = qmd->get(pointer) << 8;
    channel.grids.push_front(
        {.qmd = next,
         .task = task == nullptr
                     ? nullptr
                     : channel.races->launch_behind(
                           *task, race_place(channel, fmt::format("the grid of {:#x}", next)))});
  }
}

void Gpu::show_bank(const Channel& channel, u32 number, std::vector<u8>* bytes) {
  if (options_.hook == nullptr) return;
  std::vector<u32> words(bytes->size() / sizeof(u32));
  std::memcpy(words.data(), bytes->data(), words.size() * sizeof(u32));
  show({.kind = Fetched::Kind::Constants, .channel = channel.id, .method = number}, words);
  std::memcpy(bytes->data(), words.data(), words.size() * sizeof(u32));
}

bool Gpu::release_grid(Channel& channel, const hw::Qmd& qmd, RaceTask* task, u32 number) {
  using enum hw::QmdField;
  struct Fields {
    hw::QmdField enable, size, reduction, wide, addr, payload;
  };
  constexpr Fields kFields[] = {{Release0Enable, Release0StructureSize, Release0ReductionEnable,
                                 Release0Payload64b, Release0Addr, Release0Payload},
                                {Release1Enable, Release1StructureSize, Release1ReductionEnable,
                                 Release1Payload64b, Release1Addr, Release1Payload},
                                {Release2Enable, Release2StructureSize, Release2ReductionEnable,
                                 Release2Payload64b, Release2Addr, Release2Payload}};
  const Fields& fields = kFields[number];
  if (qmd.get(fields.enable) == 0) return true;
  // FOUR_WORDS, ONE_WORD, TWO_WORDS. [clc7c0qmd.h NVC7C0_QMDV03_00_RELEASE0_STRUCTURE_SIZE_*]
  constexpr u64 kBytes[] = {16, 4, 8, 0};
  const u64 bytes = kBytes[qmd.get(fields.size)];
  const u64 address = qmd.get(fields.addr), payload = qmd.get(fields.payload);
  const bool is_wide = qmd.get(fields.wide) != 0;
  std::string_view why;
  if (bytes == 0) why = "no such size";
  if (bytes != 0 && address % bytes != 0) why = "it is not aligned to its size";
  if (qmd.get(fields.reduction) != 0) why = "reductions are not emulated";
  if (!is_wide && payload >> 32 != 0) why = "a payload of more than 32 bits without PAYLOAD64B";
  if (!why.empty() && breaks(channel, ChannelError::GraphicsException, kQmdRelease,
                             fmt::format("{}: RELEASE{} of {} bytes at {:#x}, payload {:#x}: {}",
                                         name(channel), number, bytes, address, payload, why)))
    return false;
  u8* host = at(channel, address, bytes == 0 ? 4 : bytes, true, "a descriptor's semaphore");
  if (host == nullptr) return false;
  if (!hand_over(channel, task, address, host, is_wide ? payload : payload & 0xffff'ffff,
                 bytes == 4 ? 4 : 8))
    return false;
  if (bytes == 16) {
    const u64 now = options_.now_ns();
    std::memcpy(host + 8, &now, sizeof now);
  }
  if (bytes == 4)
    __atomic_store_n(reinterpret_cast<u32*>(host), static_cast<u32>(payload), __ATOMIC_RELEASE);
  else
    __atomic_store_n(reinterpret_cast<u64*>(host), is_wide ? payload : payload & 0xffff'ffff,
                     __ATOMIC_RELEASE);
  return true;
}

// [okm src/nvidia/src/kernel/gpu/gr: exceptions of multiprocessors are Xid 13, MMU faults Xid 31]
void Gpu::stop_for(Channel& channel, const Fault& fault) {
  channel.fault.is_mmu = fault.rule == &kGlobalAccess;
  channel.fault.is_sm = !channel.fault.is_mmu;
  channel.fault.address = channel.fault.is_mmu ? fault.address : fault.pc;
  const std::string message = fmt::format("{}: {}", name(channel), to_string(fault));
  stop(channel, channel.fault.is_mmu ? ChannelError::MmuFault : ChannelError::GraphicsException,
       fault.rule != nullptr ? *fault.rule : kGlobalAccess, message);
}

}  // namespace doorbell::emu::nvgpu
