// UsbBridge: the way to a GPU behind an ASM2464: configuration and memory on PCIe, by requests over
// USB. What is behind it is for bridge_bus.h.
//
// The first transfer that fails, stalls, comes short or takes too long ends it: nothing is sent any
// more, and state() says which device it was and what. So one that is unplugged costs one time
// limit at most.
//
// Thread safety: from any thread.
// Memory ordering: as PCIe has it: writes in their order, and a read behind the writes before it.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/os/clock.h"
#include "base/os/usb.h"
#include "drivers/amd/hw/usb/asm2464.h"

namespace doorbell::amd {

// Those that are plugged in.
Result<std::vector<os::UsbId>> list_bridges(os::Usb& usb);

class UsbBridge {
 public:
  // Takes it, and switches the GPU's power on; waits for the link, seconds at most. Both are
  // borrowed.
  static Result<std::unique_ptr<UsbBridge>> open(os::Usb& usb, os::Clock& clock,
                                                 const os::UsbId& id);

  const std::string& name() const { return name_; }
  Result<void> state();

  // Of device 0 on a bus: 1, 2 or 4 bytes that do not cross a word. A device that is not ready is
  // asked again for a second. NotFound: nothing is there.
  Result<u32> read_config(u8 bus, u16 offset, unsigned bytes);
  Result<void> write_config(u8 bus, u16 offset, unsigned bytes, u32 value);
  // Bytes of the chip's own memory.
  Result<void> read_chip(u16 address, std::span<u8> into);
  Result<void> write_chip(u16 address, u8 value);

  // ---- its buffer, through which bytes go to the GPU and come from it: bridge_transfers.h -------
  // Begin to move whole sectors into the buffer or out of it, from `slot` on. `bytes` are borrowed
  // until finish_transfer(), which all other transfers in bulk may do too.
  Result<u64> fill_buffer(u32 slot, std::span<const u8> bytes);
  // The bytes leave when the GPU allows it; it is told by `go` at `go_address` of the chip.
  Result<u64> drain_buffer(u32 slot, std::span<u8> bytes, u16 go_address, u8 go);
  Result<void> finish_transfer(u64 transfer);

  // Words, at an address that is a multiple of 4.
  Result<void> read_memory(u64 address, std::span<u8> into);
  Result<void> write_memory(u64 address, std::span<const u8> bytes);

 private:
  UsbBridge(os::Clock& clock, std::unique_ptr<os::UsbDevice> device, std::string name)
      : clock_(clock), device_(std::move(device)), name_(std::move(name)) {}
  Result<void> switch_on();
  Result<u8> read_chip(u16 address);
  Result<void> write_chip_byte(u16 address, u8 value);
  Result<void> ask_buffer(const hw::BufferRequest& request);
  Result<u64> begin_transfer(u8 endpoint, std::span<u8> bytes);
  Result<void> finish_until(u64 transfer);
  // One request, and its answer where it has one.
  Result<u32> request(const hw::TlpRequest& request);
  Result<hw::TlpReply> exchange(const hw::TlpRequest& request);
  Result<void> stream(const hw::TlpRequest& request, std::span<u8> bytes);
  Result<void> transfer_all(u8 endpoint, std::span<u8> bytes);
  // The same, kept as the bridge's state where it is an error of a transfer.
  template <class T>
  Result<T> keep(Result<T> result);

  os::Clock& clock_;
  const std::unique_ptr<os::UsbDevice> device_;
  const std::string name_;
  std::mutex mutex_;  // guards the device, and what follows
  Result<void> state_;
  struct BufferTransfer {
    u64 number = 0;
    u32 transfer = 0;  // the device's
    usize bytes = 0;
    u8 endpoint = 0;
  };
  std::deque<BufferTransfer> under_way_;  // of the buffer
  u64 last_transfer_ = 0;
};

}  // namespace doorbell::amd
