// Untyped buffer instructions on one wave: addresses, what lies beyond a buffer, loads into LDS,
// atomics. What is expected is what the ISA documents' formulas give, worked out by hand, or what
// ROCm/rocm-systems measured (emulator/amd/isa/memory/buffer_address.cc names both).
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;
constexpr u64 kData = TestWave::kData;

struct Form {
  const char* chip;
  u32 lanes;
};
void PrintTo(const Form& form, std::ostream* out) { *out << form.chip << " " << form.lanes; }

constexpr u32 kRaw = 3, kAddThreadId = 1u << 23;

// A descriptor in s[8:11].
struct Resource {
  u32 stride = 0, records = 0;
  u32 out_of_bounds = kRaw;  // of no meaning on gfx9
  u32 swizzle = 0;           // as gfx11 and gfx12 write it: 1 by dwords, 3 by four
  u32 word3 = 0;
};

struct BufferWave : TestWave {
  explicit BufferWave(const char* chip, u32 lanes) : TestWave(chip, lanes) {
    for (u32 i = 0; i < kDataBytes / 4; ++i) data<u32>(i * 4) = i + 1;
  }
  Generation generation() const { return wave.chip->generation; }
  void set_resource(const Resource& r) {
    const bool new_swizzle = generation() >= Generation::Gfx11;
    wave.set_pair(8, kData);
    wave.s[9] |= r.stride << 16 | (new_swizzle ? r.swizzle << 30 : u32{r.swizzle != 0} << 31);
    wave.s[10] = r.records;
    wave.s[11] = r.word3;
    if (generation() != Generation::Gfx9) wave.s[11] |= r.out_of_bounds << 28;
  }
  void expect_end(const std::string& text) {
    const Exit exit = run(text);
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name << " " << text;
  }
  void expect_stop(const std::string& text, std::string_view name) {
    const Exit exit = run(text);
    EXPECT_EQ(exit.kind, Exit::Kind::Illegal) << text;
    EXPECT_NE(exit.name.find(name), std::string::npos) << exit.name;
  }
};

class Buffer : public ::testing::TestWithParam<Form> {
 protected:
  BufferWave test{GetParam().chip, GetParam().lanes};
  u32 lanes() const { return GetParam().lanes; }
  Generation generation() const { return test.generation(); }
  // No scalar offset.
  std::string none() const { return generation() == Generation::Gfx12 ? "null" : "0"; }
  std::string returns() const {
    if (generation() == Generation::Gfx9) return " sc0";
    return generation() == Generation::Gfx12 ? " th:TH_ATOMIC_RETURN" : " glc";
  }
};

// The scalar offset takes away from the records.
TEST_P(Buffer, AddsOffsetsAndReadsZeroBeyondTheEnd) {
  test.set_resource({.records = 64});
  test.set(1, [](u32 lane) { return lane * 4; });
  test.wave.s[5] = 16;
  test.set_all(10, 9);
  test.expect_end("buffer_load_dword v10, v1, s[8:11], s5 offen offset:8");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    EXPECT_EQ(test.get(10)[lane], lane < 10 ? (16 + 8) / 4 + lane + 1 : 0) << lane;
  }
  test.wave.s[5] = 65;
  test.expect_end("buffer_load_dword v10, v1, s[8:11], s5 offen");
  for (u32 value : test.get(10)) EXPECT_EQ(value, 0u);
  test.expect_end("buffer_store_dword v1, v1, s[8:11], " + none() + " offen offset:32");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    EXPECT_EQ(test.data<u32>(32 + lane * 4), lane < 8 ? lane * 4 : 8 + lane + 1) << lane;
  }
}

TEST_P(Buffer, MultipliesTheIndexByTheStride) {
  test.set_resource({.stride = 48, .records = 20, .out_of_bounds = 1});
  test.set(2, [](u32 lane) { return lane; });
  test.set(3, [](u32 lane) { return lane % 2 * 4; });
  test.expect_end("buffer_load_dwordx2 v[10:11], v[2:3], s[8:11], " + none() +
                  " idxen offen offset:8");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    const u32 at = lane * 12 + lane % 2 + 2;
    for (u32 i = 0; i < 2; ++i) {
      EXPECT_EQ(test.get(10 + i)[lane], lane < 20 ? at + i + 1 : 0) << lane;
    }
  }
}

