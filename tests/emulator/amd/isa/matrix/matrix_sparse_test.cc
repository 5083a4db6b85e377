// Matrix instructions with a sparse A (SMFMAC, SWMMAC) against a product computed here. For gfx942
// and gfx12, places are those that AMD's matrix instruction calculator prints
// (github.com/ROCm/amd_matrix_instruction_calculator, --detail-instruction); for what only gfx950
// has, those that FPSan found by experiments on an MI350 (amdgcn_smfmac.hpp). Both are written down
// here as functions of the bits of k, not as the emulator has them. All values are small integers,
// so that every order of additions gives the same sum.
#include <gtest/gtest.h>

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
using enum testing::Kind;

// c counts the held elements of a row of A, two for each four of k; q counts fours of k.
struct SparseCase {
  const char* name;
  u32 m, k;
  Kind a, b, result;
  At (*a_at)(u32 i, u32 c);
  At (*index_at)(u32 i, u32 q);  // the lane, and which four bits
  At (*b_at)(u32 j, u32 k);
  At (*output)(u32 i, u32 j);
  u32 sets = 1;  // parts of the index register
  const char* modifiers = "";
};

At rows_32(u32 i, u32 j) { return {(32 * (i / 4)) % 64 + j, 4 * (i / 8) + i % 4}; }
At rows_16(u32 i, u32 j) { return {16 * (i / 4) + j, i % 4}; }

// gfx942: so many held elements in a lane of A, twice as many elements in one of B.
template <u32 m, u32 held>
At a_942(u32 i, u32 c) {
  return {m * (c / held) + i, c % held};
}
template <u32 m, u32 held>
At index_942(u32 i, u32 q) {
  return {m * (2 * q / held) + i, q % (held / 2)};
}
template <u32 m, u32 held>
At b_942(u32 j, u32 k) {
  return {m * (k / (2 * held)) + j, k % (2 * held)};
}

const SparseCase kGfx942[] = {
    {"v_smfmac_f32_16x16x32_f16", 16, 32, F16, F16, F32, a_942<16, 4>, index_942<16, 4>,
     b_942<16, 4>, rows_16, 4},
    {"v_smfmac_f32_32x32x16_f16", 32, 16, F16, F16, F32, a_942<32, 4>, index_942<32, 4>,
     b_942<32, 4>, rows_32, 4},
    {"v_smfmac_f32_16x16x32_bf16", 16, 32, Bf16, Bf16, F32, a_942<16, 4>, index_942<16, 4>,
     b_942<16, 4>, rows_16, 4},
    {"v_smfmac_f32_32x32x16_bf16", 32, 16, Bf16, Bf16, F32, a_942<32, 4>, index_942<32, 4>,
     b_942<32, 4>, rows_32, 4},
    {"v_smfmac_i32_16x16x64_i8", 16, 64, I8, I8, I32, a_942<16, 8>, index_942<16, 8>, b_942<16, 8>,
     rows_16, 2},
    {"v_smfmac_i32_32x32x32_i8", 32, 32, I8, I8, I32, a_942<32, 8>, index_942<32, 8>, b_942<32, 8>,
     rows_32, 2},
    {"v_smfmac_f32_16x16x64_fp8_bf8", 16, 64, Fp8Fnuz, Bf8Fnuz, F32, a_942<16, 8>, index_942<16, 8>,
     b_942<16, 8>, rows_16, 2},
    {"v_smfmac_f32_16x16x64_bf8_bf8", 16, 64, Bf8Fnuz, Bf8Fnuz, F32, a_942<16, 8>, index_942<16, 8>,
     b_942<16, 8>, rows_16, 2},
    {"v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, Bf8Fnuz, Fp8Fnuz, F32, a_942<32, 8>, index_942<32, 8>,
     b_942<32, 8>, rows_32, 2},
    {"v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, Fp8Fnuz, Fp8Fnuz, F32, a_942<32, 8>, index_942<32, 8>,
     b_942<32, 8>, rows_32, 2},
};

