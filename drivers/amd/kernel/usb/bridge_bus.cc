// [PCI-to-PCI Bridge Architecture 1.2, 3.2.5; PCI Local Bus 3.0, 6.2.5.1; PCI Express 4.0, 7.8.6
// Resizable BAR; torvalds/linux drivers/pci/probe.c pci_scan_bridge_extend(), __pci_read_base(),
// setup-bus.c pci_setup_bridge(), uapi/linux/pci_regs.h. What starts where: tinygrad a9069c177a,
// tinygrad/runtime/support/system.py pci_setup_usb_bars(), which this source alone has]
#include "drivers/amd/kernel/usb/bridge_bus.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/util/try.h"

namespace doorbell::amd {
namespace {

// The bridge's own memory lies below: see asm2464.h.
constexpr u64 kMemoryBase = 0x1000'0000, kMemoryEnd = u64{1} << 32;
constexpr u64 kPrefetchableBase = u64{32} << 30, kPrefetchableEnd = u64{1} << 48;
constexpr u64 kWindowUnit = u64{1} << 20;
constexpr u8 kMostBridges = 8, kLastBus = 0xff;

// Registers. [uapi/linux/pci_regs.h]
constexpr u16 kVendor = 0x00, kDevice = 0x02, kCommand = 0x04, kClass = 0x08, kHeaderType = 0x0e,
              kBase0 = 0x10, kBuses = 0x18, kMemoryWindow = 0x20, kPrefetchableWindow = 0x24,
              kPrefetchableBaseHigh = 0x28, kPrefetchableEndHigh = 0x2c, kExtended = 0x100;
constexpr u32 kIsBridge = 1, kHeaderTypes = 0x7f;
constexpr u32 kRegionIo = 1, kRegionType = 6, kRegion64 = 4, kRegionPrefetchable = 8,
              kRegionFlags = 0xf;
constexpr u32 kResizableBar = 0x15;
constexpr u32 kSizeBits = 0x3f00, kSizeAt = 8, kRegionIndex = 7, kRegionCountAt = 5;

u64 round_up(u64 value, u64 unit) { return (value + unit - 1) / unit * unit; }

class Bus {
 public:
  Bus(UsbBridge& bridge, u8 number) : bridge_(bridge), number_(number) {}
  Result<u32> read(u16 offset, unsigned bytes = 4) {
    return bridge_.read_config(number_, offset, bytes);
  }
  Result<void> write(u16 offset, u32 value, unsigned bytes = 4) {
    return bridge_.write_config(number_, offset, bytes, value);
  }

