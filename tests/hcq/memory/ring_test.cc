// Rings: order, wrap, and never giving out what may still be read.
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "hcq/memory/host_memory.h"
#include "hcq/memory/staging_ring.h"
#include "tests/hcq/support/kernels.h"

namespace doorbell::hcq {
namespace {

struct RingTest : ::testing::Test {
  HostMemory memory;
  SignalPool pool{memory};
  Timeline timeline = *Timeline::make(pool);
};

TEST_F(RingTest, GivesNothingWhileAllIsInFlight) {
  RetireRing ring(64);
  EXPECT_EQ(ring.allocate(40, 8), 0u);
  EXPECT_FALSE(ring.oldest());
  ring.retire(1);
  EXPECT_FALSE(ring.allocate(32, 8));
  EXPECT_EQ(ring.oldest(), 1u);
  EXPECT_EQ(ring.allocate(24, 8), 40u);
  ring.retire(2);
  timeline.reserve(2);
  ring.reclaim(timeline);
  EXPECT_FALSE(ring.allocate(8, 8));  // nothing is done yet
  timeline.signal_at(1).signal.store(1);
  ring.reclaim(timeline);
  EXPECT_EQ(ring.oldest(), 2u);
  EXPECT_EQ(ring.allocate(40, 8), 0u);
  EXPECT_FALSE(ring.allocate(8, 8));
}

TEST_F(RingTest, ThePieceThatDoesNotFitBeforeTheEndBeginsAtTheStart) {
  RetireRing ring(64);
  EXPECT_EQ(ring.allocate(48, 16), 0u);
  ring.retire(1);
  timeline.reserve(1);
  timeline.signal_at(1).signal.store(1);
  EXPECT_EQ(ring.allocate(8, 8), 48u);
  ring.retire(2);
  ring.reclaim(timeline);
  EXPECT_EQ(ring.allocate(16, 8), 0u);
}

TEST_F(RingTest, AnEmptyRingHoldsAPieceOfItsSize) {
  RetireRing ring(64);
  for (Position p = 1; p < 10; ++p) {
    EXPECT_EQ(ring.allocate(p == 5 ? 64 : 24, 8), 0u) << p;
    ring.retire(p);
    timeline.reserve(1);
    timeline.signal_at(p).signal.store(p);
    ring.reclaim(timeline);
  }
  EXPECT_THROW((void)ring.allocate(65, 1), InternalError);
}

TEST_F(RingTest, RandomPiecesNeverOverlapWhatIsInFlight) {
  for (u64 seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Timeline clock = *Timeline::make(pool);
    RetireRing ring(256);
    std::vector<Position> owner(256, 0);  // by byte: until when it is read
    Position done = 0;
    for (int step = 0; step < 2000; ++step) {
      const u64 bytes = 1 + random() % 100, alignment = u64{1} << random() % 5;
      ring.reclaim(clock);
      if (auto offset = ring.allocate(bytes, alignment)) {
        const Position position = clock.reserve(1) + 1;
        ASSERT_EQ(*offset % alignment, 0u);
        ASSERT_LE(*offset + bytes, 256u);
        for (u64 i = *offset; i < *offset + bytes; ++i) {
          ASSERT_LE(owner[i], done);
          owner[i] = position;
        }
        ring.retire(position);
      } else {
        ASSERT_GT(clock.last(), done) << "full, but nothing is in flight";
        done += 1 + random() % (clock.last() - done);
        clock.signal_at(done).signal.store(done);
      }
    }
  }
}

// Each launch's arguments are overwritten as soon as the ring thinks it may.
TEST(ArgumentRing, IsNotReusedWhileAKernelReadsIt) {
  auto device = testing::make_cpu(0, {.threads = 1});
  Queue& queue = device->compute_queue();
  auto ring = *ArgumentRing::make(queue, 64);
  i64 total = 0, expected = 0;
  static constexpr auto kAdd = [](void* const* buffers, const i64*, i64) {
    *static_cast<i64*>(buffers[0]) += *static_cast<const i64*>(buffers[1]);
  };
  auto program = testing::load(*device, "add", kAdd, 2, 0);
  auto commands = queue.make_commands();
  for (i64 i = 0; i < 2000; ++i) {
    auto location = ring->allocate(24, 8);
    ASSERT_OK(location);
    std::memcpy(location->host, &i, 8);
    const Operand buffers[] = {testing::address(&total), location->address};
    commands->clear();
    commands->exec({program.get(), buffers});
    auto point = queue.submit(*commands);
    ASSERT_OK(point);
    ring->retire(point->position);
    expected += i;
  }
  ASSERT_OK(queue.synchronize());
  EXPECT_EQ(total, expected);
  auto refused = ring->allocate(65, 8);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
}

TEST(StagingRing, MovesMoreThanItHolds) {
  auto device = testing::make_cpu(0, {.threads = 1});
  auto ring = *StagingRing::make(device->copy_queue(), 4096);
  std::vector<u8> source(100'003), far(source.size()), back(source.size());
  std::mt19937 random(1);
  for (u8& byte : source) byte = static_cast<u8>(random());
  auto point = ring->copy_in({testing::address(far.data())}, source.data(), source.size());
  ASSERT_OK(point);
  const auto copied = source;
  std::fill(source.begin(), source.end(), u8{0});  // was read when copy_in returned
  ASSERT_OK(ring->copy_out(back.data(), {testing::address(far.data())}, back.size()));
  EXPECT_EQ(far, copied);
  EXPECT_EQ(back, copied);
}

}  // namespace
}  // namespace doorbell::hcq
