// Every part once, whatever the number of threads, parts and callers.
#include "drivers/cpu/worker_pool.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/os/affinity.h"

namespace doorbell::cpu {
namespace {

struct Marks {
  explicit Marks(usize count) : counts(count) {}
  std::vector<std::atomic<int>> counts;
  static void mark(void* context, i64 part) {
    static_cast<Marks*>(context)->counts[static_cast<usize>(part)].fetch_add(
        1, std::memory_order_relaxed);
  }
};

TEST(WorkerPool, RunsEachPartOnce) {
  for (int threads : {1, 2, 3, 8}) {
    const auto made = *WorkerPool::make(threads);
    WorkerPool& pool = *made;
    EXPECT_EQ(pool.threads(), threads);
    for (usize parts : {0u, 1u, 2u, 7u, 1000u}) {
      Marks marks(parts);
      pool.run(&Marks::mark, &marks, static_cast<i64>(parts));
      for (usize i = 0; i < parts; ++i) ASSERT_EQ(marks.counts[i], 1) << threads << " " << i;
    }
  }
}

TEST(WorkerPool, MorePartsThanOneJobHolds) {
  const auto made = *WorkerPool::make(2);
  WorkerPool& pool = *made;
  Marks marks((1 << 20) + 5);
  pool.run(&Marks::mark, &marks, (1 << 20) + 5);
  for (auto& count : marks.counts) ASSERT_EQ(count, 1);
}

// Plain memory: the thread sanitizer proves that jobs are ordered after each other.
TEST(WorkerPool, JobsSeeWhatEarlierJobsWrote) {
  const auto made = *WorkerPool::make(4);
  WorkerPool& pool = *made;
  std::vector<i64> values(64, 0);
  struct Step {
    std::vector<i64>* values;
    i64 round;
    std::atomic<int> wrong{0};
  } step{&values, 0};
  for (step.round = 0; step.round < 3000; ++step.round) {
    pool.run(
        [](void* context, i64 part) {
          Step& step = *static_cast<Step*>(context);
          // Reads what another thread may have written in the round before.
          i64& value = (*step.values)[static_cast<usize>((part + step.round) % 64)];
          if (value != step.round) ++step.wrong;
          ++value;
        },
        &step, 64);
  }
  EXPECT_EQ(step.wrong, 0);
  for (i64 value : values) EXPECT_EQ(value, 3000);
}

struct AllowedCpus {
  std::vector<int> caller, worker;
};

// What the two threads of a pool are allowed while a job runs.
AllowedCpus run_on_two(WorkerPool& pool) {
  struct Seen {
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> arrived{0};
    AllowedCpus cpus;
  } seen;
  pool.run(
      [](void* context, i64) {
        Seen& seen = *static_cast<Seen*>(context);
        const bool is_caller = std::this_thread::get_id() == seen.caller;
        (is_caller ? seen.cpus.caller : seen.cpus.worker) = os::allowed_cpus();
        // Both parts wait for each other, so each thread has one.
        ++seen.arrived;
        while (seen.arrived < 2) std::this_thread::yield();
      },
      &seen, 2);
  return seen.cpus;
}

// The caller's thread is the program's, which may run anywhere.
TEST(WorkerPool, WorkersStayOnTheirCpus) {
  const std::vector<int> allowed = os::allowed_cpus();
  if (allowed.empty()) GTEST_SKIP() << "this system does not say where threads may run";
  const std::vector<int> one{allowed.back()};
  const auto pool = *WorkerPool::make(2, {.shared = one});
  const AllowedCpus seen = run_on_two(*pool);
  EXPECT_EQ(seen.worker, one);
  EXPECT_EQ(seen.caller, allowed);
}

// The worker leaves the core on which a caller turns up, wherever that is.
TEST(WorkerPool, WorkersLeaveTheCallersCore) {
  const std::vector<int> allowed = os::allowed_cpus();
  if (allowed.size() < 2) GTEST_SKIP() << "one CPU, or a system that does not say how many";
  const std::vector<int> first{allowed[0]}, second{allowed[1]};
  const auto pool = *WorkerPool::make(2, {.cores = {first, second}});
  for (const auto& [caller, worker] : {std::pair(second, first), std::pair(first, second)}) {
    AllowedCpus seen;
    std::atomic<bool> is_restricted = false;
    std::thread thread([&] {
      is_restricted.wait(false);
      seen = run_on_two(*pool);
    });
    os::restrict_thread(thread, caller);
    is_restricted = true;
    is_restricted.notify_one();
    thread.join();
    EXPECT_EQ(seen.caller, caller);
    EXPECT_EQ(seen.worker, worker);
  }
}

TEST(WorkerPool, SeveralCallers) {
  const auto made = *WorkerPool::make(3);
  WorkerPool& pool = *made;
  std::vector<std::thread> callers;
  std::atomic<i64> total{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        i64 sums[8] = {};
        pool.run([](void* context, i64 part) { static_cast<i64*>(context)[part] += part; }, sums,
                 8);
        for (i64 sum : sums) total += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 500 * 28);
}

TEST(WorkerPool, WorkersWakeFromSleep) {
  const auto made = *WorkerPool::make(2);
  WorkerPool& pool = *made;
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // past the spinning
    // Both parts wait for each other, so they need two threads.
    std::atomic<int> arrived{0};
    pool.run(
        [](void* context, i64) {
          auto& arrived = *static_cast<std::atomic<int>*>(context);
          ++arrived;
          while (arrived < 2) std::this_thread::yield();
        },
        &arrived, 2);
    EXPECT_EQ(arrived, 2);
  }
}

// A caller that finds the workers with another's job does its own.
TEST(WorkerPool, AJobWithinAJob) {
  const auto made = *WorkerPool::make(3);
  struct Outer {
    WorkerPool* pool;
    std::atomic<i64> total{0};
  } outer{made.get()};
  const bool done = made->run(
      [](void* context, i64) {
        Outer& outer = *static_cast<Outer*>(context);
        i64 sums[8] = {};
        outer.pool->run([](void* context, i64 part) { static_cast<i64*>(context)[part] += part; },
                        sums, 8);
        for (i64 sum : sums) outer.total += sum;
      },
      &outer, 50);
  EXPECT_TRUE(done);
  EXPECT_EQ(outer.total, 50 * 28);
}

TEST(WorkerPool, StopsBetweenParts) {
  for (int threads : {1, 2, 4}) {
    const auto made = *WorkerPool::make(threads);
    constexpr i64 kParts = 10000;
    Marks marks(kParts);
    std::atomic<int> asked = 0;
    const PartCheck third{[](void* asked) { return ++*static_cast<std::atomic<int>*>(asked) >= 3; },
                          &asked};
    // Each part waits a little, so that others cannot take them all meanwhile.
    const auto part = [](void* context, i64 part) {
      Marks::mark(context, part);
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    };
    EXPECT_FALSE(made->run(part, &marks, kParts, third)) << threads;
    EXPECT_GE(asked, 3);
    EXPECT_LE(asked, 2 + threads);  // once each from then on
    i64 ran = 0;
    for (auto& count : marks.counts) ran += count;
    EXPECT_GE(ran, 3);
    EXPECT_LT(ran, kParts);
    // The next job is whole.
    Marks after(100);
    EXPECT_TRUE(made->run(&Marks::mark, &after, 100));
    for (auto& count : after.counts) EXPECT_EQ(count, 1);
    for (auto& count : marks.counts) EXPECT_LE(count, 1);
  }
}

TEST(WorkerPool, IsNotStoppedOnceAllHasBegun) {
  const auto made = *WorkerPool::make(2);
  Marks marks(1);
  const PartCheck always{[](void*) { return true; }};
  EXPECT_TRUE(made->run(&Marks::mark, &marks, 1, always));
  EXPECT_EQ(marks.counts[0], 1);
}

}  // namespace
}  // namespace doorbell::cpu