// The scratch buffer of gfx9 and gfx10: dwords of the lanes beside each other.
TEST_P(Buffer, SwizzlesWithTheLanesNumber) {
  const u32 stride = lanes() == 64 ? 3 : 2;
  test.set_resource(
      {.records = ~0u, .out_of_bounds = 2, .swizzle = 1, .word3 = stride << 21 | kAddThreadId});
  test.set(10, [](u32 lane) { return 1000 + lane; });
  test.set(11, [](u32 lane) { return 2000 + lane; });
  test.set(1, [](u32 lane) { return lane % 2 * 8; });
  test.expect_end("buffer_store_dwordx2 v[10:11], v1, s[8:11], " + none() + " offen offset:16");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    const u32 dword = (lane % 2 * 8 + 16) / 4;
    EXPECT_EQ(test.data<u32>((dword * lanes() + lane) * 4), 1000 + lane);
    EXPECT_EQ(test.data<u32>(((dword + 1) * lanes() + lane) * 4), 2000 + lane);
  }
  test.expect_end("buffer_load_dwordx2 v[12:13], v1, s[8:11], " + none() + " offen offset:16");
  EXPECT_EQ(test.get(12), test.get(10));
  EXPECT_EQ(test.get(13), test.get(11));
}

// Four dwords at `offset` behind `scalar`, as the rows of a table: which of them are loaded.
struct Bounds {
  u32 mode, stride, records, scalar, offset;
  std::array<u32, 4> loaded;
};

TEST_P(Buffer, JudgesEachDword) {
  // All but the first two are what physical gfx1100 and gfx1201 do. [ROCm/rocm-systems
  // emulation/rocjitsu, RdnaBoundsClampRawDwordsButDropFormattedTransfersTogether]
  const Bounds by_select[] = {
      {0, 16, 1, 0, 8, {3, 4, 0, 0}}, {1, 8, 1, 4, 4, {3, 4, 5, 6}},  {0, 8, 7, 0, 0, {1, 2, 0, 0}},
      {0, 8, 7, 4, 4, {3, 0, 0, 0}},  {1, 8, 7, 4, 4, {3, 4, 5, 6}},  {2, 8, 0, 0, 0, {0, 0, 0, 0}},
      {2, 8, 1, 0, 12, {4, 5, 6, 7}}, {3, 0, 17, 4, 0, {2, 3, 4, 0}},
  };
  // Without an index, bytes count whatever the stride.
  const Bounds gfx9[] = {
      {0, 0, 17, 4, 0, {2, 3, 4, 0}},
      {0, 8, 16, 0, 8, {3, 4, 0, 0}},
      {0, 8, 16, 12, 4, {0, 0, 0, 0}},
      {0, 8, 0, 0, 0, {0, 0, 0, 0}},
  };
  const bool is_gfx9 = generation() == Generation::Gfx9;
  for (const Bounds& c : is_gfx9 ? std::span<const Bounds>(gfx9) : by_select) {
    test.set_resource({.stride = c.stride, .records = c.records, .out_of_bounds = c.mode});
    test.set_all(1, c.offset);
    test.wave.s[5] = c.scalar;
    for (u32 i = 0; i < 4; ++i) test.set_all(10 + i, 99);
    test.expect_end("buffer_load_dwordx4 v[10:13], v1, s[8:11], s5 offen");
    for (u32 i = 0; i < 4; ++i) {
      EXPECT_EQ(test.get(10 + i)[lanes() - 1], c.loaded[i])
          << c.mode << " " << c.stride << " " << c.records << " " << c.offset << " " << i;
    }
    for (u32 i = 0; i < 4; ++i) test.set_all(10 + i, 50 + i);
    test.expect_end("buffer_store_dwordx4 v[10:13], v1, s[8:11], s5 offen");
    for (u32 i = 0; i < 4; ++i) {
      const u32 at = c.scalar + c.offset + i * 4;
      EXPECT_EQ(test.data<u32>(at), c.loaded[i] != 0 ? 50 + i : at / 4 + 1) << i;
      test.data<u32>(at) = at / 4 + 1;
    }
  }
}

// Each lane's buffer ends elsewhere.
TEST_P(Buffer, JudgesEachLane) {
  test.set_resource({.records = 68});
  test.set(1, [](u32 lane) { return lane * 4; });
  test.expect_end("buffer_load_dwordx4 v[10:13], v1, s[8:11], " + none() + " offen");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    for (u32 i = 0; i < 4; ++i) {
      EXPECT_EQ(test.get(10 + i)[lane], lane + i < 17 ? lane + i + 1 : 0) << lane << " " << i;
    }
  }
}

// An offset near 4 GiB does not come round to the start with its later dwords.
TEST_P(Buffer, OffsetsDoNotWrap) {
  test.set_resource({.records = 64});
  test.set_all(1, static_cast<u32>(-8));
  test.expect_end("buffer_load_dwordx4 v[10:13], v1, s[8:11], " + none() + " offen");
  for (u32 i = 0; i < 4; ++i) EXPECT_EQ(test.get(10 + i)[0], 0u) << i;
}