 private:
  UsbBridge& bridge_;
  const u8 number_;
};

Result<void> open_bridge(Bus bus, u8 number) {
  // Primary, secondary, subordinate.
  TRY(bus.write(kBuses, number | (number + 1u) << 8 | u32{kLastBus} << 16));
  const auto window = [](u64 first, u64 end) {
    return static_cast<u32>((first >> 16 & 0xfff0) | ((end - 1) & 0xfff0'0000));
  };
  TRY(bus.write(kMemoryWindow, window(kMemoryBase, kMemoryEnd)));
  TRY(bus.write(kPrefetchableWindow, window(kPrefetchableBase, kPrefetchableEnd)));
  TRY(bus.write(kPrefetchableBaseHigh, static_cast<u32>(kPrefetchableBase >> 32)));
  TRY(bus.write(kPrefetchableEndHigh, static_cast<u32>((kPrefetchableEnd - 1) >> 32)));
  return bus.write(kCommand, os::kPciCommandMemory | os::kPciCommandMaster, 2);
}

// Before the regions have addresses.
Result<void> enlarge_regions(Bus bus) {
  for (u16 at = kExtended; at != 0;) {
    TRY(const u32 header, bus.read(at));
    if (header == 0 || header == ~u32{0}) return {};
    if ((header & 0xffff) == kResizableBar) {
      TRY(const u32 first, bus.read(static_cast<u16>(at + 8)));
      const u32 count = std::min<u32>(first >> kRegionCountAt & 7, os::kPciRegions);
      for (u32 i = 0; i < count; ++i) {
        TRY(const u32 sizes, bus.read(static_cast<u16>(at + 4 + 8 * i)));
        TRY(const u32 control, bus.read(static_cast<u16>(at + 8 + 8 * i)));
        if ((sizes >> 4) == 0) continue;
        const u32 largest = static_cast<u32>(std::bit_width(sizes >> 4)) - 1;
        TRY(bus.write(static_cast<u16>(at + 8 + 8 * i),
                      (control & ~kSizeBits) | largest << kSizeAt));
      }
    }
    // Capabilities are chained upwards only here, so that a loop ends.
    const u16 next = static_cast<u16>(header >> 20 & 0xffc);
    if (next <= at) return {};
    at = next;
  }
  return {};
}

struct Ends {
  u64 memory = kMemoryBase, prefetchable = kPrefetchableBase;
};

// The region at `index`, and the next one's index.
Result<usize> place_region(Bus bus, usize index, Ends& ends, os::PciRegion& region) {
  const u16 at = static_cast<u16>(kBase0 + 4 * index);
  TRY(const u32 flags, bus.read(at));
  if ((flags & kRegionIo) != 0) return index + 1;
  const bool is_64 = (flags & kRegionType) == kRegion64 && index + 1 < os::kPciRegions;
  TRY(bus.write(at, ~u32{0}));
  TRY(const u32 low, bus.read(at));
  u32 high = ~u32{0};
  if (is_64) {
    TRY(bus.write(static_cast<u16>(at + 4), ~u32{0}));
    TRY(high, bus.read(static_cast<u16>(at + 4)));
  }
  const u64 mask = (u64{high} << 32 | low) & ~u64{kRegionFlags};
  const usize next = index + (is_64 ? 2 : 1);
  if (low == 0 || mask == 0) return next;
  const u64 bytes = ~mask + 1;
  if (!std::has_single_bit(bytes))
    return fail(ErrorKind::Corrupt, "region {} has the mask {:#x}", index, mask);
  // What need not be prefetchable has to lie below 4 GiB: bridges have no other window for it.
  const bool is_high = is_64 && (flags & kRegionPrefetchable) != 0;
  u64& end = is_high ? ends.prefetchable : ends.memory;
  const u64 address = round_up(end, std::max(bytes, kWindowUnit));
  const u64 limit = is_high ? kPrefetchableEnd : kMemoryEnd;
  if (address >= limit || bytes > limit - address)
    return fail(ErrorKind::Unsupported, "no room for region {} of {:#x} bytes", index, bytes);
  end = address + bytes;
  TRY(bus.write(at, static_cast<u32>(address)));
  if (is_64) TRY(bus.write(static_cast<u16>(at + 4), static_cast<u32>(address >> 32)));
  region = {address, bytes};
  return next;
}

}  // namespace

Result<BusDevice> set_up_bus(UsbBridge& bridge, const std::string& address) {
  BusDevice found;
  found.id.address = address;
  for (u8 number = 0; number <= kMostBridges; ++number) {
    Bus bus(bridge, number);
    const Result<u32> vendor = bus.read(kVendor, 2);
    if (!vendor && vendor.error().kind != ErrorKind::NotFound) return Error(vendor.error());
    if (!vendor || *vendor == 0xffff)
      return fail(ErrorKind::NotFound, "{} has no device on bus {} behind it", bridge.name(),
                  number);
    TRY(const u32 type, bus.read(kHeaderType, 1));
    if ((type & kHeaderTypes) == kIsBridge) {
      TRY(open_bridge(bus, number));
      continue;
    }
    found.bus = number;
    found.id.vendor = static_cast<u16>(*vendor);
    TRY(const u32 device, bus.read(kDevice, 2));
    found.id.device = static_cast<u16>(device);
    TRY(const u32 revision_and_class, bus.read(kClass));
    found.id.class_code = revision_and_class >> 8;
    TRY(bus.write(kCommand, 0, 2));
    TRY(enlarge_regions(bus));
    Ends ends;
    for (usize i = 0; i < os::kPciRegions;) {
      Result<usize> next = place_region(bus, i, ends, found.regions[i]);
      if (!next) return fail(next.error().kind, "{}: {}", bridge.name(), next.error().message);
      i = *next;
    }
    TRY(bus.write(kCommand, os::kPciCommandMemory, 2));
    return found;
  }
  return fail(ErrorKind::Unsupported, "{} has more than {} bridges behind it", bridge.name(),
              kMostBridges);
}

}  // namespace doorbell::amd
