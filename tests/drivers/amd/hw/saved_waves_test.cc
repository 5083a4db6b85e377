// Save areas that make_saved_waves.py laid out by ROCdbgapi's reading and by the kernel's trap
// handlers, and such as nothing wrote.
#include "drivers/amd/hw/saved_waves.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

namespace doorbell::amd::hw {
namespace {

std::vector<u8> area_of(const std::string& chip) {
  const std::string path = std::string(std::getenv("DOORBELL_SOURCE_ROOT")) +
                           "/tests/fuzz/corpus/amd_saved_waves/" + chip;
  std::ifstream file(path, std::ios::binary);
  std::vector<u8> bytes(std::istreambuf_iterator<char>(file), {});
  EXPECT_FALSE(bytes.empty()) << path;
  bytes.erase(bytes.begin());  // the fuzzer's
  return bytes;
}

struct Expected {
  const char* chip;
  Generation generation;
  u32 small_lanes, small_vectors, vectors, accumulators, scalar_bytes, lds_bytes;
};

TEST(SavedWaves, StandWhereTheyWereSaved) {
  for (const Expected& expected :
       {Expected{"gfx942", Generation::Gfx9, 64, 8, 16, 16, 384, 1024},
        Expected{"gfx1030", Generation::Gfx10, 64, 12, 16, 0, 512, 512},
        Expected{"gfx1100", Generation::Gfx11, 32, 8, 24, 0, 512, 1536},
        Expected{"gfx1201", Generation::Gfx12, 32, 8, 24, 0, 512, 512}}) {
    SCOPED_TRACE(expected.chip);
    const std::vector<u8> area = area_of(expected.chip);
    Result<std::vector<SavedWave>> waves = read_saved_waves(expected.generation, area);
    ASSERT_TRUE(waves) << waves.error().message;
    ASSERT_EQ(waves->size(), 3u);
    const SavedWave &alone = (*waves)[0], &first = (*waves)[1], &second = (*waves)[2];

    EXPECT_EQ(alone.pc, 0x7f0000001234u);
    EXPECT_EQ(alone.exec, 1u);
    EXPECT_EQ(alone.lanes, expected.small_lanes);
    EXPECT_EQ(alone.vector_count, expected.small_vectors);
    EXPECT_TRUE(alone.first_of_group && alone.last_of_group && alone.memory_violation);
    EXPECT_TRUE(alone.halted && !first.halted);
    EXPECT_FALSE(alone.illegal_instruction);
    EXPECT_EQ(alone.group(expected.generation), (std::array<u32, 3>{9, 8, 7}));
    EXPECT_TRUE(alone.lds.empty());
    EXPECT_EQ(alone.vector(1, 0), 0x07000000u + alone.lanes);

    EXPECT_EQ(first.pc, 0x7f0000002000u);
    EXPECT_EQ(first.exec, expected.generation == Generation::Gfx9 ? ~u64{0} : 0xffffffff);
    EXPECT_EQ(first.in_barrier, expected.generation != Generation::Gfx12);
    EXPECT_TRUE(first.first_of_group && !first.last_of_group && !first.memory_violation);
    EXPECT_EQ(first.vector_count, expected.vectors);
    EXPECT_EQ(first.accumulator_count, expected.accumulators);
    EXPECT_EQ(first.scalars.size(), expected.scalar_bytes);
    EXPECT_EQ(first.scalar(3), 0x01500003u);
    EXPECT_EQ(first.vector(2, 5), 0x01000000u + 2 * first.lanes + 5);
    EXPECT_EQ(first.m0, 0x1001u);
    EXPECT_EQ(first.mode, 0x2f0u);
    ASSERT_EQ(first.lds.size(), expected.lds_bytes);
    u32 word = 0;
    std::memcpy(&word, first.lds.data() + 4, 4);
    EXPECT_EQ(word, 0x1d500001u);
    if (expected.accumulators > 0) {
      EXPECT_EQ(first.vector(first.vector_count, 1), 0x01a00001u);
    }

    EXPECT_EQ(second.pc, 0x7f0000002040u);
    EXPECT_EQ(second.exec, 0xf0u);
    EXPECT_EQ(second.position_in_group(expected.generation), 1u);
    EXPECT_EQ(second.group(expected.generation), (std::array<u32, 3>{1, 2, 3}));
    EXPECT_TRUE(second.lds.empty() && second.last_of_group);
    EXPECT_EQ(second.scalar(0), 0x02500000u);
  }
}

std::string refusal(std::span<const u8> area) {
  Result<std::vector<SavedWave>> waves = read_saved_waves(Generation::Gfx11, area);
  return waves ? "" : waves.error().message;
}

void put(std::vector<u8>& area, usize at, u32 value) {
  std::memcpy(area.data() + at, &value, sizeof value);
}
u32 get(const std::vector<u8>& area, usize at) {
  u32 value = 0;
  std::memcpy(&value, area.data() + at, sizeof value);
  return value;
}

TEST(SavedWaves, AreRefusedWhereTheyDoNotFit) {
  const std::vector<u8> good = area_of("gfx1100");
  EXPECT_EQ(refusal(std::span(good).first(39)), "a save area of 39 bytes, its header has 40");
  EXPECT_NE(refusal(std::span(good).first(good.size() - 1)), "");

  const u32 stack = get(good, 0), stack_bytes = get(good, 4), end = get(good, 8);
  std::vector<u8> area = good;
  put(area, 8, end - 4);  // the end of the waves
  EXPECT_NE(refusal(area).find("does not end where the waves begin"), std::string::npos);
  area = good;
  put(area, 4, stack_bytes + 4);
  EXPECT_NE(refusal(area).find("does not end where the waves begin"), std::string::npos);
  area = good;
  put(area, stack + 8, get(good, stack + 8) | 0x3f);  // more registers than were saved
  EXPECT_EQ(refusal(area), "a wave of 66176 bytes, 10624 are left of the waves' state");
  area = good;
  put(area, stack + 8, 1u << 30);  // no description: its second word is taken for a wave
  EXPECT_NE(refusal(area).find("before what it was given"), std::string::npos);
  area = good;
  put(area, stack + stack_bytes - 4, 1u << 30);  // one wave fewer than there are
  EXPECT_NE(refusal(area).find("bytes of waves that the control stack does not name"),
            std::string::npos);
}

TEST(SavedWaves, AreNoneInAnAreaThatNothingWasSavedInto) {
  Result<std::vector<SavedWave>> waves = read_saved_waves(Generation::Gfx9, std::vector<u8>(4096));
  ASSERT_TRUE(waves) << waves.error().message;
  EXPECT_TRUE(waves->empty());
}

}  // namespace
}  // namespace doorbell::amd::hw
