// One thread in the kernel, the others beside it.
#include "hcq/signal/single_waiter.h"

#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

#include "hcq/memory/host_memory.h"

namespace doorbell::hcq {
namespace {

constexpr u64 kSecond_ns = 1'000'000'000;

struct SingleWaiterTest : ::testing::Test {
  HostMemory memory;
  SignalPool pool{memory};
  const Signal signal = *pool.make();
  SingleWaiter waiter;
};

TEST_F(SingleWaiterTest, DoesNotWaitForASignalThatChanged) {
  signal.store(3);
  EXPECT_TRUE(waiter.block(signal, 2, kSecond_ns, []() -> Result<void> {
    ADD_FAILURE();
    return {};
  }));
}

TEST_F(SingleWaiterTest, ReportsWhatTheKernelRefuses) {
  const Result<void> waited = waiter.block(
      signal, 0, kSecond_ns, []() -> Result<void> { return fail(ErrorKind::Os, "refused"); });
  EXPECT_EQ(waited.error().message, "refused");
}

TEST_F(SingleWaiterTest, OthersDoNotWaitInTheKernel) {
  std::binary_semaphore inside{0}, leave{0};
  std::thread first([&] {
    EXPECT_TRUE(waiter.block(signal, 0, kSecond_ns, [&]() -> Result<void> {
      inside.release();
      leave.acquire();
      return {};
    }));
  });
  inside.acquire();
  EXPECT_TRUE(waiter.block(signal, 0, 1000, []() -> Result<void> {
    ADD_FAILURE();
    return {};
  }));
  EXPECT_TRUE(waiter.notify());
  leave.release();
  first.join();
  EXPECT_FALSE(waiter.notify());
}

}  // namespace
}  // namespace doorbell::hcq
