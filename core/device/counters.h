// Counters: what the process has done since it began, for tests, DEBUG and the profiler. For bytes
// in use see MemoryStats of each device's allocator.
//
// Each thread adds to numbers of its own, without an exchange among processors: a small kernel is
// submitted in less time than a few of those take. Reading sums the numbers of all threads.
#pragma once

#include <array>
#include <atomic>

#include "base/util/types.h"

namespace doorbell::core {

// Thread safety: each counter is exact; values read one after another are not a snapshot.
class Counter {
 public:
  constexpr explicit Counter(u32 slot) : slot_(slot) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void add(i64 count) {
    std::atomic<i64>& own = numbers_of_thread()[slot_];
    own.store(own.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  // Takes a lock.
  i64 load() const;
  operator i64() const { return load(); }  // NOLINT(google-explicit-constructor): reads as a number

  static constexpr u32 kSlots = 16;
  using Numbers = std::array<std::atomic<i64>, kSlots>;

 private:
  static Numbers& numbers_of_thread() {
    if (own_ == nullptr) [[unlikely]]
      take_numbers();
    return *own_;
  }
  static void take_numbers();
  friend struct NumbersOfThread;

  static inline constinit thread_local Numbers* own_ = nullptr;
  const u32 slot_;
};

struct Counters {
  Counter kernels{0};          // launched
  Counter copies{1};           // between buffers
  Counter flops{2};            // estimated arithmetic of the launched kernels
  Counter bytes_accessed{3};   // bytes they access at least once
  Counter schedules_made{4};   // cache misses
  Counter schedules_found{5};  // cache hits
  Counter kernels_compiled{6};
  Counter arena_nodes{7};        // in all arenas that were freed
  Counter memory_nodes{8};       // of the tensor graph, for memory; ever made
  Counter dead_memory_nodes{9};  // those of them that were freed
};

inline constinit Counters counters;

}  // namespace doorbell::core