// gfx950, 16-bit elements: A in order, B in pieces of 8.
At b_950_16(u32 j, u32 k) { return {k / 8 % 4 * 16 + j, 8 * (k / 32) + k % 8}; }
At b_950_32(u32 j, u32 k) { return {k / 8 % 2 * 32 + j, 8 * (k / 16) + k % 8}; }
// 8-bit elements: the same pieces of B; the bits of c are exchanged in A.
At a_950_16_bytes(u32 i, u32 c) {
  const u32 lanes = 2 * (c >> 5 & 1) + (c >> 3 & 1), word = 2 * (c >> 2 & 1) + (c >> 4 & 1);
  return {16 * lanes + i, 4 * word + c % 4};
}
At index_950_16_bytes(u32 i, u32 q) {
  return {16 * (2 * (q / 16) + q / 4 % 2) + i, 2 * (q / 8 % 2) + 4 * (q % 4 / 2) + q % 2};
}
At a_950_32_bytes(u32 i, u32 c) {
  return {32 * (c >> 4 & 1) + i, 4 * (2 * (c >> 2 & 1) + (c >> 3 & 1)) + c % 4};
}
At index_950_32_bytes(u32 i, u32 q) {
  return {32 * (q / 8) + i, q % 2 + 2 * (q / 4 % 2) + 4 * (q / 2 % 2)};
}

const SparseCase kGfx950[] = {
    {"v_smfmac_f32_16x16x64_f16", 16, 64, F16, F16, F32, a_942<16, 8>, index_942<16, 8>, b_950_16,
     rows_16, 2},
    {"v_smfmac_f32_16x16x64_bf16", 16, 64, Bf16, Bf16, F32, a_942<16, 8>, index_942<16, 8>,
     b_950_16, rows_16, 2},
    {"v_smfmac_f32_32x32x32_f16", 32, 32, F16, F16, F32, a_942<32, 8>, index_942<32, 8>, b_950_32,
     rows_32, 2},
    {"v_smfmac_f32_32x32x32_bf16", 32, 32, Bf16, Bf16, F32, a_942<32, 8>, index_942<32, 8>,
     b_950_32, rows_32, 2},
    {"v_smfmac_i32_16x16x128_i8", 16, 128, I8, I8, I32, a_950_16_bytes, index_950_16_bytes,
     b_950_16, rows_16},
    {"v_smfmac_i32_32x32x64_i8", 32, 64, I8, I8, I32, a_950_32_bytes, index_950_32_bytes, b_950_32,
     rows_32},
    {"v_smfmac_f32_16x16x128_fp8_bf8", 16, 128, Fp8, Bf8, F32, a_950_16_bytes, index_950_16_bytes,
     b_950_16, rows_16},
    {"v_smfmac_f32_16x16x128_bf8_bf8", 16, 128, Bf8, Bf8, F32, a_950_16_bytes, index_950_16_bytes,
     b_950_16, rows_16},
    {"v_smfmac_f32_32x32x64_bf8_fp8", 32, 64, Bf8, Fp8, F32, a_950_32_bytes, index_950_32_bytes,
     b_950_32, rows_32},
    {"v_smfmac_f32_32x32x64_fp8_fp8", 32, 64, Fp8, Fp8, F32, a_950_32_bytes, index_950_32_bytes,
     b_950_32, rows_32},
    {"v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, Fp8, Fp8, F32, a_942<16, 8>, index_942<16, 8>,
     b_942<16, 8>, rows_16, 2},
};

