// Waiting for a word, within the process: Linux's futexes, macOS's ulocks.
#include "hcq/software/futex.h"

#if defined(__APPLE__)
// Not in a header of Apple's, but stable: libc++ waits for atomics by them. [LLVM
// libcxx/src/atomic.cpp; apple-oss-distributions/xnu bsd/sys/ulock.h]
extern "C" int __ulock_wait(unsigned operation, void* address, unsigned long long value,
                            unsigned timeout_us);
extern "C" int __ulock_wake(unsigned operation, void* address, unsigned long long value);
#else
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <climits>

namespace doorbell::hcq {

static_assert(sizeof(std::atomic<u32>) == 4);

// The caller checks the value again, whatever the result.
#if defined(__APPLE__)

constexpr unsigned kCompareAndWait = 1, kWakeAll = 0x100;  // of 32 bits

void futex_wait(std::atomic<u32>& word, u32 seen, u64 timeout_ns) {
  // 0 would be for ever.
  const u64 timeout_us = std::clamp<u64>(timeout_ns / 1000, 1, UINT_MAX);
  __ulock_wait(kCompareAndWait, &word, seen, static_cast<unsigned>(timeout_us));
}

void futex_wake_all(std::atomic<u32>& word) { __ulock_wake(kCompareAndWait | kWakeAll, &word, 0); }

#else

void futex_wait(std::atomic<u32>& word, u32 seen, u64 timeout_ns) {
  const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                         static_cast<long>(timeout_ns % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
}

void futex_wake_all(std::atomic<u32>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

#endif

}  // namespace doorbell::hcq
