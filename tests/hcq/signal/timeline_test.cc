// Positions never wrap; the numbers in memory start again on a fresh signal.
#include "hcq/signal/timeline.h"

#include <gtest/gtest.h>

#include <thread>

#include "hcq/memory/host_memory.h"

namespace doorbell::hcq {
namespace {

using Reached = Timeline::Reached;

struct TimelineTest : ::testing::Test {
  HostMemory memory;
  SignalPool pool{memory};
};

TEST_F(TimelineTest, NothingIsReachedBeforeItsSignal) {
  Timeline timeline = *Timeline::make(pool, 8);
  EXPECT_EQ(timeline.reached(0), Reached::Yes);
  EXPECT_EQ(timeline.reserve(2), 0u);
  EXPECT_EQ(timeline.last(), 2u);
  EXPECT_EQ(timeline.reached(1), Reached::No);
  const Timeline::SignalValue second = timeline.signal_at(2);
  EXPECT_EQ(second.value, 2u);
  second.signal.store(1);
  EXPECT_EQ(timeline.reached(1), Reached::Yes);
  EXPECT_EQ(timeline.reached(2), Reached::No);
}

TEST_F(TimelineTest, StartsAgainOnAFreshSignal) {
  Timeline timeline = *Timeline::make(pool, 4);
  EXPECT_EQ(timeline.reserve(3), 0u);
  EXPECT_TRUE(timeline.fits(1));
  EXPECT_FALSE(timeline.fits(2));
  const Signal old = timeline.signal_at(3).signal;
  old.store(3);
  ASSERT_TRUE(timeline.restart());
  EXPECT_TRUE(timeline.fits(4));
  EXPECT_EQ(timeline.reserve(2), 3u);
  // Earlier positions are done, and stay done for readers of the old signal.
  EXPECT_EQ(timeline.reached(3), Reached::Yes);
  EXPECT_EQ(timeline.signal_at(3).value, 0u);
  EXPECT_EQ(old.value(), 3u);
  EXPECT_EQ(timeline.reached(4), Reached::No);
  EXPECT_EQ(timeline.signal_at(5).value, 2u);
  EXPECT_NE(timeline.signal_at(5).signal.address(), old.address());
}

TEST_F(TimelineTest, ADeadSignalReachesNothing) {
  Timeline timeline = *Timeline::make(pool);
  timeline.reserve(1);
  timeline.signal_at(1).signal.store(Signal::kDead);
  EXPECT_EQ(timeline.reached(1), Reached::Dead);
}

// A number that is negative as a signed number would be below all others.
TEST_F(TimelineTest, NumbersStayBelow2To31) {
  Timeline timeline = *Timeline::make(pool);
  EXPECT_TRUE(timeline.fits(0x7fff'ffff));
  EXPECT_THROW((void)timeline.fits(0x8000'0000), InternalError);
  timeline.reserve(0x7fff'ffff);
  EXPECT_EQ(timeline.signal_at(timeline.last()).value, 0x7fff'ffffu);
  EXPECT_FALSE(timeline.fits(1));
}

TEST_F(TimelineTest, GivesItsSignalsBack) {
  Timeline first = *Timeline::make(pool, 4);
  const u64 old = first.signal_at(0).signal.address().value;
  ASSERT_TRUE(first.restart());
  const u64 fresh = first.signal_at(0).signal.address().value;
  first.release();
  const u64 again[] = {pool.make()->address().value, pool.make()->address().value};
  EXPECT_EQ(std::min(again[0], again[1]), std::min(old, fresh));
  EXPECT_EQ(std::max(again[0], again[1]), std::max(old, fresh));
}

TEST_F(TimelineTest, MoreThanTheLimitAtOnceIsRefused) {
  Timeline timeline = *Timeline::make(pool, 4);
  EXPECT_THROW((void)timeline.fits(5), InternalError);
}

TEST_F(TimelineTest, SignalsAreDistinctAndBeginAtZero) {
  std::vector<Signal> signals;
  for (int i = 0; i < 200; ++i) {
    signals.push_back(*pool.make());
    EXPECT_EQ(signals.back().value(), 0u);
    signals.back().store(7);
    for (int k = 0; k < i; ++k) ASSERT_NE(signals[k].address(), signals[i].address());
  }
  pool.release(signals[3]);
  const Signal again = *pool.make();
  EXPECT_EQ(again.address(), signals[3].address());
  EXPECT_EQ(again.value(), 0u);
}

TEST(SignalPool, AMirrorIsRaisedWithItsSignal) {
  HostMemory memory;
  SignalPool host(memory);
  const Signal signal = *host.make();
  signal.store(3);
  {
    SignalPool other(memory, SignalPool::RaisedBy::Device), third(memory);
    const Signal mirror = *other.mirror_of(host, signal), second = *third.mirror_of(host, signal);
    EXPECT_EQ(mirror.value(), 3u);
    EXPECT_EQ(second.value(), 3u);
    EXPECT_NE(mirror.address(), signal.address());
    EXPECT_EQ(other.mirror_of(host, signal)->address(), mirror.address());
    signal.store(5);
    EXPECT_EQ(mirror.value(), 5u);
    EXPECT_EQ(second.value(), 5u);
    signal.store(Signal::kDead);
    EXPECT_EQ(mirror.value(), Signal::kDead);
    // A signal that is used again begins anew everywhere.
    host.release(signal);
    EXPECT_EQ(host.make()->address(), signal.address());
    EXPECT_EQ(mirror.value(), 0u);
    EXPECT_EQ(second.value(), 0u);
    // Devices do not look for mirrors.
    EXPECT_THROW((void)host.mirror_of(other, mirror), InternalError);
  }
  signal.store(6);  // nobody mirrors it any more
  EXPECT_EQ(signal.value(), 6u);
}

TEST(SignalPool, AMirrorMayOutliveItsSignal) {
  HostMemory memory;
  SignalPool other(memory);
  GpuAddr address;
  {
    SignalPool host(memory);
    const Signal signal = *host.make();
    signal.store(3);
    address = other.mirror_of(host, signal)->address();
  }
  const Signal again = *other.make();
  EXPECT_EQ(again.address(), address);
  EXPECT_EQ(again.value(), 0u);
}

TEST(SignalPool, AMirrorMissesNoValue) {
  HostMemory memory;
  SignalPool host(memory);
  for (int round = 0; round < 200; ++round) {
    SignalPool other(memory);
    const Signal signal = *host.make();
    std::thread raises([&] {
      for (u64 value = 1; value <= 50; ++value) signal.store(value);
    });
    const Signal mirror = *other.mirror_of(host, signal);
    raises.join();
    ASSERT_EQ(mirror.value(), 50u);
    host.release(signal);
  }
}

TEST(SignalPool, SaysThatMemoryIsOut) {
  HostMemory memory(100);
  SignalPool pool(memory);
  auto refused = pool.make();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::OutOfMemory);
}

}  // namespace
}  // namespace doorbell::hcq
