// PCI devices as Linux shows them under /sys/bus/pci: configuration space, memory regions (BARs)
// and their sizes, the driver that has one; or as VFIO does, where vfio-pci has the device. What
// the regions mean is for the drivers of this project. All goes through os::Files, so that an
// emulator can be behind it.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/os/device_memory.h"
#include "base/os/vfio.h"

namespace doorbell::os {

struct PciId {
  std::string address;  // "0000:03:00.0"
  u16 vendor = 0, device = 0;
  u32 class_code = 0;  // 0x030000: a VGA controller
};

// Of one vendor, by address. A machine without PCI has none.
Result<std::vector<PciId>> list_pci(Files& files, u16 vendor);
// Whether the device is left to VFIO.
bool is_left_to_vfio(Files& files, const PciId& id);

struct PciRegion {
  u64 address = 0;  // on the bus
  u64 bytes = 0;    // 0: there is none
};
inline constexpr usize kPciRegions = 6;

// Registers of the configuration space. [PCI Local Bus 3.0, 6.1; uapi/linux/pci_regs.h]
inline constexpr u64 kPciCommand = 4;
inline constexpr u16 kPciCommandMemory = 2, kPciCommandMaster = 4;

// One that this process alone drives, while the object lives; the process's end releases it.
// Thread safety: from any thread.
class PciDevice {
 public:
  // Refused while a kernel driver has the device, or another process; the error says what to do.
  // One that is left to vfio-pci is opened through `vfio`.
  static Result<std::unique_ptr<PciDevice>> open(Files& files, const PciId& id,
                                                 VfioContainer* vfio = nullptr);

  const PciId& id() const { return id_; }
  const std::array<PciRegion, kPciRegions>& regions() const { return regions_; }
  Result<u16> read_config(u64 offset);
  Result<void> write_config(u64 offset, u16 value);
  // Makes a region as large as `bytes`, or as near to it as the device has sizes and the bridges
  // above it have room for; fails where it stays smaller. No region of the device may be mapped
  // meanwhile, as all of them may move.
  Result<void> enlarge_region(usize region, u64 bytes);
  // Lets the device reach memory, or not.
  Result<void> set_bus_master(bool on);

  // Memory, whose writes may be combined on the way.
  Result<MappedMemory> map_memory(usize region);
  Result<MappedRegisters> map_registers(usize region);

 private:
  PciDevice(Files& files, PciId id, std::string folder)
      : files_(files), id_(std::move(id)), folder_(std::move(folder)) {}
  Result<void> open_config(VfioContainer* vfio);
  Result<std::unique_ptr<File>> open_region(usize region, const char* suffix);
  Result<void> read_regions();

  Files& files_;
  const PciId id_;
  const std::string folder_;
  std::unique_ptr<File> vfio_device_;  // null: it is not left to VFIO
  std::unique_ptr<File> config_;       // goes before it
  std::array<PciRegion, kPciRegions> regions_{};
};

}  // namespace doorbell::os
