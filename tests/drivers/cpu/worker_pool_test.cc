// Every part once, whatever the number of threads, parts and callers.
#include "drivers/cpu/worker_pool.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

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
    WorkerPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (usize parts : {0u, 1u, 2u, 7u, 1000u}) {
      Marks marks(parts);
      pool.run(&Marks::mark, &marks, static_cast<i64>(parts));
      for (usize i = 0; i < parts; ++i) ASSERT_EQ(marks.counts[i], 1) << threads << " " << i;
    }
  }
}

TEST(WorkerPool, MorePartsThanOneJobHolds) {
  WorkerPool pool(2);
  Marks marks((1 << 20) + 5);
  pool.run(&Marks::mark, &marks, (1 << 20) + 5);
  for (auto& count : marks.counts) ASSERT_EQ(count, 1);
}

// Plain memory: the thread sanitizer proves that jobs are ordered after each other.
TEST(WorkerPool, JobsSeeWhatEarlierJobsWrote) {
  WorkerPool pool(4);
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

TEST(WorkerPool, SeveralCallers) {
  WorkerPool pool(3);
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
  WorkerPool pool(2);
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

}  // namespace
}  // namespace doorbell::cpu
