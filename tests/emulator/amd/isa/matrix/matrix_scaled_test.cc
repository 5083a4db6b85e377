// V_MFMA_F32_*_F8F6F4 and V_MFMA_SCALE_* of gfx950, and what small floats mean to matrix
// instructions. Places: elements of 8 bits are in two pieces of 16 per lane, half of k apart, and
// the scale of 32 neighbours in k is in lane rows * (k / 32) + row, as FPSan found by experiments
// on an MI350 (amdgcn_mfma.hpp); smaller elements are 32 neighbours per lane.
#include <gtest/gtest.h>

#include <cmath>
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

constexpr u32 kA = 0, kB = 8, kC = 16, kD = 32, kScaleA = 60, kScaleB = 61;
constexpr Kind kKinds[] = {Fp8, Bf8, Fp6, Bf6, Fp4};  // by CBSZ's and BLGP's code

At input(Kind kind, u32 rows, u32 row, u32 k) {
  const u32 groups = 64 / rows;
  if (bits_of(kind) != 8) return {rows * (k / 32) + row, k % 32};
  return {rows * (k / 16 % groups) + row, k / (16 * groups) * 16 + k % 16};
}
At output(u32 rows, u32 i, u32 j) {
  if (rows == 16) return {16 * (i / 4) + j, i % 4};
  return {(32 * (i / 4)) % 64 + j, 4 * (i / 8) + i % 4};
}

struct Factors {
  std::vector<int> a, b, c;  // a[i][k], b[j][k], c[i][j]
};

std::string operands(u32 m, u32 cbsz, u32 blgp) {
  const u32 results = m * m / 64;
  return vector_registers(kD, results) + ", " + vector_registers(kA, bits_of(kKinds[cbsz])) + ", " +
         vector_registers(kB, bits_of(kKinds[blgp])) + ", " + vector_registers(kC, results);
}

Factors fill(TestWave& test, u32 m, u32 k, Kind a, Kind b, std::mt19937& random) {
  const auto small = [&] { return static_cast<int>(random() % 7) - 3; };
  for (u32 r = 0; r < 64; ++r) test.set_all(r, 0);
  Factors factors{std::vector<int>(m * k), std::vector<int>(m * k), std::vector<int>(m * m)};
  for (u32 i = 0; i < m; ++i) {
    for (u32 p = 0; p < k; ++p) {
      const int left = factors.a[i * k + p] = small(), right = factors.b[i * k + p] = small();
      put_element(test, kA, input(a, m, i, p), encode(left, a), bits_of(a));
      put_element(test, kB, input(b, m, i, p), encode(right, b), bits_of(b));
    }
    for (u32 j = 0; j < m; ++j) {
      const int sum = factors.c[i * m + j] = small();
      put_element(test, kC, output(m, i, j), encode(sum, F32), 32);
    }
  }
  return factors;
}

void expect(TestWave& test, u32 m, u32 k, const Factors& f, const std::vector<int>& exponents_a,
            const std::vector<int>& exponents_b, const std::string& what) {
  for (u32 i = 0; i < m; ++i) {
    for (u32 j = 0; j < m; ++j) {
      double expected = f.c[i * m + j];
      for (u32 p = 0; p < k; ++p) {
        const int exponent = exponents_a[p / 32 * m + i] + exponents_b[p / 32 * m + j];
        expected += std::ldexp(f.a[i * k + p] * f.b[j * k + p], exponent);
      }
      ASSERT_EQ(get_element(test, kD, output(m, i, j), F32, 32), expected)
          << what << " row " << i << " column " << j;
    }
  }
}

TEST(ScaledMatrix, MultipliesEveryPairOfFormats) {
  TestWave test("gfx950", 64);
  std::mt19937 random(3);
  for (const auto& [name, m, k] : {std::tuple("v_mfma_f32_16x16x128_f8f6f4 ", 16u, 128u),
                                   std::tuple("v_mfma_f32_32x32x64_f8f6f4 ", 32u, 64u)}) {
    for (u32 cbsz = 0; cbsz < 5; ++cbsz) {
      for (u32 blgp = 0; blgp < 5; ++blgp) {
        const Factors factors = fill(test, m, k, kKinds[cbsz], kKinds[blgp], random);
        const std::string text = name + operands(m, cbsz, blgp) + " cbsz:" + std::to_string(cbsz) +
                                 " blgp:" + std::to_string(blgp);
        const Exit exit = test.run(text);
        ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << text << ": " << exit.name;
        const std::vector<int> ones(64, 0);
        expect(test, m, k, factors, ones, ones, text);
      }
    }
  }
}

