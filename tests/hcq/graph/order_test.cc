// Which uses follow which, and what queues do about it.
#include "hcq/graph/order.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "base/util/error.h"
#include "hcq/graph/hazards.h"

namespace doorbell::hcq {
namespace {

using Nodes = std::vector<u32>;

struct HazardsTest : ::testing::Test {
  Hazards hazards{3};
  u32 node = 0;
  // The next node uses one stretch of storage 0.
  Nodes use(u64 offset, u64 bytes, Access access, u32 queue = 0) {
    Nodes after;
    hazards.use({0, offset, bytes, access}, node++, queue, &after);
    std::sort(after.begin(), after.end());
    return after;
  }
};

TEST_F(HazardsTest, ReadsFollowTheWrite) {
  EXPECT_EQ(use(0, 8, Access::Read), Nodes{});
  EXPECT_EQ(use(0, 8, Access::Write), Nodes{0});
  EXPECT_EQ(use(0, 8, Access::Read), Nodes{1});
  EXPECT_EQ(use(4, 1, Access::Read), Nodes{1});
}

TEST_F(HazardsTest, AWriteFollowsTheLastReaderOfEachQueue) {
  use(0, 8, Access::Write, 0);                               // 0
  use(0, 8, Access::Read, 1);                                // 1
  use(0, 8, Access::Read, 1);                                // 2
  use(0, 8, Access::Read, 2);                                // 3
  EXPECT_EQ(use(0, 8, Access::Write, 0), (Nodes{0, 2, 3}));  // 4
  EXPECT_EQ(use(0, 8, Access::Write, 0), Nodes{4});
}

TEST_F(HazardsTest, OnlyBytesThatOverlap) {
  use(0, 8, Access::Write);                            // 0
  use(8, 8, Access::Write);                            // 1
  use(24, 8, Access::Write);                           // 2
  EXPECT_EQ(use(16, 8, Access::Read), Nodes{});        // 3
  EXPECT_EQ(use(4, 8, Access::Write), (Nodes{0, 1}));  // 4
  EXPECT_EQ(use(0, 32, Access::Read), (Nodes{0, 1, 2, 4, 4}));
  EXPECT_EQ(use(16, 1, Access::Write), Nodes{5});  // 5 read it after 3, on the same queue
}

TEST_F(HazardsTest, StoragesDoNotOverlap) {
  Nodes after;
  hazards.use({0, 0, 8, Access::Write}, 0, 0, &after);
  hazards.use({1, 0, 8, Access::Write}, 1, 0, &after);
  EXPECT_EQ(after, Nodes{});
}

TEST_F(HazardsTest, ANodeDoesNotFollowItself) {
  Nodes after;
  hazards.use({0, 0, 8, Access::Read}, 0, 0, &after);
  hazards.use({0, 0, 8, Access::Write}, 0, 0, &after);
  EXPECT_EQ(after, Nodes{});
}

// Random uses against a record of each byte.
TEST(Hazards, RandomAgainstBytes) {
  for (u64 seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    constexpr u32 kBytes = 24, kQueues = 3;
    Hazards hazards(kQueues);
    struct Byte {
      int writer = -1;
      int readers[kQueues] = {-1, -1, -1};
    } bytes[kBytes];
    for (int node = 0; node < 60; ++node) {
      const u64 offset = random() % kBytes, size = 1 + random() % (kBytes - offset);
      const u32 queue = random() % kQueues;
      const bool write = random() % 2 == 0;
      std::vector<u32> after, expected;
      hazards.use({0, offset, size, write ? Access::Write : Access::Read}, static_cast<u32>(node),
                  queue, &after);
      for (u64 i = offset; i < offset + size; ++i) {
        if (bytes[i].writer >= 0) expected.push_back(static_cast<u32>(bytes[i].writer));
        if (!write) {
          bytes[i].readers[queue] = node;
          continue;
        }
        for (int& reader : bytes[i].readers) {
          if (reader >= 0) expected.push_back(static_cast<u32>(reader));
          reader = -1;
        }
        bytes[i].writer = node;
      }
      for (Nodes* list : {&after, &expected}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
      }
      ASSERT_EQ(after, expected) << node;
    }
  }
}

TEST(Order, OneQueueNeedsBarriersOnly) {
  const Order order = make_order({{0, {}}, {0, {}}, {0, {0}}, {0, {1}}, {0, {2}}}, {}, 1);
  EXPECT_EQ(order.signals, std::vector<u32>{1});
  const bool barriers[] = {false, false, true, false, true};  // node 2's serves node 3
  for (int n = 0; n < 5; ++n) {
    EXPECT_EQ(order.nodes[n].barrier, barriers[n]) << n;
    EXPECT_TRUE(order.nodes[n].waits.empty());
    EXPECT_EQ(order.nodes[n].signal, n == 4 ? 1u : 0u);
  }
}

TEST(Order, WaitsThatOthersImplyAreNotMade) {
  // Queue 0: 0, 1. Queue 1: 2 after 0, 3 after 0 and 1. Queue 2: 4 after 3 and 1.
  const Order order = make_order({{0, {}}, {0, {}}, {1, {0}}, {1, {0, 1}}, {2, {3, 1}}}, {}, 3);
  EXPECT_EQ(order.signals, (std::vector<u32>{2, 1, 1}));
  EXPECT_EQ(order.nodes[2].waits, (std::vector<OrderWait>{{0, 1}}));
  EXPECT_EQ(order.nodes[3].waits, (std::vector<OrderWait>{{0, 2}}));
  EXPECT_EQ(order.nodes[4].waits, (std::vector<OrderWait>{{1, 1}}));  // 3 followed 1
}

TEST(Order, ARunFollowsTheLastWhereMemoryDemandsIt) {
  // 0 writes on queue 0, 1 reads on queue 1: the next run's 0 overwrites what 1 reads.
  const std::vector<OrderNode> first{{0, {}}, {1, {0}}}, next{{0, {0, 1}}, {1, {0, 2}}};
  const Order order = make_order(first, next, 2);
  ASSERT_EQ(order.carried.size(), 2u);
  EXPECT_EQ(order.carried[0], (std::vector<OrderWait>{{1, 1}}));
  EXPECT_EQ(order.carried[1], (std::vector<OrderWait>{{0, 1}}));
}

// Every edge is kept by program order and waits, found by closing over them.
TEST(Order, RandomEdgesAreAllKept) {
  for (u64 seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const u32 queues = 1 + random() % 4, count = 1 + random() % 24;
    std::vector<OrderNode> nodes;
    for (u32 n = 0; n < count; ++n) {
      OrderNode node{static_cast<u32>(random() % queues), {}};
      for (u32 i = 0; i < n; ++i)
        if (random() % 6 == 0) node.after.push_back(i);
      nodes.push_back(node);
    }
    const Order order = make_order(nodes, {}, queues);
    std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
    auto follow = [&](u32 n, u32 earlier) {
      before[n][earlier] = true;
      for (u32 i = 0; i < count; ++i)
        if (before[earlier][i]) before[n][i] = true;
    };
    for (u32 n = 0; n < count; ++n) {
      for (u32 i = 0; i < n; ++i) {
        if (nodes[i].queue == nodes[n].queue) follow(n, i);
        for (const OrderWait& wait : order.nodes[n].waits)
          if (nodes[i].queue == wait.queue && order.nodes[i].signal == wait.signal) follow(n, i);
      }
      for (u32 edge : nodes[n].after) ASSERT_TRUE(before[n][edge]) << n << " after " << edge;
    }
  }
}

}  // namespace
}  // namespace doorbell::hcq
