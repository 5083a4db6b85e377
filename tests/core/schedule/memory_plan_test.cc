// Random lifetimes: blocks alive together never overlap, and the whole stays near the lower bound.
#include "core/schedule/memory_plan.h"

#include <random>

#include <gtest/gtest.h>

namespace doorbell::core {
namespace {

bool overlap(const PlannedBlock& a, const PlannedBlock& b) {
  return a.first <= b.last && b.first <= a.last && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

TEST(MemoryPlan, RandomLifetimesNeverOverlap) {
  const u32 seed = 20261120;
  std::mt19937 random(seed);
  f64 worst = 0;
  for (int round = 0; round < 200; ++round) {
    const u32 items = 1 + random() % 60;
    std::vector<PlannedBlock> blocks(1 + random() % 80);
    for (PlannedBlock& block : blocks) {
      block.bytes = random() % 4 == 0 ? 0 : static_cast<i64>(random() % 20000);
      block.first = random() % items;
      block.last = std::min<u32>(items - 1, block.first + random() % 6);
    }
    const i64 total = place_blocks(blocks);
    // The most bytes alive at one item: nothing can be smaller.
    i64 bound = 0;
    for (u32 item = 0; item < items; ++item) {
      i64 alive = 0;
      for (const PlannedBlock& block : blocks)
        if (block.first <= item && item <= block.last)
          alive += std::max<i64>(256, (block.bytes + 255) / 256 * 256);
      bound = std::max(bound, alive);
    }
    EXPECT_GE(total, bound);
    worst = std::max(worst, static_cast<f64>(total) / static_cast<f64>(bound));
    for (usize i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(blocks[i].offset % 256, 0);
      EXPECT_GE(blocks[i].offset, 0);
      EXPECT_LE(blocks[i].offset + blocks[i].bytes, total);
      for (usize j = 0; j < i; ++j)
        ASSERT_FALSE(overlap(blocks[i], blocks[j])) << "seed " << seed << " round " << round;
    }
  }
  EXPECT_LT(worst, 1.35);
}

TEST(MemoryPlan, AChainNeedsTwoBlocks) {
  std::vector<PlannedBlock> blocks;
  for (u32 i = 0; i < 10; ++i) blocks.push_back({1024, i, i + 1});
  EXPECT_EQ(place_blocks(blocks), 2048);
}

TEST(MemoryPlan, PlansOnlyTemporariesPerDevice) {
  using Kind = ScheduleBuffer::Kind;
  Schedule schedule;
  schedule.buffers = {{Kind::Input, 0, dtypes::f32, 100, 0},
                      {Kind::Temporary, 0, dtypes::f32, 100, 0},  // items 0..1
                      {Kind::Temporary, 0, dtypes::f32, 100, 2},  // items 1..2
                      {Kind::Temporary, 0, dtypes::f64, 100, 0},  // items 2..3
                      {Kind::Output, 0, dtypes::f32, 100, 0},
                      {Kind::Temporary, 0, dtypes::f32, 100, 0}};  // unused
  for (std::vector<u32> buffers : std::vector<std::vector<u32>>{{1, 0}, {2, 1}, {3, 2}, {4, 3}}) {
    ScheduleItem item{ScheduleItem::Kind::Kernel, 0, nullptr, buffers};
    schedule.items.push_back(item);
  }
  plan_memory(&schedule);
  EXPECT_EQ(schedule.temporary_bytes, (std::vector<i64>{1024, 0, 512}));
  EXPECT_EQ(schedule.buffers[1].offset, 0);
  EXPECT_EQ(schedule.buffers[2].offset, 0);
  EXPECT_EQ(schedule.buffers[3].offset, 0);
  EXPECT_EQ(schedule.buffers[0].offset, -1);
  EXPECT_EQ(schedule.buffers[4].offset, -1);
  EXPECT_EQ(schedule.buffers[5].offset, -1);
  plan_memory(&schedule, false);
  EXPECT_EQ(schedule.temporary_bytes, (std::vector<i64>{512 + 1024, 0, 512}));
}

}  // namespace
}  // namespace doorbell::core
