// Typed buffer instructions. Expected words are numpy's: np.float32(128) / 255 and so on.
#include <gtest/gtest.h>

#include <string>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;

constexpr const char* kChips[] = {"gfx942", "gfx1030", "gfx1100", "gfx1201"};

bool is_gfx9(std::string_view chip) { return chip.starts_with("gfx9"); }

// A wave with a raw buffer of kDataBytes in s[0:3]; lane i's offset is 16 i, in v20.
struct Buffer : TestWave {
  explicit Buffer(std::string_view chip, u32 word3 = 0xfac)
      : TestWave(chip, is_gfx9(chip) ? 64 : 32) {
    wave.set_pair(0, kData);
    wave.s[2] = kDataBytes;
    wave.s[3] = word3 | (is_gfx9(chip) ? 0 : 3u << 28);  // without bounds by index
    set(20, [](u32 lane) { return 16 * lane; });
  }
};

// "xyzw v[0:3], v20, s[0:3], 0 format:[...] offen": the format's names per generation.
std::string operands(std::string_view chip, const std::string& data, const std::string& number) {
  const std::string_view offset = chip.starts_with("gfx12") ? "null" : "0";
  const std::string format = is_gfx9(chip) ? "BUF_DATA_FORMAT_" + data + ",BUF_NUM_FORMAT_" + number
                                           : "BUF_FMT_" + data + "_" + number;
  return ", v20, s[0:3], " + std::string(offset) + " format:[" + format + "] offen";
}

TEST(TypedBuffers, LoadByTheInstructionsFormat) {
  for (const char* chip : kChips) {
    Buffer b(chip);
    b.data<u32>(16) = 0x33ff8000;
    b.run("tbuffer_load_format_xyzw v[0:3]" + operands(chip, "8_8_8_8", "UNORM"));
    const u32 unorm[] = {0, 0x3f008081, 0x3f800000, 0x3e4ccccd};
    for (u32 i = 0; i < 4; ++i) EXPECT_EQ(b.get(i)[1], unorm[i]) << chip << i;

    b.data<u32>(16) = 0x3c0 | 0x380 << 11 | 0x200u << 22;
    b.run("tbuffer_load_format_xyz v[0:2]" + operands(chip, "10_11_11", "FLOAT"));
    const u32 floats[] = {0x3f800000, 0x3f000000, 0x40000000};
    for (u32 i = 0; i < 3; ++i) EXPECT_EQ(b.get(i)[1], floats[i]) << chip << i;

    b.data<u32>(16) = 0x8000fffe;
    b.run("tbuffer_load_format_xyzw v[0:3]" + operands(chip, "16_16", "SINT"));
    const u32 integers[] = {0xfffffffe, 0xffff8000, 0, 0};  // Z and W that it lacks
    for (u32 i = 0; i < 4; ++i) EXPECT_EQ(b.get(i)[1], integers[i]) << chip << i;
  }
}

TEST(TypedBuffers, LoadByTheDescriptorsFormatAndOrder) {
  // 2_10_10_10 SNORM, in the order W Z Y X.
  const u32 order = 7 | 6 << 3 | 5 << 6 | 4 << 9;
  const u32 numbers[] = {9u << 15 | 1 << 12, 51u << 12, 37u << 12, 37u << 12};
  for (u32 k = 0; k < 4; ++k) {
    Buffer b(kChips[k], order | numbers[k]);
    // X -512 (held to -1), Y 511 (1), Z -1, W 1 of two bits (1)
    b.data<u32>(32) = 0x200 | 0x1ff << 10 | 0x3ffu << 20 | 1u << 30;
    b.run(std::string("buffer_load_format_xyzw v[0:3], v20, s[0:3], ") + (k == 3 ? "null" : "0") +
          " offen");
    const u32 expected[] = {0x3f800000, 0xbb004020, 0x3f800000, 0xbf800000};
    for (u32 i = 0; i < 4; ++i) EXPECT_EQ(b.get(i)[2], expected[i]) << kChips[k] << i;
  }
}

