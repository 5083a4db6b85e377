// SpinLock: a lock for sections of less than a microsecond that threads seldom meet in, such as a
// look-up in one of many tables. Unlocking is a plain store, which spares half of what an
// uncontended std::mutex costs. For longer sections, and for those that wait or call unknown code,
// use std::mutex.
//
// Thread safety: as std::mutex. A waiting thread gives its time slice away, so that a holder that
// is not running gets to run; it does not sleep.
// Memory ordering: what was written before unlock() is seen after the next lock().
#pragma once

#include <atomic>
#include <thread>

namespace doorbell {

class SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() {
    while (is_locked_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  void unlock() { is_locked_.store(false, std::memory_order_release); }

 private:
  // Reads only: an exchange would take the cache line from the holder.
  void wait() const {
    constexpr int kReads = 64;  // about as long as a section takes
    for (int i = 0; is_locked_.load(std::memory_order_relaxed); ++i)
      if (i >= kReads) std::this_thread::yield();
  }

  std::atomic<bool> is_locked_{false};
};

}  // namespace doorbell