// gfx12. The calculator's equations in k, with k = 2c in A and k = 4q in the index register.
At result_12(u32 i, u32 j) { return {16 * (i / 8) + j, i % 8}; }
At result_12_64(u32 i, u32 j) { return {32 * (i / 4 % 2) + 16 * (i / 8) + j, i % 4}; }
// Waves of 32.
At a_12_halves(u32 i, u32 c) {
  const u32 k = 2 * c;
  return {16 * (k / 8 % 2) + i, 2 * (2 * (k / 16) + k / 4 % 2) + c % 2};
}
At index_12_halves(u32 i, u32 q) {
  const u32 k = 4 * q;
  return {16 * (k / 8 % 2) + i, 2 * (k / 16) + k / 4 % 2};
}
At b_12_halves(u32 j, u32 k) {
  return {16 * (k / 8 % 2) + j, 2 * (4 * (k / 16) + k / 2 % 4) + k % 2};
}
At a_12_32(u32 i, u32 c) { return {16 * (c / 8) + i, c % 8}; }
At index_12_32(u32 i, u32 q) { return {16 * (q / 4) + i, q % 4}; }
At b_12_32(u32 j, u32 k) { return {16 * (k / 16) + j, k % 16}; }
At a_12_nibbles(u32 i, u32 c) { return {16 * (c / 16) + i, c % 16}; }
At index_12_nibbles(u32 i, u32 q) { return {16 * (q / 8) + i, q % 8}; }
At b_12_nibbles(u32 j, u32 k) { return {16 * (k / 32) + j, k % 32}; }
const char* const kSigned = " neg_lo:[1,1,0]";

const SparseCase kGfx12Wave32[] = {
    {"v_swmmac_f32_16x16x32_f16", 16, 32, F16, F16, F32, a_12_halves, index_12_halves, b_12_halves,
     result_12, 2},
    {"v_swmmac_f32_16x16x32_bf16", 16, 32, Bf16, Bf16, F32, a_12_halves, index_12_halves,
     b_12_halves, result_12, 2},
    {"v_swmmac_f16_16x16x32_f16", 16, 32, F16, F16, F16, a_12_halves, index_12_halves, b_12_halves,
     result_12, 2},
    {"v_swmmac_bf16_16x16x32_bf16", 16, 32, Bf16, Bf16, Bf16, a_12_halves, index_12_halves,
     b_12_halves, result_12, 2},
    {"v_swmmac_i32_16x16x32_iu8", 16, 32, I8, I8, I32, a_12_32, index_12_32, b_12_32, result_12, 2,
     kSigned},
    {"v_swmmac_i32_16x16x32_iu4", 16, 32, I4, I4, I32, a_12_32, index_12_32, b_12_32, result_12, 2,
     kSigned},
    {"v_swmmac_i32_16x16x64_iu4", 16, 64, I4, I4, I32, a_12_nibbles, index_12_nibbles, b_12_nibbles,
     result_12, 1, kSigned},
    {"v_swmmac_f32_16x16x32_fp8_fp8", 16, 32, Fp8, Fp8, F32, a_12_32, index_12_32, b_12_32,
     result_12, 2},
    {"v_swmmac_f32_16x16x32_fp8_bf8", 16, 32, Fp8, Bf8, F32, a_12_32, index_12_32, b_12_32,
     result_12, 2},
    {"v_swmmac_f32_16x16x32_bf8_fp8", 16, 32, Bf8, Fp8, F32, a_12_32, index_12_32, b_12_32,
     result_12, 2},
    {"v_swmmac_f32_16x16x32_bf8_bf8", 16, 32, Bf8, Bf8, F32, a_12_32, index_12_32, b_12_32,
     result_12, 2},
};

// Waves of 64.
At a_12_64_halves(u32 i, u32 c) { return {16 * (c / 4) + i, c % 4}; }
At index_12_64_halves(u32 i, u32 q) { return {16 * (q / 2) + i, q % 2}; }
At b_12_64_halves(u32 j, u32 k) { return {16 * (k / 8) + j, k % 8}; }
At a_12_64_bytes(u32 i, u32 c) { return {32 * (c / 4 % 2) + 16 * (c / 8) + i, c % 4}; }
At index_12_64_bytes(u32 i, u32 q) { return {32 * (q / 2 % 2) + 16 * (q / 4) + i, q % 2}; }
At b_12_64_bytes(u32 j, u32 k) { return {32 * (k / 8 % 2) + 16 * (k / 16) + j, k % 8}; }
At a_12_64_nibbles(u32 i, u32 c) { return {32 * (c / 8 % 2) + 16 * (c / 16) + i, c % 8}; }
At index_12_64_nibbles(u32 i, u32 q) { return {32 * (q / 4 % 2) + 16 * (q / 8) + i, q % 4}; }
At b_12_64_nibbles(u32 j, u32 k) { return {32 * (k / 16 % 2) + 16 * (k / 32) + j, k % 16}; }

