// UsbBus: PCIe behind an emulated bridge from USB: four bridges in a row and the GPU at their end,
// with nothing numbered and no addresses given, as after power comes.
//
// Thread safety: one thread at a time.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "emulator/amd/bare/bare_gpu.h"

namespace doorbell::emu::amdgpu {

class UsbBus {
 public:
  static constexpr u32 kBridges = 4;

  // Both are borrowed.
  UsbBus(BareGpu& gpu, Checks& checks) : gpu_(gpu), checks_(checks) { power_on(); }
  // All configuration is as it comes.
  void power_on();

  // Of one word; empty or false: nobody answers. `is_own`: the request is the bridge's own, of
  // type 0.
  std::optional<u32> read_config(u64 address, bool is_own);
  bool write_config(u64 address, bool is_own, u8 byte_enable, u32 value);
  std::optional<u32> read_memory(u64 address);
  // Words that follow each other. Nobody says where they go.
  void write_memory(u64 address, std::span<const u32> words);

 private:
  struct Bridge {
    u32 buses = 0, memory = 0, prefetchable = 0, base_high = 0, end_high = 0;
    u16 command = 0;
    bool passes(u64 address) const;
    bool passes_bus(u8 bus) const {
      return bus >= secondary() && bus <= static_cast<u8>(buses >> 16);
    }
    u8 secondary() const { return static_cast<u8>(buses >> 8); }
  };
  struct Region {
    usize index = 0;
    u64 offset = 0;
  };
  // Which device has it: 0 to 3 are bridges, 4 the GPU.
  std::optional<u32> find_device(u64 address, bool is_own) const;
  u32 bridge_word(u32 index, u32 offset) const;
  void write_bridge(Bridge& bridge, u32 offset, u32 mask, u32 value);
  u32 gpu_word(u32 offset) const;
  void write_gpu(u32 offset, u32 mask, u32 value);
  u64 region_bytes(usize index) const;
  u64 region_address(usize index) const;
  std::optional<Region> find_region(u64 address) const;

  BareGpu& gpu_;
  Checks& checks_;
  std::array<Bridge, kBridges> bridges_{};
  std::array<u32, 6> bases_{};
  u32 memory_size_ = 0;  // of the first region, a power of two of MiB
};

}  // namespace doorbell::emu::amdgpu
