// Who waits in the kernel.
#include "hcq/signal/single_waiter.h"

#include <chrono>

namespace doorbell::hcq {

Result<void> SingleWaiter::block(const Signal& signal, u64 seen, u64 timeout_ns,
                                 const std::function<Result<void>()>& wait) {
  {
    std::unique_lock lock(mutex_);
    // Under the lock: a thread that waits in the kernel now reports after this, not before.
    if (signal.value() != seen) return {};
    if (waiting_) {
      returned_.wait_for(lock, std::chrono::nanoseconds(timeout_ns));
      return {};
    }
    waiting_ = true;
  }
  Result<void> waited = wait();
  std::lock_guard lock(mutex_);
  waiting_ = false;
  returned_.notify_all();
  return waited;
}

bool SingleWaiter::notify() {
  std::lock_guard lock(mutex_);
  returned_.notify_all();
  return waiting_;
}

}  // namespace doorbell::hcq
