// Hits compare in full; the least recently used goes; threads may insert the same.
#include "tensor/engine/plan_cache.h"

#include <thread>

#include <gtest/gtest.h>

namespace doorbell::engine {
namespace {

core::GraphKey key_of(u64 hash, std::vector<u64> words) {
  core::GraphKey key;
  key.hash = hash;
  key.words = std::move(words);
  return key;
}
Plan plan_of(i64 kernels) {
  Plan plan;
  plan.distinct_kernels = kernels;
  return plan;
}

TEST(PlanCache, EqualHashesAreNotEqualKeys) {
  PlanCache cache(64);
  cache.insert(key_of(5, {1, 2}), plan_of(1));
  EXPECT_EQ(cache.find(key_of(5, {1, 3})), nullptr);
  cache.insert(key_of(5, {1, 3}), plan_of(2));
  EXPECT_EQ(cache.find(key_of(5, {1, 2}))->distinct_kernels, 1);
  EXPECT_EQ(cache.find(key_of(5, {1, 3}))->distinct_kernels, 2);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(PlanCache, TheFirstInsertedIsKept) {
  PlanCache cache(64);
  EXPECT_EQ(cache.insert(key_of(5, {1}), plan_of(1))->distinct_kernels, 1);
  EXPECT_EQ(cache.insert(key_of(5, {1}), plan_of(2))->distinct_kernels, 1);
  EXPECT_EQ(cache.size(), 1u);
}

TEST(PlanCache, EvictsTheLeastRecentlyUsedOfAShard) {
  PlanCache cache(16 * 3);  // 16 shards by the hash's low bits, three plans each
  for (u64 i = 0; i < 3; ++i) cache.insert(key_of(i * 16, {i}), plan_of(static_cast<i64>(i)));
  auto held = cache.find(key_of(0, {0}));
  cache.insert(key_of(3 * 16, {3}), plan_of(3));  // 1 was used least recently
  EXPECT_NE(cache.find(key_of(0, {0})), nullptr);
  EXPECT_EQ(cache.find(key_of(16, {1})), nullptr);
  EXPECT_NE(cache.find(key_of(32, {2})), nullptr);
  EXPECT_EQ(cache.size(), 3u);
  cache.clear();
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(held->distinct_kernels, 0);
}

TEST(PlanCache, ServesThreads) {
  PlanCache cache(64);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (usize t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (u64 i = 0; i < 2000; ++i) {
        const u64 n = (i * 7 + t) % 100;
        core::GraphKey key = key_of(n, {n});
        std::shared_ptr<const Plan> plan = cache.find(key);
        if (!plan) plan = cache.insert(key, plan_of(static_cast<i64>(n)));
        if (plan->distinct_kernels != static_cast<i64>(n)) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  EXPECT_LE(cache.size(), 64u);
}

}  // namespace
}  // namespace doorbell::engine
