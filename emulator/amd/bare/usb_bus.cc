// [PCI-to-PCI Bridge Architecture 1.2, 3.2.5 and 4: what a bridge passes on; PCI Local Bus 3.0,
// 6.2.5.1: base addresses; PCI Express 4.0, 7.8.6: Resizable BAR; torvalds/linux
// drivers/pci/probe.c, which reads all of it]
#include "emulator/amd/bare/usb_bus.h"

#include <atomic>
#include <bit>

#include <fmt/format.h>

#include "emulator/amd/bare/bare_checks.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr u16 kMemoryEnable = 2;
constexpr u64 kMiB = u64{1} << 20;
// Of the bridges nobody asks more. [pci.ids: 174c is ASMedia; 1002 1478 and 1479 a switch of AMD's]
constexpr u32 kBridgeIds[UsbBus::kBridges] = {0x2461174c, 0x2461174c, 0x14781002, 0x14791002};
constexpr u32 kBridgeClass = 0x06040000, kDisplayClass = 0x03000000, kIsBridge = 0x00010000;
// Regions as amdgpu's cards have them: memory and doorbells of 64 bits, ports, registers.
constexpr u32 kFlags[6] = {0xc, 0, 0xc, 0, 1, 0};
constexpr u32 kFirstCapability = 0x100, kResizable = 0x200, kSmallestSize = 8;  // 256 MiB

u32 mask_of(u8 byte_enable) {
  u32 mask = 0;
  for (u32 i = 0; i < 4; ++i) mask |= (byte_enable >> i & 1u) * 0xffu << 8 * i;
  return mask;
}

void change(u32& word, u32 mask, u32 value) { word = (word & ~mask) | (value & mask); }

}  // namespace

void UsbBus::power_on() {
  bridges_ = {};
  bases_ = {};
  memory_size_ = kSmallestSize;
  gpu_.set_command_word(0);
}

