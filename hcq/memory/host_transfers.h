// HostTransfers: another way for bytes between the host and a device's memory than memory of both,
// where a driver has one that is faster: a GPU behind USB.
//
// Thread safety: from any thread.
#pragma once

#include "hcq/queue/operand.h"
#include "hcq/signal/fence.h"

namespace doorbell::hcq {

class HostTransfers {
 public:
  virtual ~HostTransfers() = default;
  // Whether so many bytes are to go this way.
  virtual bool takes(u64 bytes) const = 0;
  // After `after`; complete when they return.
  virtual Result<void> copy_in(GpuAddr to, const u8* from, u64 bytes, const Fence& after) = 0;
  virtual Result<void> copy_out(u8* to, GpuAddr from, u64 bytes, const Fence& after) = 0;
};

}  // namespace doorbell::hcq
