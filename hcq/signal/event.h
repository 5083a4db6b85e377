// Event: how the host sleeps until a signal may have changed: an interrupt of the device, or a
// futex where the device is threads of this process. Spinning before that, and deciding when to
// give up, is queue.h's.
//
// Thread safety: from any thread.
#pragma once

#include "base/util/result.h"
#include "hcq/signal/signal.h"

namespace doorbell::hcq {

class Event {
 public:
  virtual ~Event() = default;
  // Returns when the signal no longer has the value `seen`, after `timeout_ns`, or early. An error
  // is for whoever waits: nobody would ever be woken.
  virtual Result<void> block(const Signal& signal, u64 seen, u64 timeout_ns) = 0;
  // After the host raised a signal.
  virtual void notify(const Signal& signal) = 0;
};

}  // namespace doorbell::hcq