const SparseCase kGfx12Wave64[] = {
    {"v_swmmac_f32_16x16x32_f16", 16, 32, F16, F16, F32, a_12_64_halves, index_12_64_halves,
     b_12_64_halves, result_12_64, 4},
    {"v_swmmac_bf16_16x16x32_bf16", 16, 32, Bf16, Bf16, Bf16, a_12_64_halves, index_12_64_halves,
     b_12_64_halves, result_12_64, 4},
    {"v_swmmac_i32_16x16x32_iu8", 16, 32, I8, I8, I32, a_12_64_bytes, index_12_64_bytes,
     b_12_64_bytes, result_12_64, 4, kSigned},
    {"v_swmmac_f32_16x16x32_bf8_fp8", 16, 32, Bf8, Fp8, F32, a_12_64_bytes, index_12_64_bytes,
     b_12_64_bytes, result_12_64, 4},
    // A and the index fill half of the lanes.
    {"v_swmmac_i32_16x16x32_iu4", 16, 32, I4, I4, I32, a_12_32, index_12_32, b_12_64_bytes,
     result_12_64, 2, kSigned},
    {"v_swmmac_i32_16x16x64_iu4", 16, 64, I4, I4, I32, a_12_64_nibbles, index_12_64_nibbles,
     b_12_64_nibbles, result_12_64, 2, kSigned},
};

class SparseTest {
 public:
  SparseTest(TestWave& test, const SparseCase& c, u32 set) : test_(test), case_(c), set_(set) {}

  void run(const std::string& select) {
    const u32 m = case_.m, k = case_.k;
    for (u32 r = 0; r < 128; ++r) test_.set_all(r, 0);
    // The parts of the index register that are not chosen say something else.
    for (u32 lane = 0; lane < test_.wave.lanes; ++lane) test_.wave.row(kIndex)[lane] = random_();
    std::vector<int> a(m * k, 0), b(k * m), c(m * m);
    for (int& value : b) value = small();
    for (int& value : c) value = small();
    for (u32 i = 0; i < m; ++i) {
      for (u32 q = 0; q < k / 4; ++q) put_four(a, i, q);
      for (u32 p = 0; p < k; ++p) {
        const int value = b[p * m + i];
        put_element(test_, kB, case_.b_at(i, p), encode(value, case_.b), bits_of(case_.b));
      }
      for (u32 j = 0; j < m; ++j) {
        put_element(test_, kD, case_.output(i, j), encode(c[i * m + j], case_.result),
                    bits_of(case_.result));
      }
    }
    const u32 lanes = test_.wave.lanes, held = m * k / 2 / input_lanes();
    const Exit exit = test_.run(std::string(case_.name) + " " +
                                vector_registers(kD, m * m * bits_of(case_.result) / 32 / lanes) +
                                ", " + vector_registers(kA, held * bits_of(case_.a) / 32) + ", " +
                                vector_registers(kB, m * k * bits_of(case_.b) / 32 / lanes) +
                                ", v32" + select + case_.modifiers);
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << case_.name << ": " << exit.name;
    for (u32 i = 0; i < m; ++i) {
      for (u32 j = 0; j < m; ++j) {
        int expected = c[i * m + j];
        for (u32 p = 0; p < k; ++p) expected += a[i * k + p] * b[p * m + j];
        const At at = case_.output(i, j);
        ASSERT_EQ(get_element(test_, kD, at, case_.result, bits_of(case_.result)), expected)
            << case_.name << select << " row " << i << " column " << j;
      }
    }
  }

 private:
  static constexpr u32 kA = 0, kB = 16, kIndex = 32, kD = 64;

