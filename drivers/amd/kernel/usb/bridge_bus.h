// The PCIe bus behind a UsbBridge: nobody has numbered its bridges or given its device addresses,
// as a machine's firmware does, so this does.
#pragma once

#include <array>

#include "base/os/pci.h"
#include "drivers/amd/kernel/usb/usb_bridge.h"

namespace doorbell::amd {

// The device at the end of the bus.
struct BusDevice {
  u8 bus = 0;
  os::PciId id;  // the address is that of the USB device
  std::array<os::PciRegion, os::kPciRegions> regions{};
};

// Numbers the buses from bridge to bridge, opens each for memory, and gives the device's regions
// addresses, the resizable ones their largest size. Bus master is nobody yet.
Result<BusDevice> set_up_bus(UsbBridge& bridge, const std::string& address);

}  // namespace doorbell::amd