// Each 32 neighbours have a scale of their own: a byte, which op_sel and op_sel_hi choose.
TEST(ScaledMatrix, ScalesBlocks) {
  TestWave test("gfx950", 64);
  std::mt19937 random(5);
  for (const auto& [name, m, k] : {std::tuple("v_mfma_scale_f32_16x16x128_f8f6f4 ", 16u, 128u),
                                   std::tuple("v_mfma_scale_f32_32x32x64_f8f6f4 ", 32u, 64u)}) {
    for (u32 step = 0; step < 20; ++step) {
      const u32 cbsz = step % 5, blgp = (step / 5 + step) % 5;
      const Factors factors = fill(test, m, k, kKinds[cbsz], kKinds[blgp], random);
      const u32 byte_a = step % 4, byte_b = (step + step / 4) % 4;
      std::vector<int> exponents_a(64), exponents_b(64);
      for (u32 lane = 0; lane < 64; ++lane) {
        const u32 words[] = {static_cast<u32>(random()), static_cast<u32>(random())};
        exponents_a[lane] = static_cast<int>(random() % 7) - 3;
        exponents_b[lane] = static_cast<int>(random() % 7) - 3;
        const auto with = [](u32 word, u32 byte, int exponent) {
          return (word & ~(255u << 8 * byte)) | static_cast<u32>(exponent + 127) << 8 * byte;
        };
        test.wave.row(kScaleA)[lane] = with(words[0], byte_a, exponents_a[lane]);
        test.wave.row(kScaleB)[lane] = with(words[1], byte_b, exponents_b[lane]);
      }
      const auto bits = [&](u32 bit) {
        return std::to_string(byte_a >> bit & 1) + "," + std::to_string(byte_b >> bit & 1);
      };
      const std::string text = name + operands(m, cbsz, blgp) + ", v60, v61 op_sel:[" + bits(0) +
                               ",0] op_sel_hi:[" + bits(1) + ",0] cbsz:" + std::to_string(cbsz) +
                               " blgp:" + std::to_string(blgp);
      const Exit exit = test.run(text);
      ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << text << ": " << exit.name;
      expect(test, m, k, factors, exponents_a, exponents_b, text);
    }
  }
}

// Exponents of scales add: neither factor alone would be an f32. A scale of 255 is no number.
TEST(ScaledMatrix, ScalesBeyondAnF32) {
  TestWave test("gfx950", 64);
  for (u32 r = 0; r < 64; ++r) test.set_all(r, 0);
  for (u32 r = 0; r < 8; ++r) test.set_all(kA + r, 0x7e7e7e7e);  // 448 everywhere
  for (u32 r = 0; r < 8; ++r) test.set_all(kB + r, 0x38383838);  // 1
  test.set_all(kScaleA, 254);                                    // 2^127
  test.set_all(kScaleB, 0);                                      // 2^-127
  const std::string text = "v_mfma_scale_f32_16x16x128_f8f6f4 " + operands(16, 0, 0) + ", v60, v61";
  ASSERT_EQ(test.run(text).kind, Exit::Kind::EndProgram);
  EXPECT_EQ(test.get(kD)[0], std::bit_cast<u32>(448.0f * 128));
  test.wave.row(kScaleA)[3] = 255;  // row 3, the first block
  ASSERT_EQ(test.run(text).kind, Exit::Kind::EndProgram);
  EXPECT_TRUE(std::isnan(std::bit_cast<f32>(test.get(kD + 3)[5])));
  EXPECT_EQ(test.get(kD + 2)[5], std::bit_cast<u32>(448.0f * 128));
}

