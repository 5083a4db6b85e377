// Linux futexes, private to the process.
#include "hcq/software/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace doorbell::hcq {

void futex_wait(std::atomic<u32>& word, u32 seen, u64 timeout_ns) {
  static_assert(sizeof(std::atomic<u32>) == 4);
  const timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000),
                         static_cast<long>(timeout_ns % 1'000'000'000)};
  // The caller checks the value again, whatever the result.
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
}

void futex_wake_all(std::atomic<u32>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace doorbell::hcq
