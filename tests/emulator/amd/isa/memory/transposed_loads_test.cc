// Loads that transpose: which lane gets which element, by what other projects found on GPUs and
// wrote down, and what the loads do where the documents say nothing.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/emulator/amd/isa/matrix/matrix_elements.h"
#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;

// Numbers of some bits beside each other.
class Packed {
 public:
  explicit Packed(u32 width) : width_(width) {}
  void push(u32 value) {
    for (u32 bit = 0; bit < width_; ++bit) bits_.push_back((value >> bit & 1) != 0);
  }
  u32 at(usize i) const { return bits(i * width_, width_); }
  u32 word(usize i) const { return bits(i * 32, 32); }
  usize words() const { return bits_.size() / 32; }

 private:
  u32 bits(usize from, u32 count) const {
    u32 value = 0;
    for (u32 bit = 0; bit < count; ++bit) value |= u32{bits_[from + bit]} << bit;
    return value;
  }
  u32 width_;
  std::vector<bool> bits_;
};

Packed random_numbers(u32 width, usize count) {
  Packed numbers(width);
  std::mt19937 generator(7);
  for (usize i = 0; i < count; ++i) numbers.push(generator() & ((1u << width) - 1));
  return numbers;
}

// A lane's registers from `first` on, as numbers of some bits.
Packed lane_numbers(TestWave& test, u32 first, u32 registers, u32 lane, u32 width) {
  Packed words(32);
  for (u32 r = 0; r < registers; ++r) words.push(test.get(first + r)[lane]);
  Packed numbers(width);
  for (u32 i = 0; i < registers * 32 / width; ++i) {
    u32 value = 0;
    for (u32 bit = 0; bit < width; ++bit) {
      const u32 at = i * width + bit;
      value |= (words.at(at / 32) >> at % 32 & 1) << bit;
    }
    numbers.push(value);
  }
  return numbers;
}

// ---- from LDS ----

struct FromLds {
  const char* name;
  u32 width, registers, stride;  // bytes from one lane's piece to the next's
};
constexpr FromLds kFromLds[] = {{"ds_read_b64_tr_b16", 16, 2, 8},
                                {"ds_read_b64_tr_b8", 8, 2, 8},
                                {"ds_read_b64_tr_b4", 4, 2, 8},
                                {"ds_read_b96_tr_b6", 6, 3, 16}};

// Two instructions transpose a matrix whose rows are 16 elements: the first takes the even blocks
// of 16 pieces, the second the odd ones. The formulas are the test's that runs on GPUs.
// [ROCm/rocm-libraries shared/rocroller/test/unit/TransposeLoadsTest.cpp, executeTransposeLoad()]
TEST(TransposedLoads, FromLdsAreWhatGpusDo) {
  for (const FromLds& load : kFromLds) {
    TestWave test("gfx950", 64);
    const u32 per_lane = load.registers * 32 / load.width;
    const Packed data = random_numbers(load.width, usize{128} * per_lane);
    for (u32 piece = 0; piece < 128; ++piece) {
      for (u32 r = 0; r < load.registers; ++r) {
        test.lds<u32>(piece * load.stride + 4 * r) = data.word(piece * load.registers + r);
      }
    }
    test.set(1, [&](u32 lane) { return (32 * (lane / 16) + lane % 16) * load.stride; });
    const std::string first = testing::vector_registers(4, load.registers);
    const std::string second = testing::vector_registers(8, load.registers);
    const Exit exit = test.run(std::string(load.name) + " " + first + ", v1\n" + load.name + " " +
                               second + ", v1 offset:" + std::to_string(16 * load.stride));
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
    for (u32 lane = 0; lane < 64; ++lane) {
      for (u32 t = 0; t < 2; ++t) {
        const Packed got = lane_numbers(test, t == 0 ? 4 : 8, load.registers, lane, load.width);
        for (u32 e = 0; e < per_lane; ++e) {
          // Block 2 * (lane / 16) + t is `per_lane` rows of 16: element e is column lane % 16's.
          const u32 block = 2 * (lane / 16) + t;
          const u32 expected = data.at((block * per_lane + e) * 16 + lane % 16);
          ASSERT_EQ(got.at(e), expected) << load.name << " lane " << lane << " element " << e;
        }
      }
    }
  }
}

// Each lane's address is its own, and the result may take its place.
TEST(TransposedLoads, FromLdsTakeAnyAddresses) {
  TestWave test("gfx950", 64);
  for (u32 i = 0; i < TestWave::kLdsBytes / 2; ++i) test.lds<u16>(2 * i) = static_cast<u16>(i);
  const auto address = [](u32 lane) { return (lane * 37 % 64) * 24; };
  test.set(2, address);
  ASSERT_EQ(test.run("ds_read_b64_tr_b16 v[2:3], v2 offset:8").kind, Exit::Kind::EndProgram);
  for (u32 lane = 0; lane < 64; ++lane) {
    for (u32 row = 0; row < 4; ++row) {
      const u32 from = lane / 16 * 16 + row * 4 + lane % 16 / 4;
      const u32 expected = (address(from) + 8) / 2 + lane % 4;
      EXPECT_EQ(test.get(2 + row / 2)[lane] >> 16 * (row % 2) & 0xffff, expected) << lane;
    }
  }
}