  int small() { return static_cast<int>(random_() % 7) - 3; }
  u32 input_lanes() const {  // those that hold A
    u32 last = 0;
    for (u32 c = 0; c < case_.k / 2; ++c) last = std::max(last, case_.a_at(case_.m - 1, c).lane);
    return last + 1;
  }
  // Two elements in a row's q-th four, at two places in order.
  void put_four(std::vector<int>& a, u32 i, u32 q) {
    const u32 first = random_() % 3, second = first + 1 + random_() % (3 - first);
    const u32 places[] = {first, second};
    for (u32 s = 0; s < 2; ++s) {
      const int value = small();
      a[i * case_.k + 4 * q + places[s]] = value;
      put_element(test_, kA, case_.a_at(i, 2 * q + s), encode(value, case_.a), bits_of(case_.a));
    }
    const At at = case_.index_at(i, q);
    const u32 shift = set_ * (32 / case_.sets) + 4 * at.element;
    u32& word = test_.wave.row(kIndex)[at.lane];
    word = (word & ~(15u << shift)) | (first | second << 2) << shift;
  }

  TestWave& test_;
  const SparseCase& case_;
  const u32 set_;
  std::mt19937 random_{11};
};

template <usize n>
void run_all(const char* chip, u32 lanes, const SparseCase (&cases)[n]) {
  TestWave test(chip, lanes);
  const std::string select = lanes == 64 && chip[3] == '9' ? " abid:" : " index_key:";
  for (const SparseCase& c : cases) {
    for (u32 set = 0; set < c.sets; ++set) {
      SparseTest(test, c, set).run(set == 0 ? "" : select + std::to_string(set));
    }
  }
}

TEST(SparseMatrix, SmfmacOfGfx942) { run_all("gfx942", 64, kGfx942); }
TEST(SparseMatrix, SmfmacOfGfx950) { run_all("gfx950", 64, kGfx950); }
TEST(SparseMatrix, SwmmacInWavesOf32) { run_all("gfx1201", 32, kGfx12Wave32); }
TEST(SparseMatrix, SwmmacInWavesOf64) { run_all("gfx1201", 64, kGfx12Wave64); }

// CBSZ takes the first part whatever ABID says; indices are never accumulation registers.
TEST(SparseMatrix, TakesAccumulationRegistersAndTheFirstPart) {
  TestWave test("gfx942", 64);
  test.set_all(256, 0x40003c00);  // a[0:1]: 1, 2, 1, 2
  test.set_all(257, 0x40003c00);
  for (u32 r = 8; r < 12; ++r) test.set_all(r, 0x3c003c00);
  test.set_all(11, 0x7c003c00);  // infinite where nothing of A stands
  test.set_all(20, 0x44);        // the first and the second of each four
  const Exit exit =
      test.run("v_smfmac_f32_16x16x32_f16 a[4:7], a[0:1], v[8:11], v20 cbsz:1 abid:3");
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  EXPECT_EQ(test.get(256 + 4)[17], std::bit_cast<u32>(8 * 3.0f));
}

TEST(SparseMatrix, ClampsAndReadsUnsigned) {
  TestWave test("gfx1201", 32);
  for (u32 r = 0; r < 2; ++r) test.set_all(r, 0xffffffff);  // 255, or -1
  for (u32 r = 4; r < 8; ++r) test.set_all(r, 0x01010101);
  for (u32 r = 16; r < 24; ++r) test.set_all(r, 0x7fffffff);
  test.set_all(12, 0x4444);
  const auto run = [&](const std::string& modifiers) {
    for (u32 r = 16; r < 24; ++r) test.set_all(r, 0x7fffffff);
    const Exit exit =
        test.run("v_swmmac_i32_16x16x32_iu8 v[16:23], v[0:1], v[4:7], v12" + modifiers);
    EXPECT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
    return test.get(20)[7];
  };
  EXPECT_EQ(run(" clamp"), 0x7fffffffu);
  EXPECT_EQ(run(""), 0x7fffffffu + 16 * 255);
  EXPECT_EQ(run(" neg_lo:[1,0,0]"), 0x7fffffffu - 16);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
