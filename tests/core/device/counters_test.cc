// Counters: what threads counted stays when they end, and each thread counts for itself.
#include "core/device/counters.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace doorbell::core {
namespace {

TEST(Counters, SumAllThreadsThoseThatEndedToo) {
  const i64 kernels = counters.kernels, copies = counters.copies;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        for (int k = 0; k < 1000; ++k) counters.kernels.add(2);
        counters.copies.add(1);
      });
    for (std::thread& thread : threads) thread.join();
  }
  counters.kernels.add(5);
  EXPECT_EQ(counters.kernels - kernels, 3 * 4 * 1000 * 2 + 5);
  EXPECT_EQ(counters.copies - copies, 3 * 4);
}

}  // namespace
}  // namespace doorbell::core
