// The reference that tensor tests compare with: an n-dimensional array of doubles made by a
// function of the index, and comparisons. Deliberately simple: nothing of the library is in it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::test {

using Place = std::vector<i64>;

struct Array {
  std::vector<i64> shape;
  std::vector<double> values;  // row-major

  static Array make(std::vector<i64> shape, const std::function<double(const Place&)>& value) {
    Array array{.shape = std::move(shape)};
    Place at(array.shape.size(), 0);
    i64 count = 1;
    for (i64 size : array.shape) count *= size;
    for (i64 i = 0; i < count; ++i) {
      i64 rest = i;
      for (usize axis = at.size(); axis-- > 0;) {
        at[axis] = rest % array.shape[axis];
        rest /= array.shape[axis];
      }
      array.values.push_back(value(at));
    }
    return array;
  }
  // Values without pattern, of about unit size, that f32 holds exactly.
  static Array noise(std::vector<i64> shape, u32 seed) {
    u32 state = seed * 2654435761u + 1;
    return make(std::move(shape), [&](const Place&) {
      state = state * 1664525u + 1013904223u;
      return (static_cast<double>(state >> 12) / (1 << 20) - 0.5) * 2;
    });
  }

  double at(const Place& place) const {
    i64 flat = 0;
    for (usize i = 0; i < shape.size(); ++i) flat = flat * shape[i] + place[i];
    return values[static_cast<usize>(flat)];
  }
  Tensor tensor(DType dtype = dtypes::f32) const {
    if (dtype == dtypes::f64) return Tensor::from_data(values, shape);
    std::vector<float> data(values.begin(), values.end());
    return Tensor::from_data(data, shape, {.dtype = dtype});
  }
};

inline std::string text_of(const std::vector<i64>& shape) { return Shape(shape).str(); }

// Equal within rtol * |expected| + atol; NaN equals NaN, infinities must agree.
inline void expect_close(const Tensor& actual, const Array& expected, double rtol = 1e-5,
                         double atol = 1e-6) {
  ASSERT_EQ(actual.shape().str(), text_of(expected.shape));
  const std::vector<double> values = actual.to_vector<double>();
  ASSERT_EQ(values.size(), expected.values.size());
  int shown = 0;
  for (usize i = 0; i < values.size() && shown < 5; ++i) {
    const double a = values[i], e = expected.values[i];
    if (std::isnan(e) ? std::isnan(a) : a == e) continue;
    const bool close =
        std::isfinite(a) && std::isfinite(e) && std::abs(a - e) <= rtol * std::abs(e) + atol;
    if (close) continue;
    ADD_FAILURE() << "element " << i << " is " << a << ", expected " << e;
    ++shown;
  }
}

inline void expect_exact(const Tensor& actual, const Array& expected) {
  expect_close(actual, expected, 0, 0);
}

inline void expect_values(const Tensor& actual, std::vector<double> expected, double rtol = 1e-5,
                          double atol = 1e-6) {
  const std::vector<i64> shape = actual.shape().values();
  i64 count = 1;
  for (i64 size : shape) count *= size;
  ASSERT_EQ(static_cast<usize>(count), expected.size()) << "shape " << actual.shape().str();
  expect_close(actual, {shape, std::move(expected)}, rtol, atol);
}

// The message of the Error that `run` throws.
template <class Run>
std::string message_of(Run run) {
  try {
    run();
  } catch (const Error& error) {
    return error.message;
  }
  return "nothing was thrown";
}

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// Compares gradient() of a weighted sum of `function` with central differences, in f64.
inline void expect_gradient(const Function& function, const std::vector<Array>& inputs,
                            double tolerance = 1e-5) {
  auto weighted = [&](const std::vector<Tensor>& tensors) {
    const Tensor result = function(tensors);
    const Array weights = Array::noise(result.shape().values(), 99);
    return (result * weights.tensor(dtypes::f64)).sum();
  };
  std::vector<Tensor> tensors;
  for (const Array& input : inputs) tensors.push_back(input.tensor(dtypes::f64));
  const std::vector<Tensor> gradients = weighted(tensors).gradient(tensors);
  constexpr double kStep = 1e-5;
  for (usize i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE("input " + std::to_string(i));
    Array expected{.shape = inputs[i].shape};
    for (usize j = 0; j < inputs[i].values.size(); ++j) {
      double sides[2];
      for (int side = 0; side < 2; ++side) {
        Array moved = inputs[i];
        moved.values[j] += side == 0 ? kStep : -kStep;
        std::vector<Tensor> changed = tensors;
        changed[i] = moved.tensor(dtypes::f64);
        sides[side] = weighted(changed).item<double>();
      }
      expected.values.push_back((sides[0] - sides[1]) / (2 * kStep));
    }
    expect_close(gradients[i], expected, tolerance, tolerance);
  }
}

}  // namespace doorbell::test
