// RegisterAccess: the registers of one GPU, by name, where its discovery table has them. A block
// that the GPU has several of has its registers several times: on() turns to others of them.
//
// Thread safety: one thread at a time.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/os/clock.h"
#include "base/os/device_memory.h"
#include "base/os/mmio.h"
#include "drivers/amd/hw/bare/discovery.h"
#include "drivers/amd/hw/bare/fields.h"
#include "drivers/amd/kernel/pci/boot_caps.h"

namespace doorbell::amd {

class RegisterAccess {
 public:
  // Fails where the GPU is none that is known, or lacks a register that is used. The clock is
  // borrowed. `way`: memory that lies the same way, which says where accesses fail.
  static Result<RegisterAccess> make(os::Mmio mmio, const hw::Discovery& discovery,
                                     os::Clock& clock, os::DeviceMemory way = {});

  // The same, of this instance of blocks that have so many; of others the first.
  RegisterAccess on(u32 index) const {
    RegisterAccess other = *this;
    other.index_ = index;
    return other;
  }
  // Graphics cores, and memory hubs.
  u32 xccs() const { return instances_->xccs; }
  u32 memory_hubs() const { return instances_->memory_hubs; }
  // Whether the chip has it.
  bool has(hw::Reg reg) const { return !hw::place_of(reg, caps_->chip).name.empty(); }

  u32 read(hw::Reg reg) const { return read_word(address(reg)); }
  void write(hw::Reg reg, u32 value) const { write_word(address(reg), value); }
  template <class T>
    requires requires { T::kWords; }
  void write(hw::Reg reg, const T& record) const {
    write(reg, hw::word_of(record));
  }
  void write_pair(hw::Reg low, hw::Reg high, u64 value) const {
    write(low, static_cast<u32>(value));
    write(high, static_cast<u32>(value >> 32));
  }
  // Sets and clears bits, and leaves the others.
  void change(hw::Reg reg, u32 clear, u32 set) const { write(reg, (read(reg) & ~clear) | set); }
  // The register `behind` words behind this one.
  void write_behind(hw::Reg reg, u32 behind, u32 value) const {
    write_word(address(reg) + behind, value);
  }

  u32 read_behind(hw::Reg reg, u32 behind) const { return read_word(address(reg) + behind); }

  // Absolute, in words.
  u64 address(hw::Reg reg) const;
  // By its absolute address in words; those beyond the mapped region through a window.
  u32 read_word(u64 address) const;
  void write_word(u64 address, u32 value) const;

  // Until these bits are so. The error calls it `what`.
  Result<void> wait(hw::Reg reg, u32 mask, u32 wanted, const char* what,
                    u64 timeout_ns = kTimeout_ns) const;
  // What went wrong with an access before, where one can: os::DeviceMemory::state().
  Result<void> state() const { return way_.state(); }
  os::Clock& clock() const { return *clock_; }
  // Of the GPU whose registers these are.
  const BootCaps& caps() const { return *caps_; }
  // In each turn of a loop that looks at a register: briefly at first.
  void rest(u32 turn) const {
    constexpr u32 kBrief = 2000;
    constexpr u64 kLong_ns = 1'000'000;
    if (turn < kBrief)
      clock_->relax(turn);
    else
      pause(kLong_ns);
  }
  void pause(u64 ns) const { clock_->sleep_until(clock_->now_ns() + ns); }

 private:
  static constexpr u64 kTimeout_ns = 10'000'000'000;
  struct Instances {
    u32 xccs = 1, memory_hubs = 1;
    std::array<std::vector<u64>, hw::kRegisters> addresses;  // none: the chip has no such register
  };
  RegisterAccess(os::Mmio mmio, os::Clock& clock, const BootCaps& caps, os::DeviceMemory way,
                 std::shared_ptr<const Instances> instances)
      : mmio_(mmio), clock_(&clock), caps_(&caps), way_(way), instances_(std::move(instances)) {}

  os::Mmio mmio_;
  os::Clock* clock_;
  const BootCaps* caps_;
  os::DeviceMemory way_;
  std::shared_ptr<const Instances> instances_;  // of all that on() makes
  u32 index_ = 0;
};

}  // namespace doorbell::amd
