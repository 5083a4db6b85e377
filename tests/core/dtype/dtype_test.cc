// The promotion lattice against literals (JAX's documented table, without weak types).
#include "core/dtype/dtype.h"

#include <gtest/gtest.h>

namespace doorbell::core {
namespace {

TEST(DType, Promotes) {
  using namespace dtypes;
  struct Case {
    DType a, b, expected;
  } cases[] = {{bool_, bool_, bool_}, {bool_, u8, u8},  {u8, i8, i16},   {u16, i16, i32},
               {u32, i32, i64},       {u64, i64, f32},  {i64, u32, i64}, {i64, f16, f16},
               {f16, bf16, f32},      {bf16, f32, f32}, {f32, f64, f64}, {f8e4m3, f8e5m2, f16},
               {f8e4m3, bf16, bf16},  {u8, u64, u64},   {i32, f64, f64}};
  for (const Case& c : cases) {
    EXPECT_EQ(promote(c.a, c.b), c.expected) << c.a.str() << " " << c.b.str();
    EXPECT_EQ(promote(c.b, c.a), c.expected) << c.b.str() << " " << c.a.str();
  }
}

TEST(DType, NamesReadBack) {
  for (usize i = 0; i < kScalarCount; ++i) {
    for (u16 lanes : {1, 8, 16}) {
      DType t{static_cast<Scalar>(i), lanes}, back;
      ASSERT_TRUE(parse_dtype(t.str(), &back)) << t.str();
      EXPECT_EQ(back, t);
    }
  }
  DType out;
  EXPECT_FALSE(parse_dtype("f33", &out));
  EXPECT_FALSE(parse_dtype("f32x", &out));
  EXPECT_FALSE(parse_dtype("f32x0", &out));
}

}  // namespace
}  // namespace doorbell::core
