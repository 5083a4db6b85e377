// Which kernel a queue stands at.
#include "hcq/queue/launch_log.h"

#include <gtest/gtest.h>

#include "hcq/memory/host_memory.h"

namespace doorbell::hcq {
namespace {

struct LaunchLogTest : ::testing::Test {
  HostMemory memory;
  SignalPool pool{memory};
  Timeline timeline = *Timeline::make(pool);
  LaunchLog log;
  const std::string sum = "sum", product = "product";
};

TEST_F(LaunchLogTest, KnowsNothingAtFirst) { EXPECT_FALSE(log.first(timeline)); }

TEST_F(LaunchLogTest, TellsTheFirstThatIsNotDone) {
  timeline.reserve(9);
  log.note(2, sum);
  log.note(5, product);
  ASSERT_TRUE(log.first(timeline));
  EXPECT_EQ(log.first(timeline)->position, 2u);
  EXPECT_EQ(*log.first(timeline)->name, "sum");
  timeline.signal_at(2).signal.store(2);
  EXPECT_EQ(log.first(timeline)->position, 5u);
  EXPECT_EQ(*log.first(timeline)->name, "product");
  timeline.signal_at(5).signal.store(5);
  EXPECT_FALSE(log.first(timeline));
}

// A dead queue's signal says nothing of how far it came.
TEST_F(LaunchLogTest, OfADeadQueueAllCountAsNotDone) {
  timeline.reserve(3);
  log.note(1, sum);
  log.note(3, product);
  timeline.signal_at(3).signal.store(Signal::kDead);
  ASSERT_TRUE(log.first(timeline));
  EXPECT_EQ(log.first(timeline)->position, 1u);
}

TEST_F(LaunchLogTest, ForgetsTheOldest) {
  timeline.reserve(1000);
  for (Position at = 1; at <= 1000; ++at) log.note(at, at == 1000 ? product : sum);
  ASSERT_TRUE(log.first(timeline));
  EXPECT_GT(log.first(timeline)->position, 900u);
  EXPECT_LT(log.first(timeline)->position, 1000u);
}

}  // namespace
}  // namespace doorbell::hcq
