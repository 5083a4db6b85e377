// [torvalds/linux psp_v13_0.c, psp_v14_0.c, amdgpu_psp.c psp_hw_start(), psp_gfx_if.h]
#include "emulator/amd/bare/security_processor.h"

#include <cstring>

#include <fmt/format.h>

#include "base/util/check.h"
#include "emulator/amd/bare/bare_checks.h"
#include "emulator/amd/bare/made_tables.h"

namespace doorbell::emu::amdgpu {

using amd::hw::PspBootloaderCommand;
using amd::hw::PspCommand;
using amd::hw::PspCommandBuffer;
using amd::hw::PspFirmware;
using amd::hw::PspFrame;
using amd::hw::Reg;

namespace {

u64 join(u32 low, u32 high) { return low | u64{high} << 32; }

// The kernel clears a frame and a command, and leaves their unused words 0. [amdgpu_psp.c
// psp_ring_cmd_submit(): memset() of the frame; acquire_psp_cmd_buf(): memset() of the command]
bool has_only_used_words(const PspFrame& frame) {
  PspFrame used;
  used.cmd_buf_addr_lo = frame.cmd_buf_addr_lo;
  used.cmd_buf_addr_hi = frame.cmd_buf_addr_hi;
  used.fence_addr_lo = frame.fence_addr_lo;
  used.fence_addr_hi = frame.fence_addr_hi;
  used.fence_value = frame.fence_value;
  return std::memcmp(&frame, &used, sizeof frame) == 0;
}

bool has_only_used_words(const PspCommandBuffer& command) {
  const usize used = command.cmd_id == PspCommand::SetupTmr           ? 6
                     : command.cmd_id == PspCommand::LoadIpFw         ? 4
                     : command.cmd_id == PspCommand::LoadToc          ? 3
                     : command.cmd_id == PspCommand::SpatialPartition ? 1
                                                                      : 0;
  for (usize i = used; i < std::size(command.arguments); ++i)
    if (command.arguments[i] != 0) return false;
  return command.buf_size == 0 && command.buf_version == 0 && command.resp_buf_addr_lo == 0 &&
         command.resp_buf_addr_hi == 0 && command.resp_offset == 0 && command.resp_buf_size == 0;
}

}  // namespace

u32 SecurityProcessor::refuse(const Check& check, std::string message) {
  checks_.report(check, std::move(message));
  return kRefused;
}

bool SecurityProcessor::has_smu_firmware() const { return is_gc94() || has(PspFirmware::Smu); }

// The SMU's lies in front of all others, which want memory.
bool SecurityProcessor::has_room(PspFirmware type) const {
  if (type == PspFirmware::Smu) return !is_gc94();
  return has_boot_time_memory() ? has(PspFirmware::Smu) : state_.has_tmr;
}

u32 SecurityProcessor::read(Reg reg) {
  const bool is_late = state_.lag > 0;
  const auto look = [&] { state_.lag -= state_.lag > 0 ? 1 : 0; };
  switch (reg) {
    case Reg::Mp0SmnC2pmsg35: look(); return is_late || state_.is_alive ? 0 : amd::hw::kPspReady;
    case Reg::Mp0SmnC2pmsg36: return state_.message_at;
    case Reg::Mp0SmnC2pmsg64:
      look();
      return is_late || !state_.is_alive ? 0 : amd::hw::kPspReady | state_.control_status;
    case Reg::Mp0SmnC2pmsg67: return state_.write_pointer;
    case Reg::Mp0SmnC2pmsg69: return state_.ring_low;
    case Reg::Mp0SmnC2pmsg70: return state_.ring_high;
    case Reg::Mp0SmnC2pmsg71: return state_.ring_size;
    case Reg::Mp0SmnC2pmsg81: look(); return is_late || !state_.is_alive ? 0 : 0xdb;
    default: UNREACHABLE("register {} of the security processor", static_cast<int>(reg));
  }
}

void SecurityProcessor::write(Reg reg, u32 value) {
  switch (reg) {
    case Reg::Mp0SmnC2pmsg35: return take_part(static_cast<PspBootloaderCommand>(value));
    case Reg::Mp0SmnC2pmsg36: state_.message_at = value; return;
    case Reg::Mp0SmnC2pmsg64: return control(value);
    case Reg::Mp0SmnC2pmsg67: return take_frames(value);
    case Reg::Mp0SmnC2pmsg69: state_.ring_low = value; return;
    case Reg::Mp0SmnC2pmsg70: state_.ring_high = value; return;
    case Reg::Mp0SmnC2pmsg71: state_.ring_size = value; return;
    case Reg::Mp0SmnC2pmsg81: return;
    default: UNREACHABLE("register {} of the security processor", static_cast<int>(reg));
  }
}

// The parts must come in the order of boot_steps_of(), each once: the made files have all of them.
void SecurityProcessor::take_part(PspBootloaderCommand command) {
  const std::span<const amd::hw::PspBootStep> steps = amd::hw::boot_steps_of(chip_);
  if (state_.is_alive || state_.lag > 0) {
    refuse(kPspBootLoader, fmt::format("command {:#x} to the boot loader, which is not ready",
                                       static_cast<u32>(command)));
    return;
  }
  const usize step = state_.next_part;
  if (step == steps.size() || steps[step].command != command) {
    refuse(kPspBootLoader,
           fmt::format("command {:#x} to the boot loader is unknown or out of order",
                       static_cast<u32>(command)));
    return;
  }
  const std::span<u8> message =
      memory_.find(state_.message_at * amd::hw::kPspMiB, amd::hw::kPspMiB);
  u32 bytes = 0;
  if (message.size() >= 12) std::memcpy(&bytes, message.data() + 8, sizeof bytes);
  const std::optional<MadeImage> image =
      bytes <= message.size() ? read_made_image(message.first(bytes)) : std::nullopt;
  const u32 wanted = kMadePart + static_cast<u32>(steps[step].part);
  if (!image || image->type != wanted) {
    refuse(kPspBootLoader, fmt::format("command {:#x} to the boot loader finds {} at MiB {:#x}",
                                       static_cast<u32>(command),
                                       image ? "another part" : "no firmware", state_.message_at));
    return;
  }
  state_.next_part = step + 1;
  state_.lag = kLag;
  state_.is_alive = command == PspBootloaderCommand::LoadSos;
}

void SecurityProcessor::control(u32 value) {
  constexpr u64 kPage = 4096;
  if (!state_.is_alive || state_.lag > 0) {
    refuse(kPspRing, fmt::format("{:#x} to the operating system, which is not ready", value));
    return;
  }
  state_.lag = kLag;
  state_.control_status = 0;
  if (value == amd::hw::kPspDestroyRings) {
    state_.has_ring = false;
    state_.ring_size = 0;
    return;
  }
  state_.ring = join(state_.ring_low, state_.ring_high);
  if (value != amd::hw::kPspCreateRing || state_.has_ring || state_.ring % kPage != 0 ||
      state_.ring_size == 0 || state_.ring_size % sizeof(PspFrame) != 0 ||
      memory_.find(state_.ring, state_.ring_size).empty()) {
    state_.control_status = 1;
    refuse(kPspRing,
           fmt::format("{:#x} makes a ring of {:#x} bytes at {:#x}{}", value, state_.ring_size,
                       state_.ring, state_.has_ring ? ", where there is one" : ""));
    return;
  }
  state_.has_ring = true;
  state_.ring_bytes = state_.ring_size;
  state_.write_pointer = 0;
}

void SecurityProcessor::take_frames(u32 write_pointer) {
  constexpr u32 kFrameWords = sizeof(PspFrame) / sizeof(u32);
  const u32 ring_words = state_.ring_bytes / static_cast<u32>(sizeof(u32));
  if (!state_.has_ring || write_pointer != (state_.write_pointer + kFrameWords) % ring_words) {
    refuse(kPspFrame,
           fmt::format("the write pointer moves from {:#x} to {:#x}{}", state_.write_pointer,
                       write_pointer, state_.has_ring ? "" : " of no ring"));
    return;
  }
  const u64 at = state_.ring + u64{state_.write_pointer} * sizeof(u32);
  state_.write_pointer = write_pointer;
  PspFrame frame;
  std::memcpy(&frame, memory_.find(at, sizeof frame).data(), sizeof frame);
  const u64 command_at = join(frame.cmd_buf_addr_lo, frame.cmd_buf_addr_hi);
  const u64 fence_at = join(frame.fence_addr_lo, frame.fence_addr_hi);
  const std::span<u8> command_bytes = memory_.find(command_at, sizeof(PspCommandBuffer));
  const std::span<u8> fence = memory_.find(fence_at, sizeof(u32));
  u32 before = 0;
  if (!fence.empty()) std::memcpy(&before, fence.data(), sizeof before);
  if (command_bytes.empty() || fence.empty() || before == frame.fence_value ||
      !has_only_used_words(frame)) {
    refuse(kPspFrame,
           fmt::format("a frame with a command at {:#x}, a fence of {:#x} at {:#x}, where "
                       "{:#x} is",
                       command_at, frame.fence_value, fence_at, before));
    return;
  }
  PspCommandBuffer command;
  std::memcpy(&command, command_bytes.data(), sizeof command);
  if (!has_only_used_words(command))
    refuse(kPspFrame, fmt::format("command {} with unused words that are not 0",
                                  static_cast<u32>(command.cmd_id)));
  command.status = run(command);
  std::memcpy(command_bytes.data(), &command, sizeof command);
  std::memcpy(fence.data(), &frame.fence_value, sizeof frame.fence_value);
}

u32 SecurityProcessor::run(PspCommandBuffer& command) {
  switch (command.cmd_id) {
    case PspCommand::SetupTmr: return take_tmr(command);
    case PspCommand::LoadIpFw: return load_firmware(command);
    case PspCommand::LoadToc: {
      const std::span<u8> bytes =
          memory_.find(join(command.arguments[0], command.arguments[1]), command.arguments[2]);
      const std::optional<MadeImage> image = read_made_image(bytes);
      if (!image || image->type != kMadePart + static_cast<u32>(amd::hw::PspPart::Toc))
        return refuse(kPspImage, "LOAD_TOC finds no table of contents");
      command.tmr_size = state_.wanted_tmr_bytes = kMadeTmrBytes;
      return 0;
    }
    case PspCommand::AutoloadRlc: {
      if (is_gc94()) return refuse(kPspOrder, "nothing loads by itself");
      return start_graphics();
    }
    // Behind the graphics core's start: it is the XCCs' registers that the processor writes.
    // [gfx_v9_4_3.c gfx_v9_4_3_switch_compute_partition(): CP_HYP_XCP_CTL, CP_PSP_XCP_CTL]
    case PspCommand::SpatialPartition: {
      if (!is_gc94() || !state_.has_started_graphics || command.arguments[0] != 1)
        return refuse(kPspOrder, fmt::format("{} partitions are asked for, where one is possible",
                                             command.arguments[0]));
      state_.partitions = command.arguments[0];
      return 0;
    }
  }
  return refuse(kPspFrame,
                fmt::format("command {}, which is none", static_cast<u32>(command.cmd_id)));
}

u32 SecurityProcessor::load_firmware(const PspCommandBuffer& command) {
  const u32 type = command.arguments[3];
  const std::span<u8> bytes =
      memory_.find(join(command.arguments[0], command.arguments[1]), command.arguments[2]);
  const std::optional<MadeImage> image = read_made_image(bytes);
  // The copy engines of an AID have one image.
  const bool is_of_engine = type == static_cast<u32>(PspFirmware::Sdma1) ||
                            type == static_cast<u32>(PspFirmware::Sdma2) ||
                            type == static_cast<u32>(PspFirmware::Sdma3);
  const u32 wanted = is_of_engine ? static_cast<u32>(PspFirmware::Sdma0) : type;
  if (!image || image->type != wanted || type >= state_.loaded.size())
    return refuse(kPspImage, fmt::format("LOAD_IP_FW of type {} finds {} in {} bytes", type,
                                         image ? fmt::format("type {}", image->type) : "none",
                                         command.arguments[2]));
  const bool is_smu = type == static_cast<u32>(PspFirmware::Smu);
  const bool is_late = is_smu && (has_boot_time_memory() ? has(PspFirmware::Smu) : state_.has_tmr);
  if (!has_room(static_cast<PspFirmware>(type)) || is_late || state_.has_started_graphics ||
      state_.loaded[type])
    return refuse(kPspOrder,
                  fmt::format("firmware of type {} is loaded {}", type,
                              state_.loaded[type]           ? "twice"
                              : state_.has_started_graphics ? "after the graphics core's start"
                              : is_smu                      ? "behind the memory for firmware"
                                                            : "in front of the memory for it"));
  if (type == static_cast<u32>(PspFirmware::Rs64Mec)) state_.compute_entry = image->entry;
  if (type == static_cast<u32>(PspFirmware::Rs64Pfp)) state_.pfp_entry = image->entry;
  if (type == static_cast<u32>(PspFirmware::Rs64Me)) state_.me_entry = image->entry;
  state_.loaded[type] = true;
  // Last where nothing loads by itself. [amdgpu_psp.c psp_load_fw(): psp_rl_load() behind
  // psp_load_non_psp_fw()]
  return type == static_cast<u32>(PspFirmware::RegList) ? start_graphics() : 0;
}

u32 SecurityProcessor::take_tmr(const PspCommandBuffer& command) {
  const u64 at = join(command.arguments[0], command.arguments[1]);
  const u64 system = join(command.arguments[4], command.arguments[5]);
  const u32 bytes = command.arguments[2];
  if (has_boot_time_memory())
    return refuse(kPspTmr, "memory for firmware is given, which the boot loader has taken");
  if (is_gc94()) {
    if (state_.has_tmr || at != 0 || system != 0 || bytes != 0 ||
        command.arguments[3] != amd::hw::kTmrVirtualAddress)
      return refuse(kPspTmr, fmt::format("{:#x} bytes at {:#x} ({:#x}) for firmware{}", bytes, at,
                                         system, state_.has_tmr ? ", twice" : ""));
    state_.has_tmr = true;
    return 0;
  }
  if (state_.has_tmr || !has(PspFirmware::Smu))
    return refuse(kPspOrder, state_.has_tmr ? "memory for firmware is given twice"
                                            : "memory for firmware in front of the SMU's");
  if (bytes != state_.wanted_tmr_bytes || state_.wanted_tmr_bytes == 0 ||
      at % amd::hw::kPspMiB != 0 || memory_.find(at, bytes).empty() ||
      at - kFramebuffer != system || command.arguments[3] != amd::hw::kTmrVirtualAddress)
    return refuse(kPspTmr,
                  fmt::format("{:#x} bytes at {:#x} ({:#x}) for firmware, which takes {:#x}", bytes,
                              at, system, state_.wanted_tmr_bytes));
  state_.has_tmr = true;
  return 0;
}

u32 SecurityProcessor::start_graphics() {
  for (const PspFirmware type : needed_firmware(chip_))
    if (!has(type))
      return refuse(kPspOrder,
                    fmt::format("the graphics core is started without firmware of type {}",
                                static_cast<u32>(type)));
  if (state_.wanted_tmr_bytes == 0 && !is_gc94())
    return refuse(kPspOrder, "the graphics core is started without a table of contents");
  state_.has_started_graphics = true;
  return 0;
}

}  // namespace doorbell::emu::amdgpu
