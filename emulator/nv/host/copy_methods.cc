// The DMA copy class: lines of bytes, and the semaphore behind them. Block-linear surfaces are not
// emulated.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "drivers/nv/hw/copy/methods.h"
#include "emulator/nv/host/gpu.h"
#include "emulator/nv/host/records.h"
#include "emulator/nv/rules.h"

namespace doorbell::emu::nvgpu {

namespace {

// SET_REMAP_COMPONENTS: each component of an element that is written is one that was read, or one
// of two constants. [clc6b5.h NVC6B5_SET_REMAP_COMPONENTS_*]
struct Remap {
  static constexpr u32 kConstA = 4, kConstB = 5, kNoWrite = 6;
  std::array<u32, 4> from{};
  u32 bytes = 0, sources = 0, targets = 0;  // of a component; components of an element

  explicit Remap(u32 value) {
    const u32 words[1] = {value};
    for (u32 i = 0; i < 4; ++i)
      from[i] = static_cast<u32>(extract(words, word_bits(4 * i + 2, 4 * i)));
    bytes = static_cast<u32>(extract(words, word_bits(17, 16))) + 1;
    sources = static_cast<u32>(extract(words, word_bits(21, 20))) + 1;
    targets = static_cast<u32>(extract(words, word_bits(25, 24))) + 1;
  }
  static constexpr Bits word_bits(unsigned hi, unsigned lo) { return word(0, hi, lo); }
};

}  // namespace

// Copies range by range: neighbours in the address space need not be so in the host.
bool Gpu::copy_bytes(Channel& channel, RaceTask* task, u64 to, u64 from, u64 bytes) {
  while (bytes != 0) {
    const Range* source = channel.space().find(from);
    const Range* target = channel.space().find(to);
    u64 step = bytes;
    if (source != nullptr) step = std::min(step, source->end - from);
    if (target != nullptr) step = std::min(step, target->end - to);
    const u8* read = at(channel, from, step, false, "the source of a copy", kCopyFault);
    if (read == nullptr) return false;
    u8* written = at(channel, to, step, true, "the target of a copy", kCopyFault);
    if (written == nullptr) return false;
    if (!judge(channel, task, from, read, step, AgentAccess::Read) ||
        !judge(channel, task, to, written, step, AgentAccess::Write))
      return false;
    std::memmove(written, read, step);
    from += step, to += step, bytes -= step;
  }
  return true;
}

bool Gpu::copy_lines(Channel& channel, const Channel::Copy& copy) {
  const auto launch = record_of_word<hw::CopyLaunch>(copy.launch);
  if (launch.remap) return copy_elements(channel, copy);
  const auto extent = record_of<hw::CopyExtent>(copy.methods);
  const u32 lines = launch.multi_line ? extent.line_count : 1;
  for (u32 line = 0; line < lines; ++line)
    if (!copy_bytes(channel, copy.races.task.get(), extent.out() + u64{line} * extent.pitch_out,
                    extent.in() + u64{line} * extent.pitch_in, extent.line_length))
      return false;
  return true;
}

bool Gpu::copy_elements(Channel& channel, const Channel::Copy& copy) {
  const std::span<const u32> methods = copy.methods;
  const auto extent = record_of<hw::CopyExtent>(methods);
  const bool has_lines = record_of_word<hw::CopyLaunch>(copy.launch).multi_line;
  const u32 lines = has_lines ? extent.line_count : 1;
  RaceTask* const task = copy.races.task.get();
  const Remap remap(methods[0x708 / 4]);
  const u32 constants[2] = {methods[0x700 / 4], methods[0x704 / 4]};
  const bool reads = std::any_of(remap.from.begin(), remap.from.begin() + remap.targets,
                                 [](u32 from) { return from < Remap::kConstA; });
  for (u32 line = 0; line < lines; ++line)
    for (u32 i = 0; i < extent.line_length; ++i) {
      const u64 in =
          extent.in() + u64{line} * extent.pitch_in + u64{i} * remap.sources * remap.bytes;
      const u64 out =
          extent.out() + u64{line} * extent.pitch_out + u64{i} * remap.targets * remap.bytes;
      const u8* read = reads ? at(channel, in, u64{remap.sources} * remap.bytes, false,
                                  "the source of a copy", kCopyFault)
                             : nullptr;
      u8* written = at(channel, out, u64{remap.targets} * remap.bytes, true, "the target of a copy",
                       kCopyFault);
      if (written == nullptr || (reads && read == nullptr)) return false;
      if ((reads &&
           !judge(channel, task, in, read, u64{remap.sources} * remap.bytes, AgentAccess::Read)) ||
          !judge(channel, task, out, written, u64{remap.targets} * remap.bytes, AgentAccess::Write))
        return false;
      for (u32 target = 0; target < remap.targets; ++target) {
        const u32 from = remap.from[target];
        u8* component = written + usize{target} * remap.bytes;
        if (from == Remap::kNoWrite) continue;
        if (from == Remap::kConstA || from == Remap::kConstB)
          std::memcpy(component, &constants[from - Remap::kConstA], remap.bytes);
        else if (from < remap.sources)
          std::memmove(component, read + usize{from} * remap.bytes, remap.bytes);
      }
    }
  return true;
}

// Transfers begin in order, but host semaphores and grids need not wait for them.
// [clc7b5.h NVC7B5_LAUNCH_DMA_DATA_TRANSFER_TYPE]
void Gpu::launch_copy(Channel& channel, std::span<const u32> methods, u32 value) {
  constexpr usize kLast = 0x70c / 4;  // behind SET_REMAP_COMPONENTS
  Channel::Copy copy{{methods.begin(), methods.begin() + kLast}, value, {}};
  if (channel.races) {
    copy.races = channel.races->add_event(false);
    copy.races.task->call(race_place(channel, "a copy"));
  }
  channel.copies.push_back(std::move(copy));
  if (!options_.adversarial) drain_copies(channel);
}

void Gpu::drain_copies(Channel& channel) {
  while (!channel.copies.empty() && channel.group->error == 0) run_copy(channel);
}

void Gpu::run_copy(Channel& channel) {
  Channel::Copy copy = std::move(channel.copies.front());
  channel.copies.pop_front();
  run_copy(channel, copy);
  if (copy.races.task) channel.races->end(copy.races);
}

void Gpu::run_copy(Channel& channel, Channel::Copy& copy) {
  const std::span<const u32> methods = copy.methods;
  const u32 value = copy.launch;
  const auto launch = record_of_word<hw::CopyLaunch>(value);
  const bool is_hopper = model().qmd_major >= 4;
  std::string_view why;
  if (launch.src_physical || launch.dst_physical) why = "physical addresses are not for users";
  const bool has_transfer = launch.transfer != hw::CopyTransfer::None;
  if (has_transfer && (!launch.src_pitch || !launch.dst_pitch))
    why = "block-linear surfaces are not emulated";
  const bool has_semaphore = launch.semaphore != hw::CopySemaphoreType::None;
  if (launch.transfer > hw::CopyTransfer::NonPipelined) why = "no such transfer";
  // [clc7b5.h and clc8b5.h: LAUNCH_DMA 22:20, VPRMODE; *_UPPER is 16:0 before Hopper, then 24:0]
  const auto extent = record_of<hw::CopyExtent>(methods);
  const auto semaphore = record_of<hw::CopySemaphore>(methods);
  const u32 uppers = (has_transfer ? extent.in_upper | extent.out_upper : 0) |
                     (has_semaphore ? semaphore.addr_upper : 0);
  if (!is_hopper && (launch.copy_type != 0 || uppers >> 17 != 0))
    why = "bits of a later class are set";
  if (is_hopper && launch.copy_type != 0)
    why = "copies of confidential computing are not emulated, or reserved";
  if (launch.reserved_start_of_copy || launch.reserved_err_code != 0) why = "reserved bits are set";
  if (has_transfer && launch.remap && methods[0x708 / 4] == 0)
    why = "it remaps, and no components were set";
  if (launch.memory_scrub || launch.vpr_vid2vid)
    why = "scrubbing and protected memory are not emulated";
  if (launch.interrupt > hw::CopyInterrupt::NonBlocking) why = "no such interrupt";
  if (launch.semaphore == hw::CopySemaphoreType::ConditionalIntr ||
      launch.semaphore_reduction_enable)
    why = "that kind of semaphore is not emulated";
  if (launch.semaphore_reduction != 0 || launch.semaphore_reduction_unsigned)
    why = "a reduction without SEMAPHORE_REDUCTION_ENABLE";
  if (!why.empty() && breaks(channel, ChannelError::Copy, kCopyLaunch,
                             fmt::format("{}: LAUNCH_DMA {:#x}: {}", name(channel), value, why)))
    return;
  // A pipelined transfer may begin before those ahead of it are done.
  const bool overlaps = launch.transfer == hw::CopyTransfer::Pipelined;
  if (copy.races.task && !overlaps) channel.races->begin(copy.races);
  if (has_transfer && !copy_lines(channel, copy)) return;
  if (copy.races.task && overlaps) channel.races->begin(copy.races);
  if (has_transfer) channel.is_unflushed = true;
  if (launch.flush_enable) channel.is_unflushed = false;
  if (has_semaphore && !release_copy(channel, copy, launch)) return;
  // Behind the semaphore: who is woken by it finds the semaphore released.
  if (launch.interrupt != hw::CopyInterrupt::None) options_.interrupt();
}

bool Gpu::release_copy(Channel& channel, const Channel::Copy& copy, const hw::CopyLaunch& launch) {
  const u32 value = copy.launch;
  const auto semaphore = record_of<hw::CopySemaphore>(copy.methods);
  const bool has_time = launch.semaphore == hw::CopySemaphoreType::WithTimestamp;
  const u64 bytes = has_time ? 16 : launch.payload_64bit ? 8 : 4;
  if (channel.is_unflushed &&
      breaks(channel, ChannelError::Copy, kCopyLaunch,
             fmt::format("{}: LAUNCH_DMA {:#x} releases a semaphore, and no FLUSH_ENABLE made the "
                         "data that was copied visible before it",
                         name(channel), value)))
    return false;
  if (semaphore.addr() % bytes != 0 && breaks(channel, ChannelError::Copy, kCopyLaunch,
                                              fmt::format("{}: a semaphore of {} bytes at {:#x}",
                                                          name(channel), bytes, semaphore.addr())))
    return false;
  u8* host = at(channel, semaphore.addr(), bytes, true, "a semaphore", kCopyFault);
  if (host == nullptr) return false;
  const Range* range = channel.space().find(semaphore.addr());
  if (launch.flush_enable && launch.flush_gl && range->type.place == Place::Host &&
      breaks(channel, ChannelError::Copy, kCopyLaunch,
             fmt::format("{}: LAUNCH_DMA {:#x}: FLUSH_TYPE GL does not reach system memory, where "
                         "the semaphore at {:#x} is",
                         name(channel), value, semaphore.addr())))
    return false;
  const u64 payload =
      u64{launch.payload_64bit ? semaphore.payload_upper : 0} << 32 | semaphore.payload;
  if (!hand_over(channel, copy.races.task.get(), semaphore.addr(), host, payload,
                 bytes == 4 ? 4 : 8))
    return false;
  if (has_time) {
    const u64 now = options_.now_ns();
    std::memcpy(host + 8, &now, sizeof now);
  }
  if (bytes == 4)
    __atomic_store_n(reinterpret_cast<u32*>(host), semaphore.payload, __ATOMIC_RELEASE);
  else
    __atomic_store_n(reinterpret_cast<u64*>(host), payload, __ATOMIC_RELEASE);
  return true;
}

}  // namespace doorbell::emu::nvgpu
