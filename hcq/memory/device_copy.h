// Copies within the memory of one device, by its copy queue.
#pragma once

#include "hcq/device.h"

namespace doorbell::hcq {

// After everything that was submitted to the device before. Waits until it is done.
Result<void> copy_on_device(Device& device, GpuAddr to, GpuAddr from, u64 bytes);

}  // namespace doorbell::hcq
