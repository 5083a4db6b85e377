// gfx950's conversions with a scale. Expected values come from lists of the formats' numbers: the
// nearest one is searched, and of two that are as near the even code taken; random bits choose
// between the two neighbours. [OCP "8-bit Floating Point Specification" 1.0; OCP "Microscaling
// Formats" 1.0, tables 2 to 5; CDNA4 ISA, 7.3]
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/emulator/amd/isa/matrix/matrix_elements.h"
#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;
using testing::vector_registers;

// A small format: its positive numbers by their codes; behind the last what rounds to it no more.
struct Format {
  const char* name;
  u32 bits;
  std::vector<double> numbers;
  double beyond;     // the number that the code after the last would be; 0: all are clamped
  u32 overflow = 0;  // what is beyond becomes it, without its sign
  u32 sign() const { return 1u << (bits - 1); }
  u32 last() const { return static_cast<u32>(numbers.size()) - 1; }
  double smallest_normal() const {
    usize i = 1;
    while (numbers[i + 1] - numbers[i] == numbers[1]) ++i;
    return numbers[i] / 2;
  }
};

// Numbers with so many bits behind the point, of exponents from `first` on.
std::vector<double> numbers_of(u32 mantissa_bits, int first, usize count) {
  std::vector<double> numbers;
  const double steps = 1 << mantissa_bits;
  for (double i = 0; i < steps; ++i) numbers.push_back(std::ldexp(i / steps, first));
  for (int exponent = first; numbers.size() < count; ++exponent) {
    for (double i = 0; i < steps; ++i) numbers.push_back(std::ldexp(1 + i / steps, exponent));
  }
  numbers.resize(count);
  return numbers;
}

const std::vector<Format>& formats() {
  static const std::vector<Format> all = {
      {"fp8", 8, numbers_of(3, -6, 0x7f), 480, 0x7f},
      {"bf8", 8, numbers_of(2, -14, 0x7c), 65536, 0x7c},
      {"fp6", 6, numbers_of(3, 0, 32), 0},
      {"bf6", 6, numbers_of(2, -2, 32), 0},
      {"fp4", 4, {0, 0.5, 1, 1.5, 2, 3, 4, 6}, 0},
  };
  return all;
}
const Format& format(std::string_view name) {
  for (const Format& f : formats()) {
    if (f.name == name) return f;
  }
  ADD_FAILURE() << name;
  return formats()[0];
}

