// Counters: what the process has done since it began, for tests, DEBUG and the profiler. For bytes
// in use see MemoryStats of each device's allocator.
#pragma once

#include <atomic>

#include "base/util/types.h"

namespace doorbell::core {

// Thread safety: each counter is exact; values read one after another are not a snapshot.
struct Counters {
  std::atomic<i64> kernels{0};          // launched
  std::atomic<i64> copies{0};           // between buffers
  std::atomic<i64> flops{0};            // estimated arithmetic of the launched kernels
  std::atomic<i64> bytes_accessed{0};   // bytes they access at least once
  std::atomic<i64> schedules_made{0};   // cache misses
  std::atomic<i64> schedules_found{0};  // cache hits
  std::atomic<i64> kernels_compiled{0};
  std::atomic<i64> arena_nodes{0};  // in all arenas that were freed
};

inline constinit Counters counters;

}  // namespace doorbell::core
