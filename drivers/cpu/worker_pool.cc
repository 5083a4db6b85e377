// Claiming parts, and spinning before sleeping: a model's kernels follow each other within
// microseconds, and waking a thread costs several of them.
#include "drivers/cpu/worker_pool.h"

#include <algorithm>

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

WorkerPool::WorkerPool(int threads) {
  CHECK_GE(threads, 1);
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
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
    if (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      continue;
    part(context, static_cast<i64>(next));
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

void WorkerPool::run_job(Part part, void* context, i64 count) {
  part_.store(part, std::memory_order_relaxed);
  context_.store(context, std::memory_order_relaxed);
  unfinished_.store(static_cast<u32>(count), std::memory_order_relaxed);
  const u64 job = (state_.load(std::memory_order_relaxed) >> (2 * kCountBits)) + 1;
  state_.store(job << (2 * kCountBits) | static_cast<u64>(count) << kCountBits,
               std::memory_order_release);
  wake_.fetch_add(1, std::memory_order_release);
  wake_.notify_all();
  while (run_one()) {
  }
  for (int spins = 0; spins < kSpins; ++spins) {
    if (unfinished_.load(std::memory_order_acquire) == 0) return;
    pause(spins);
  }
  while (const u32 left = unfinished_.load(std::memory_order_acquire))
    unfinished_.wait(left, std::memory_order_acquire);
}

void WorkerPool::run(Part part, void* context, i64 count) {
  if (count == 1 || workers_.empty()) {
    for (i64 i = 0; i < count; ++i) part(context, i);
    return;
  }
  std::lock_guard lock(jobs_);
  constexpr i64 kMost = static_cast<i64>(kCountMask);
  struct Slice {
    Part part;
    void* context;
    i64 first;
  };
  for (i64 first = 0; first < count; first += kMost) {
    if (first == 0 && count <= kMost) return run_job(part, context, count);
    Slice slice{part, context, first};
    run_job(
        [](void* of, i64 i) {
          const Slice& slice = *static_cast<Slice*>(of);
          slice.part(slice.context, slice.first + i);
        },
        &slice, std::min(kMost, count - first));
  }
}

}  // namespace doorbell::cpu
