// WorkerPool: the threads behind the CPU device. A job is a function called once for each part;
// the caller takes parts too and returns when all are done. The program defines the parts.
//
// Parts are taken one by one, so that a thread that the system holds up delays one part. A caller
// that finds the workers busy with another's job does not wait for them: it runs parts itself until
// they are free. So run() may be called from anywhere, also from what a caller's stop check runs.
//
// Thread safety: run() from any thread.
// Memory ordering: what the caller wrote before run() is seen by every part (release of `state_`,
// acquired by the worker that claims a part); what parts wrote is seen by the caller when run()
// returns (release of `unfinished_`, acquired by the caller).
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/os/fork.h"
#include "base/util/result.h"
#include "base/util/types.h"
#include "drivers/cpu/thread_cores.h"

namespace doorbell::cpu {

// Whether the rest of a job should be dropped. Called between parts, by each thread that runs them.
struct PartCheck {
  bool (*asks_stop)(void* context) = nullptr;  // null: never
  void* context = nullptr;
  bool stops() const { return asks_stop != nullptr && asks_stop(context); }
};

// Where the threads of a pool may run.
struct WorkerCpus {
  std::vector<int> shared;              // workers on these only; empty: on any
  std::vector<std::vector<int>> cores;  // or: the CPUs of a core for each thread, the caller too
};

class WorkerPool {
 public:
  // A part of a job. Plain pointers: a job must cost no allocation.
  using Part = void (*)(void* context, i64 part);

  // `threads` counts the caller, so one less is started; at least 1. Fails where the system gives
  // no more threads.
  static Result<std::unique_ptr<WorkerPool>> make(int threads, WorkerCpus cpus = {});
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Calls part(context, 0 .. count-1), each once. False where `check` stopped it: what had begun
  // has ended then, and nothing else begins.
  bool run(Part part, void* context, i64 count, const PartCheck& check = {});

 private:
  static constexpr int kCountBits = 20;  // of `state_`, for each of count and next
  static constexpr u64 kCountMask = (u64{1} << kCountBits) - 1;
  struct Hold;  // of the workers, by the caller whose job runs

  WorkerPool() = default;
  void work();
  void make_room();
  bool run_one();
  bool run_job(Part part, void* context, i64 count, const PartCheck& check);
  bool run_shared(Part part, void* context, i64 first, i64 count, const PartCheck& check);
  bool drop_unclaimed();

  std::atomic<bool> held_{false};
  // job number : 24, count : 20, next part : 20. One word, so that a claim is one exchange that
  // fails when the job has changed.
  alignas(64) std::atomic<u64> state_{0};
  // Of the current job. Atomic because a worker may read them while it is late for the last job;
  // its claim then fails.
  std::atomic<Part> part_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<const PartCheck*> check_{nullptr};
  std::atomic<bool> stopped_{false};  // parts of the job were dropped
  alignas(64) std::atomic<u32> unfinished_{0};
  alignas(64) std::atomic<u32> wake_{0};  // changes with every job: what sleepers wait for
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
  ThreadCores cores_;     // changed by who holds the workers
  os::ForkGuard origin_;  // in a child of this process there are no workers to move
};

}  // namespace doorbell::cpu
