// Matrix instructions against a product computed here. Where elements go is said by the formulas
// that AMD's matrix instruction calculator prints
// (github.com/ROCm/amd_matrix_instruction_calculator,
// --detail-instruction), written down here a second time. All values are small integers, so that
// every order of additions gives the same sum.
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <random>

#include "tests/emulator/amd/isa/matrix/matrix_elements.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::At;
using testing::bits_of;
using testing::encode;
using testing::Kind;
using testing::TestWave;
using testing::vector_registers;

using Input = At (*)(u32 block, u32 i, u32 k);
using Result = At (*)(u32 block, u32 i, u32 j);

struct Case {
  const char* name;
  u32 m, k, blocks;
  Kind a, b, result;
  Input input;
  Result output;
  const char* modifiers = "";
  bool low_halves = false;  // 16-bit results are the low halves of registers
  u32 copies = 1;           // WMMA of gfx11: lanes in steps of 16 that hold the same
};

// Layouts of C and D.
At rows_32(u32 block, u32 i, u32 j) {
  return {(32 * (i / 4)) % 64 + j, 16 * block + 4 * (i / 8) + i % 4};
}
At rows_16(u32 block, u32 i, u32 j) { return {16 * (i / 4) + j, 4 * block + i % 4}; }
At rows_4(u32 block, u32 i, u32 j) { return {4 * block + j, i}; }
// Layouts of A and B: so many elements of k in a lane.
template <u32 kRows, u32 kPerLane>
At input(u32, u32 i, u32 k) {
  return {kRows * (k / kPerLane) + i, k % kPerLane};
}
template <u32 kRows>
At block_input(u32 block, u32 i, u32 k) {
  return {kRows * block + i, k};
}