TEST(TransposedLoads, FromLdsStopWhereNothingIsSaid) {
  TestWave test("gfx950", 64);
  test.set(1, [](u32 lane) { return 16 * lane; });
  test.wave.set_mask(kExecLo, ~u64{0} >> 1);
  Exit exit = test.run("ds_read_b64_tr_b8 v[2:3], v1");
  EXPECT_EQ(exit.kind, Exit::Kind::Illegal);
  EXPECT_EQ(exit.name,
            "DS_READ_B64_TR_B8_vi with exec 0x7fffffffffffffff, where all 64 lanes must be active");
  test.wave.set_mask(kExecLo, ~u64{0});
  test.wave.row(1)[5] = 84;
  exit = test.run("ds_read_b64_tr_b8 v[2:3], v1");
  EXPECT_EQ(exit.name, "DS_READ_B64_TR_B8_vi at 0x54 of LDS in lane 5, no multiple of 8");
  test.wave.row(1)[5] = 88;
  EXPECT_EQ(test.run("ds_read_b64_tr_b8 v[2:3], v1").kind, Exit::Kind::EndProgram);
  exit = test.run("ds_read_b96_tr_b6 v[2:4], v1");
  EXPECT_EQ(exit.name, "DS_READ_B96_TR_B6_vi at 0x58 of LDS in lane 5, no multiple of 16");
  test.wave.row(1)[5] = TestWave::kLdsBytes;
  exit = test.run("ds_read_b64_tr_b4 v[2:3], v1");
  EXPECT_EQ(exit.kind, Exit::Kind::Bounds);
  EXPECT_EQ(exit.lane, 5u);
}

// ---- from memory ----

// What a lane of a wave of 32 receives of halves that hold their own numbers, with 16 rows of 16.
// [gstoner/tessera docs/backends/rocm/wmma-fragment-layout.md, 8: measured on gfx1201]
u32 measured_half(u32 lane, u32 j) {
  return ((lane / 8) * 4 + j / 2) * 16 + (lane % 8) + 8 * (j % 2);
}
// The same of bytes. [kmbandy/llama.cpp global_load_tr_contract.md: measured on gfx1201]
u32 measured_byte(u32 lane, u32 slot) {
  const u32 base = (lane & 7) + ((lane >> 3) & 1) * 32 + ((lane >> 4) & 1) * 128;
  return base + (slot & 3) * 8 + ((slot >> 2) & 1) * 64;
}

TEST(TransposedLoads, FromMemoryAreWhatWasMeasured) {
  TestWave test("gfx1201", 32);
  for (u32 i = 0; i < 256; ++i) {
    test.data<u16>(1024 + 2 * i) = static_cast<u16>(i);
    test.data<u8>(2048 + i) = static_cast<u8>(i);
  }
  test.wave.set_pair(2, TestWave::kData);
  test.set(1, [](u32 lane) { return 16 * lane; });
  test.set(8, [](u32 lane) { return static_cast<u32>(TestWave::kData) + 8 * lane + 2048 - 16; });
  test.set_all(9, TestWave::kData >> 32);
  const Exit exit = test.run(
      "global_load_tr_b128 v[4:7], v1, s[2:3] offset:1024\n"
      "global_load_tr_b64 v[8:9], v[8:9], off offset:16");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  for (u32 lane = 0; lane < 32; ++lane) {
    for (u32 j = 0; j < 8; ++j) {
      EXPECT_EQ(test.get(4 + j / 2)[lane] >> 16 * (j % 2) & 0xffff, measured_half(lane, j));
      EXPECT_EQ(test.get(8 + j / 4)[lane] >> 8 * (j % 4) & 0xff, measured_byte(lane, j));
    }
  }
}

// A product of matrices whose A lies in memory column by column, B so that a plain load gets it:
// each lane the elements of one column of B that stand beside each other. [RDNA4 ISA, 11.6.2]
struct Product {
  u32 lanes;
  const char *load_a, *load_b, *multiply;
  u32 bytes;
};
constexpr Product kProducts[] = {
    {32, "global_load_tr_b128 v[4:7], v1, s[2:3]", "global_load_b128 v[8:11], v2, s[4:5]",
     "v_wmma_f32_16x16x16_f16 v[16:23], v[4:7], v[8:11], v[16:23]", 2},
    {64, "global_load_tr_b128 v[4:5], v1, s[2:3]", "global_load_b64 v[8:9], v2, s[4:5]",
     "v_wmma_f32_16x16x16_f16 v[16:19], v[4:5], v[8:9], v[16:19]", 2},
    {32, "global_load_tr_b64 v[4:5], v1, s[2:3]", "global_load_b64 v[8:9], v2, s[4:5]",
     "v_wmma_f32_16x16x16_fp8_fp8 v[16:23], v[4:5], v[8:9], v[16:23]", 1},
    {64, "global_load_tr_b64 v4, v1, s[2:3]", "global_load_b32 v8, v2, s[4:5]",
     "v_wmma_f32_16x16x16_fp8_fp8 v[16:19], v4, v8, v[16:19]", 1},
};

