// Event: how the host sleeps until a signal may have changed: an interrupt of the device, or a
// futex where the device is threads of this process. For spinning before that, and for the timeout,
// see queue.h.
//
// Thread safety: from any thread.
#pragma once

#include "base/util/result.h"
#include "hcq/signal/signal.h"

namespace doorbell::hcq {

class Event {
 public:
  virtual ~Event() = default;
  // Returns when the signal no longer has the value `seen`, after `timeout_ns`, or early. The
  // waiting code must report an error, because it would never be woken.
  virtual Result<void> block(const Signal& signal, u64 seen, u64 timeout_ns) = 0;
  // Call after the host raised a signal.
  virtual void notify(const Signal& signal) = 0;
};

}  // namespace doorbell::hcq
