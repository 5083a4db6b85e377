// USB devices: enumeration, control and bulk transfers, each with a time limit. Several transfers
// may be under way; each is finished by finish(). What the transfers mean is for the drivers of
// this project. host_usb() is the system's, through libusb-1.0; the emulator and the tests pass
// their own.
//
// An open device is this process's alone: the system lets one process claim an interface.
// [torvalds/linux drivers/usb/core/devio.c, claimintf(); core/driver.c,
// usb_driver_claim_interface(): EBUSY]
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::os {

struct UsbId {
  std::string address;  // "2-3": bus and device
  u16 vendor = 0, product = 0;
  bool operator==(const UsbId&) const = default;
};

// Of a control transfer. [USB 3.2, table 9-3]
struct UsbSetup {
  u8 type = 0;  // bmRequestType; bit 7: the device sends
  u8 request = 0;
  u16 value = 0, index = 0;
};
inline constexpr u8 kUsbVendorOut = 0x40, kUsbVendorIn = 0xc0;

// Errors: Timeout; DeviceLost of one that is unplugged; Os with errno EPIPE where the device
// stalls, which holds for later transfers of the endpoint until clear_stall(). Each names the
// device and the transfer.
// Thread safety: from any thread.
class UsbDevice {
 public:
  // Ends all transfers.
  virtual ~UsbDevice() = default;

  // Its own name for itself; empty: none.
  virtual std::string product() = 0;
  // Begin a transfer. `data` is borrowed until finish(), and is written where the device sends.
  // Those of one endpoint go in their order. At least a millisecond, of the time limit.
  virtual Result<u32> start_control(const UsbSetup& setup, std::span<u8> data, u64 timeout_ns) = 0;
  // Bit 7 of the endpoint: the device sends.
  virtual Result<u32> start_bulk(u8 endpoint, std::span<u8> data, u64 timeout_ns) = 0;
  // Waits until it ends. How many bytes were moved: it may be fewer than asked for.
  virtual Result<usize> finish(u32 transfer) = 0;
  virtual Result<void> clear_stall(u8 endpoint) = 0;

  // One transfer from its beginning to its end.
  Result<usize> control(const UsbSetup& setup, std::span<u8> data, u64 timeout_ns);
  Result<usize> bulk(u8 endpoint, std::span<u8> data, u64 timeout_ns);
};

class Usb {
 public:
  virtual ~Usb() = default;
  // In the order of their addresses.
  virtual Result<std::vector<UsbId>> list() = 0;
  // Takes the interface, from a driver of the kernel too, and sets it anew, which ends what another
  // process left under way.
  virtual Result<std::unique_ptr<UsbDevice>> open(const UsbId& id, u8 interface) = 0;
};

// Without libusb-1.0, at build time or now, its calls fail and say so.
Usb& host_usb();

}  // namespace doorbell::os
