// Conversions: every dtype to every other, for random values, special values, and values that do
// not fit. Stated rules: integers wrap; floats truncate and saturate on their way to integers, NaN
// gives 0; fp8 saturates; everything else rounds to nearest even. Reinterpreted bits are the bits.
#include <fmt/format.h>

#include <cmath>

#include "conformance/inputs.h"

namespace doorbell::conformance {
namespace {

// Ties, halfway cases of narrower formats, powers of two around every width.
std::vector<Real> awkward_values(DType dtype) {
  std::vector<Real> values = special_values(dtype);
  for (Real base : {0.75L, 1.5L, 2.5L, 127.5L, 128.0L, 255.5L, 256.0L, 448.0L, 464.0L, 32767.5L,
                    65504.0L, 65520.0L, 65536.0L, 2147483648.0L, 4294967296.0L, 16777217.0L,
                    9223372036854775808.0L, 1.0625L, 1.1875L, 257.0L, 0.001953125L, 0.0009765625L,
                    // Just above a tie of bf16, f16 and fp8, where rounding twice goes wrong.
                    1 + 0x1p-8L + 0x1p-40L, 1 + 0x1p-11L + 0x1p-40L, 1 + 0x1p-4L + 0x1p-40L,
                    1 + 0x1p-3L + 0x1p-40L, 257 * 0x1p20L + 1, 257 * 0x1p52L + 1}) {
    for (Real sign : {1.0L, -1.0L}) {
      if (dtype.is_float())
        values.push_back(round_to(dtype, sign * base));
      else if (dtype.is_int() && std::trunc(sign * base) <= highest_of(dtype) &&
               std::trunc(sign * base) >= lowest_of(dtype))
        values.push_back(std::trunc(sign * base) + 0.0L);
    }
  }
  return values;
}

Array source(u64 seed, DType dtype) {
  std::vector<Real> values = awkward_values(dtype);
  Random random(seed_of(seed, "values"));
  while (values.size() < 192) {
    const u64 bits = random.next() >> (64 - std::max(8, dtype.bits()));
    if (dtype.is_bool())
      values.push_back(static_cast<Real>(bits & 1));
    else
      values.push_back(decode(dtype, bits));
  }
  return {dtype, {static_cast<i64>(values.size())}, values};
}

void add_casts(Suite& suite, DType from) {
  Batch& batch = suite.add("cast/" + from.str(), {.dtypes = {from}});
  for (DType to : all_dtypes()) {
    batch.add(to.str(), {.dtypes = {from, to}}, [from, to](Trial& trial) {
      const Input& x = trial.input("x", [&] { return source(trial.seed(), from); });
      Array want = map(to, x.values, [&](Real v) { return cast_value(from, to, v); });
      Tolerance tolerance;
      tolerance.zero_sign = from.is_float() && to.is_float() && !format_of(to).fnuz;
      const Array& values = x.values;
      trial.expect("value", x.tensor.cast(to), std::move(want), tolerance,
                   [values](usize i) { return "x = " + text_of(values.values[i]); });
    });
  }
}

void add_bitcasts(Suite& suite, DType from) {
  Batch& batch = suite.add("bitcast/" + from.str(), {.dtypes = {from}});
  for (DType to : all_dtypes()) {
    if (to == from || to.bytes() != from.bytes() || to.is_bool() || from.is_bool()) continue;
    batch.add(to.str(), {.dtypes = {from, to}}, [from, to](Trial& trial) {
      const Input& x = trial.input("x", [&] {
        Array array = source(trial.seed(), from);
        // The bits of a NaN are unspecified.
        for (Real& value : array.values)
          if (std::isnan(value)) value = 1;
        return array;
      });
      Array want = map(to, x.values, [&](Real v) { return decode(to, encode(from, v)); });
      Tolerance tolerance;
      tolerance.zero_sign = to.is_float();
      const Array& values = x.values;
      trial.expect("value", x.tensor.bitcast(to), std::move(want), tolerance,
                   [values](usize i) { return "x = " + text_of(values.values[i]); });
    });
  }
}

}  // namespace

void add_cast_cases(Suite& suite) {
  for (DType dtype : all_dtypes()) {
    add_casts(suite, dtype);
    if (!dtype.is_bool()) add_bitcasts(suite, dtype);
  }
}

}  // namespace doorbell::conformance
