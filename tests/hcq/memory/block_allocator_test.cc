// BlockAllocator: which allocations share a block, where host and device see them, and when a
// driver's blocks are made and freed.
#include "hcq/memory/block_allocator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace doorbell::hcq {
namespace {

constexpr u64 kDevice = u64{1} << 40;  // where the device sees the first block
constexpr i64 kMiB = i64{1} << 20;

class BlockAllocatorTest : public ::testing::Test {
 protected:
  struct HostBlock final : BlockAllocator::Block {
    HostBlock(u64 size, u64 at, int* alive) : memory(size), alive(alive) {
      host = memory.data();
      address = at;
      bytes = size;
      ++*alive;
    }
    ~HostBlock() override { --*alive; }
    std::vector<u8> memory;
    int* alive;
  };

  BlockAllocator::MakeBlock maker() {
    return [this](u64 bytes) -> Result<std::unique_ptr<BlockAllocator::Block>> {
      if (sizes_.size() == most_) return fail(ErrorKind::OutOfMemory, "no block of {}", bytes);
      sizes_.push_back(bytes);
      return std::unique_ptr<BlockAllocator::Block>(
          std::make_unique<HostBlock>(bytes, kDevice * sizes_.size(), &alive_));
    };
  }

  usize most_ = 100;
  int alive_ = 0;
  std::vector<u64> sizes_;  // of the blocks made
};

TEST_F(BlockAllocatorTest, FailsAsTheDriverDoes) {
  most_ = 0;
  BlockAllocator allocator(maker());
  const Result<core::Allocation> none = allocator.allocate(8);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::OutOfMemory);
  EXPECT_EQ(none.error().message, "no block of 4194304");
  EXPECT_EQ(allocator.stats().in_use, 0);
}

TEST_F(BlockAllocatorTest, SmallAllocationsShareABlock) {
  BlockAllocator allocator(maker());
  const core::Allocation first = *allocator.allocate(8), second = *allocator.allocate(300);
  EXPECT_EQ(sizes_, std::vector<u64>{4194304});
  EXPECT_EQ(first.bytes, 8);
  EXPECT_EQ(second.bytes, 300);
  EXPECT_GE(std::abs(static_cast<i64>(second.address - first.address)), 256);
  // The host sees the same distances as the device.
  EXPECT_EQ(static_cast<u8*>(second.host) - static_cast<u8*>(first.host),
            static_cast<i64>(second.address - first.address));
  EXPECT_EQ(allocator.stats().in_use, 308);
  allocator.release(first);
  allocator.release(second);
  EXPECT_EQ(allocator.stats().in_use, 0);
}

TEST_F(BlockAllocatorTest, LargeOnesHaveBlocksOfTheirOwnSize) {
  BlockAllocator allocator(maker());
  const core::Allocation large = *allocator.allocate(9 * kMiB), empty = *allocator.allocate(0);
  EXPECT_EQ(sizes_[0], 12u << 20);
  EXPECT_EQ(large.address, kDevice);
  EXPECT_NE(empty.host, nullptr);
  allocator.release(large);
  allocator.release(empty);
}

TEST_F(BlockAllocatorTest, BlocksAreKeptUntilTheEnd) {
  {
    BlockAllocator allocator(maker());
    for (int i = 0; i < 3; ++i) {
      const core::Allocation whole = *allocator.allocate(4 * kMiB);
      allocator.release(whole);
    }
    EXPECT_EQ(sizes_.size(), 1u);
    const core::Allocation first = *allocator.allocate(3 * kMiB);
    const core::Allocation second = *allocator.allocate(3 * kMiB);
    EXPECT_EQ(sizes_.size(), 2u);
    EXPECT_EQ(second.address, 2 * kDevice);
    allocator.release(first);
    allocator.release(second);
    EXPECT_EQ(alive_, 2);
  }
  EXPECT_EQ(alive_, 0);
}

}  // namespace
}  // namespace doorbell::hcq
