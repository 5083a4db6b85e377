// Reuse by exact size, eviction of the oldest, and what an out-of-memory error says.
#include "core/device/caching_allocator.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/core/device/fake_device.h"

namespace doorbell::core {
namespace {

std::unique_ptr<CachingAllocator> make_cache(FakeMemory* memory, i64 max_cached = 1 << 20) {
  return std::make_unique<CachingAllocator>("FAKE", std::make_unique<FakeAllocator>(memory, true),
                                            max_cached);
}

TEST(CachingAllocator, GivesTheLatestOfTheSameSizeBack) {
  FakeMemory memory;
  auto cache = make_cache(&memory);
  Allocation a = *cache->allocate(100), b = *cache->allocate(100);
  cache->release(a);
  cache->release(b);
  EXPECT_EQ(cache->allocate(100)->opaque, b.opaque);
  EXPECT_EQ(cache->allocate(100)->opaque, a.opaque);
  EXPECT_EQ(memory.allocations, 2);
  // Another size, even a smaller one, is another block.
  cache->release(a);
  EXPECT_NE(cache->allocate(99)->opaque, a.opaque);
  EXPECT_EQ(memory.allocations, 3);
}

TEST(CachingAllocator, CountsBytes) {
  FakeMemory memory;
  auto cache = make_cache(&memory);
  Allocation a = *cache->allocate(100), b = *cache->allocate(50);
  cache->release(a);
  EXPECT_EQ(cache->stats().in_use, 50);
  EXPECT_EQ(cache->stats().cached, 100);
  EXPECT_EQ(cache->stats().peak, 150);
  cache->release(b);
  cache->flush();
  EXPECT_EQ(cache->stats().in_use, 0);
  EXPECT_EQ(cache->stats().cached, 0);
  EXPECT_EQ(memory.held, 0);
}

TEST(CachingAllocator, EvictsTheLeastRecentlyReleased) {
  FakeMemory memory;
  auto cache = make_cache(&memory, 250);
  Allocation a = *cache->allocate(100), b = *cache->allocate(90), c = *cache->allocate(100);
  cache->release(a);
  cache->release(b);
  EXPECT_EQ(memory.releases, 0);
  cache->release(c);  // 290 bytes would be cached: a goes
  EXPECT_EQ(memory.releases, 1);
  EXPECT_EQ(cache->stats().cached, 190);
  EXPECT_EQ(cache->allocate(90)->opaque, b.opaque);
  EXPECT_EQ(cache->allocate(100)->opaque, c.opaque);
  EXPECT_EQ(memory.allocations, 3);
  EXPECT_NE(cache->allocate(100)->opaque, nullptr);
  EXPECT_EQ(memory.allocations, 4);
}

TEST(CachingAllocator, ManyEvictionsOfOneSizeKeepTheNewest) {
  FakeMemory memory;
  auto cache = make_cache(&memory, 1000);
  std::vector<Allocation> blocks;
  for (int i = 0; i < 500; ++i) blocks.push_back(*cache->allocate(10));
  for (const Allocation& block : blocks) cache->release(block);
  EXPECT_EQ(memory.releases, 400);
  for (int i = 499; i >= 400; --i)
    EXPECT_EQ(cache->allocate(10)->opaque, blocks[static_cast<usize>(i)].opaque) << i;
  EXPECT_EQ(memory.allocations, 500);
}

TEST(CachingAllocator, FlushesBeforeItGivesUp) {
  FakeMemory memory;
  memory.limit = 1000;
  auto cache = make_cache(&memory);
  Allocation a = *cache->allocate(600);
  cache->release(a);
  Result<Allocation> other = cache->allocate(700);
  ASSERT_TRUE(other);
  EXPECT_EQ(memory.held, 700);
}

TEST(CachingAllocator, SaysWhatIsHeldWhenThereIsNoMore) {
  FakeMemory memory;
  memory.limit = 1000;
  auto cache = make_cache(&memory);
  Allocation a = *cache->allocate(600);
  Result<Allocation> refused = cache->allocate(500);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::OutOfMemory);
  EXPECT_EQ(refused.error().device, "FAKE");
  EXPECT_EQ(
      refused.error().message,
      "FAKE has no memory for 500 bytes: 600 bytes are in use, 0 cached (limit is 1000 bytes)");
  EXPECT_EQ(cache->stats().in_use, 600);
  cache->release(a);
  EXPECT_TRUE(cache->allocate(500));
}

TEST(CachingAllocator, ServesThreads) {
  FakeMemory memory;
  auto cache = make_cache(&memory);
  // Warm, so that the counts of the fake are not raced for.
  std::vector<Allocation> warm;
  for (int i = 0; i < 8; ++i) warm.push_back(*cache->allocate(64));
  for (const Allocation& block : warm) cache->release(block);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 2000; ++i) {
        Allocation block = *cache->allocate(64);
        *static_cast<int*>(block.host) = t;
        ASSERT_EQ(*static_cast<int*>(block.host), t);
        cache->release(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.allocations, 8);
  EXPECT_EQ(cache->stats().in_use, 0);
}

}  // namespace
}  // namespace doorbell::core
