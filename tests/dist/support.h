// Values for tests of several processes: the same in each of them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "runtime/distributed.h"

namespace doorbell::test {

// Whole numbers, so that the order of sums does not matter.
inline Tensor whole_numbers(const Shape& shape, i64 seed, DType dtype = dtypes::f32) {
  const i64 count = shape.numel().value();
  std::vector<f64> values;
  u64 state = static_cast<u64>(seed) * 2654435761u + 1;
  for (i64 i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<f64>(state >> 60) - 7);
  }
  return Tensor::from_data(values, {count}).reshape(shape).cast(dtype).contiguous().realize();
}

inline std::vector<f64> values_of(const Tensor& x) {
  return x.cast(dtypes::f64).to("CPU").to_vector<f64>();
}

inline void expect_same(const Tensor& found, const Tensor& expected, f64 relative = 0) {
  ASSERT_EQ(found.shape().str(), expected.shape().str());
  const std::vector<f64> a = values_of(found), b = values_of(expected);
  for (usize i = 0; i < a.size(); ++i)
    ASSERT_LE(std::abs(a[i] - b[i]), relative * std::max(1.0, std::abs(b[i])))
        << "element " << i << " on rank " << dist::rank();
}

}  // namespace doorbell::test
