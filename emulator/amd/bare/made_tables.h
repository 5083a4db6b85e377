// What an emulated GPU and its machine have that real ones get from AMD: the discovery table at the
// end of its memory, and firmware files, with headers as AMD's and contents of our own.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/amd/hw/bare/psp.h"
#include "drivers/amd/hw/bare/registers.h"
#include "emulator/amd/kfd/node.h"

namespace doorbell::emu::amdgpu {

// The chip whose registers the board's are; empty: none that is emulated without a kernel driver.
std::optional<amd::hw::BareChip> bare_chip(const Node& node);
// Base addresses of a block's segments, in words: on GC 11 and 12, and of an instance on any chip.
std::span<const u64> bases_of(amd::hw::Block block);
std::vector<u64> bases_of(amd::hw::Block block, amd::hw::BareChip chip, u32 instance);
// How many the board has of it.
u32 instances_of(amd::hw::Block block, const Node& node);
// For the board; empty for one that nothing is known of.
std::vector<u8> make_discovery_table(const Node& node);

// Files of /lib/firmware/amdgpu by name.
std::map<std::string, std::vector<u8>> make_firmware_files(const Node& node);

// What a firmware image of ours says of itself.
struct MadeImage {
  u32 type = 0;  // a PspFirmware, or kMadePart + a PspPart
  u32 bytes = 0;
  u64 entry = 0;
};
inline constexpr u32 kMadePart = 0x1000;
// Where the command processor's processors begin: the compute one, PFP and ME.
inline constexpr u64 kMadeEntry = 0x8000, kMadePfpEntry = 0x3000, kMadeMeEntry = 0x5000;
inline constexpr u32 kMadeTmrBytes = 0x400000;
// Empty where the bytes are not one whole image of ours.
std::optional<MadeImage> read_made_image(std::span<const u8> bytes);
// Types that the graphics core does not start without.
std::span<const amd::hw::PspFirmware> needed_firmware(amd::hw::BareChip chip);

}  // namespace doorbell::emu::amdgpu