using enum Kind;
const Case kMfma[] = {
    {"v_mfma_f32_32x32x1_2b_f32", 32, 1, 2, F32, F32, F32, block_input<32>, rows_32},
    {"v_mfma_f32_16x16x1_4b_f32", 16, 1, 4, F32, F32, F32, block_input<16>, rows_16},
    {"v_mfma_f32_4x4x1_16b_f32", 4, 1, 16, F32, F32, F32, block_input<4>, rows_4},
    {"v_mfma_f32_32x32x2_f32", 32, 2, 1, F32, F32, F32, input<32, 1>, rows_32},
    {"v_mfma_f32_16x16x4_f32", 16, 4, 1, F32, F32, F32, input<16, 1>, rows_16},
    {"v_mfma_f32_32x32x4_xf32", 32, 4, 1, F32, F32, F32, input<32, 2>, rows_32},
    {"v_mfma_f32_16x16x8_xf32", 16, 8, 1, F32, F32, F32, input<16, 2>, rows_16},
    {"v_mfma_f32_32x32x4_2b_f16", 32, 4, 2, F16, F16, F32, block_input<32>, rows_32},
    {"v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, F16, F16, F32, block_input<16>, rows_16},
    {"v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, F16, F16, F32, block_input<4>, rows_4},
    {"v_mfma_f32_32x32x8_f16", 32, 8, 1, F16, F16, F32, input<32, 4>, rows_32},
    {"v_mfma_f32_16x16x16_f16", 16, 16, 1, F16, F16, F32, input<16, 4>, rows_16},
    {"v_mfma_f32_16x16x4_4b_bf16", 16, 4, 4, Bf16, Bf16, F32, block_input<16>, rows_16},
    {"v_mfma_f32_32x32x8_bf16", 32, 8, 1, Bf16, Bf16, F32, input<32, 4>, rows_32},
    {"v_mfma_f32_16x16x16_bf16", 16, 16, 1, Bf16, Bf16, F32, input<16, 4>, rows_16},
    {"v_mfma_i32_32x32x4_2b_i8", 32, 4, 2, I8, I8, I32, block_input<32>, rows_32},
    {"v_mfma_i32_4x4x4_16b_i8", 4, 4, 16, I8, I8, I32, block_input<4>, rows_4},
    {"v_mfma_i32_32x32x16_i8", 32, 16, 1, I8, I8, I32, input<32, 8>, rows_32},
    {"v_mfma_i32_16x16x32_i8", 16, 32, 1, I8, I8, I32, input<16, 8>, rows_16},
    {"v_mfma_f32_32x32x16_fp8_bf8", 32, 16, 1, Fp8Fnuz, Bf8Fnuz, F32, input<32, 8>, rows_32},
    {"v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 1, Fp8Fnuz, Fp8Fnuz, F32, input<16, 8>, rows_16},
    {"v_mfma_f32_16x16x32_bf8_fp8", 16, 32, 1, Bf8Fnuz, Fp8Fnuz, F32, input<16, 8>, rows_16},
    {"v_mfma_f64_16x16x4_f64", 16, 4, 1, F64, F64, F64, input<16, 1>,
     [](u32, u32 i, u32 j) { return At{16 * (i % 4) + j, i / 4}; }},
    {"v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, F64, F64, F64,
     [](u32 block, u32 i, u32 k) { return At{4 * block + 16 * k + i, 0}; },
     [](u32 block, u32 i, u32 j) { return At{16 * (i % 4) + 4 * block + j, 0}; }},
};

const Case kMfma950[] = {
    {"v_mfma_f32_32x32x16_f16", 32, 16, 1, F16, F16, F32, input<32, 8>, rows_32},
    {"v_mfma_f32_16x16x32_f16", 16, 32, 1, F16, F16, F32, input<16, 8>, rows_16},
    {"v_mfma_f32_32x32x16_bf16", 32, 16, 1, Bf16, Bf16, F32, input<32, 8>, rows_32},
    {"v_mfma_f32_16x16x32_bf16", 16, 32, 1, Bf16, Bf16, F32, input<16, 8>, rows_16},
    {"v_mfma_i32_32x32x32_i8", 32, 32, 1, I8, I8, I32, input<32, 16>, rows_32},
    {"v_mfma_i32_16x16x64_i8", 16, 64, 1, I8, I8, I32, input<16, 16>, rows_16},
    {"v_mfma_f32_16x16x32_fp8_bf8", 16, 32, 1, Fp8, Bf8, F32, input<16, 8>, rows_16},
};

const char* const kSigned = " neg_lo:[1,1,0]";
const Case kWmma11Wave32[] = {
    {"v_wmma_f32_16x16x16_f16", 16, 16, 1, F16, F16, F32, input<0, 16>,
     [](u32, u32 i, u32 j) { return At{(16 * i) % 32 + j, i / 2}; }, "", false, 2},
    {"v_wmma_f32_16x16x16_bf16", 16, 16, 1, Bf16, Bf16, F32, input<0, 16>,
     [](u32, u32 i, u32 j) { return At{(16 * i) % 32 + j, i / 2}; }, "", false, 2},
    {"v_wmma_f16_16x16x16_f16", 16, 16, 1, F16, F16, F16, input<0, 16>,
     [](u32, u32 i, u32 j) { return At{(16 * i) % 32 + j, i / 2}; }, "", true, 2},
    {"v_wmma_bf16_16x16x16_bf16", 16, 16, 1, Bf16, Bf16, Bf16, input<0, 16>,
     [](u32, u32 i, u32 j) { return At{(16 * i) % 32 + j, i / 2}; }, "", true, 2},
    {"v_wmma_i32_16x16x16_iu8", 16, 16, 1, I8, I8, I32, input<0, 16>,
     [](u32, u32 i, u32 j) { return At{(16 * i) % 32 + j, i / 2}; }, kSigned, false, 2},
    {"v_wmma_i32_16x16x16_iu4", 16, 16, 1, I4, I4, I32, input<0, 16>,
     [](u32, u32 i, u32 j) { return At{(16 * i) % 32 + j, i / 2}; }, kSigned, false, 2},
};
const Case kWmma11Wave64[] = {
    {"v_wmma_f32_16x16x16_f16", 16, 16, 1, F16, F16, F32, input<0, 16>,
     [](u32, u32 i, u32 j) { return At{(16 * i) % 64 + j, i / 4}; }, "", false, 4},
};

At half_words(u32, u32 i, u32 k) {  // gfx12, 16-bit elements, waves of 32
  return {16 * (k / 4 % 2) + i, 2 * (2 * (k / 8) + k / 2 % 2) + k % 2};
}
At result_12(u32, u32 i, u32 j) { return {16 * (i / 8) + j, i % 8}; }
const Case kWmma12Wave32[] = {
    {"v_wmma_f32_16x16x16_f16", 16, 16, 1, F16, F16, F32, half_words, result_12},
    {"v_wmma_f32_16x16x16_bf16", 16, 16, 1, Bf16, Bf16, F32, half_words, result_12},
    {"v_wmma_f16_16x16x16_f16", 16, 16, 1, F16, F16, F16, half_words, result_12},
    {"v_wmma_bf16_16x16x16_bf16", 16, 16, 1, Bf16, Bf16, Bf16, half_words, result_12},
    {"v_wmma_i32_16x16x16_iu8", 16, 16, 1, I8, I8, I32, input<16, 8>, result_12, kSigned},
    {"v_wmma_i32_16x16x16_iu4", 16, 16, 1, I4, I4, I32, input<16, 8>, result_12, kSigned},
    {"v_wmma_i32_16x16x32_iu4", 16, 32, 1, I4, I4, I32, input<16, 16>, result_12, kSigned},
    {"v_wmma_f32_16x16x16_fp8_fp8", 16, 16, 1, Fp8, Fp8, F32, input<16, 8>, result_12},
    {"v_wmma_f32_16x16x16_bf8_fp8", 16, 16, 1, Bf8, Fp8, F32, input<16, 8>, result_12},
};
At result_12_64(u32, u32 i, u32 j) { return {32 * (i / 4 % 2) + 16 * (i / 8) + j, i % 4}; }
const Case kWmma12Wave64[] = {
    {"v_wmma_f32_16x16x16_f16", 16, 16, 1, F16, F16, F32,
     [](u32, u32 i, u32 k) {
       return At{32 * (k / 8 % 2) + 16 * (k / 4 % 2) + i, 2 * (k / 2 % 2) + k % 2};
     },
     result_12_64},
    {"v_wmma_i32_16x16x16_iu8", 16, 16, 1, I8, I8, I32,
     [](u32, u32 i, u32 k) { return At{32 * (k / 4 % 2) + 16 * (k / 8 % 2) + i, k % 4}; },
     result_12_64, kSigned},
    {"v_wmma_i32_16x16x32_iu4", 16, 32, 1, I4, I4, I32,
     [](u32, u32 i, u32 k) { return At{32 * (k / 8 % 2) + 16 * (k / 16 % 2) + i, k % 8}; },
     result_12_64, kSigned},
};

class MatrixTest {
 public:
  MatrixTest(TestWave& test, const Case& c) : test_(test), case_(c) {}

  void run() {
    const u32 m = case_.m, k = case_.k;
    fill(kA, case_.blocks * m * k, a_);
    fill(kB, case_.blocks * m * k, b_);
    fill(kC, case_.blocks * m * m, c_);
    for (u32 r = 0; r < 128; ++r) test_.set_all(r, 0);
    for (u32 block = 0; block < case_.blocks; ++block) {
      for (u32 i = 0; i < m; ++i) {
        for (u32 p = 0; p < k; ++p) {
          put(kA, case_.input(block, i, p), encode(a(block, i, p), case_.a), case_.a);
          put(kB, case_.input(block, i, p), encode(b(block, p, i), case_.b), case_.b);
        }
        for (u32 j = 0; j < m; ++j) {
          put(kC, case_.output(block, i, j), encode(c(block, i, j), case_.result), case_.result);
        }
      }
    }
    const u32 inputs = count(case_.input, k, case_.a), inputs_b = count(case_.input, k, case_.b);
    const u32 results = count(case_.output, m, case_.result);
    const Exit exit =
        test_.run(std::string(case_.name) + " " + vector_registers(kD, results) + ", " +
                  vector_registers(kA, inputs) + ", " + vector_registers(kB, inputs_b) + ", " +
                  vector_registers(kC, results) + case_.modifiers);
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
    check();
  }

 private:
  static constexpr u32 kA = 0, kB = 16, kC = 64, kD = 128;

  int a(u32 block, u32 i, u32 p) const { return a_[(block * case_.m + i) * case_.k + p]; }
  int b(u32 block, u32 p, u32 j) const { return b_[(block * case_.k + p) * case_.m + j]; }
  int c(u32 block, u32 i, u32 j) const { return c_[(block * case_.m + i) * case_.m + j]; }

  void fill(u32, u32 elements, std::vector<int>& values) {
    values.resize(elements);
    for (int& value : values) value = static_cast<int>(random_() % 7) - 3;
  }
  // Registers of a matrix: the largest element of any lane decides.
  u32 count(At (*place)(u32, u32, u32), u32 columns, Kind kind) const {
    u32 elements = 0;
    for (u32 block = 0; block < case_.blocks; ++block) {
      for (u32 i = 0; i < case_.m; ++i) {
        for (u32 j = 0; j < columns; ++j) {
          elements = std::max(elements, place(block, i, j).element + 1);
        }
      }
    }
    if (case_.low_halves && kind == case_.result && place == case_.output) return elements;
    return std::max(1u, elements * bits_of(kind) / 32);
  }
  void put(u32 base, At at, u64 bits, Kind kind) {
    const u32 width = base == kC && case_.low_halves ? 32 : bits_of(kind);
    for (u32 copy = 0; copy < (base == kC ? 1 : case_.copies); ++copy) {
      put_element(test_, base, {at.lane + copy * 16, at.element}, bits, width);
    }
  }
  double get(At at) {
    const u32 width = case_.low_halves ? 32 : bits_of(case_.result);
    return get_element(test_, kD, at, case_.result, width);
  }
  void check() {
    for (u32 block = 0; block < case_.blocks; ++block) {
      for (u32 i = 0; i < case_.m; ++i) {
        for (u32 j = 0; j < case_.m; ++j) {
          int expected = c(block, i, j);
          for (u32 p = 0; p < case_.k; ++p) expected += a(block, i, p) * b(block, p, j);
          ASSERT_EQ(get(case_.output(block, i, j)), expected)
              << case_.name << " block " << block << " row " << i << " column " << j;
        }
      }
    }
  }

  TestWave& test_;
  const Case& case_;
  std::mt19937 random_{7};
  std::vector<int> a_, b_, c_;
};

template <usize n>
void run_all(const char* chip, u32 lanes, const Case (&cases)[n]) {
  TestWave test(chip, lanes);
  for (const Case& c : cases) MatrixTest(test, c).run();
}

TEST(Matrix, Mfma) { run_all("gfx942", 64, kMfma); }
TEST(Matrix, MfmaOfGfx950) { run_all("gfx950", 64, kMfma950); }
TEST(Matrix, WmmaOfGfx11InWavesOf32) { run_all("gfx1100", 32, kWmma11Wave32); }
TEST(Matrix, WmmaOfGfx11InWavesOf64) { run_all("gfx1100", 64, kWmma11Wave64); }
TEST(Matrix, WmmaOfGfx12InWavesOf32) { run_all("gfx1201", 32, kWmma12Wave32); }
TEST(Matrix, WmmaOfGfx12InWavesOf64) { run_all("gfx1201", 64, kWmma12Wave64); }

// Accumulation registers hold any operand; C may be a constant.
TEST(Matrix, TakesAccumulationRegistersAndConstants) {
  TestWave test("gfx942", 64);
  test.set_all(256, 0x40000000);  // a0: 2.0
  test.set_all(1, 0x40400000);    // v1: 3.0
  const Exit exit = test.run("v_mfma_f32_16x16x4_f32 a[4:7], a0, v1, 1.0");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  for (u32 r = 0; r < 4; ++r) {
    for (u32 lane = 0; lane < 64; ++lane) {
      EXPECT_EQ(test.get(256 + 4 + r)[lane], std::bit_cast<u32>(1.0f + 4 * 2.0f * 3.0f));
    }
  }
}

TEST(Matrix, MovesAccumulationRegisters) {
  TestWave test("gfx942", 64);
  test.set(2, [](u32 lane) { return 100 + lane; });
  test.wave.set_mask(kExecLo, 0xff00);
  const Exit exit = test.run(R"(
    v_accvgpr_write_b32 a1, v2
    v_accvgpr_mov_b32 a3, a1
    v_accvgpr_read_b32 v4, a3
    v_accvgpr_write_b32 a5, 1.0
  )");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  for (u32 lane = 0; lane < 64; ++lane) {
    const bool active = lane >= 8 && lane < 16;
    EXPECT_EQ(test.get(4)[lane], active ? 100 + lane : 0);
    EXPECT_EQ(test.get(256 + 1)[lane], active ? 100 + lane : 0);
    EXPECT_EQ(test.get(256 + 5)[lane], active ? 0x3f800000u : 0);
  }
}

// CBSZ and ABID: 2^cbsz blocks multiply the same block of A. BLGP: other lanes of B.
TEST(Matrix, Broadcasts) {
  TestWave test("gfx942", 64);
  const auto f = [](u32 value) { return std::bit_cast<u32>(static_cast<float>(value)); };
  test.set(0,
           [&](u32 lane) { return f(lane / 4 + 1); });  // A: one more in each block of four lanes
  test.set_all(1, f(1));
  Exit exit = test.run("v_mfma_f32_4x4x1_16b_f32 v[4:7], v0, v1, 0 cbsz:2 abid:1");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  for (u32 lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(test.get(4)[lane], f(lane / 16 * 4 + 1 + 1)) << lane;
  }
  test.set_all(0, f(1));
  test.set(1, [&](u32 lane) { return f(lane + 1); });
  exit = test.run("v_mfma_f32_4x4x1_16b_f32 v[4:7], v0, v1, 0 blgp:2");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  for (u32 lane = 0; lane < 64; ++lane) EXPECT_EQ(test.get(4)[lane], f(32 + lane % 32 + 1));
}

TEST(Matrix, NegatesAndClamps) {
  TestWave test("gfx1100", 32);
  for (u32 r = 0; r < 16; ++r) test.set_all(r, 0x3c003c00);  // A and B: ones
  for (u32 r = 16; r < 24; ++r) test.set_all(r, std::bit_cast<u32>(-2.0f));
  // Even elements of A are negated: the products cancel. C's absolute value is negated.
  Exit exit = test.run(
      "v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[8:15], v[16:23] neg_lo:[1,0,1] neg_hi:[0,0,1]");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  for (u32 lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(test.get(24)[lane], std::bit_cast<u32>(-2.0f));
  }
  for (u32 r = 0; r < 8; ++r) test.set_all(r, 0x7f7f7f7f);  // 127 with a sign
  for (u32 r = 16; r < 24; ++r) test.set_all(r, 0x7fffff00);
  exit = test.run("v_wmma_i32_16x16x16_iu8 v[24:31], v[0:3], v[4:7], v[16:23] clamp");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  EXPECT_EQ(test.get(31)[5], 0x7fffffffu);
  exit = test.run("v_wmma_i32_16x16x16_iu8 v[24:31], v[0:3], v[4:7], v[16:23]");
  EXPECT_EQ(test.get(31)[5], 0x7fffff00u + 16 * 127 * 127);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