TEST(TypedBuffers, LoadHalves) {
  Buffer b("gfx1100");
  b.data<u32>(0) = 0xbc003800;
  b.set_all(0, 0x12345678), b.set_all(1, 0xabcdef01);
  b.run("tbuffer_load_d16_format_xyz v[0:1]" + operands("gfx1100", "16_16", "FLOAT"));
  EXPECT_EQ(b.get(0)[0], 0xbc003800u);
  EXPECT_EQ(b.get(1)[0], 0xabcd0000u);  // Z is 0, the other half stays
  b.data<u32>(0) = 1;
  const Exit exit = b.run("tbuffer_load_d16_format_x v0" + operands("gfx1100", "8", "UNORM"));
  EXPECT_EQ(exit.kind, Exit::Kind::Illegal);  // 1/255 is no half
  EXPECT_NE(exit.name.find("no half"), std::string::npos) << exit.name;
}

TEST(TypedBuffers, StoreInTheFormat) {
  for (const char* chip : kChips) {
    Buffer b(chip);
    const u32 values[] = {0x3f000000, 0xbf800000, 0x40000000, 0x3e4ccccd};  // 0.5 -1 2 0.2
    for (u32 i = 0; i < 4; ++i) b.set_all(i, values[i]);
    b.run("tbuffer_store_format_xyzw v[0:3]" + operands(chip, "8_8_8_8", "UNORM"));
    EXPECT_EQ(b.data<u32>(48), 0x33ff0080u) << chip;
    b.run("tbuffer_store_format_xy v[0:1]" + operands(chip, "16_16", "FLOAT"));
    EXPECT_EQ(b.data<u32>(48), 0xbc003800u) << chip;
    // 0.5 is not an integer, and its rounding is not documented.
    const Exit exit =
        b.run("tbuffer_store_format_xyzw v[0:3]" + operands(chip, "8_8_8_8", "USCALED"));
    EXPECT_EQ(exit.kind, Exit::Kind::Illegal) << chip;
  }
}

// An element is beyond the end as a whole, when one of its dwords is.
TEST(TypedBuffers, ReadZeroBeyondTheEnd) {
  for (const char* chip : kChips) {
    Buffer b(chip);
    b.wave.s[2] = 20;
    for (u32 i = 0; i < 8; ++i) b.data<u32>(i * 4) = ~0u;
    b.run("tbuffer_load_format_xyzw v[0:3]" + operands(chip, "32_32", "UINT"));
    for (u32 i = 0; i < 4; ++i) {
      EXPECT_EQ(b.get(i)[0], i < 2 ? ~0u : 0u) << chip << i;
      EXPECT_EQ(b.get(i)[1], 0u) << chip << i;
    }
    b.set_all(0, 0), b.set_all(1, 0);
    b.run("tbuffer_store_format_xy v[0:1]" + operands(chip, "32_32", "UINT"));
    EXPECT_EQ(b.data<u64>(0), 0u) << chip;
    EXPECT_EQ(b.data<u64>(16), ~u64{0}) << chip;
  }
}

TEST(TypedBuffers, ReadTheDescriptorsOneBeyondTheEnd) {
  const u32 order = 4 | 1 << 3 | 0 << 6 | 7 << 9;                               // X 1 0 W
  const u32 numbers[] = {4u << 15 | 4 << 12, 20u << 12, 20u << 12, 20u << 12};  // 32 UINT
  for (u32 k = 0; k < 4; ++k) {
    Buffer b(kChips[k], order | numbers[k]);
    b.wave.s[2] = 4;
    b.data<u32>(0) = b.data<u32>(16) = 9;
    b.run(std::string("buffer_load_format_xyzw v[0:3], v20, s[0:3], ") + (k == 3 ? "null" : "0") +
          " offen");
    const u32 within[] = {9, 1, 0, 0}, beyond[] = {0, 1, 0, 0};
    for (u32 i = 0; i < 4; ++i) {
      EXPECT_EQ(b.get(i)[0], within[i]) << kChips[k] << i;
      EXPECT_EQ(b.get(i)[1], beyond[i]) << kChips[k] << i;
    }
  }
}

TEST(TypedBuffers, LoadToLds) {
  Buffer b("gfx942", 0xfac | 1u << 15 | 4 << 12);  // 8 UINT
  b.data<u8>(0) = 7, b.data<u8>(16) = 200;
  b.wave.s[kM0] = 64;
  const Exit exit = b.run("buffer_load_format_x v20, s[0:3], 0 offen lds");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  EXPECT_EQ(b.lds<u32>(64), 7u);
  EXPECT_EQ(b.lds<u32>(68), 200u);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
