// The security processor (PSP) of an emulated GPU, by its mailboxes: a boot loader that takes the
// parts of an operating system, and that system, which takes commands from a ring. It answers at
// once, but shows it only when it has been looked at a few times.
//
// Thread safety: one thread at a time.
#pragma once

#include <set>

#include "drivers/amd/hw/bare/psp.h"
#include "drivers/amd/hw/bare/registers.h"
#include "emulator/amd/bare/bare_memory.h"

namespace doorbell::emu::amdgpu {

class SecurityProcessor {
 public:
  SecurityProcessor(BareMemory& memory, Checks& checks) : memory_(memory), checks_(checks) {}

  u32 read(amd::hw::Reg reg);
  void write(amd::hw::Reg reg, u32 value);
  void reset() { state_ = {}; }

  bool has_smu_firmware() const;
  bool has_started_graphics() const { return state_.has_started_graphics; }
  // Where the compute processor's firmware begins.
  u64 compute_entry() const { return state_.compute_entry; }

 private:
  void take_part(amd::hw::PspBootloaderCommand command);
  void control(u32 value);
  void take_frames(u32 write_pointer);
  u32 run(amd::hw::PspCommandBuffer& command);
  u32 load_firmware(const amd::hw::PspCommandBuffer& command);
  u32 take_tmr(const amd::hw::PspCommandBuffer& command);
  u32 start_graphics();
  u32 refuse(const Check& check, std::string message);
  bool has(amd::hw::PspFirmware type) const {
    return state_.loaded.contains(static_cast<u32>(type));
  }

  static constexpr u32 kLag = 2, kRefused = 0xffff'0005;

  BareMemory& memory_;
  Checks& checks_;
  struct State {
    u32 lag = 0;          // looks until an answer shows
    usize next_part = 0;  // of the boot loader's steps
    u32 message_at = 0;   // in MiB
    bool is_alive = false;
    u64 ring = 0;
    u32 ring_bytes = 0, write_pointer = 0;
    u32 ring_low = 0, ring_high = 0, ring_size = 0;
    bool has_ring = false, has_tmr = false, has_started_graphics = false;
    u32 control_status = 0, wanted_tmr_bytes = 0;
    u64 compute_entry = 0;
    std::set<u32> loaded;  // PspFirmware
  };
  State state_;
};

}  // namespace doorbell::emu::amdgpu
