// The allocator against a map of what is held.
#include "hcq/memory/tlsf.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "base/util/error.h"

namespace doorbell::hcq {
namespace {

TEST(Tlsf, RefusesWhatItCannotHold) {
  Tlsf heap(0x10000, 0x1000, 16);
  EXPECT_FALSE(heap.allocate(0x1001));
  EXPECT_FALSE(heap.allocate(~u64{0}));
  EXPECT_FALSE(heap.allocate(16, u64{1} << 63));
  EXPECT_THROW(heap.release(0x10000), InternalError);
  const u64 all = *heap.allocate(0x1000);
  EXPECT_EQ(all, 0x10000u);
  EXPECT_FALSE(heap.allocate(1));
  heap.release(all);
  EXPECT_THROW(heap.release(all), InternalError);
  EXPECT_EQ(heap.in_use(), 0u);
  heap.check();
}

TEST(Tlsf, NeighboursJoin) {
  Tlsf heap(0, 0x3000, 0x1000);
  const u64 a = *heap.allocate(1), b = *heap.allocate(1), c = *heap.allocate(1);
  EXPECT_EQ(heap.in_use(), 0x3000u);
  heap.release(a);
  heap.release(c);
  EXPECT_FALSE(heap.allocate(0x2000));
  heap.release(b);
  EXPECT_TRUE(heap.allocate(0x3000));
  heap.check();
}

TEST(Tlsf, AlignsAddressesNotOffsets) {
  Tlsf heap(0x1000, 0x10000, 0x1000);  // the first multiple of 0x4000 lies 0x3000 in
  EXPECT_EQ(*heap.allocate(0x1000, 0x4000), 0x4000u);
  EXPECT_EQ(*heap.allocate(0x1000), 0x1000u);  // the gap before it is not lost
  heap.check();
}

TEST(Tlsf, TheWholeAddressSpaceOfAGpu) {
  Tlsf heap(0x1000, (u64{1} << 48) - 0x1000, 0x1000);
  const u64 large = *heap.allocate(u64{1} << 46, u64{1} << 30);
  EXPECT_EQ(large % (u64{1} << 30), 0u);
  EXPECT_TRUE(heap.allocate(u64{1} << 45));
  heap.check();
}

// What is held, by start; refuses overlap.
struct Model {
  std::map<u64, u64> held;
  ::testing::AssertionResult add(u64 start, u64 size) {
    auto after = held.lower_bound(start);
    if (after != held.end() && after->first < start + size)
      return ::testing::AssertionFailure() << "overlaps what follows";
    if (after != held.begin() && std::prev(after)->first + std::prev(after)->second > start)
      return ::testing::AssertionFailure() << "overlaps what precedes";
    held[start] = size;
    return ::testing::AssertionSuccess();
  }
};

TEST(Tlsf, RandomAgainstAModel) {
  for (u64 seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const u64 granule = u64{1} << random() % 9, start = granule * (random() % 1000);
    const u64 size = granule * (1 + random() % 20000);
    Tlsf heap(start, size, granule);
    Model model;
    u64 in_use = 0;
    for (int step = 0; step < 1500; ++step) {
      if (model.held.empty() || random() % 5 < 3) {
        const u64 bytes = 1 + random() % (granule * (u64{1} << random() % 10));
        const u64 alignment = u64{1} << random() % 14;
        const auto got = heap.allocate(bytes, alignment);
        const u64 rounded = (bytes + granule - 1) / granule * granule;
        if (!got) {
          // Only a heap without a hole that is clearly large enough may refuse.
          u64 at = start, hole = 0;
          for (const auto& [begin, length] : model.held) {
            hole = std::max(hole, begin - at);
            at = begin + length;
          }
          hole = std::max(hole, start + size - at);
          ASSERT_LT(hole, (rounded + alignment) * 17 / 16 + granule) << bytes << " " << alignment;
          continue;
        }
        ASSERT_EQ(*got % std::max(alignment, granule) % alignment, 0u);
        ASSERT_TRUE(*got >= start && *got + rounded <= start + size);
        ASSERT_TRUE(model.add(*got, rounded));
        in_use += rounded;
      } else {
        auto victim = model.held.lower_bound(start + random() % size);
        if (victim == model.held.end()) victim = model.held.begin();
        heap.release(victim->first);
        in_use -= victim->second;
        model.held.erase(victim);
      }
      ASSERT_EQ(heap.in_use(), in_use);
      if (step % 50 == 0) {
        ASSERT_NO_THROW(heap.check());
      }
    }
    for (const auto& [begin, length] : model.held) heap.release(begin);
    heap.check();
    ASSERT_EQ(heap.allocate(size), start);  // all of it came back together
  }
}

}  // namespace
}  // namespace doorbell::hcq
