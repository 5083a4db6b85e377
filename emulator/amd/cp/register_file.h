// The registers that a queue's packets set: the persistent state of compute (SH), one set per XCC,
// kept with the queue as its memory queue descriptor would; and the GPU's shared ones (UCONFIG).
// See drivers/amd/hw for which registers there are, and their fields.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

// Addresses are in dwords, as packets carry them after the start of their space is added.
// [nvd.h PACKET3_SET_SH_REG_START/END, PACKET3_SET_UCONFIG_REG_START; soc15d.h alike]
inline constexpr u32 kShStart = 0x2c00, kShEnd = 0x3000;
inline constexpr u32 kUconfigStart = 0xc000, kUconfigEnd = 0x10000;

class ShRegisters {
 public:
  u32 read(u32 address) const { return values_[index(address)]; }
  void write(u32 address, u32 value) {
    values_[index(address)] = value;
    written_[index(address)] = now_;
  }
  // Whether it was written since the last begin_dispatch(), or ever.
  bool is_fresh(u32 address) const { return written_[index(address)] == now_; }
  bool was_written(u32 address) const { return written_[index(address)] != 0; }
  // From here on, what is not written again is inherited.
  void begin_dispatch() { ++now_; }

 private:
  static u32 index(u32 address) { return (address - kShStart) % (kShEnd - kShStart); }

  std::array<u32, kShEnd - kShStart> values_{};
  std::array<u32, kShEnd - kShStart> written_{};
  u32 now_ = 1;
};

class UconfigRegisters {
 public:
  u32 read(u32 address) const { return values_[(address - kUconfigStart) % values_.size()]; }
  void write(u32 address, u32 value) {
    values_[(address - kUconfigStart) % values_.size()] = value;
  }

 private:
  std::vector<u32> values_ = std::vector<u32>(kUconfigEnd - kUconfigStart);
};

}  // namespace doorbell::emu::amdgpu
