// Addresses of buffers for devices that have none: programs and copies of such a device take
// Buffers, but commands hold numbers. An address is the number of a buffer, from bit 40 on, and an
// offset below, so that a graph may add to it. Bit 63 tells it from a pointer. Any device's buffers
// have them.
//
// A number belongs to the place of a Buffer, for good: a buffer made where another one was has the
// same. So nothing has to be given back, and there are as many numbers as there ever were Buffers
// at once.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include "core/device/program.h"
#include "hcq/queue/operand.h"

namespace doorbell::hcq {

// Fails for buffers of 2^40 bytes and more, and for the 2^23rd buffer.
Result<GpuAddr> numbered_address(const core::Buffer& buffer);
bool is_numbered_address(u64 address);
// The buffer must live.
core::BufferView view_at(u64 address);

}  // namespace doorbell::hcq
