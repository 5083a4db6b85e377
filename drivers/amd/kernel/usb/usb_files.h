// UsbFiles: GPUs behind USB as PCI devices under /sys/bus/pci, for PciKernel: the same boot, queues
// and tools run over it. The regions are trapped: each access is a transfer, and memory that a
// region shows is not mapped. Every other path is the given door's, but for its own PCI devices.
//
// The host has no memory that such a GPU reaches: see shadow_memory.h.
//
// Thread safety: that of a Files.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/os/forwarded_files.h"
#include "drivers/amd/kernel/usb/bridge_bus.h"

namespace doorbell::amd {

class UsbFiles final : public os::ForwardedFiles {
 public:
  // Takes every bridge that is plugged in and free; none is an error, which says why not. All are
  // borrowed.
  static Result<std::unique_ptr<UsbFiles>> open(os::Files& files, os::Usb& usb, os::Clock& clock);

  // Of the GPU at this address; null: there is none.
  UsbBridge* bridge_of(const std::string& address);

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;

 private:
  struct Gpu {
    std::unique_ptr<UsbBridge> bridge;
    BusDevice device;
    std::string folder;
    bool is_taken = false;
  };
  class Config;
  class Region;
  explicit UsbFiles(os::Files& files) : ForwardedFiles(files) {}
  void add(std::unique_ptr<UsbBridge> bridge, BusDevice device);

  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::map<std::string, std::string> texts_;  // by path
};

}  // namespace doorbell::amd
