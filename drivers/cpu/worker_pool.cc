// Claiming parts, and spinning before sleeping: a model's kernels follow each other within
// microseconds, and waking a thread costs several of them.
#include "drivers/cpu/worker_pool.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/os/affinity.h"
#include "base/util/check.h"

namespace doorbell::cpu {
namespace {

// About 20 microseconds of pauses.
constexpr int kSpins = 500;

// Now and then the processor is offered to others: on a busy machine the very thread that we wait
// for may be queued behind us.
void pause(int turn) {
  if (turn % 32 == 31) return std::this_thread::yield();
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Result<std::unique_ptr<WorkerPool>> WorkerPool::make(int threads, WorkerCpus cpus) {
  CHECK_GE(threads, 1);
  CHECK(cpus.cores.empty() || std::cmp_equal(cpus.cores.size(), threads), "{} cores for {} threads",
        cpus.cores.size(), threads);
  std::unique_ptr<WorkerPool> pool(new WorkerPool);
  pool->cores_ = ThreadCores(std::move(cpus.cores));
  for (int i = 1; i < threads; ++i) {
    try {
      pool->workers_.emplace_back([at = pool.get()] { at->work(); });
    } catch (const std::system_error& error) {
      return fail_errno(error.code().value(), "thread {} of {} for kernels of the CPU", i + 1,
                        threads);
    }
    if (!pool->cores_.empty())
      os::restrict_thread(pool->workers_.back(), pool->cores_.of_worker(pool->workers_.size() - 1));
    else if (!cpus.shared.empty())
      os::restrict_thread(pool->workers_.back(), cpus.shared);
  }
  return pool;
}

WorkerPool::~WorkerPool() {
  stop_.store(true, std::memory_order_relaxed);
  wake_.fetch_add(1, std::memory_order_release);
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// Claims and runs one part; false when none is left.
bool WorkerPool::run_one() {
  u64 state = state_.load(std::memory_order_acquire);
  while (true) {
    const u64 next = state & kCountMask, count = state >> kCountBits & kCountMask;
    if (next >= count) return false;
    // A job with unclaimed parts cannot end, so if the claim succeeds these are its own.
    const Part part = part_.load(std::memory_order_relaxed);
    void* context = context_.load(std::memory_order_relaxed);
    const PartCheck* check = check_.load(std::memory_order_relaxed);
    if (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      continue;
    part(context, static_cast<i64>(next));
    if (next + 1 < count && check->stops() && drop_unclaimed())
      stopped_.store(true, std::memory_order_relaxed);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
    return true;
  }
}

void WorkerPool::work() {
  u32 seen = wake_.load(std::memory_order_acquire);
  while (!stop_.load(std::memory_order_relaxed)) {
    while (run_one()) {
    }
    int spins = 0;
    u32 now;
    while ((now = wake_.load(std::memory_order_acquire)) == seen && spins < kSpins) {
      pause(spins);
      ++spins;
    }
    if (now == seen) {
      wake_.wait(seen, std::memory_order_acquire);
      now = wake_.load(std::memory_order_acquire);
    }
    seen = now;
  }
}

// Parts that nobody has begun count as done; false where there are none. By who runs a part, so
// that the job is the same.
bool WorkerPool::drop_unclaimed() {
  u64 state = state_.load(std::memory_order_acquire);
  while (true) {
    const u64 next = state & kCountMask, count = state >> kCountBits & kCountMask;
    if (next >= count) return false;
    if (!state_.compare_exchange_weak(state, state + (count - next), std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      continue;
    unfinished_.fetch_sub(static_cast<u32>(count - next), std::memory_order_acq_rel);
    return true;
  }
}

// No worker shares the caller's core. The system sees to that by itself only where it finds a core
// idle at the moment in which it wakes a worker.
void WorkerPool::make_room() {
  if (cores_.empty()) return;
  const std::optional<usize> worker = cores_.make_room(os::current_cpu());
  if (worker && origin_.is_same_process())
    os::restrict_thread(workers_[*worker], cores_.of_worker(*worker));
}

// Who waits at the end waits for parts that run, of which each thread has one.
bool WorkerPool::run_job(Part part, void* context, i64 count, const PartCheck& check) {
  make_room();
  part_.store(part, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  check_.store(&check, std::memory_order_relaxed);
  stopped_.store(false, std::memory_order_relaxed);
  unfinished_.store(static_cast<u32>(count), std::memory_order_relaxed);
  const u64 job = (state_.load(std::memory_order_relaxed) >> (2 * kCountBits)) + 1;
  state_.store(job << (2 * kCountBits) | static_cast<u64>(count) << kCountBits,
               std::memory_order_release);
  wake_.fetch_add(1, std::memory_order_release);
  wake_.notify_all();
  while (run_one()) {
  }
  for (int spins = 0; spins < kSpins && unfinished_.load(std::memory_order_acquire) != 0; ++spins)
    pause(spins);
  while (const u32 left = unfinished_.load(std::memory_order_acquire))
    unfinished_.wait(left, std::memory_order_acquire);
  return !stopped_.load(std::memory_order_relaxed);
}

// Parts `first` to `count`, in jobs that fit into state_.
bool WorkerPool::run_shared(Part part, void* context, i64 first, i64 count,
                            const PartCheck& check) {
  constexpr i64 kMax = static_cast<i64>(kCountMask);
  if (first == 0 && count <= kMax) [[likely]]
    return run_job(part, context, count, check);
  struct Slice {
    Part part;
    void* context;
    i64 first;
  };
  for (; first < count; first += kMax) {
    Slice slice{part, context, first};
    const auto run_part = [](void* of, i64 i) {
      const Slice& slice = *static_cast<Slice*>(of);
      slice.part(slice.context, slice.first + i);
    };
    if (!run_job(run_part, &slice, std::min(kMax, count - first), check)) return false;
  }
  return true;
}

struct WorkerPool::Hold {
  explicit Hold(std::atomic<bool>& held)
      : held(held), has(!held.exchange(true, std::memory_order_acquire)) {}
  ~Hold() {
    if (has) held.store(false, std::memory_order_release);
  }
  std::atomic<bool>& held;
  const bool has;
};

bool WorkerPool::run(Part part, void* context, i64 count, const PartCheck& check) {
  for (i64 first = 0; first < count; ++first) {
    if (count - first > 1 && !workers_.empty()) {
      if (const Hold workers(held_); workers.has)
        return run_shared(part, context, first, count, check);
    }
    part(context, first);
    if (first + 1 < count && check.stops()) return false;
  }
  return true;
}

}  // namespace doorbell::cpu