// The value of every code of the small formats. [OCP "Microscaling Formats" 1.0, tables 2 to 5]
TEST(ScaledMatrix, KnowsEveryCodeOfSmallFloats) {
  std::vector<double> fp4{0, 0.5, 1, 1.5, 2, 3, 4, 6}, fp6, bf6;
  for (double step : {0.125, 0.125, 0.25, 0.5}) {
    const double first = fp6.empty() ? 0 : step == fp6[1] ? 1 : 8 * step;
    for (u32 i = 0; i < 8; ++i) fp6.push_back(first + i * step);
  }
  bf6 = {0,     0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375, 0.5, 0.625, 0.75,
         0.875, 1,      1.25,  1.5,    1.75, 2,      2.5,   3,      3.5, 4,     5,
         6,     7,      8,     10,     12,   14,     16,    20,     24,  28};
  ASSERT_EQ(fp6.back(), 7.5);
  TestWave test("gfx950", 64);
  const std::vector<double>* const tables[] = {&fp6, &bf6, &fp4};
  for (u32 format = 2; format < 5; ++format) {
    const std::vector<double>& values = *tables[format - 2];
    const Kind kind = kKinds[format];
    for (u32 code = 0; code < 2 * values.size(); ++code) {
      for (u32 r = 0; r < 64; ++r) test.set_all(r, 0);
      put_element(test, kA, input(kind, 16, 5, 77), code, bits_of(kind));
      put_element(test, kB, input(Fp8, 16, 9, 77), 0x38, 8);
      const Exit exit = test.run("v_mfma_f32_16x16x128_f8f6f4 " + operands(16, format, 0) +
                                 " cbsz:" + std::to_string(format));
      ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
      const double value = values[code % values.size()];
      EXPECT_EQ(get_element(test, kD, output(16, 5, 9), F32, 32),
                code < values.size() ? value : -value)
          << "format " << format << " code " << code;
    }
  }
}

// One product, in the element 0 of A and B: of f16's denormals, whatever MODE says, and of 8-bit
// codes that are no numbers. [CDNA3 ISA, "Matrix arithmetic": denormals are kept; OCP FP8]
struct Product {
  const char* chip;
  const char* instruction;
  u32 a, b, c, result;
};
TEST(ScaledMatrix, KeepsDenormalsAndWhatIsNoNumber) {
  constexpr u32 kNan = 0x7fc00000, kInfinity = 0x7f800000;
  const char* const f16 = "v_mfma_f32_16x16x16_f16 v[32:35], v[0:1], v[8:9], v[16:19]";
  const char* const f32 = "v_mfma_f32_16x16x4_f32 v[32:35], v0, v8, v[16:19]";
  const char* const bf8 = "v_mfma_f32_16x16x32_bf8_bf8 v[32:35], v[0:1], v[8:9], v[16:19]";
  const char* const fp8 = "v_mfma_f32_16x16x32_fp8_fp8 v[32:35], v[0:1], v[8:9], v[16:19]";
  const Product products[] = {
      {"gfx942", f16, 0x0001, 0x0001, 0, 0x27800000},  // 2^-24 squared
      {"gfx942", f16, 0x7bff, 0x7bff, 0, 0x4f7fc004},  // 65504 squared: exact in f32
      {"gfx942", f32, 0x00000001, 0x3f800000, 0, 0x00000001},
      {"gfx942", f32, 0x3f800000, 0x3f800000, 0x4b800000, 0x4b800000},  // 2^24 + 1: a tie, to even
      {"gfx942", f32, 0x40400000, 0x3f800000, 0x4b800000, 0x4b800002},  // 2^24 + 3: a tie, to even
      {"gfx942", fp8, 0x80, 0x40, 0, kNan},                             // fnuz: what would be -0
      {"gfx942", fp8, 0x7f, 0x40, 0, 0x43700000},                       // 240 is the largest
      {"gfx942", bf8, 0x7c, 0x40, 0, 0x47000000},                       // no infinity: 32768
      {"gfx950", fp8, 0x80, 0x38, 0, 0},                                // OCP: a zero
      {"gfx950", fp8, 0x7f, 0x38, 0, kNan},
      {"gfx950", bf8, 0x7c, 0x3c, 0, kInfinity},
      {"gfx950", bf8, 0x01, 0x3c, 0, 0x37800000},  // 2^-16
  };
  for (const Product& product : products) {
    TestWave test(product.chip, 64);
    test.wave.set_mode(0x03);  // flush all denormals, round towards zero
    test.wave.row(0)[0] = product.a;
    test.wave.row(8)[0] = product.b;
    test.wave.row(16)[0] = product.c;
    const Exit exit = test.run(product.instruction);
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
    const u32 result = test.get(32)[0];
    if (product.result == kNan) {
      EXPECT_GT(result & 0x7fffffff, kInfinity) << product.instruction;
    } else {
      EXPECT_EQ(result, product.result) << product.chip << " " << product.instruction << " of "
                                        << std::hex << product.a << " and " << product.b;
    }
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
