// SingleWaiter: of the threads that wait for a device's interrupts, one waits in the kernel and the
// others wait for it to return: the kernel reports an event to one waiter only.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/util/result.h"
#include "hcq/signal/signal.h"

namespace doorbell::hcq {

class SingleWaiter {
 public:
  // Waits in the kernel by `wait`, or until the thread that does so returns, for at most
  // `timeout_ns`. Returns at once if the signal no longer has the value `seen`.
  Result<void> block(const Signal& signal, u64 seen, u64 timeout_ns,
                     const std::function<Result<void>()>& wait);
  // Wakes the threads that wait for another one. Whether a thread waits in the kernel: waking it is
  // left to the caller.
  bool notify();

 private:
  std::mutex mutex_;                  // guards waiting_
  std::condition_variable returned_;  // of the thread that waits in the kernel
  bool waiting_ = false;
};

}  // namespace doorbell::hcq
