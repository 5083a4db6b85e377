// The discovery table: what blocks a GPU has, of which versions, with which base addresses, and how
// many of its shader engines, arrays and compute units; made by the GPU's own firmware, in its
// memory. What the numbers mean for a driver is for drivers/amd/kernel/pci.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "drivers/amd/hw/bare/registers.h"

namespace doorbell::amd::hw {

struct IpVersion {
  u8 major = 0, minor = 0, revision = 0;
  bool operator==(const IpVersion&) const = default;
};
std::string to_string(const IpVersion& version);  // "11.0.0"

struct IpInstance {
  u16 hardware_id = 0, die = 0;
  u8 instance = 0;
  IpVersion version;
  std::vector<u64> bases;     // by segment, in 32-bit words
  bool is_harvested = false;  // fused off
};

// Of one graphics core (an XCC), as made: parts that are fused off are counted.
struct GraphicsInfo {
  u32 engines = 0, arrays_per_engine = 0, units_per_array = 0;  // a WGP has two compute units
  u32 wave_size = 0, waves_per_simd = 0, scratch_slots_per_unit = 0, lds_bytes = 0;
};

struct Discovery {
  std::vector<IpInstance> blocks;  // as the table has them
  GraphicsInfo graphics;

  // Of those that are not harvested, in the order of their instances' numbers: one, or null; how
  // many there are.
  const IpInstance* find(Block block, usize index = 0) const;
  usize count(Block block) const;
  // Of the graphics core; empty: not one of those that this project starts.
  std::optional<BareChip> chip() const;
  // Absolute, in words, of this instance of the block. Fails where the GPU lacks the block, the
  // instance or the segment, or the chip the register.
  Result<u64> address_of(Reg reg, usize index = 0) const;
};

// Any bytes: what is no table, or has parts outside of it, is refused.
Result<Discovery> read_discovery(std::span<const u8> table);

}  // namespace doorbell::amd::hw
