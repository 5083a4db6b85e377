// Sleeping on a number in memory with a deadline, which std::atomic::wait lacks.
#pragma once

#include <atomic>

#include "base/util/types.h"

namespace doorbell::hcq {

// Returns when woken, when `word` no longer is `seen`, after `timeout_ns`, or for no reason.
void futex_wait(std::atomic<u32>& word, u32 seen, u64 timeout_ns);
void futex_wake_all(std::atomic<u32>& word);

}  // namespace doorbell::hcq
