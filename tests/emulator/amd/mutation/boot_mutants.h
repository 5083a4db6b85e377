// Mutants of how a GPU is started that no kernel driver has, and of how it gets its queues: each
// bit of each word that a register is given, and the word left out; each flush of the aperture and
// each invalidation left out; each bit of a command to the security processor and of a queue's
// descriptor; each firmware left out and damaged. A BootDoor stands in front of the registers,
// records what passes, and changes it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/drivers/amd_emulated/pci_machine.h"

namespace doorbell::testing {

struct BootMutant {
  enum class Change : u8 { Bit, Drop, Skip, Damage };
  Change change = Change::Bit;
  std::string site;  // "GCVM_L2_CNTL 0x00080801", "HDP flush 3", "PSP frame 2"
  u32 word = 0;      // of a record in the GPU's memory
  u32 bits = 0;
  std::string name;  // "GCVM_L2_CNTL 0x00080801 bit 07"
};
std::string name_of(BootMutant::Change change);

class BootDoor {
 public:
  // Null: records. The machine's GPU is of this chip.
  BootDoor(amd::hw::BareChip chip, const BootMutant* mutant);

  // In front of this machine's registers.
  amd::WriteFilter filter(amd::PciMachine& machine);
  const std::vector<BootMutant>& mutants() const { return mutants_; }
  // Registers that are written and have no name here.
  const std::set<u64>& unknown() const { return unknown_; }
  bool happened() const { return happened_; }

 private:
  bool pass(u64 word, u32& value);
  bool pass_register(const std::string& name, u32& value);
  bool pass_counted(const std::string& name);
  void pass_part(u32 command);
  bool pass_frame(u32 write_pointer);
  void pass_descriptor(u64 word, u32 value);
  bool is_here(const std::string& site, BootMutant::Change change);
  void add_bits(const std::string& site, u32 word, const std::string& what, u32 bits = 32);
  u32* memory(u64 offset);
  u64 offset_of(u32 low, u32 high);

  const amd::hw::BareChip chip_;
  const BootMutant* const mutant_;
  amd::PciMachine* machine_ = nullptr;
  std::map<u64, std::string> names_;
  u64 queue_registers_, flush_, part_, message_, frame_, requests_[2];
  std::map<std::string, u32> counts_;
  std::set<std::string> seen_;
  u32 message_at_ = 0;      // in MiB
  u32 descriptor_low_ = 0;  // of the queue that is put on the hardware
  u32 old_write_pointer_ = 0;
  std::vector<u32> contents_;  // the table of contents
  std::vector<BootMutant> mutants_;
  std::set<u64> unknown_;
  bool happened_ = false;
  bool is_frame_changed_ = false;
};

}  // namespace doorbell::testing
