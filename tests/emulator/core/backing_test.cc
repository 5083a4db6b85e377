// The sparse file behind an emulated machine's memory.
#include "emulator/core/backing.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

namespace doorbell::emu {
namespace {

u64 pages_in_use(const Backing& backing) {
  struct stat status;
  EXPECT_EQ(fstat(backing.descriptor(), &status), 0);
  return static_cast<u64>(status.st_blocks) * 512 / 4096;
}

TEST(Backing, ClientsMapWhatTheMachineSees) {
  auto backing = std::move(*Backing::create());
  u64 offset = *backing->allocate(8192, 8192);
  EXPECT_EQ(offset % 8192, 0u);
  backing->at(offset)[5] = 42;
  void* mapped = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, backing->descriptor(),
                      static_cast<off_t>(offset));
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(static_cast<u8*>(mapped)[5], 42);
  static_cast<u8*>(mapped)[8191] = 43;
  EXPECT_EQ(backing->at(offset)[8191], 43);
  munmap(mapped, 8192);
}

TEST(Backing, OnlyTouchedPagesCostMemoryAndFreedOnesNone) {
  auto backing = std::move(*Backing::create());
  u64 offset = *backing->allocate(u64{16} << 30);
  EXPECT_EQ(pages_in_use(*backing), 0u);
  for (u64 page = 0; page < 4; ++page) backing->at(offset)[page << 30] = 1;
  EXPECT_EQ(pages_in_use(*backing), 4u);
  backing->free(offset);
  EXPECT_EQ(pages_in_use(*backing), 0u);
}

TEST(Backing, PiecesDoNotOverlapAndAreUsedAgainLast) {
  auto backing = std::move(*Backing::create(16 * 4096));
  u64 a = *backing->allocate(4 * 4096), b = *backing->allocate(100), c = *backing->allocate(4096);
  EXPECT_EQ(a, 0u);
  EXPECT_EQ(b, 4u * 4096);
  EXPECT_EQ(c, 5u * 4096) << "whole pages";
  backing->at(a)[0] = 9;
  backing->free(a);
  EXPECT_EQ(*backing->allocate(4096), 6u * 4096) << "not the hole, while there is fresh memory";
  EXPECT_EQ(*backing->allocate(9 * 4096), 7u * 4096);
  EXPECT_EQ(*backing->allocate(4096, 8192), 0u) << "then the hole";
  EXPECT_EQ(backing->at(0)[0], 0) << "zeroed";
  EXPECT_EQ(*backing->allocate(4096, 8192), 2u * 4096);
  EXPECT_EQ(*backing->allocate(4096), 3u * 4096);
  EXPECT_EQ(*backing->allocate(4096), 4096u);
  Result<u64> full = backing->allocate(4096);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::OutOfMemory);
}

TEST(Backing, RefusesWhatNeverFits) {
  auto backing = std::move(*Backing::create(16 * 4096));
  EXPECT_FALSE(backing->allocate(0));
  EXPECT_FALSE(backing->allocate(17 * 4096));
  EXPECT_FALSE(backing->allocate(~u64{0}));
}

}  // namespace
}  // namespace doorbell::emu
