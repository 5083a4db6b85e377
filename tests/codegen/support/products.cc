// Results by run_linear, expected values by plain loops.
#include "tests/codegen/support/products.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/util/check.h"
#include "core/eval/eval.h"
#include "tests/codegen/support/run_linear.h"

namespace doorbell::codegen {

using core::DType;
namespace dt = core::dtypes;

std::vector<u8> numbers(DType t, i64 count, i64 seed) {
  std::vector<u8> values(static_cast<usize>(count * t.bytes()));
  for (i64 i = 0; i < count; ++i) {
    const i64 value = (i * 7 + i / 16 * 5 + seed) % 9 - (t.is_unsigned() ? 0 : 4);
    const core::ScalarValue scalar = t.is_float()
                                         ? core::ScalarValue::of_float(t, static_cast<f64>(value))
                                         : core::ScalarValue::of_int(t, value);
    core::store_scalar(scalar, &values[static_cast<usize>(i * t.bytes())]);
  }
  return values;
}

f64 number(DType t, const std::vector<u8>& values, i64 at) {
  const core::ScalarValue scalar =
      core::load_scalar(t, &values[static_cast<usize>(at * t.bytes())]);
  return t.is_float() ? scalar.as_float() : static_cast<f64>(scalar.as_int());
}

namespace {

// The place of the first wrong result.
std::optional<i64> first_wrong(const LinearProgram& program, DType t, ProductSizes s,
                               bool transposed, bool of_columns = false) {
  std::vector<u8> x = numbers(t, s.batch * s.m * s.k, 1), y = numbers(t, s.batch * s.k * s.n, 2);
  const DType wide = t.is_float() ? dt::f32 : dt::i32;
  const i64 results = s.parts * s.batch * s.m * s.n, depth = s.k / s.parts;
  std::vector<u8> out(static_cast<usize>(results * 4), 0xff);
  void* params[] = {out.data(), x.data(), y.data()};
  run_linear(program, params);
  for (i64 at = 0; at < results; ++at) {
    const i64 j = at % s.n, i = at / s.n % s.m, b = at / s.n / s.m % s.batch;
    const i64 begin = at / s.n / s.m / s.batch * depth;
    f64 want = 0;
    for (i64 d = begin; d < begin + depth; ++d) {
      const i64 at_y = transposed ? (b * s.n + j) * s.k + d : (b * s.k + d) * s.n + j;
      const i64 at_x = of_columns ? (b * s.k + d) * s.m + i : (b * s.m + i) * s.k + d;
      want += number(t, x, at_x) * number(t, y, at_y);
    }
    if (number(wide, out, at) != want) return at;
  }
  return std::nullopt;
}

}  // namespace

void expect_product(const LinearProgram& program, DType t, ProductSizes s, bool transposed,
                    bool of_columns) {
  const std::optional<i64> wrong = first_wrong(program, t, s, transposed, of_columns);
  EXPECT_FALSE(wrong) << "result " << *wrong;
}

bool is_broken_product(const LinearProgram& program, DType t, ProductSizes s, bool transposed) {
  try {
    return first_wrong(program, t, s, transposed).has_value();
  } catch (const InternalError&) {
    return true;
  }
}

}  // namespace doorbell::codegen
