// Unwritten bits of memory, by page and by byte.
#include "emulator/core/undefined_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace doorbell::emu {
namespace {

// Addresses only: nothing is there.
const u8* at(u64 offset) { return reinterpret_cast<const u8*>(u64{0x7f00'0000'0000} + offset); }

std::vector<u8> mask(const UndefinedMemory& memory, u64 offset, usize bytes) {
  std::vector<u8> mask(bytes, 0x55);
  const bool any = memory.read(at(offset), mask);
  EXPECT_EQ(any, mask != std::vector<u8>(bytes));
  return mask;
}
using Mask = std::vector<u8>;

TEST(UndefinedMemory, KnowsNothingOfWhatItWasNotTold) {
  UndefinedMemory memory;
  EXPECT_FALSE(memory.any());
  EXPECT_EQ(mask(memory, 100, 3), (Mask{0, 0, 0}));
  memory.define(at(0), 1 << 20);
  EXPECT_FALSE(memory.any());
}

TEST(UndefinedMemory, IsDefinedByteByByteAndBitByBit) {
  UndefinedMemory memory;
  memory.allocate(at(0), 3 * 4096);
  EXPECT_EQ(mask(memory, 4095, 2), (Mask{255, 255}));
  memory.define(at(4094), 4);  // across pages
  EXPECT_EQ(mask(memory, 4093, 6), (Mask{255, 0, 0, 0, 0, 255}));
  memory.write(at(4095), Mask{0xf0, 0x01});
  EXPECT_EQ(mask(memory, 4093, 6), (Mask{255, 0, 0xf0, 0x01, 0, 255}));
  EXPECT_EQ(mask(memory, 3 * 4096 - 1, 2), (Mask{255, 0}));
  memory.define(at(0), 3 * 4096);
  EXPECT_EQ(mask(memory, 4090, 8), Mask(8));
  EXPECT_FALSE(memory.any());
}

TEST(UndefinedMemory, WritesOfUndefinedBitsNeedNoAllocation) {
  UndefinedMemory memory;
  memory.write(at(10), Mask{0, 7, 0});
  EXPECT_EQ(mask(memory, 10, 3), (Mask{0, 7, 0}));
  EXPECT_TRUE(memory.any());
  memory.write(at(11), Mask{0});
  EXPECT_FALSE(memory.any());
}

TEST(UndefinedMemory, RunsMayBeginAndEndInPages) {
  UndefinedMemory memory;
  memory.allocate(at(4000), 4096 + 200);
  EXPECT_EQ(mask(memory, 3999, 2), (Mask{0, 255}));
  EXPECT_EQ(mask(memory, 4096 + 2000, 1), (Mask{255}));
  EXPECT_EQ(mask(memory, 4000 + 4295, 2), (Mask{255, 0}));
}

TEST(UndefinedMemory, AllocatingAnewForgetsWhatWasWritten) {
  UndefinedMemory memory;
  memory.allocate(at(0), 8 * 4096);
  memory.define(at(4096), 2 * 4096);
  memory.define(at(5 * 4096 + 8), 8);
  EXPECT_EQ(mask(memory, 5 * 4096 + 7, 3), (Mask{255, 0, 0}));
  memory.allocate(at(2 * 4096), 4 * 4096);
  EXPECT_EQ(mask(memory, 2 * 4096 - 1, 2), (Mask{0, 255}));
  EXPECT_EQ(mask(memory, 5 * 4096 + 7, 3), (Mask{255, 255, 255}));
  EXPECT_EQ(mask(memory, 7 * 4096, 1), (Mask{255}));
}

TEST(UndefinedMemory, CopiesCarryIt) {
  UndefinedMemory memory;
  memory.allocate(at(0), 2 * 4096);
  memory.define(at(100), 3000);
  EXPECT_EQ(memory.copy(at(95), at(1 << 22), 6), 0u);
  EXPECT_EQ(memory.copy(at(2000), at(1 << 22), 1101), 1100u);
  EXPECT_EQ(memory.copy(at(2000), at(1 << 22), 1100), std::nullopt);
  EXPECT_EQ(memory.copy(at(90), at(1 << 20), 6000), 0u);
  EXPECT_EQ(mask(memory, (1 << 20) + 9, 3), (Mask{255, 0, 0}));
  EXPECT_EQ(mask(memory, (1 << 20) + 3009, 2), (Mask{0, 255}));
  EXPECT_EQ(mask(memory, (1 << 20) + 5999, 2), (Mask{255, 0}));
  EXPECT_EQ(memory.copy(at(1 << 21), at(0), 2 * 4096), std::nullopt);  // from what is defined
  EXPECT_EQ(mask(memory, 0, 2), (Mask{0, 0}));
}

}  // namespace
}  // namespace doorbell::emu
