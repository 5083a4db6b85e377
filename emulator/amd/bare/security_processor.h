// The security processor (PSP) of an emulated GPU, by its mailboxes: a boot loader that takes the
// parts of an operating system, and that system, which takes commands from a ring. It answers at
// once, but shows it only when it has been looked at a few times.
//
// Thread safety: one thread at a time.
#pragma once

#include "drivers/amd/hw/bare/psp.h"
#include "drivers/amd/hw/bare/registers.h"
#include "emulator/amd/bare/bare_memory.h"
#include "emulator/amd/bare/card_state.h"

namespace doorbell::emu::amdgpu {

class SecurityProcessor {
 public:
  SecurityProcessor(BareMemory& memory, Checks& checks, amd::hw::BareChip chip,
                    SecurityState& state)
      : memory_(memory), checks_(checks), chip_(chip), state_(state) {}

  u32 read(amd::hw::Reg reg);
  void write(amd::hw::Reg reg, u32 value);
  // Of GC 9.4.3 the board's own firmware starts the operating system, and the power controller.
  void reset() {
    state_ = {};
    state_.is_alive = is_gc94();
  }

  bool has_smu_firmware() const;
  bool has_started_graphics() const { return state_.has_started_graphics; }
  // Where the compute processor's firmware begins.
  u64 compute_entry() const { return state_.compute_entry; }
  u64 pfp_entry() const { return state_.pfp_entry; }
  u64 me_entry() const { return state_.me_entry; }
  u32 partitions() const { return state_.partitions; }

 private:
  bool is_gc94() const { return chip_ == amd::hw::BareChip::Gc94; }
  bool has_room(amd::hw::PspFirmware type) const;
  void take_part(amd::hw::PspBootloaderCommand command);
  void control(u32 value);
  void take_frames(u32 write_pointer);
  u32 run(amd::hw::PspCommandBuffer& command);
  u32 load_firmware(const amd::hw::PspCommandBuffer& command);
  u32 take_tmr(const amd::hw::PspCommandBuffer& command);
  u32 start_graphics();
  u32 refuse(const Check& check, std::string message);
  // The boot loader of MP0 14.0.2 and 14.0.3 takes the memory for firmware by itself.
  // [amdgpu_psp.c psp_early_init(): boot_time_tmr]
  bool has_boot_time_memory() const { return chip_ == amd::hw::BareChip::Gc12; }
  bool has(amd::hw::PspFirmware type) const { return state_.loaded[static_cast<u32>(type)]; }

  static constexpr u32 kLag = 2, kRefused = 0xffff'0005;

  BareMemory& memory_;
  Checks& checks_;
  const amd::hw::BareChip chip_;
  SecurityState& state_;
};

}  // namespace doorbell::emu::amdgpu
