// eval: literals worked out from the specifications named at each test.
#include "core/eval/eval.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/eval/float_format.h"

namespace doorbell::core {
namespace {

using dtypes::bool_;

ScalarValue i(DType t, i64 v) { return ScalarValue::of_int(t, v); }
ScalarValue f(DType t, f64 v) { return ScalarValue::of_float(t, v); }

i64 int_op(Op op, DType t, i64 x, i64 y) {
  return eval(op, t, std::array{i(t, x), i(t, y)})->as_int();
}
f64 float_op(Op op, DType t, f64 x, f64 y) {
  return eval(op, t, std::array{f(t, x), f(t, y)})->as_float();
}
const f64 kInf = std::numeric_limits<f64>::infinity();
const f64 kNan = std::numeric_limits<f64>::quiet_NaN();

TEST(EvalInt, WrapsInTwosComplement) {
  EXPECT_EQ(int_op(Op::Add, dtypes::i8, 127, 1), -128);
  EXPECT_EQ(int_op(Op::Add, dtypes::u8, 255, 1), 0);
  EXPECT_EQ(int_op(Op::Mul, dtypes::i32, 65536, 65536), 0);
  EXPECT_EQ(int_op(Op::Sub, dtypes::u16, 0, 1), 65535);
  EXPECT_EQ(int_op(Op::Add, dtypes::i64, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(eval(Op::Neg, dtypes::i16, std::array{i(dtypes::i16, -32768)})->as_int(), -32768);
}

TEST(EvalInt, DivisionRoundsAsNamedAndZeroGivesZero) {
  EXPECT_EQ(int_op(Op::FloorDiv, dtypes::i32, -7, 2), -4);
  EXPECT_EQ(int_op(Op::FloorMod, dtypes::i32, -7, 2), 1);
  EXPECT_EQ(int_op(Op::FloorDiv, dtypes::i32, 7, -2), -4);
  EXPECT_EQ(int_op(Op::FloorMod, dtypes::i32, 7, -2), -1);
  EXPECT_EQ(int_op(Op::CDiv, dtypes::i32, -7, 2), -3);
  EXPECT_EQ(int_op(Op::CMod, dtypes::i32, -7, 2), -1);
  for (Op op : {Op::FloorDiv, Op::FloorMod, Op::CDiv, Op::CMod}) {
    EXPECT_EQ(int_op(op, dtypes::i32, 9, 0), 0);
    EXPECT_EQ(int_op(op, dtypes::u64, 9, 0), 0);
  }
  EXPECT_EQ(int_op(Op::CDiv, dtypes::i64, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(int_op(Op::FloorDiv, dtypes::i8, -128, -1), -128);
  EXPECT_EQ(int_op(Op::FloorDiv, dtypes::u64, -1, 2), INT64_MAX);
}

TEST(EvalInt, ShiftsByTheWidthOrMoreMoveEverythingOut) {
  EXPECT_EQ(int_op(Op::Shl, dtypes::i32, 1, 31), INT32_MIN);
  EXPECT_EQ(int_op(Op::Shl, dtypes::i32, 1, 32), 0);
  EXPECT_EQ(int_op(Op::Shl, dtypes::u8, 255, 8), 0);
  EXPECT_EQ(int_op(Op::Shr, dtypes::i8, -128, 7), -1);
  EXPECT_EQ(int_op(Op::Shr, dtypes::i8, -128, 100), -1);
  EXPECT_EQ(int_op(Op::Shr, dtypes::u8, 128, 7), 1);
  EXPECT_EQ(int_op(Op::Shr, dtypes::u32, -1, 32), 0);
  EXPECT_EQ(int_op(Op::Shr, dtypes::u64, -1, 64), 0);
}

TEST(EvalInt, ComparesUnsignedAsUnsigned) {
  auto less = [](DType t, i64 x, i64 y) {
    return eval(Op::CmpLt, bool_, std::array{i(t, x), i(t, y)})->as_bool();
  };
  EXPECT_TRUE(less(dtypes::i64, -1, 1));
  EXPECT_FALSE(less(dtypes::u64, -1, 1));
  EXPECT_EQ(int_op(Op::Max, dtypes::u64, -1, 1), -1);
}

TEST(EvalIndex, HasNoValueWhereI64Overflows) {
  auto index = [](Op op, i64 x, i64 y) {
    return eval(op, dtypes::index, std::array{ScalarValue::index(x), ScalarValue::index(y)});
  };
  EXPECT_FALSE(index(Op::Add, INT64_MAX, 1));
  EXPECT_FALSE(index(Op::Sub, INT64_MIN, 1));
  EXPECT_FALSE(index(Op::Mul, i64{1} << 32, i64{1} << 32));
  EXPECT_FALSE(index(Op::FloorDiv, INT64_MIN, -1));
  EXPECT_FALSE(index(Op::Shl, 1, 63));
  EXPECT_EQ(index(Op::Mul, i64{1} << 31, i64{1} << 31)->as_int(), i64{1} << 62);
}

TEST(EvalFloat, RoundsToTheResultsType) {
  EXPECT_EQ(float_op(Op::Add, dtypes::f32, 16777216, 1), 16777216);  // 2^24 + 1 is a tie
  EXPECT_EQ(float_op(Op::Add, dtypes::f64, 16777216, 1), 16777217);
  EXPECT_EQ(float_op(Op::Add, dtypes::f16, 2048, 1), 2048);
  EXPECT_EQ(float_op(Op::Mul, dtypes::f16, 65504, 2), kInf);
  EXPECT_TRUE(std::isnan(float_op(Op::Max, dtypes::f32, kNan, 1)));
  EXPECT_TRUE(std::isnan(float_op(Op::Max, dtypes::f32, 1, kNan)));
  EXPECT_EQ(float_op(Op::FDiv, dtypes::f32, 1, 0), kInf);
  EXPECT_EQ(float_op(Op::Pow, dtypes::f32, 2, 0.5), 1.41421353816986083984375);
}

TEST(EvalCast, FloatToIntSaturatesAndNanIsZero) {
  EXPECT_EQ(convert(dtypes::i8, f(dtypes::f32, 300)).as_int(), 127);
  EXPECT_EQ(convert(dtypes::i8, f(dtypes::f32, -300)).as_int(), -128);
  EXPECT_EQ(convert(dtypes::u8, f(dtypes::f32, -3)).as_int(), 0);
  EXPECT_EQ(convert(dtypes::u8, f(dtypes::f32, 255.9)).as_int(), 255);
  EXPECT_EQ(convert(dtypes::i32, f(dtypes::f32, -1.9)).as_int(), -1);
  EXPECT_EQ(convert(dtypes::i64, f(dtypes::f64, 1e30)).as_int(), INT64_MAX);
  EXPECT_EQ(convert(dtypes::i64, f(dtypes::f64, -kInf)).as_int(), INT64_MIN);
  EXPECT_EQ(convert(dtypes::u64, f(dtypes::f64, kInf)).as_unsigned(), UINT64_MAX);
  EXPECT_EQ(convert(dtypes::i32, f(dtypes::f32, kNan)).as_int(), 0);
  EXPECT_TRUE(convert(bool_, f(dtypes::f32, 0.25)).as_bool());
  EXPECT_TRUE(convert(bool_, f(dtypes::f32, kNan)).as_bool());
}

TEST(EvalCast, IntToFloatRoundsOnce) {
  EXPECT_EQ(convert(dtypes::f32, i(dtypes::i32, 16777217)).as_float(), 16777216);
  EXPECT_EQ(convert(dtypes::f32, i(dtypes::u64, -1)).as_float(), 18446744073709551616.0);
  // A hair above the tie between two bf16: rounding through f64 first would lose the hair.
  i64 above_tie = (i64{1} << 62) + (i64{1} << 54) + 1;
  EXPECT_EQ(convert(dtypes::bf16, i(dtypes::i64, above_tie)).as_float(), 0x1.02p62);
  EXPECT_EQ(convert(dtypes::bf16, i(dtypes::i64, above_tie - 1)).as_float(), 0x1p62);
  EXPECT_EQ(convert(dtypes::i8, i(dtypes::i32, 300)).as_int(), 44);
  EXPECT_EQ(convert(dtypes::f16, i(dtypes::i32, -65520)).as_float(), -kInf);
}

TEST(EvalCast, BitcastKeepsBits) {
  auto cast = [](DType to, ScalarValue v) { return *eval(Op::Bitcast, to, std::array{v}); };
  EXPECT_EQ(cast(dtypes::i32, f(dtypes::f32, 1.0)).as_int(), 0x3f800000);
  EXPECT_EQ(cast(dtypes::f32, i(dtypes::u32, 0xc0490fdb)).as_float(), -3.1415927410125732421875);
  EXPECT_EQ(cast(dtypes::u16, f(dtypes::bf16, 1.0)).as_int(), 0x3f80);
  EXPECT_EQ(cast(dtypes::i64, f(dtypes::f64, -0.0)).as_int(), INT64_MIN);
}

struct Encoding {
  Scalar format;
  f64 value;
  u64 bits;
};
// f16: IEEE 754; bf16: upper half of binary32; f8: OFP8 rev 1.0 tables 1 and 2, and LLVM's
// APFloatTest for the fnuz formats.
const Encoding kEncodings[] = {
    {Scalar::F16, 1.0, 0x3c00},          {Scalar::F16, 65504, 0x7bff},
    {Scalar::F16, -2.0, 0xc000},         {Scalar::F16, 0x1p-24, 0x0001},
    {Scalar::F16, 0x1p-14, 0x0400},      {Scalar::F16, kInf, 0x7c00},
    {Scalar::BF16, 3.140625, 0x4049},    {Scalar::BF16, -1.0, 0xbf80},
    {Scalar::F8E4M3, 448, 0x7e},         {Scalar::F8E4M3, 0x1p-6, 0x08},
    {Scalar::F8E4M3, 0x1p-9, 0x01},      {Scalar::F8E4M3, 0.875 * 0x1p-6, 0x07},
    {Scalar::F8E4M3, -1.0, 0xb8},        {Scalar::F8E5M2, 57344, 0x7b},
    {Scalar::F8E5M2, 0x1p-14, 0x04},     {Scalar::F8E5M2, 0x1p-16, 0x01},
    {Scalar::F8E5M2, 1.0, 0x3c},         {Scalar::F8E4M3FNUZ, 240, 0x7f},
    {Scalar::F8E4M3FNUZ, 1.0, 0x40},     {Scalar::F8E4M3FNUZ, 0x1p-10, 0x01},
    {Scalar::F8E5M2FNUZ, 57344, 0x7f},   {Scalar::F8E5M2FNUZ, 1.0, 0x40},
    {Scalar::F8E5M2FNUZ, 0x1p-17, 0x01},
};

TEST(FloatFormat, EncodesAsPublished) {
  for (const Encoding& e : kEncodings) {
    EXPECT_EQ(float_bits(e.format, e.value), e.bits) << name_of(e.format) << " " << e.value;
    EXPECT_EQ(float_from_bits(e.format, e.bits), e.value) << name_of(e.format) << " " << e.value;
    EXPECT_EQ(round_to_format(e.format, e.value), e.value) << name_of(e.format) << " " << e.value;
  }
  EXPECT_EQ(float_bits(Scalar::F8E4M3, kNan), 0x7fu);
  EXPECT_EQ(float_bits(Scalar::F8E4M3FNUZ, kNan), 0x80u);
  EXPECT_FALSE(std::signbit(round_to_format(Scalar::F8E5M2FNUZ, -0.0)));
}

TEST(FloatFormat, TiesGoToEvenAndOverflowAsTheFormatSays) {
  EXPECT_EQ(round_to_format(Scalar::F16, 65519.99), 65504);
  EXPECT_EQ(round_to_format(Scalar::F16, 65520), kInf);
  EXPECT_EQ(round_to_format(Scalar::F16, 0x1p-25), 0);
  EXPECT_EQ(round_to_format(Scalar::F16, 0x1.8p-24), 0x1p-23);
  EXPECT_EQ(round_to_format(Scalar::BF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(round_to_format(Scalar::BF16, 1 + 0x3p-8), 1 + 0x1p-6);
  EXPECT_EQ(round_to_format(Scalar::F8E4M3, 1e9), 448);
  EXPECT_EQ(round_to_format(Scalar::F8E4M3, -kInf), -448);
  EXPECT_EQ(round_to_format(Scalar::F8E5M2, kInf), 57344);
  EXPECT_EQ(round_to_format(Scalar::F8E4M3, 1 + 0x1p-4), 1);
  EXPECT_TRUE(std::isnan(round_to_format(Scalar::F8E4M3FNUZ, kInf)));
  EXPECT_EQ(round_to_format(Scalar::F8E4M3FNUZ, -1000), -240);
}

TEST(FloatFormat, EveryPatternSurvivesARoundTrip) {
  for (Scalar format : {Scalar::F16, Scalar::BF16, Scalar::F8E4M3, Scalar::F8E5M2,
                        Scalar::F8E4M3FNUZ, Scalar::F8E5M2FNUZ}) {
    u64 patterns = u64{1} << DType{format, 1}.bits();
    for (u64 bits = 0; bits < patterns; ++bits) {
      f64 value = float_from_bits(format, bits);
      if (std::isnan(value)) continue;
      ASSERT_EQ(float_bits(format, value), bits) << name_of(format);
    }
  }
}

// Random123 1.14, tests/kat_vectors: "threefry2x32 20".
TEST(Threefry, MatchesThePublishedVectors) {
  EXPECT_EQ(threefry2x32(0, 0), 0x99ba4efe6b200159u);
  EXPECT_EQ(threefry2x32(~u64{0}, ~u64{0}), 0xbb002be71cb996fcu);
  EXPECT_EQ(threefry2x32(0x85a308d3243f6a88u, 0x0370734413198a2eu), 0x483df7a0c4923a9cu);
}

TEST(ReduceIdentity, IsTheLeastOfItsType) {
  EXPECT_EQ(reduce_identity(Op::Max, dtypes::i8).as_int(), -128);
  EXPECT_EQ(reduce_identity(Op::Max, dtypes::i64).as_int(), INT64_MIN);
  EXPECT_EQ(reduce_identity(Op::Max, dtypes::u32).as_int(), 0);
  EXPECT_EQ(reduce_identity(Op::Max, dtypes::f32).as_float(), -kInf);
  EXPECT_EQ(reduce_identity(Op::Max, dtypes::f8e4m3fnuz).as_float(), -240);
  EXPECT_EQ(reduce_identity(Op::Mul, dtypes::f16).as_float(), 1);
  EXPECT_EQ(reduce_identity(Op::And, dtypes::u8).as_int(), 255);
}

TEST(Memory, StoresTheNaturalLayout) {
  u8 bytes[8] = {};
  store_scalar(i(dtypes::i32, -2), bytes);
  EXPECT_EQ(bytes[0], 0xfe);
  EXPECT_EQ(bytes[3], 0xff);
  EXPECT_EQ(bytes[4], 0);
  EXPECT_EQ(load_scalar(dtypes::i32, bytes).as_int(), -2);
  EXPECT_EQ(load_scalar(dtypes::u32, bytes).as_int(), 0xfffffffe);
  store_scalar(f(dtypes::f16, 1.5), bytes);
  EXPECT_EQ(bytes[0] | bytes[1] << 8, 0x3e00);
  store_scalar(ScalarValue::of_bool(true), bytes);
  EXPECT_TRUE(load_scalar(bool_, bytes).as_bool());
}

}  // namespace
}  // namespace doorbell::core
