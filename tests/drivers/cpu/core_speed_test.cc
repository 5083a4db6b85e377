// Measuring with loops that take a made-up time on a made-up clock.
#include "drivers/cpu/core_speed.h"

#include <gtest/gtest.h>

#include "base/os/host.h"
#include "tests/support/fake_system.h"

namespace doorbell::cpu {
namespace {

testing::FakeClock* g_clock;  // of the test that runs: loops are plain functions
const u8* g_flushed;

void take(f64 each_ns, i64 count) {
  g_clock->time_ns += static_cast<u64>(each_ns * static_cast<f64>(count) + 0.5);
}

// A core at 2 GHz with two ports for narrow registers and one for wide ones.
SpeedLoops made_up_loops() {
  SpeedLoops loops;
  loops.add = [](i64 count) { take(0.5, count); };
  loops.narrow = {[](i64 count) { take(0.25, count); }, [](i64 count) { take(2, count); }};
  loops.wide = {[](i64 count) { take(0.5, count); }, [](i64 count) { take(2, count); }};
  loops.load = [](const u8* data, i64 bytes) {
    const f64 rate = data == g_flushed    ? 10
                     : bytes <= 24 << 10  ? 128
                     : bytes <= 512 << 10 ? 64
                                          : 32;
    take(1 / rate, bytes);
    g_flushed = nullptr;
  };
  loops.flush = [](const u8* data, i64) { g_flushed = data, take(1, 1000); };
  return loops;
}

class CoreSpeedTest : public ::testing::Test {
 protected:
  CoreSpeedTest() { g_clock = &clock_, g_flushed = nullptr; }
  testing::FakeClock clock_;
  os::CoreKind kind_{.cores = 1,
                     .caches = {{.level = 1, .bytes = 48 << 10},
                                {.level = 2, .bytes = 1 << 20},
                                {.level = 3, .bytes = 32 << 20, .cores = 8}}};
};

TEST_F(CoreSpeedTest, FailsWhereTheClockStands) {
  SpeedLoops loops = made_up_loops();
  loops.add = [](i64) {};
  EXPECT_EQ(measure_core(loops, kind_, clock_).error().message,
            "a loop to be timed took 0 ns, expected 1000 or more");
}

TEST_F(CoreSpeedTest, MeasuresEachLevelAndWidth) {
  const Result<CoreSpeed> speed = measure_core(made_up_loops(), kind_, clock_);
  ASSERT_TRUE(speed) << speed.error().message;
  EXPECT_NEAR(speed->add_ns, 0.5, 1e-3);
  EXPECT_NEAR(speed->narrow.each_ns, 0.25, 1e-3);
  EXPECT_NEAR(speed->narrow.in_flight(), 8, 0.01);
  EXPECT_NEAR(speed->wide.in_flight(), 4, 0.01);
  EXPECT_NEAR(speed->l1, 128, 0.5);
  EXPECT_NEAR(speed->l2, 64, 0.5);
  EXPECT_NEAR(speed->l3, 32, 0.5);
  EXPECT_NEAR(speed->memory, 10, 0.1);
}

TEST_F(CoreSpeedTest, LeavesOutWhatThereIsNot) {
  SpeedLoops loops = made_up_loops();
  loops.wide = {}, loops.flush = nullptr;
  kind_.caches.pop_back();
  const Result<CoreSpeed> speed = measure_core(loops, kind_, clock_);
  ASSERT_TRUE(speed) << speed.error().message;
  EXPECT_EQ(speed->wide.each_ns, 0);
  EXPECT_EQ(speed->wide.in_flight(), 0);
  EXPECT_EQ(speed->l3, 0);
  EXPECT_EQ(speed->memory, 0);
}

// The loops of this machine are sound assembly; how fast they are is not judged.
TEST_F(CoreSpeedTest, RunsTheLoopsOfThisMachine) {
  const SpeedLoops loops = host_speed_loops();
  if (loops.add == nullptr) GTEST_SKIP() << "no loops are written for this processor";
  const Result<CoreSpeed> speed = measure_core(loops, kind_, os::host_clock());
  ASSERT_TRUE(speed) << speed.error().message;
  EXPECT_GT(speed->add_ns, 0);
  EXPECT_GT(speed->memory, 0);
}

}  // namespace
}  // namespace doorbell::cpu