bool UsbBus::Bridge::passes(u64 address) const {
  if ((command & kMemoryEnable) == 0) return false;
  const auto first = [](u32 window) { return u64{window & 0xfff0} << 16; };
  const auto last = [](u32 window) { return u64{window & 0xfff0'0000} | (kMiB - 1); };
  if (address >= first(memory) && address <= last(memory)) return true;
  return address >= (u64{base_high} << 32 | first(prefetchable)) &&
         address <= (u64{end_high} << 32 | last(prefetchable));
}

std::optional<u32> UsbBus::find_device(u64 address, bool is_own) const {
  const u8 bus = static_cast<u8>(address >> 24);
  if ((address >> 16 & 0xff) != 0) return std::nullopt;  // device and function
  if (is_own) return bus == 0 ? std::optional<u32>(0) : std::nullopt;
  for (u32 i = 0; i < kBridges; ++i) {
    if (bus == 0 || !bridges_[i].passes_bus(bus)) return std::nullopt;
    if (bus == bridges_[i].secondary()) return i + 1;
  }
  return std::nullopt;
}

u32 UsbBus::bridge_word(u32 index, u32 offset) const {
  const Bridge& bridge = bridges_[index];
  switch (offset) {
    case 0x00: return kBridgeIds[index];
    case 0x04: return bridge.command;
    case 0x08: return kBridgeClass;
    case 0x0c: return kIsBridge;
    case 0x18: return bridge.buses;
    case 0x20: return bridge.memory;
    case 0x24: return bridge.prefetchable | 0x00010001;  // of 64 bits
    case 0x28: return bridge.base_high;
    case 0x2c: return bridge.end_high;
    default: return 0;
  }
}

void UsbBus::write_bridge(Bridge& bridge, u32 offset, u32 mask, u32 value) {
  u32 command = bridge.command;
  switch (offset) {
    case 0x04:
      change(command, mask & 0xffff, value);
      bridge.command = static_cast<u16>(command);
      return;
    case 0x18: return change(bridge.buses, mask & 0xffffff, value);
    case 0x20: return change(bridge.memory, mask & 0xfff0fff0, value);
    case 0x24: return change(bridge.prefetchable, mask & 0xfff0fff0, value);
    case 0x28: return change(bridge.base_high, mask, value);
    case 0x2c: return change(bridge.end_high, mask, value);
    default: return;
  }
}

u64 UsbBus::region_bytes(usize index) const {
  switch (index) {
    case 0: return kMiB << memory_size_;
    case 2: return BareGpu::kDoorbellBytes;
    case 4: return 0x100;
    case 5: return BareGpu::kRegisterBytes;
    default: return 0;
  }
}

u64 UsbBus::region_address(usize index) const {
  const u64 high = kFlags[index] == 0xc ? bases_[index + 1] : 0;
  return high << 32 | (bases_[index] & ~0xfu);
}

u32 UsbBus::gpu_word(u32 offset) const {
  const u32 largest =
      static_cast<u32>(std::countr_zero(std::bit_ceil(gpu_.device().slot.node->vram_bytes) / kMiB));
  switch (offset) {
    case 0x00: return u32{gpu_.device().slot.node->device_id} << 16 | 0x1002;
    case 0x04: return gpu_.command_word();
    case 0x08: return kDisplayClass;
    case kFirstCapability: return kResizable << 20 | 1u << 16 | 0x000b;
    case kResizable: return 1u << 16 | 0x0015;
    case kResizable + 4: {
      u32 sizes = 0;
      for (u32 size = kSmallestSize; size <= largest; ++size) sizes |= 1u << (size + 4);
      return sizes;
    }
    case kResizable + 8: return memory_size_ << 8 | 1u << 5;
    default: break;
  }
  if (offset < 0x10 || offset >= 0x28) return 0;
  const usize index = (offset - 0x10) / 4;
  return bases_[index] | kFlags[index];
}

void UsbBus::write_gpu(u32 offset, u32 mask, u32 value) {
  if (offset == 0x04) {
    u32 command = gpu_.command_word();
    change(command, mask & 0xffff, value);
    gpu_.set_command_word(static_cast<u16>(command));
  } else if (offset == kResizable + 8) {
    memory_size_ = value >> 8 & 0x3f;
    bases_[0] = bases_[1] = 0;
  } else if (offset >= 0x10 && offset < 0x28) {
    // Address bits below the size are zero: that is how it is found.
    const usize index = (offset - 0x10) / 4;
    const bool is_high = index > 0 && kFlags[index - 1] == 0xc;
    const u64 bytes = region_bytes(is_high ? index - 1 : index);
    if (bytes == 0) return;
    const u32 writable = static_cast<u32>(~(bytes - 1) >> (is_high ? 32 : 0));
    change(bases_[index], mask & writable, value);
  }
}

std::optional<u32> UsbBus::read_config(u64 address, bool is_own) {
  const std::optional<u32> device = find_device(address, is_own);
  if (!device) return std::nullopt;
  const u32 offset = address & 0xffc;
  return *device == kBridges ? gpu_word(offset) : bridge_word(*device, offset);
}

bool UsbBus::write_config(u64 address, bool is_own, u8 byte_enable, u32 value) {
  const std::optional<u32> device = find_device(address, is_own);
  if (!device) return false;
  const u32 offset = address & 0xffc, mask = mask_of(byte_enable);
  if (*device == kBridges)
    write_gpu(offset, mask, value);
  else
    write_bridge(bridges_[*device], offset, mask, value);
  return true;
}

std::optional<UsbBus::Region> UsbBus::find_region(u64 address) const {
  for (const Bridge& bridge : bridges_)
    if (!bridge.passes(address)) return std::nullopt;
  if ((gpu_.command_word() & kMemoryEnable) == 0) return std::nullopt;
  for (const usize index : {usize{0}, usize{2}, usize{5}}) {
    const u64 first = region_address(index);
    if (first != 0 && address >= first && address - first < region_bytes(index))
      return Region{index, address - first};
  }
  return std::nullopt;
}

std::optional<u32> UsbBus::read_memory(u64 address) {
  const std::optional<Region> region = find_region(address);
  if (!region) return std::nullopt;
  if (region->index == 5) return gpu_.read_register(region->offset);
  if (region->index == 2) return 0;
  if (region->offset >= gpu_.device().slot.node->vram_bytes) return ~u32{0};
  auto& word = *reinterpret_cast<u32*>(gpu_.device().memory->at(region->offset));
  return std::atomic_ref<u32>(word).load(std::memory_order_acquire);
}

void UsbBus::write_memory(u64 address, std::span<const u32> words) {
  for (usize i = 0; i < words.size(); ++i) {
    const u64 at = address + i * sizeof(u32);
    const std::optional<Region> region = find_region(at);
    if (!region) {
      checks_.report(kUsbRoute,
                     fmt::format("{:#x} is written to {:#x}, where nothing is", words[i], at));
    } else if (region->index == 5) {
      gpu_.write_register(region->offset, words[i]);
    } else if (region->index == 2) {
      // Both halves of a doorbell make one: which one hardware takes is not known.
      const bool is_whole = region->offset % 8 == 0 && i + 1 < words.size();
      gpu_.ring(region->offset, is_whole ? 8 : 4,
                is_whole ? u64{words[i + 1]} << 32 | words[i] : words[i]);
      i += is_whole ? 1 : 0;
    } else if (region->offset < gpu_.device().slot.node->vram_bytes) {
      auto& word = *reinterpret_cast<u32*>(gpu_.device().memory->at(region->offset));
      std::atomic_ref<u32>(word).store(words[i], std::memory_order_release);
    }
  }
}

}  // namespace doorbell::emu::amdgpu
