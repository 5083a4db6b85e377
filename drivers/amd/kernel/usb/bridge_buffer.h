// BridgeBuffer: the memory of a bridge from USB that its GPU and the host exchange bytes through,
// and where the GPU sees it.
#pragma once

#include "drivers/amd/kernel/usb/usb_bridge.h"

namespace doorbell::amd {

struct BridgeBuffer {
  UsbBridge* bridge = nullptr;  // borrowed
  // GPU addresses of hw::kBridgeBuffer, kBridgePage, and the word behind kBridgeCompletion.
  u64 data = 0, page = 0, completion = 0;
};

}  // namespace doorbell::amd
