// PSP and SMU: the processors that load firmware and mind the power.
// [torvalds/linux psp_v13_0.c, amdgpu_psp.c psp_hw_start(), psp_load_fw(), psp_load_non_psp_fw();
// smu_v13_0.c, smu_cmn.c smu_cmn_send_smc_msg_with_param(); tinygrad ip.py AM_PSP, AM_SMU]
#include <algorithm>
#include <cstring>

#include "base/util/try.h"
#include "drivers/amd/kernel/pci/boot.h"

namespace doorbell::amd {

using hw::PspCommand;
using hw::PspPart;
using hw::Reg;

namespace {

constexpr u64 kMillisecond_ns = 1'000'000;
// [psp_v13_0.c: "there might be handshake issue with hardware which needs delay"]
constexpr u64 kHandshake_ns = 20 * kMillisecond_ns;

// The message buffer, by which the processor gets what is loaded.
Result<void> put_message(const BootTarget& target, std::span<const u8> bytes) {
  if (bytes.size() > boot_memory::kPspMessageBytes)
    return fail(ErrorKind::Unsupported, "firmware of {} bytes, the buffer has {}", bytes.size(),
                boot_memory::kPspMessageBytes);
  target.copy_in(boot_memory::kPspMessage, bytes);
  target.flush_hdp();
  return {};
}

const hw::PspImage* find(const Firmware& firmware, PspPart part) {
  const auto found = std::ranges::find(firmware.psp, part, &hw::PspImage::part);
  return found == firmware.psp.end() ? nullptr : &*found;
}

Result<void> wait_for_bootloader(const RegisterAccess& registers) {
  return registers.wait(Reg::Mp0SmnC2pmsg35, hw::kPspReady, hw::kPspReady,
                        "the security processor's boot loader");
}

Result<void> wait_until_alive(const RegisterAccess& registers) {
  const u64 end = registers.clock().now_ns() + 10'000 * kMillisecond_ns;
  for (u32 turn = 0; !is_psp_alive(registers); ++turn) {
    TRY(registers.state());
    if (registers.clock().now_ns() >= end)
      return fail(ErrorKind::Timeout, "the security processor's operating system does not start");
    registers.rest(turn);
  }
  return {};
}

Result<void> load_operating_system(const BootTarget& target, const Firmware& firmware) {
  const RegisterAccess& registers = target.registers;
  for (const hw::PspBootStep& step : hw::boot_steps_of(registers.caps().chip)) {
    const hw::PspImage* image = find(firmware, step.part);
    if (image == nullptr) continue;
    TRY(wait_for_bootloader(registers));
    TRY(put_message(target, image->bytes));
    registers.write(Reg::Mp0SmnC2pmsg36,
                    static_cast<u32>(target.mc_address(boot_memory::kPspMessage) / hw::kPspMiB));
    registers.write(Reg::Mp0SmnC2pmsg35, static_cast<u32>(step.command));
    if (step.part != PspPart::Sos) TRY(wait_for_bootloader(registers));
  }
  return wait_until_alive(registers);
}

Result<void> create_ring(const BootTarget& target) {
  const RegisterAccess& registers = target.registers;
  if (registers.read(Reg::Mp0SmnC2pmsg71) != 0) {
    registers.write(Reg::Mp0SmnC2pmsg64, hw::kPspDestroyRings);
    registers.pause(kHandshake_ns);
  }
  TRY(registers.wait(Reg::Mp0SmnC2pmsg64, hw::kPspReady, hw::kPspReady,
                     "the security processor's operating system"));
  registers.write_pair(Reg::Mp0SmnC2pmsg69, Reg::Mp0SmnC2pmsg70,
                       target.mc_address(boot_memory::kPspRing));
  registers.write(Reg::Mp0SmnC2pmsg71, static_cast<u32>(boot_memory::kPspRingBytes));
  registers.write(Reg::Mp0SmnC2pmsg64, hw::kPspCreateRing);
  registers.pause(kHandshake_ns);
  return registers.wait(Reg::Mp0SmnC2pmsg64, hw::kPspReady | hw::kPspStatusMask, hw::kPspReady,
                        "the security processor's ring");
}

u32 low(u64 value) { return static_cast<u32>(value); }
u32 high(u64 value) { return static_cast<u32>(value >> 32); }

// The answer.
Result<hw::PspCommandBuffer> submit(const BootTarget& target, const hw::PspCommandBuffer& command,
                                    const char* what) {
  const RegisterAccess& registers = target.registers;
  const u32 write_pointer = registers.read(Reg::Mp0SmnC2pmsg67);  // in words
  const u64 command_at = target.mc_address(boot_memory::kPspCommand);
  const u64 fence_at = target.mc_address(boot_memory::kPspFence);
  hw::PspFrame frame;
  frame.cmd_buf_addr_lo = low(command_at);
  frame.cmd_buf_addr_hi = high(command_at);
  frame.fence_addr_lo = low(fence_at);
  frame.fence_addr_hi = high(fence_at);
  frame.fence_value = write_pointer + 1;
  const u64 at = u64{write_pointer} * sizeof(u32) % boot_memory::kPspRingBytes;
  const auto bytes_of = [](const auto& value) {
    return std::span(reinterpret_cast<const u8*>(&value), sizeof value);
  };
  target.copy_in(boot_memory::kPspCommand, bytes_of(command));
  target.copy_in(boot_memory::kPspRing + at, bytes_of(frame));
  target.flush_hdp();
  constexpr u32 kRingWords = static_cast<u32>(boot_memory::kPspRingBytes / sizeof(u32));
  registers.write(Reg::Mp0SmnC2pmsg67,
                  (write_pointer + static_cast<u32>(sizeof frame / sizeof(u32))) % kRingWords);
  const u64 end = registers.clock().now_ns() + 10'000 * kMillisecond_ns;
  for (u32 turn = 0; target.vram.read32(boot_memory::kPspFence) != frame.fence_value; ++turn) {
    TRY(registers.state());
    if (registers.clock().now_ns() >= end)
      return fail(ErrorKind::Timeout, "the security processor does not {}", what);
    registers.rest(turn);
  }
  hw::PspCommandBuffer answer;
  target.vram.read_bytes(boot_memory::kPspCommand, {reinterpret_cast<u8*>(&answer), sizeof answer});
  if (answer.status != 0)
    return fail(ErrorKind::DeviceLost, "the security processor does not {}: it answers {:#x}", what,
                answer.status);
  return answer;
}

// A command that begins with what is put into the message buffer.
Result<hw::PspCommandBuffer> about_message(const BootTarget& target, PspCommand id,
                                           std::span<const u8> bytes) {
  TRY(put_message(target, bytes));
  hw::PspCommandBuffer command;
  command.cmd_id = id;
  const u64 at = target.mc_address(boot_memory::kPspMessage);
  command.arguments[0] = low(at);
  command.arguments[1] = high(at);
  command.arguments[2] = static_cast<u32>(bytes.size());
  return command;
}

Result<void> load_image(const BootTarget& target, const hw::FirmwareImage& image) {
  TRY(hw::PspCommandBuffer command, about_message(target, PspCommand::LoadIpFw, image.bytes));
  command.arguments[3] = static_cast<u32>(image.type);
  Result<hw::PspCommandBuffer> answer = submit(target, command, "load firmware");
  if (!answer)
    return fail(answer.error().kind, "firmware of type {} and {} bytes: {}",
                static_cast<u32>(image.type), image.bytes.size(), answer.error().message);
  return {};
}

// How much memory the firmware takes that is loaded, by the table of contents.
Result<u64> load_contents(const BootTarget& target, const hw::PspImage& contents) {
  TRY(const hw::PspCommandBuffer command,
      about_message(target, PspCommand::LoadToc, contents.bytes));
  TRY(const hw::PspCommandBuffer answer, submit(target, command, "read the table of contents"));
  return answer.tmr_size;
}

// Where the boot loader has taken the memory, the driver says that it gives none.
Result<void> ask_for_tmr(const BootTarget& target) {
  hw::PspCommandBuffer command;
  command.cmd_id = PspCommand::SetupTmr;
  command.arguments[3] = hw::kTmrVirtualAddress;
  TRY(submit(target, command, "take memory for firmware"));
  return {};
}

Result<void> set_up_tmr(const BootTarget& target, u64 bytes) {
  if (bytes > boot_memory::kMaxTmrBytes)
    return fail(ErrorKind::Unsupported, "the firmware takes {:#x} bytes, at most {:#x}", bytes,
                boot_memory::kMaxTmrBytes);
  hw::PspCommandBuffer command;
  command.cmd_id = PspCommand::SetupTmr;
  const u64 at = target.mc_address(boot_memory::kTmr);
  const u64 system = target.offset + boot_memory::kTmr;
  command.arguments[0] = low(at);
  command.arguments[1] = high(at);
  command.arguments[2] = static_cast<u32>(bytes);
  command.arguments[3] = hw::kTmrVirtualAddress;
  command.arguments[4] = low(system);
  command.arguments[5] = high(system);
  TRY(submit(target, command, "take memory for firmware"));
  return {};
}

// A message to the power controller, its answer's argument.
struct Mailbox {
  Reg message, argument, response;
};
constexpr Mailbox kDriverMailbox{Reg::Mp1SmnC2pmsg66, Reg::Mp1SmnC2pmsg82, Reg::Mp1SmnC2pmsg90};
constexpr Mailbox kDebugMailbox{Reg::Mp1SmnC2pmsg75, Reg::Mp1SmnC2pmsg53, Reg::Mp1SmnC2pmsg54};

Result<u32> send(const RegisterAccess& registers, const Mailbox& mailbox, u32 message, u32 argument,
                 u64 timeout_ns) {
  registers.write(mailbox.response, 0);
  registers.write(mailbox.argument, argument);
  registers.write(mailbox.message, message);
  const u64 end = registers.clock().now_ns() + timeout_ns;
  for (u32 turn = 0; registers.read(mailbox.response) == 0; ++turn) {
    TRY(registers.state());
    if (registers.clock().now_ns() >= end)
      return fail(ErrorKind::Timeout, "the power controller does not answer message {:#x}",
                  message);
    registers.rest(turn);
  }
  if (const u32 answer = registers.read(mailbox.response); answer != hw::kSmuOk)
    return fail(ErrorKind::Unsupported, "the power controller answers message {:#x} with {:#x}",
                message, answer);
  return registers.read(mailbox.argument);
}

Result<u32> send(const RegisterAccess& registers, hw::SmuMessage message, u32 argument,
                 u64 patience_ns = 10'000 * kMillisecond_ns) {
  return send(registers, kDriverMailbox, hw::number_of(message, registers.caps().chip), argument,
              patience_ns);
}

}  // namespace

bool is_psp_alive(const RegisterAccess& registers) {
  return registers.read(Reg::Mp0SmnC2pmsg81) != 0;
}

// The SMU's firmware goes in front of the memory for all others, which the processor then guards.
Result<void> start_psp(const BootTarget& target, const Firmware& firmware) {
  if (!is_psp_alive(target.registers)) TRY(load_operating_system(target, firmware));
  TRY(create_ring(target));
  const BootCaps& caps = target.registers.caps();
  u64 tmr_bytes = 0;
  const hw::PspImage* contents = find(firmware, PspPart::Toc);
  if (contents != nullptr && caps.tmr != BootCaps::Tmr::AskedFor) {
    TRY(tmr_bytes, load_contents(target, *contents));
  }
  for (const hw::FirmwareImage& image : firmware.smu.images) TRY(load_image(target, image));
  if (caps.tmr == BootCaps::Tmr::Given) TRY(set_up_tmr(target, tmr_bytes));
  if (caps.tmr == BootCaps::Tmr::AskedFor) TRY(ask_for_tmr(target));
  for (const hw::FirmwareImage& image : firmware.images) TRY(load_image(target, image));
  if (!caps.has_autoload) {
    const hw::PspImage* list = find(firmware, PspPart::Rl);
    if (list == nullptr)
      return fail(ErrorKind::Corrupt, "the security processor's firmware has no list of registers");
    return load_image(target, {hw::PspFirmware::RegList, list->bytes});
  }
  hw::PspCommandBuffer command;
  command.cmd_id = PspCommand::AutoloadRlc;
  TRY(submit(target, command, "start the graphics core"));
  return {};
}

Result<u32> read_smu_version(const RegisterAccess& registers) {
  constexpr u64 kPatience_ns = 100 * kMillisecond_ns;
  return send(registers, hw::SmuMessage::GetSmuVersion, 0, kPatience_ns);
}

bool is_smu_alive(const RegisterAccess& registers) {
  return read_smu_version(registers).has_value();
}

Result<void> start_smu(const BootTarget& target) {
  const u64 table = target.mc_address(boot_memory::kSmuTable);
  TRY(send(target.registers, hw::SmuMessage::SetDriverDramAddrHigh, high(table)));
  TRY(send(target.registers, hw::SmuMessage::SetDriverDramAddrLow, low(table)));
  TRY(send(target.registers, hw::SmuMessage::EnableAllSmuFeatures, 0));
  return {};
}

// A clock's levels by index; index 0xff answers how many there are. A clock that has none stays.
Result<void> set_clocks(const RegisterAccess& registers, bool highest) {
  constexpr u32 kCount = 0xff, kAnyFrequency = 0xffff, kFrequencyMask = 0x7fff'ffff;
  if (!registers.caps().sets_clocks) return {};
  for (const hw::SmuClock clock :
       {hw::SmuClock::Memory, hw::SmuClock::Fabric, hw::SmuClock::Soc, hw::SmuClock::Gfx}) {
    const u32 which = static_cast<u32>(clock) << 16;
    u32 least = 0, most = kAnyFrequency;
    if (highest) {
      TRY(const u32 answer, send(registers, hw::SmuMessage::GetDpmFreqByIndex, which | kCount));
      const u32 levels = answer & kFrequencyMask;
      if (levels == 0) continue;
      TRY(const u32 top, send(registers, hw::SmuMessage::GetDpmFreqByIndex, which | (levels - 1)));
      least = most = top & kAnyFrequency;
    }
    TRY(send(registers, hw::SmuMessage::SetSoftMinByFreq, which | least));
    TRY(send(registers, hw::SmuMessage::SetSoftMaxByFreq, which | most));
  }
  return {};
}

Result<void> reset_whole_gpu(const RegisterAccess& registers) {
  constexpr u64 kReset_ns = 500 * kMillisecond_ns;
  // It may go down before it answers.
  if (registers.caps().resets_by_debug_message)
    (void)send(registers, kDebugMailbox, hw::kDebugMode1Reset, 0, kReset_ns);
  else
    (void)send(registers, hw::SmuMessage::ResetGpu, hw::kSmuResetMode1, kReset_ns);
  registers.pause(kReset_ns);
  return hw::boot_steps_of(registers.caps().chip).empty() ? wait_until_alive(registers)
                                                          : wait_for_bootloader(registers);
}

Result<void> make_one_partition(const BootTarget& target) {
  if (target.registers.xccs() == 1) return {};
  hw::PspCommandBuffer command;
  command.cmd_id = PspCommand::SpatialPartition;
  command.arguments[0] = 1;
  TRY(submit(target, command, "make one partition of all XCCs"));
  return {};
}

}  // namespace doorbell::amd