// OOB_SELECT 0: gfx10 asks where a dword starts, later chips where it ends.
TEST_P(Buffer, DwordsAcrossTheEndOfARecord) {
  test.set_resource({.stride = 6, .records = 1, .out_of_bounds = 0});
  test.set_all(1, 4);
  test.expect_end("buffer_load_dword v10, v1, s[8:11], " + none() + " offen");
  EXPECT_EQ(test.get(10)[0], generation() == Generation::Gfx10 ? 2u : 0u);
}

// OOB_SELECT 3 is by index and offset when records are swizzled: two of 8 bytes, by dwords.
TEST_P(Buffer, SwizzledRecords) {
  if (generation() <= Generation::Gfx10) return;  // disputed, see below
  const bool gfx12 = generation() == Generation::Gfx12;
  struct Case {
    u32 scalar, index, offset;
    bool within;
  };
  for (const Case& c : {Case{0, 1, 0, true},
                        {0, 2, 0, false},
                        {0, 1, 4, true},
                        {0, 1, 5, false},
                        {1, 0, 0, true},
                        {1, 1, 0, false},
                        {3, 0, 0, false}}) {
    if (gfx12 && c.scalar != 0) continue;  // disputed
    test.set_resource({.stride = 8, .records = 2, .swizzle = 1});
    test.set_all(2, c.index);
    test.set_all(3, c.offset);
    test.wave.s[5] = c.scalar;
    test.expect_end("buffer_load_ubyte v10, v[2:3], s[8:11], " + (gfx12 ? none() : "s5") +
                    " idxen offen offset:3");
    // Eight indices beside each other: the offset's dwords are 32 bytes apart.
    const u32 offset = c.offset + 3;
    const u32 at = c.index * 4 + offset / 4 * 32 + offset % 4 + c.scalar;
    EXPECT_EQ(test.get(10)[0], c.within ? u32{test.data<u8>(at)} : 0)
        << c.scalar << " " << c.index << " " << c.offset;
  }
}

TEST_P(Buffer, SwizzlesByFourDwords) {
  if (generation() <= Generation::Gfx10) return;
  test.set_resource({.stride = 32, .records = 2, .swizzle = 3});
  test.set_all(2, 1);
  test.expect_end("buffer_load_dwordx2 v[10:11], v2, s[8:11], " + none() + " idxen offset:12");
  EXPECT_EQ(test.get(10)[0], (16 + 12) / 4 + 1u);
  EXPECT_EQ(test.get(11)[0], (16 + 16 * 8) / 4 + 1u);
}

// Where documents and silicon disagree; the same without the one thing runs.
TEST_P(Buffer, StopsWhereSourcesDisagree) {
  const std::string load = "buffer_load_dword v10, v1, s[8:11], ";
  test.set_all(1, 0), test.set_all(2, 0);
  test.wave.s[5] = 4;
  const bool gfx9 = generation() == Generation::Gfx9, gfx12 = generation() == Generation::Gfx12;

  test.set_resource({.stride = 4, .records = 99, .word3 = kAddThreadId});
  test.expect_stop(load + none() + " idxen", "an index where the descriptor adds the lane's");
  test.expect_end(load + none() + " offen");

  test.set_resource({.stride = 4, .records = 99, .out_of_bounds = 1, .swizzle = 1});
  test.expect_stop(load + none() + " offen", "swizzled buffer without ADD_TID");
  if (gfx9) {
    test.expect_stop(load + none() + " idxen", "swizzled buffer without ADD_TID");
  } else {
    test.expect_end(load + none() + " idxen");
  }

  test.set_resource({.stride = 4, .records = 99, .out_of_bounds = 1, .swizzle = 2});
  if (generation() >= Generation::Gfx11) {
    test.expect_stop(load + none() + " idxen", "SWIZZLE_ENABLE 2");
  }

  test.set_resource(
      {.records = ~0u, .out_of_bounds = 1, .swizzle = 1, .word3 = 2u << 21 | kAddThreadId});
  if (gfx12) {
    test.expect_stop(load + "s5 offen", "a swizzled buffer with a scalar offset");
  } else {
    test.expect_end(load + "s5 offen");
  }

  // What a driver makes for scratch: its end is far behind the lanes' bytes. 128 bytes of 32 lanes
  // are at the end, where the offset is not.
  test.set_resource({.records = 4096, .swizzle = 1, .word3 = 2u << 21 | kAddThreadId});
  test.expect_end(load + none() + " offen offset:120");
  if (generation() == Generation::Gfx10) {
    test.expect_stop(load + none() + " offen offset:128", "its end is in dispute");
  } else {
    test.expect_end(load + none() + " offen offset:128");
  }

  // Disputed accesses are ignored if no lane is active.
  test.set_resource({.stride = 4, .records = 99, .word3 = kAddThreadId});
  test.wave.set_mask(kExecLo, 0);
  test.expect_end(load + none() + " idxen");
}

