// EmulatedUsb: bridges from USB to PCIe with a GPU behind each, at the level of transfers: what the
// open firmware of the ASM2464 does with requests. Tests choose transfers that stall, take too
// long, come short, or find the device unplugged. See usb_bus.h for what is behind, bare_checks.def
// for what is asked of the host.
//
// A transfer happens when somebody waits for it or for a later one of its endpoint, in the order of
// their beginnings: as late as hardware may do it.
//
// Thread safety: from any thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/os/usb.h"
#include "drivers/amd/hw/usb/asm2464.h"
#include "emulator/amd/bare/bridge_memory.h"
#include "emulator/amd/bare/usb_bus.h"

namespace doorbell::emu::amdgpu {

enum class UsbFault : u8 { None, Stall, Timeout, Short, Unplug };
// Asked at each transfer, counted from 0 over all devices.
using UsbFaults = std::function<UsbFault(u64 transfer)>;

class EmulatedUsb final : public os::Usb {
 public:
  // Borrowed; `wait` passes time, in which the GPUs may go on.
  EmulatedUsb(std::span<const std::unique_ptr<BareGpu>> gpus,
              std::span<const std::unique_ptr<BridgeMemory>> memories, Checks& checks,
              std::function<void()> wait);
  ~EmulatedUsb() override;

  Result<std::vector<os::UsbId>> list() override;
  Result<std::unique_ptr<os::UsbDevice>> open(const os::UsbId& id, u8 interface) override;

  void set_faults(UsbFaults faults);
  // So far, of all devices: transfers, and the bytes of their data and setup packets.
  u64 transfers() const;
  u64 bytes() const;

 private:
  friend class EmulatedUsbDevice;
  struct Bridge;
  mutable std::mutex mutex_;  // guards what follows
  Checks& checks_;
  const std::function<void()> wait_;
  std::vector<std::unique_ptr<Bridge>> bridges_;
  UsbFaults faults_;
  u64 transfers_ = 0, bytes_ = 0;
};

}  // namespace doorbell::emu::amdgpu
