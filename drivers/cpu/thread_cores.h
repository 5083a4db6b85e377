// ThreadCores: which core each thread of a worker pool has, where there are as many threads as
// cores. Workers are restricted to theirs. The caller is not: it is whichever thread calls, where
// the system has put it, and the worker of that core moves to the one that is left. What restricts
// threads is the pool's.
//
// Not thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/util/types.h"

namespace doorbell::cpu {

class ThreadCores {
 public:
  ThreadCores() = default;  // of no threads: nobody is moved
  // The CPUs of each core, the first for the caller, the others for the workers in order.
  explicit ThreadCores(std::vector<std::vector<int>> cores);

  bool empty() const { return cores_.empty(); }
  std::span<const int> of_worker(usize worker) const { return cores_[core_of_[worker + 1]]; }
  // Call with the CPU that the caller runs on. If its core is a worker's, that worker gets the core
  // that the caller had before; returns the worker's number.
  std::optional<usize> make_room(int cpu);

 private:
  std::vector<std::vector<int>> cores_;
  // Thread 0 is the caller, thread n + 1 worker n.
  std::vector<usize> core_of_;    // by thread
  std::vector<usize> thread_of_;  // by core
  std::vector<int> core_at_;      // by CPU; -1: of none
};

}  // namespace doorbell::cpu
