// Scalar loads, stores and atomics through buffer descriptors. The expected values are those of the
// ISA documents' formulas (cited in emulator/amd/isa/scalar/scalar_address.h), worked out by hand.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;

constexpr const char* kChips[] = {"gfx942", "gfx1030", "gfx1100", "gfx1201"};

// A buffer in s[8:11] over dwords 1, 2, 3...; s16 on holds 99.
struct Scalar : TestWave {
  explicit Scalar(std::string_view chip, u32 stride, u32 records, u32 misaligned = 0)
      : TestWave(chip, chip == "gfx942" ? 64 : 32) {
    for (u32 i = 0; i < kDataBytes / 4; ++i) data<u32>(i * 4) = i + 1;
    wave.set_pair(8, kData + misaligned);
    wave.s[9] |= stride << 16;
    wave.s[10] = records;
    for (u32 i = 16; i < 32; ++i) wave.s[i] = 99;
  }
  void expect_end(const std::string& text) {
    const Exit exit = run(text);
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  }
};

TEST(ScalarBuffer, JudgesEachDword) {
  struct Case {
    u32 stride, records, offset;
    std::array<u32, 4> loaded;
  };
  for (const Case& c : {
           Case{0, 64, 48, {13, 14, 15, 16}},
           Case{0, 64, 56, {15, 16, 0, 0}},
           Case{0, 64, 64, {0, 0, 0, 0}},
           Case{12, 5, 52, {14, 15, 0, 0}},  // 60 bytes
           Case{12, 0, 0, {0, 0, 0, 0}},
       }) {
    for (const char* chip : kChips) {
      Scalar s(chip, c.stride, c.records);
      s.wave.s[5] = c.offset;
      s.expect_end("s_buffer_load_dwordx4 s[16:19], s[8:11], s5");
      for (u32 i = 0; i < 4; ++i) {
        EXPECT_EQ(s.wave.s[16 + i], c.loaded[i]) << chip << " " << c.offset << " " << i;
      }
      EXPECT_EQ(s.wave.s[20], 99u);
    }
  }
}

// gfx12 makes the size a multiple of 4 before it compares.
TEST(ScalarBuffer, EndsWithinADword) {
  for (const char* chip : kChips) {
    Scalar s(chip, 0, 18);
    s.expect_end("s_buffer_load_dwordx2 s[16:17], s[8:11], 0x10");
    EXPECT_EQ(s.wave.s[16], std::string_view(chip) == "gfx1201" ? 0u : 5u) << chip;
    EXPECT_EQ(s.wave.s[17], 0u) << chip;
  }
}

// The lowest bits of the base and of the offset are not there; gfx12 drops those of both offsets.
TEST(ScalarBuffer, IgnoresTheLowestBits) {
  for (const char* chip : kChips) {
    Scalar s(chip, 0, 64, 3);
    s.wave.s[5] = 3;
    s.expect_end("s_buffer_load_dword s16, s[8:11], s5");
    EXPECT_EQ(s.wave.s[16], 1u) << chip;
    if (std::string_view(chip) == "gfx1030") continue;  // older assemblers' syntax
    const bool gfx12 = std::string_view(chip) == "gfx1201";
    s.expect_end("s_buffer_load_dword s16, s[8:11], s5 offset:0x5");
    EXPECT_EQ(s.wave.s[16], gfx12 ? 2u : 3u) << chip;
  }
}

TEST(ScalarBuffer, LoadsBytesAndHalves) {
  Scalar s("gfx1201", 0, 7, 1);
  for (u32 i = 0; i < 16; ++i) s.data<u8>(i) = static_cast<u8>(0xf0 + i);
  s.expect_end(
      "s_buffer_load_i8 s16, s[8:11], 0x6\ns_buffer_load_u8 s17, s[8:11], 0x7\n"
      "s_buffer_load_u16 s18, s[8:11], 0x5\ns_buffer_load_u16 s19, s[8:11], 0x6");
  EXPECT_EQ(s.wave.s[16], 0xfffffff7u);  // base 1, offset 6
  EXPECT_EQ(s.wave.s[17], 0u);
  EXPECT_EQ(s.wave.s[18], 0xf5f4u);  // base 0, offset 4 of 6
  EXPECT_EQ(s.wave.s[19], 0u);
}

TEST(ScalarBuffer, StoresAndAtomicsOfGfx9) {
  Scalar s("gfx942", 0, 32);
  s.wave.set_pair(16, 0x2222000011110000), s.wave.set_pair(18, 0x4444000033330000);
  s.expect_end("s_buffer_store_dwordx4 s[16:19], s[8:11], 0x18");
  const u32 stored[] = {0x11110000, 0x22220000, 9, 10};
  for (u32 i = 0; i < 4; ++i) EXPECT_EQ(s.data<u32>(24 + i * 4), stored[i]) << i;

  s.wave.set_pair(16, 1), s.wave.set_pair(18, 1), s.wave.set_pair(20, 1);
  s.expect_end(
      "s_buffer_atomic_add_x2 s[16:17], s[8:11], 0x10 glc\n"
      "s_buffer_atomic_add_x2 s[18:19], s[8:11], 0x1c glc\n"  // its second dword is beyond
      "s_buffer_atomic_add_x2 s[20:21], s[8:11], 0x20 glc");
  EXPECT_EQ(s.wave.pair(16), 5u | u64{6} << 32);
  EXPECT_EQ(s.data<u64>(16), 6u | u64{6} << 32);
  EXPECT_EQ(s.wave.pair(18), 0u);
  EXPECT_EQ(s.data<u32>(28), 0x22220000u);
  EXPECT_EQ(s.wave.pair(20), 0u);
  EXPECT_EQ(s.data<u32>(32), 9u);
}

TEST(ScalarBuffer, AtomicsStopAtUnalignedAddresses) {
  for (const char* text :
       {"s_buffer_atomic_add_x2 s[16:17], s[8:11], 0x4", "s_atomic_add_x2 s[16:17], s[4:5], 0x4"}) {
    Scalar s("gfx942", 0, 64);
    s.wave.set_pair(4, TestWave::kData);
    const Exit exit = s.run(text);
    EXPECT_EQ(exit.kind, Exit::Kind::Bounds) << exit.name;
    EXPECT_EQ(exit.address, TestWave::kData + 4);
    EXPECT_NE(exit.name.find("unaligned"), std::string::npos) << exit.name;
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
