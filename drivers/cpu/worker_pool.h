// WorkerPool: the threads behind the CPU device. A job is a function called once for each part;
// the caller takes parts too and returns when all are done. What a part does is the program's.
//
// Thread safety: run() from any thread; jobs of several callers go one after another.
// Memory ordering: what the caller wrote before run() is seen by every part (release of `state_`,
// acquired by the worker that claims a part); what parts wrote is seen by the caller when run()
// returns (release of `unfinished_`, acquired by the caller).
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/util/types.h"

namespace doorbell::cpu {

class WorkerPool {
 public:
  // A part of a job. Plain pointers: a job must cost no allocation.
  using Part = void (*)(void* context, i64 part);

  // `threads` counts the caller, so one less is started; at least 1.
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Calls part(context, 0 .. count-1), each once.
  void run(Part part, void* context, i64 count);

 private:
  static constexpr int kCountBits = 20;  // of `state_`, for each of count and next
  static constexpr u64 kCountMask = (u64{1} << kCountBits) - 1;

  void work();
  bool run_one();
  void run_job(Part part, void* context, i64 count);

  std::mutex jobs_;  // held by the caller whose job runs
  // job number : 24, count : 20, next part : 20. One word, so that a claim is one exchange that
  // fails when the job has changed.
  alignas(64) std::atomic<u64> state_{0};
  // Of the current job. Atomic because a worker may read them while it is late for the last job;
  // its claim then fails.
  std::atomic<Part> part_{nullptr};
  std::atomic<void*> context_{nullptr};
  alignas(64) std::atomic<u32> unfinished_{0};
  alignas(64) std::atomic<u32> wake_{0};  // changes with every job: what sleepers wait for
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace doorbell::cpu
