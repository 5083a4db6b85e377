// SpinLock: one holder at a time, with more threads than processors too.
#include "base/util/spin_lock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace doorbell {
namespace {

TEST(SpinLock, LetsOneThreadInAtATime) {
  SpinLock lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        const std::lock_guard guard(lock);
        ++count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 160000);
}

TEST(SpinLock, WaitsForAHolderThatIsNotRunning) {
  SpinLock lock;
  bool is_done = false;
  lock.lock();
  std::thread other([&] {
    const std::lock_guard guard(lock);
    is_done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(is_done);  // written under the lock only, which this thread has
  lock.unlock();
  other.join();
  EXPECT_TRUE(is_done);
}

}  // namespace
}  // namespace doorbell
