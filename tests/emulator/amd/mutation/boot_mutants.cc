// Sites of a start, by what is written to a register, and what a mutant changes there.
#include "tests/emulator/amd/mutation/boot_mutants.h"

#include <cstddef>
#include <cstring>

#include <fmt/format.h>

#include "base/util/check.h"
#include "drivers/amd/hw/bare/mqd.h"
#include "drivers/amd/hw/bare/psp.h"
#include "drivers/amd/kernel/pci/boot.h"

namespace doorbell::testing {

using amd::hw::PspCommand;
using amd::hw::PspCommandBuffer;
using amd::hw::PspFrame;
using amd::hw::Reg;
using Change = BootMutant::Change;

namespace {

// The emulated bus interface tells the driver this place. [emulator/amd/bare/bare_gpu.cc]
constexpr u64 kHdpFlushAt = 0x7f000;

constexpr u32 kCommandAt = offsetof(PspCommandBuffer, arguments) / 4;
constexpr u32 kCommandWords = kCommandAt + 6;  // what a command has of arguments at most
constexpr u32 kFrameWords = 8;                 // up to sid_hi, vmid and the type behind it

std::string name_of(PspCommand command) {
  switch (command) {
    case PspCommand::SetupTmr: return "SETUP_TMR";
    case PspCommand::LoadIpFw: return "LOAD_IP_FW";
    case PspCommand::LoadToc: return "LOAD_TOC";
    case PspCommand::SpatialPartition: return "SRIOV_SPATIAL_PART";
    case PspCommand::AutoloadRlc: break;
  }
  return "AUTOLOAD_RLC";
}

}  // namespace

std::string name_of(Change change) {
  switch (change) {
    case Change::Bit: return "bit";
    case Change::Drop: return "drop";
    case Change::Skip: return "skip";
    case Change::Damage: break;
  }
  return "damage";
}

BootDoor::BootDoor(amd::hw::BareChip chip, const BootMutant* mutant)
    : chip_(chip), mutant_(mutant), flush_(kHdpFlushAt / 4) {
  const auto at = [&](Reg reg) { return amd::address_of(reg, chip_); };
  for (usize i = 0; i < amd::hw::kRegisters; ++i) {
    const Reg reg = static_cast<Reg>(i);
    if (amd::hw::place_of(reg, chip_).name.empty()) continue;
    names_[at(reg)] = amd::hw::place_of(reg, chip_).name;
  }
  queue_registers_ = at(Reg::CpMqdBaseAddr);
  for (u32 i = 0; i < amd::hw::kHqdRegisters; ++i)
    names_.emplace(queue_registers_ + i, fmt::format("CP_MQD_BASE_ADDR+{}", i));
  part_ = at(Reg::Mp0SmnC2pmsg35);
  message_ = at(Reg::Mp0SmnC2pmsg36);
  frame_ = at(Reg::Mp0SmnC2pmsg67);
  requests_[0] = at(Reg::GcvmInvalidateEng17Req);
  requests_[1] = at(Reg::MmvmInvalidateEng17Req);
}

amd::WriteFilter BootDoor::filter(amd::PciMachine& machine) {
  machine_ = &machine;
  counts_.clear();
  old_write_pointer_ = 0;
  return [this](u64 word, u32& value) { return pass(word, value); };
}

u32* BootDoor::memory(u64 offset) {
  return reinterpret_cast<u32*>(machine_->machine->bare_gpu(0).device().memory->at(offset));
}

u64 BootDoor::offset_of(u32 low, u32 high) {
  return (low | u64{high} << 32) - emu::amdgpu::kFramebuffer;
}

// The first time that a recording sees the site, or the mutant's site and change.
bool BootDoor::is_here(const std::string& site, Change change) {
  if (mutant_ != nullptr) {
    const bool is = mutant_->site == site && mutant_->change == change;
    happened_ |= is;
    return is;
  }
  return seen_.insert(site + name_of(change)).second;
}

void BootDoor::add_bits(const std::string& site, u32 word, const std::string& what, u32 bits) {
  for (u32 bit = 0; bit < bits; ++bit)
    mutants_.push_back({.site = site,
                        .word = word,
                        .bits = 1u << bit,
                        .name = fmt::format("{} bit {:02}", what, bit)});
}

bool BootDoor::pass(u64 word, u32& value) {
  if (word == flush_) return pass_counted("HDP flush");
  const auto name = names_.find(word);
  if (name == names_.end()) {
    unknown_.insert(word);
    return true;
  }
  if (word == message_) message_at_ = value;
  if (word == part_) pass_part(value);
  const bool is_new_frame = word == frame_;
  if (is_new_frame && !pass_frame(value)) return false;
  const bool is_request = word == requests_[0] || word == requests_[1];
  if (is_request && !pass_counted(name->second)) return false;
  const u32 said = value;
  const bool passes = pass_register(name->second, value);
  if (word >= queue_registers_ && word < queue_registers_ + amd::hw::kHqdRegisters)
    pass_descriptor(word - queue_registers_, said);
  return passes;
}

// Each word that a register is given is a site.
bool BootDoor::pass_register(const std::string& name, u32& value) {
  const std::string site = fmt::format("{} {:#010x}", name, value);
  const bool is_bit = is_here(site, Change::Bit), is_drop = is_here(site, Change::Drop);
  if (mutant_ == nullptr) {
    if (is_bit) add_bits(site, 0, site);
    if (is_drop) mutants_.push_back({.change = Change::Drop, .site = site, .name = site});
    return true;
  }
  if (is_bit) value ^= mutant_->bits;
  return !is_drop;
}

// What is done again and again: each time is a site.
bool BootDoor::pass_counted(const std::string& name) {
  const std::string site = fmt::format("{} {}", name, counts_[name]++);
  if (!is_here(site, Change::Drop)) return true;
  if (mutant_ != nullptr) return false;
  mutants_.push_back({.change = Change::Drop, .site = site, .name = site});
  return true;
}

// A part for the boot loader lies in the message buffer.
void BootDoor::pass_part(u32 command) {
  const std::string site = fmt::format("boot loader's part {:#x}", command);
  if (!is_here(site, Change::Damage)) return;
  if (mutant_ == nullptr)
    mutants_.push_back({.change = Change::Damage, .site = site, .name = site});
  else
    memory(offset_of(message_at_ << 20, message_at_ >> 12))[8] ^= 1;
}

// A frame of the security processor's ring, which lies behind the old write pointer. Firmware is
// skipped by sending the table of contents again in its place.
bool BootDoor::pass_frame(u32 write_pointer) {
  const u32 index = counts_["frame"]++;
  u32* const frame_words =
      memory(amd::boot_memory::kPspRing) + std::exchange(old_write_pointer_, write_pointer);
  const PspFrame frame = *reinterpret_cast<const PspFrame*>(frame_words);
  u32* const words = memory(offset_of(frame.cmd_buf_addr_lo, frame.cmd_buf_addr_hi));
  PspCommandBuffer command = *reinterpret_cast<const PspCommandBuffer*>(words);
  const bool has_image =
      command.cmd_id == PspCommand::LoadIpFw || command.cmd_id == PspCommand::LoadToc;
  u32* const image =
      has_image ? memory(offset_of(command.arguments[0], command.arguments[1])) : nullptr;
  const std::string kind = name_of(command.cmd_id);
  const std::string site = command.cmd_id == PspCommand::LoadIpFw
                               ? fmt::format("{} {}", kind, command.arguments[3])
                               : kind;
  if (command.cmd_id == PspCommand::LoadToc)
    contents_.assign(image, image + (command.arguments[2] + 3) / 4);
  // Bits of the first of each kind.
  const std::string frame_site = kind + ", frame", command_site = kind + ", command";
  const bool is_frame = is_here(frame_site, Change::Bit);
  const bool is_command = is_here(command_site, Change::Bit);
  const bool is_damage = has_image && is_here(site, Change::Damage);
  const bool is_skip =
      command.cmd_id != PspCommand::LoadToc && index > 0 && is_here(site, Change::Skip);
  if (mutant_ == nullptr) {
    for (u32 i = 0; is_frame && i < kFrameWords + 1; ++i)
      add_bits(frame_site, i, fmt::format("{} {}", frame_site, i));
    for (u32 i = 0; is_command && i < kCommandWords; ++i)
      add_bits(command_site, i, fmt::format("{} {}", command_site, i));
    for (const Change change : {Change::Damage, Change::Skip})
      if (change == Change::Damage ? is_damage : is_skip)
        mutants_.push_back({.change = change, .site = site, .name = site});
    return true;
  }
  if (is_frame && !std::exchange(is_frame_changed_, true))
    frame_words[mutant_->word] ^= mutant_->bits;
  if (is_command && !std::exchange(is_frame_changed_, true)) words[mutant_->word] ^= mutant_->bits;
  if (is_damage) image[8] ^= 1;
  if (is_skip) {
    const u64 message = amd::boot_memory::kPspMessage;
    std::memcpy(memory(message), contents_.data(), contents_.size() * 4);
    command = {};
    command.cmd_id = PspCommand::LoadToc;
    command.arguments[0] = static_cast<u32>(emu::amdgpu::kFramebuffer + message);
    command.arguments[1] = static_cast<u32>((emu::amdgpu::kFramebuffer + message) >> 32);
    command.arguments[2] = contents_[2];
    std::memcpy(words, &command, sizeof command);
  }
  return true;
}

// A queue's registers are written from its descriptor, whose word is changed with the register; in
// front of the first one, words that no register has.
void BootDoor::pass_descriptor(u64 register_index, u32 value) {
  const u32 index = static_cast<u32>(register_index);
  if (index == 0) descriptor_low_ = value;
  u32* const words = memory(offset_of(descriptor_low_, emu::amdgpu::kFramebuffer >> 32));
  const std::string name = names_[queue_registers_ + index];
  if (index > 1) {
    if (mutant_ != nullptr && descriptor_low_ != 0 && mutant_->change == Change::Bit &&
        mutant_->site == fmt::format("{} {:#010x}", name, value))
      words[amd::hw::kMqdRegisters + index] ^= mutant_->bits;
    return;
  }
  if (index == 1) return;
  for (u32 i = 0; i < amd::hw::kMqdWords; ++i) {
    const bool is_register =
        i >= amd::hw::kMqdRegisters && i < amd::hw::kMqdRegisters + amd::hw::kHqdRegisters;
    if (is_register || (mutant_ == nullptr && words[i] == 0)) continue;
    const std::string site = fmt::format("MQD word {}", i);
    if (!is_here(site, Change::Bit)) continue;
    if (mutant_ == nullptr)
      add_bits(site, i, site);
    else
      words[i] ^= mutant_->bits;
  }
}

}  // namespace doorbell::testing