// ---- atomics ----

TEST_P(Buffer, AtomicsAreWithinAsAWhole) {
  test.set_resource({.records = 20});
  test.set(1, [](u32 lane) { return lane * 8; });
  test.set_all(4, 100), test.set_all(5, 0);
  test.expect_end("buffer_atomic_add_x2 v[4:5], v1, s[8:11], " + none() + " offen" + returns());
  for (u32 lane = 0; lane < lanes(); ++lane) {
    const u64 before = (lane * 2 + 1) | u64{lane * 2 + 2} << 32;
    const bool within = lane < 2;
    EXPECT_EQ(test.data<u64>(lane * 8), within ? before + 100 : before) << lane;
    EXPECT_EQ(test.get(4)[lane], within ? before & 0xffffffff : 0) << lane;
    EXPECT_EQ(test.get(5)[lane], within ? before >> 32 : 0) << lane;
  }
}

TEST_P(Buffer, AtomicsStopAtUnalignedAddresses) {
  test.set_resource({.records = 64});
  test.set(1, [](u32 lane) { return lane == 3 ? 12 : 8; });
  test.set_all(4, 1), test.set_all(5, 0);
  const Exit exit = test.run("buffer_atomic_add_x2 v[4:5], v1, s[8:11], " + none() + " offen");
  EXPECT_EQ(exit.kind, Exit::Kind::Bounds) << exit.name;
  EXPECT_EQ(exit.lane, 3u);
  EXPECT_EQ(exit.address, kData + 12);
  EXPECT_NE(exit.name.find("unaligned"), std::string::npos) << exit.name;
  test.expect_end("buffer_atomic_add v4, v1, s[8:11], " + none() + " offen");
}

const Form kForms[] = {{"gfx942", 64},  {"gfx1030", 32}, {"gfx1030", 64},
                       {"gfx1100", 32}, {"gfx1100", 64}, {"gfx1201", 32}};
INSTANTIATE_TEST_SUITE_P(Chips, Buffer, ::testing::ValuesIn(kForms));

// ---- gfx9's scratch ----

// STRIDE has four more bits where the data format stands, but not for instructions with a format.
TEST(Gfx9Scratch, HasAStrideOf18Bits) {
  BufferWave test("gfx942", 64);
  test.set_resource({.stride = 8, .word3 = kAddThreadId | 4u << 15 | 4 << 12 | 4});
  const Exit exit = test.run("buffer_load_dword v10, off, s[8:11], 0");
  EXPECT_EQ(exit.kind, Exit::Kind::Fault);
  EXPECT_EQ(exit.lane, 1u);
  EXPECT_EQ(exit.address, kData + (4u << 14 | 8));
  test.expect_end("buffer_load_format_x v10, off, s[8:11], 0");
  for (u32 lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(test.get(10)[lane], lane * 2 + 1) << lane;
  }
}

// ---- to LDS ----

TEST(BufferToLds, WritesZeroBeyondTheEnd) {
  for (const auto& [chip, lanes] : {Form{"gfx942", 64}, {"gfx1030", 32}}) {
    BufferWave test(chip, lanes);
    test.set_resource({.records = 20});
    test.set(1, [](u32 lane) { return lane * 4; });
    test.wave.s[kM0] = 128;
    test.wave.set_mask(kExecLo, 0xffbf);
    for (u32 i = 0; i < 32; ++i) test.lds<u32>(128 + i * 4) = 99;
    test.expect_end("buffer_load_dword v1, s[8:11], 0 offen lds");
    for (u32 lane = 0; lane < 16; ++lane) {
      EXPECT_EQ(test.lds<u32>(128 + lane * 4), lane < 5 ? lane + 1 : lane == 6 ? 99 : 0) << lane;
    }
    EXPECT_EQ(test.lds<u32>(128 + 64), 99u);
  }
}

// Three dwords of a lane leave a fourth alone, and each of them is judged.
TEST(BufferToLds, WritesDwordsOfLanesBesideEachOther) {
  BufferWave test("gfx950", 64);
  test.set_resource({.records = 36});
  test.set(1, [](u32 lane) { return lane * 16; });
  test.wave.set_mask(kExecLo, 0xf);
  for (u32 dwords : {3u, 4u}) {
    for (u32 i = 0; i < 16; ++i) test.lds<u32>(i * 4) = 99;
    test.expect_end("buffer_load_dwordx" + std::to_string(dwords) + " v1, s[8:11], 0 offen lds");
    for (u32 i = 0; i < 16; ++i) {
      EXPECT_EQ(test.lds<u32>(i * 4), i % 4 >= dwords ? 99 : i < 9 ? i + 1 : 0) << dwords << i;
    }
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