TEST(TransposedLoads, FromMemoryFitMatrixProducts) {
  for (const Product& product : kProducts) {
    TestWave test("gfx1201", product.lanes);
    const auto a = [](u32 i, u32 k) { return static_cast<int>((i * 5 + k * 3 + i * k) % 7) - 3; };
    const auto b = [](u32 k, u32 j) { return static_cast<int>((k * 4 + j * 6 + k * j) % 7) - 3; };
    const testing::Kind kind = product.bytes == 2 ? testing::Kind::F16 : testing::Kind::Fp8;
    const auto put = [&](u32 at, int value) {
      const u64 code = testing::encode(value, kind);
      for (u32 i = 0; i < product.bytes; ++i)
        test.data<u8>(at + i) = static_cast<u8>(code >> 8 * i);
    };
    for (u32 k = 0; k < 16; ++k) {
      for (u32 i = 0; i < 16; ++i) put((k * 16 + i) * product.bytes, a(i, k));
      for (u32 j = 0; j < 16; ++j) put(4096 + (j * 16 + k) * product.bytes, b(k, j));
    }
    test.wave.set_pair(2, TestWave::kData);
    test.wave.set_pair(4, TestWave::kData + 4096);
    // Which column and which half of its rows a lane loads, so that lanes get eight k's in order.
    test.set(1, [&](u32 lane) {
      if (lane >= 32) return 0x7fffffffu;  // no address
      const u32 k = product.bytes == 2 ? 8 * (lane / 16) + lane % 8 : 4 * (lane / 8) + lane % 4;
      const u32 i = product.bytes == 2 ? 8 * (lane / 8 % 2) : 8 * (lane / 4 % 2);
      return (k * 16 + i) * product.bytes;
    });
    test.set(2, [&](u32 lane) {
      const u32 k = 8 * (lane % 32 / 16) + 4 * (lane / 32);
      return (lane % 16 * 16 + k) * product.bytes;
    });
    for (u32 r = 0; r < 8; ++r) test.set_all(16 + r, 0);
    const Exit exit =
        test.run(std::string(product.load_a) + "\n" + product.load_b + "\n" + product.multiply);
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
    for (u32 i = 0; i < 16; ++i) {
      for (u32 j = 0; j < 16; ++j) {
        int sum = 0;
        for (u32 k = 0; k < 16; ++k) sum += a(i, k) * b(k, j);
        const u32 in_half = i % 8;
        const u32 lane = j + 16 * (i / 8) + (product.lanes == 64 ? 32 * (in_half / 4) : 0);
        const u32 r = product.lanes == 64 ? in_half % 4 : in_half;
        EXPECT_EQ(std::bit_cast<f32>(test.get(16 + r)[lane]), static_cast<f32>(sum))
            << product.load_a << " " << i << " " << j;
      }
    }
  }
}

TEST(TransposedLoads, FromMemoryNeedAllLanesOrNone) {
  for (u32 lanes : {32u, 64u}) {
    TestWave test("gfx1201", lanes);
    test.wave.set_pair(2, TestWave::kData);
    test.set(1, [](u32 lane) { return 8 * lane; });
    test.set_all(4, 77);
    test.wave.set_mask(kExecLo, 0);
    const std::string load =
        lanes == 32 ? "global_load_tr_b64 v[4:5], v1, s[2:3]" : "global_load_tr_b64 v4, v1, s[2:3]";
    EXPECT_EQ(test.run(load).kind, Exit::Kind::EndProgram);
    EXPECT_EQ(test.get(4)[3], 77u);
    test.wave.set_mask(kExecLo, 0x7fffffff);
    const Exit exit = test.run(load);
    EXPECT_EQ(exit.kind, Exit::Kind::Illegal);
    EXPECT_NE(exit.name.find("with exec 0x7fffffff, where all"), std::string::npos) << exit.name;
  }
}

TEST(TransposedLoads, FromMemoryFaultBeforeTheyWrite) {
  TestWave test("gfx1201", 32);
  test.wave.set_pair(2, TestWave::kData);
  test.set(1, [](u32 lane) { return lane == 9 ? TestWave::kDataBytes - 8 : 16 * lane; });
  for (u32 r = 0; r < 4; ++r) test.set_all(4 + r, 77);
  const Exit exit = test.run("global_load_tr_b128 v[4:7], v1, s[2:3]");
  EXPECT_EQ(exit.kind, Exit::Kind::Fault);
  EXPECT_EQ(exit.lane, 9u);
  EXPECT_EQ(exit.address, TestWave::kData + TestWave::kDataBytes);
  for (u32 r = 0; r < 4; ++r) EXPECT_EQ(test.get(4 + r)[0], 77u);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
