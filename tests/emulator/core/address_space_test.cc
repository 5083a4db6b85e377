// Page tables of an emulated GPU: what is mapped, what no longer is, and what a fault can tell.
#include "emulator/core/address_space.h"

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace doorbell::emu {
namespace {

constexpr u64 kBase = 0x7f0000000000;

class AddressSpaceTest : public ::testing::Test {
 protected:
  const Range* map(u64 va, u64 bytes, bool writable = true) {
    u32 buffer = space_.add_buffer({.va = va, .bytes = bytes, .kind = "VRAM", .allocated_at = 7});
    auto range = space_.map(va, bytes, host_.data(), writable, false, {}, buffer);
    return range ? *range : nullptr;
  }

  std::vector<u8> host_ = std::vector<u8>(1 << 16);
  AddressSpace space_;
};

TEST_F(AddressSpaceTest, NothingIsMappedAtFirst) {
  EXPECT_EQ(space_.find(0), nullptr);
  EXPECT_EQ(space_.find(kBase), nullptr);
  EXPECT_EQ(space_.find(~u64{0}), nullptr) << "not a canonical address";
}

TEST_F(AddressSpaceTest, FindsEveryByteOfARangeAndNoneBeside) {
  const Range* range = map(kBase + 0x1000, 0x3000);
  ASSERT_NE(range, nullptr);
  EXPECT_EQ(space_.find(kBase + 0xfff), nullptr);
  EXPECT_EQ(space_.find(kBase + 0x1000), range);
  EXPECT_EQ(space_.find(kBase + 0x3fff), range);
  EXPECT_EQ(space_.find(kBase + 0x4000), nullptr);
}

TEST_F(AddressSpaceTest, BlocksOfEveryLevelEndWhereTheRangeEnds) {
  // Starts one page before a gigabyte and ends one page after two: pages, 2 MB blocks, 1 GB blocks.
  u64 start = (u64{1} << 40) - 4096, bytes = (u64{1} << 31) + 8192;
  const Range* range = map(start, bytes);
  ASSERT_NE(range, nullptr);
  for (u64 va : {start, start + 4096, start + (1 << 30), start + bytes - 1})
    EXPECT_EQ(space_.find(va), range) << va;
  EXPECT_EQ(space_.find(start - 1), nullptr);
  EXPECT_EQ(space_.find(start + bytes), nullptr);
  space_.unmap(range);
  for (u64 va : {start, start + 4096, start + (1 << 30), start + bytes - 1})
    EXPECT_EQ(space_.find(va), nullptr) << va;
}

TEST_F(AddressSpaceTest, RefusesOverlapsAndHalfPages) {
  ASSERT_NE(map(kBase, 0x2000), nullptr);
  EXPECT_EQ(map(kBase + 0x1000, 0x1000), nullptr);
  EXPECT_EQ(map(kBase - 0x1000, 0x2000), nullptr);
  EXPECT_EQ(map(kBase - 0x1000, 0x8000), nullptr);
  EXPECT_EQ(map(kBase + 0x2800, 0x1000), nullptr);
  EXPECT_EQ(map(kBase + 0x3000, 0x800), nullptr);
  EXPECT_EQ(map(kBase + 0x3000, 0), nullptr);
  EXPECT_EQ(map(u64{1} << 48, 0x1000), nullptr);
  EXPECT_EQ(map((u64{1} << 48) - 0x1000, 0x2000), nullptr);
  EXPECT_NE(map(kBase + 0x2000, 0x1000), nullptr) << "beside is fine";
  Result<const Range*> refused = space_.map(kBase + 0x1000, 0x1000, nullptr, true, true, {}, 0);
  EXPECT_NE(refused.error().message.find("[0x7f0000000000, 0x7f0000002000)"), std::string::npos);
}

TEST_F(AddressSpaceTest, BytesAreGivenInOneRangeAndAsItAllows) {
  ASSERT_NE(map(kBase, 0x2000, false), nullptr);
  ASSERT_NE(map(kBase + 0x2000, 0x1000, true), nullptr);
  EXPECT_EQ(space_.at(kBase + 8, 4, false), host_.data() + 8);
  EXPECT_EQ(space_.at(kBase + 8, 4, true), nullptr) << "read only";
  EXPECT_EQ(space_.at(kBase + 0x1ffc, 8, false), nullptr) << "across the end";
  EXPECT_EQ(space_.at(kBase + 0x2ff8, 8, true), host_.data() + 0xff8);
  EXPECT_EQ(space_.at(kBase + 0x2ff8, ~u64{0}, true), nullptr);
}

TEST_F(AddressSpaceTest, EachChangeShowsInTheGeneration) {
  u64 before = space_.generation();
  const Range* range = map(kBase, 0x1000);
  EXPECT_GT(space_.generation(), before);
  before = space_.generation();
  space_.unmap(range);
  EXPECT_GT(space_.generation(), before);
  EXPECT_FALSE(range->mapped) << "a kept pointer can be asked";
}

TEST_F(AddressSpaceTest, TellsWhatWasThere) {
  u32 first = space_.add_buffer({.va = kBase, .bytes = 0x2000, .kind = "VRAM", .allocated_at = 3});
  EXPECT_EQ(space_.describe(kBase + 0x10),
            "0x10 bytes into VRAM buffer 0 [0x7f0000000000, 0x7f0000002000), allocated by ioctl 3");
  space_.note_unmapped(first, 8);
  space_.note_freed(first, 9);
  EXPECT_EQ(space_.describe(kBase + 0x1fff),
            "0x1fff bytes into VRAM buffer 0 [0x7f0000000000, 0x7f0000002000), allocated by ioctl "
            "3, unmapped by ioctl 8, freed by ioctl 9");
  EXPECT_EQ(space_.describe(kBase + 0x2004),
            "0x4 bytes past the end of VRAM buffer 0 [0x7f0000000000, 0x7f0000002000), allocated "
            "by ioctl 3, unmapped by ioctl 8, freed by ioctl 9");
  space_.add_buffer({.va = kBase, .bytes = 0x1000, .kind = "GTT", .allocated_at = 11});
  EXPECT_EQ(space_.describe(kBase),
            "0x0 bytes into GTT buffer 1 [0x7f0000000000, 0x7f0000001000), allocated by ioctl 11")
      << "the youngest";
  EXPECT_EQ(space_.describe(0x1000), "near no buffer");
}

TEST_F(AddressSpaceTest, RandomMapsAgreeWithAListOfPages) {
  std::mt19937_64 random(42);
  std::vector<const Range*> pages(4096);
  std::vector<const Range*> live;
  u64 base = kBase + (u64{1} << 21) - 17 * 4096;  // straddles a block of 2 MB
  for (int step = 0; step < 2000; ++step) {
    if (!live.empty() && random() % 2) {
      usize pick = random() % live.size();
      const Range* gone = live[pick];
      live.erase(live.begin() + static_cast<i64>(pick));
      space_.unmap(gone);
      for (const Range*& page : pages)
        if (page == gone) page = nullptr;
      continue;
    }
    u64 first = random() % 4000, count = 1 + random() % (random() % 8 ? 16 : 1500);
    count = std::min(count, pages.size() - first);
    bool free = true;
    for (u64 i = first; i < first + count; ++i) free &= pages[i] == nullptr;
    const Range* range = map(base + first * 4096, count * 4096);
    ASSERT_EQ(range != nullptr, free) << "step " << step;
    if (!range) continue;
    live.push_back(range);
    for (u64 i = first; i < first + count; ++i) pages[i] = range;
  }
  for (u64 i = 0; i < pages.size(); ++i) EXPECT_EQ(space_.find(base + i * 4096 + 5), pages[i]) << i;
  EXPECT_EQ(space_.ranges().size(), live.size());
}

TEST_F(AddressSpaceTest, ReadersSeeWholeRangesWhileAnotherMaps) {
  std::atomic<bool> stop{false};
  std::atomic<u64> wrong{0};
  std::thread reader([&] {
    while (!stop)
      for (u64 page = 0; page < 64; ++page)
        if (const Range* range = space_.find(kBase + page * 4096))
          wrong += !range->contains(kBase + page * 4096, 4096) || range->host != host_.data();
  });
  for (int turn = 0; turn < 300; ++turn) {
    const Range* range = map(kBase + static_cast<u64>(turn % 7) * 4096, 0x8000);
    ASSERT_NE(range, nullptr);
    space_.unmap(range);
  }
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace doorbell::emu