// To nearest, ties to even codes. `held` as FP16_OVFL asks.
u32 nearest(const Format& f, double value, bool held = false) {
  const double size = std::fabs(value);
  const u32 sign = std::signbit(value) ? f.sign() : 0;
  if (std::isnan(value)) return sign | (f.sign() - 1);
  std::vector<double> numbers = f.numbers;
  if (f.beyond != 0) numbers.push_back(f.beyond);
  u32 best = std::isinf(value) ? static_cast<u32>(numbers.size()) - 1 : 0;
  for (u32 code = 1; code < numbers.size() && !std::isinf(value); ++code) {
    const double now = std::fabs(numbers[code] - size), before = std::fabs(numbers[best] - size);
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  if (best > f.last()) return sign | (held ? f.last() : f.overflow);
  return sign | best;
}

// The random bits are a fraction of the distance to the next number.
u32 chosen(const Format& f, double value, u32 random) {
  const double size = std::fabs(value);
  const u32 sign = std::signbit(value) ? f.sign() : 0;
  u32 code = 0;
  while (code < f.last() && f.numbers[code + 1] <= size) ++code;
  const double next = code < f.last() ? f.numbers[code + 1] : f.beyond;
  if (next == 0) return sign | code;
  if (size >= next) return sign | f.overflow;
  const double part = (size - f.numbers[code]) / (next - f.numbers[code]);
  if (part + std::ldexp(random, -32) >= 1) ++code;
  return sign | (code > f.last() ? f.overflow : code);
}

// ---- the wide formats ----

enum class Wide { F32, F16, Bf16 };
constexpr Wide kWide[] = {Wide::F32, Wide::F16, Wide::Bf16};
const char* name_of(Wide wide) {
  return wide == Wide::F32 ? "f32" : wide == Wide::F16 ? "f16" : "bf16";
}
u32 bits_of(Wide wide) { return wide == Wide::F32 ? 32 : 16; }

u32 encode(Wide wide, double value) {
  if (wide == Wide::F16) {
    const _Float16 half = static_cast<_Float16>(value);
    u16 bits = 0;
    std::memcpy(&bits, &half, 2);
    return bits;
  }
  const u32 bits = std::bit_cast<u32>(static_cast<float>(value));
  return wide == Wide::F32 ? bits : bits >> 16;  // the test's numbers have few digits
}
double decode(Wide wide, u32 bits) {
  if (wide == Wide::F16) {
    const u16 low = static_cast<u16>(bits);
    _Float16 half;
    std::memcpy(&half, &low, 2);
    return static_cast<double>(half);
  }
  return std::bit_cast<float>(wide == Wide::F32 ? bits : bits << 16);
}
bool holds(Wide wide, double value) { return decode(wide, encode(wide, value)) == value; }

u32 scale_bits(int exponent) { return static_cast<u32>(exponent + 127) << 23; }

void run(TestWave& test, const std::string& text) {
  const Exit exit = test.run(text);
  ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << text << ": " << exit.name;
}

// ---- from small formats ----

struct From {
  const char* small;
  u32 count;
};
constexpr From kFrom[] = {{"fp8", 2}, {"bf8", 2}, {"fp4", 2}, {"fp6", 32}, {"bf6", 32}};

// Every code in element `at`, with the scale 2^exponent; NaN for a scale that is none.
void expect_from(const Format& f, u32 count, u32 at, Wide wide, int exponent) {
  TestWave test("gfx950", 64);
  const std::string counted = count == 2 ? "pk_" : "pk32_";
  const u32 results = count * bits_of(wide) / 32;
  const std::string text = "v_cvt_scalef32_" + counted + name_of(wide) + "_" + f.name + " " +
                           vector_registers(40, results) + ", " +
                           vector_registers(2, count == 2 ? 1 : 6) + ", v1";
  for (u32 first = 0; first < 2 * f.sign(); first += 64) {
    test.set_all(1, scale_bits(exponent));
    for (u32 r = 2; r < 8; ++r) test.set_all(r, 0);
    for (u32 lane = 0; lane < 64 && first + lane < 2 * f.sign(); ++lane) {
      testing::put_element(test, 2, {lane, at}, first + lane, f.bits);
    }
    run(test, text);
    for (u32 lane = 0; lane < 64 && first + lane < 2 * f.sign(); ++lane) {
      const u32 code = (first + lane) & (f.sign() - 1);
      const u32 word = test.get(40 + at * bits_of(wide) / 32)[lane];
      const double got = decode(wide, bits_of(wide) == 16 ? word >> 16 * (at % 2) : word);
      const double sign = first + lane < f.sign() ? 1 : -1;
      if (code > f.last() && code != 0x7c) {
        EXPECT_TRUE(std::isnan(got)) << text << " of " << first + lane;
        continue;
      }
      const double is = code > f.last() ? HUGE_VAL : std::ldexp(f.numbers[code], exponent);
      const double expected = decode(wide, encode(wide, sign * is));
      EXPECT_EQ(got, expected) << text << " of " << first + lane << " times 2^" << exponent;
      EXPECT_EQ(std::signbit(got), sign < 0);
    }
  }
}

TEST(ConvertScaled, FromEveryCode) {
  for (const From& from : kFrom) {
    for (Wide wide : kWide) {
      for (int exponent : {0, 5, -9}) {
        for (u32 at : {0u, 1u, from.count - 1}) {
          expect_from(format(from.small), from.count, at, wide, exponent);
        }
      }
    }
    expect_from(format(from.small), from.count, 0, Wide::F16, -18);   // rounded denormals
    expect_from(format(from.small), from.count, 0, Wide::F32, -127);  // denormals
    expect_from(format(from.small), from.count, 0, Wide::F16, 15);    // beyond the largest
    expect_from(format(from.small), from.count, 0, Wide::F32, 127);
  }
}

TEST(ConvertScaled, FromBytesAndHalvesThatOpSelNames) {
  TestWave test("gfx950", 64);
  test.set_all(1, scale_bits(3));
  test.set_all(2, 0x48443c38);  // fp8: 4, 3, 1.5, 1 from the highest byte on
  test.set_all(6, 0xabcd1234);
  test.set_all(7, 0xabcd1234);
  run(test, R"(
    v_cvt_scalef32_f32_fp8 v3, v2, v1
    v_cvt_scalef32_f32_fp8 v4, v2, v1 op_sel:[1,0,0]
    v_cvt_scalef32_f32_fp8 v5, v2, v1 op_sel:[0,1,0]
    v_cvt_scalef32_f16_fp8 v6, v2, v1 op_sel:[1,1,0]
    v_cvt_scalef32_f16_fp8 v7, v2, v1 op_sel:[1,1,1]
    v_cvt_scalef32_pk_f32_fp8 v[8:9], v2, v1 op_sel:[1,0,0]
    v_cvt_scalef32_pk_bf16_fp4 v10, v2, v1 op_sel:[1,1,0]
    v_cvt_scalef32_f32_bf8 v11, v2, v1 op_sel:[0,1,0]
  )");
  EXPECT_EQ(test.get(3)[7], encode(Wide::F32, 8));
  EXPECT_EQ(test.get(4)[7], encode(Wide::F32, 12));
  EXPECT_EQ(test.get(5)[7], encode(Wide::F32, 24));
  EXPECT_EQ(test.get(6)[7], 0xabcd0000 | encode(Wide::F16, 32));
  EXPECT_EQ(test.get(7)[7], 0x1234 | encode(Wide::F16, 32) << 16);
  EXPECT_EQ(test.get(8)[7], encode(Wide::F32, 24));
  EXPECT_EQ(test.get(9)[7], encode(Wide::F32, 32));
  // Codes 8 and 4 of FP4: -0 and 2.
  EXPECT_EQ(test.get(10)[7], 0x8000 | encode(Wide::Bf16, 16) << 16);
  EXPECT_EQ(test.get(11)[7], encode(Wide::F32, 32));  // bf8's 0x44
}

// ---- to small formats, to nearest ----

// Around each number of the format, and halfway between two.
std::vector<double> interesting(const Format& f) {
  std::vector<double> values = {0, std::numeric_limits<double>::infinity(), 1e30,
                                f.numbers[1] / 64};
  std::vector<double> numbers = f.numbers;
  numbers.push_back(f.beyond != 0 ? f.beyond : 2 * numbers.back());
  for (usize i = 0; i + 1 < numbers.size(); ++i) {
    const double step = numbers[i + 1] - numbers[i];
    for (double part : {0.0, 0.25, 0.5, 0.5 - 1.0 / 16, 0.5 + 1.0 / 16, 0.75}) {
      values.push_back(numbers[i] + part * step);
    }
  }
  const usize count = values.size();
  for (usize i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

std::vector<double> held_by(Wide wide, const std::vector<double>& values, int exponent) {
  std::vector<double> held;
  for (double value : values) {
    if (holds(wide, std::ldexp(value, exponent))) held.push_back(value);
  }
  return held;
}

// How an instruction's elements lie in its operands.
std::string to_small(const Format& f, Wide wide, u32 count) {
  if (count == 32 && wide == Wide::F32) return std::string("2xpk16_") + f.name + "_f32";
  return std::string(count == 2 ? "pk_" : "pk32_") + f.name + "_" + name_of(wide);
}
std::string value_operands(Wide wide, u32 count) {
  if (wide == Wide::F32) return count == 2 ? "v10, v30" : "v[10:25], v[30:45]";
  return vector_registers(10, count / 2);
}
void put_value(TestWave& test, Wide wide, u32 lane, u32 e, u32 bits) {
  if (wide == Wide::F32) {
    test.wave.row((e % 2 == 0 ? 10 : 30) + e / 2)[lane] = bits;
  } else {
    u32& word = test.wave.row(10 + e / 2)[lane];
    word = (word & (0xffffu << 16 * (1 - e % 2))) | bits << 16 * (e % 2);
  }
}
u32 get_code(TestWave& test, const Format& f, u32 lane, u32 e) {
  u32 code = 0;
  for (u32 bit = 0; bit < f.bits; ++bit) {
    const u32 at = e * f.bits + bit;
    code |= (test.wave.row(50 + at / 32)[lane] >> at % 32 & 1) << bit;
  }
  return code;
}

void expect_to(const Format& f, Wide wide, u32 count, int exponent, bool held) {
  TestWave test("gfx950", 64);
  if (held) test.wave.set_mode(0xf0 | 1 << 23);
  const std::vector<double> values = held_by(wide, interesting(f), exponent);
  ASSERT_GT(values.size(), 2 * f.numbers.size());
  const std::string text = "v_cvt_scalef32_" + to_small(f, wide, count) + " " +
                           vector_registers(50, count == 2 ? 1 : 6) + ", " +
                           value_operands(wide, count) + ", v1";
  // The sign and the fraction of the scale do not count.
  test.set_all(1, scale_bits(exponent) | 0x80123456);
  for (usize first = 0; first < values.size(); first += 64) {
    const auto value = [&](u32 lane, u32 e) { return values[(first + lane + e) % values.size()]; };
    for (u32 lane = 0; lane < 64; ++lane) {
      for (u32 e = 0; e < count; ++e) {
        put_value(test, wide, lane, e, encode(wide, std::ldexp(value(lane, e), exponent)));
      }
    }
    run(test, text);
    for (u32 lane = 0; lane < 64; ++lane) {
      for (u32 e = 0; e < count; ++e) {
        ASSERT_EQ(get_code(test, f, lane, e), nearest(f, value(lane, e), held))
            << text << ": " << value(lane, e) << ", scale 2^" << exponent << ", element " << e;
      }
    }
  }
}

TEST(ConvertScaled, ToNearest) {
  for (const From& to : kFrom) {
    for (Wide wide : kWide) {
      for (bool held : {false, true}) {
        for (int exponent : {0, 4, -3}) {
          expect_to(format(to.small), wide, to.count, exponent, held);
        }
      }
    }
    expect_to(format(to.small), Wide::F32, to.count, -110, false);
    expect_to(format(to.small), Wide::Bf16, to.count, 100, false);
  }
}

TEST(ConvertScaled, NanAndScalesThatAreNone) {
  TestWave test("gfx950", 64);
  test.set_all(1, scale_bits(0));
  test.set_all(2, 0xff800000);  // a scale of 255
  test.set_all(3, encode(Wide::F32, -1.5));
  test.set_all(4, 0xffc00000);
  test.set_all(5, 0);  // a scale of 0: 2^-127
  test.set_all(6, 0x00400000);
  for (u32 r = 10; r < 16; ++r) test.set_all(r, 0);
  run(test, R"(
    v_cvt_scalef32_pk_fp8_f32 v10, v3, v4, v2
    v_cvt_scalef32_pk_bf8_f32 v11, v4, v3, v1
    v_cvt_scalef32_pk_fp4_f32 v14, v6, v6, v5
    v_cvt_scalef32_f32_fp8 v15, v3, v2
  )");
  EXPECT_EQ(test.get(10)[0], 0xffffu);
  EXPECT_EQ(test.get(11)[0], 0xbeffu);  // NaN, -1.5
  EXPECT_EQ(test.get(14)[0], 0x22u);    // 2^-127 over 2^-127
  EXPECT_TRUE(std::isnan(decode(Wide::F32, test.get(15)[0])));
}

TEST(ConvertScaled, PlacesSignsAndLanes) {
  TestWave test("gfx950", 64);
  test.set_all(1, scale_bits(1));
  test.set_all(2, encode(Wide::F32, -2));
  test.set_all(3, encode(Wide::F32, 8));
  test.set_all(5, encode(Wide::F16, 4) | encode(Wide::F16, -6) << 16);
  for (u32 r = 10; r < 16; ++r) test.set_all(r, 0x77777777);
  test.wave.set_mask(kExecLo, 0xff);
  run(test, R"(
    v_cvt_scalef32_pk_fp8_f32 v10, v2, v3, v1 op_sel:[0,0,0,1]
    v_cvt_scalef32_pk_fp8_f32 v11, |v2|, -v3, v1
    v_cvt_scalef32_pk_fp4_f32 v12, v2, v3, v1 op_sel:[0,0,1,0]
    v_cvt_scalef32_pk_fp4_f16 v13, v5, v1 op_sel:[0,0,1,1]
    v_cvt_scalef32_sr_fp8_f32 v14, -v2, v3, 2.0 op_sel:[0,0,1,0]
    v_cvt_scalef32_sr_fp8_f16 v15, -|v5|, v3, v1 op_sel:[0,0,1,1]
  )");
  EXPECT_EQ(test.get(10)[7], 0x48b87777u);  // 4 and -1
  EXPECT_EQ(test.get(11)[7], 0x7777c838u);
  EXPECT_EQ(test.get(12)[7], 0x77776a77u);
  EXPECT_EQ(test.get(13)[7], 0xd4777777u);  // -3 and 2
  EXPECT_EQ(test.get(14)[7], 0x77773877u);
  EXPECT_EQ(test.get(15)[7], 0xc0777777u);  // -2
  for (u32 r = 10; r < 16; ++r) EXPECT_EQ(test.get(r)[8], 0x77777777u) << "an inactive lane";
}

// MODE may ask that denormals of f32 are zero; those of 16-bit floats never are.
TEST(ConvertScaled, FlushesOnlyDenormalsOfF32) {
  TestWave test("gfx950", 64);
  test.wave.set_mode(0);
  test.set_all(1, scale_bits(-126));
  test.set_all(2, 0x80400000);  // -2^-127
  test.set_all(3, scale_bits(-24));
  test.set_all(4, 0x00010002);  // f16: 2 and 1 times 2^-24
  run(test,
      "v_cvt_scalef32_pk_fp8_f32 v10, v2, v2, v1\nv_cvt_scalef32_pk_fp8_f16 v11, v4, v3\n"
      "v_cvt_scalef32_f32_fp8 v12, v11, v1\n");
  EXPECT_EQ(test.get(10)[0] & 0xffff, 0x8080u);
  EXPECT_EQ(test.get(11)[0] & 0xffff, 0x3840u);
  EXPECT_EQ(test.get(12)[0], 0x01000000u);  // 2 times 2^-126
}

// ---- to small formats, by random bits ----

u32 following(u32 random) { return random << 1 ^ ((random >> 31) != 0 ? 197u : 0u); }

std::string to_small_random(const Format& f, Wide wide, u32 count) {
  const std::string counted = count == 1 ? "" : count == 2 ? "pk_" : "pk32_";
  return "v_cvt_scalef32_sr_" + counted + f.name + "_" + name_of(wide) + " " +
         vector_registers(50, count == 32 ? 6 : 1) + ", " +
         vector_registers(10, std::max(1u, count * bits_of(wide) / 32)) + ", v2, v1";
}

struct Random {
  const char* small;
  u32 count;
};
constexpr Random kRandom[] = {{"fp8", 1}, {"bf8", 1}, {"fp4", 2}, {"fp6", 32}, {"bf6", 32}};

void expect_random(const Format& f, Wide wide, u32 count, int exponent) {
  TestWave test("gfx950", 64);
  std::mt19937 generator(3);
  const double least = f.smallest_normal(), most = f.beyond != 0 ? f.beyond : 2 * f.numbers.back();
  std::vector<double> values;
  for (double value : held_by(wide, interesting(f), exponent)) {
    if (std::fabs(value) >= least && std::fabs(value) < most) values.push_back(value);
  }
  for (double number : f.numbers) values.push_back(number);  // nothing to choose
  const std::string text = to_small_random(f, wide, count);
  test.set_all(1, scale_bits(exponent));
  for (u32 round = 0; round < 8; ++round) {
    test.set(2, [&](u32 lane) {
      constexpr u32 kRandoms[] = {0, ~0u, 0x80000000, 0x7fffffff, 0xc0000000, 0xbfffffff};
      return lane < std::size(kRandoms) ? kRandoms[lane] : generator();
    });
    const auto value = [&](u32 lane, u32 e) {
      return values[(round * 64 + lane + e * 7) % values.size()];
    };
    for (u32 lane = 0; lane < 64; ++lane) {
      for (u32 e = 0; e < count; ++e) {
        const u32 bits = encode(wide, std::ldexp(value(lane, e), exponent));
        if (wide == Wide::F32) {
          test.wave.row(10 + e)[lane] = bits;
        } else {
          put_value(test, wide, lane, e, bits);
        }
      }
    }
    run(test, text);
    for (u32 lane = 0; lane < 64; ++lane) {
      u32 random = test.get(2)[lane];
      for (u32 e = 0; e < count; ++e, random = following(random)) {
        ASSERT_EQ(get_code(test, f, lane, e), chosen(f, value(lane, e), random))
            << text << ": " << value(lane, e) << ", random " << std::hex << random;
      }
    }
  }
}

TEST(ConvertScaled, ByRandomBits) {
  for (const Random& to : kRandom) {
    for (Wide wide : kWide) {
      for (int exponent : {0, 2, -2}) expect_random(format(to.small), wide, to.count, exponent);
    }
  }
}

// ---- undocumented behaviour ----

TEST(ConvertScaled, StopsWhereNothingIsSaid) {
  struct Case {
    const char* text;
    const char* why;
    u32 mode = 0xf0;
  };
  constexpr Case kCases[] = {
      {"v_cvt_scalef32_pk_fp8_f32 v10, v2, v2, v1", "rounding not to nearest", 0xf1},
      {"v_cvt_scalef32_pk_f16_fp8 v10, v2, v1", "rounding not to nearest", 0xf4},
      {"v_cvt_scalef32_pk_fp8_f16 v10, -v2, v1", "of operands with signs"},
      {"v_cvt_scalef32_sr_pk_fp4_f32 v10, -v[2:3], v4, v1", "of operands with signs"},
      {"v_cvt_scalef32_pk_fp8_f16 v10, s2, v1", "of an operand that is no vector register"},
      // v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], s[16:31], v[4:19], v48
      {".long 0xd2520000, 0x04c20810", "of an operand that is no vector register"},
      {"v_cvt_scalef32_pk_fp8_f16 v10, v2, v1 op_sel:[1,0,0]", "with an op_sel that names nothing"},
      {"v_cvt_scalef32_sr_fp8_f32 v10, v3, v4, v1", "rounding a denormal by random bits"},
      {"v_cvt_scalef32_pk_fp4_f32 v10, v2, v5, v1", "of NaN, which the format has none of"},
      {"v_cvt_scalef32_pk32_bf6_f16 v[10:15], v[20:35], v6",
       "of NaN, which the format has none of"},
  };
  for (const Case& c : kCases) {
    TestWave test("gfx950", 64);
    test.wave.set_mode(c.mode);
    test.set_all(1, scale_bits(0));
    test.set_all(2, 0);
    test.set_all(3, std::bit_cast<u32>(std::ldexp(2.5f, -9)));  // between two denormals of FP8
    test.set_all(5, 0x7fc00000);
    test.set_all(6, 0x7f800000);  // no scale
    const Exit exit = test.run(c.text);
    EXPECT_EQ(exit.kind, Exit::Kind::Illegal) << c.text;
    EXPECT_TRUE(exit.name.ends_with(c.why)) << exit.name;
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
