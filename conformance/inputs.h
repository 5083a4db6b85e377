// The inputs that cases share: values of a dtype over a domain, and shapes and views that reveal
// errors of kernels (empty, scalar, odd, large, reversed, not contiguous, repeated, at an offset).
#pragma once

#include "conformance/suite.h"

namespace doorbell::conformance {

// Where a function is defined and well-conditioned.
enum class Domain : u8 {
  Any,           // both signs, 2^-8 to 2^8
  Small,         // both signs, up to 6
  Positive,      // 2^-8 to 2^8
  Unit,          // -1 to 1, both excluded
  AboveOne,      // 1 to 64
  AwayFromZero,  // as Any, nothing below 1/4
};

// Random values of the domain that the dtype can hold.
Array random_array(Random& random, DType dtype, std::vector<i64> shape, Domain domain);
// Zeros, ones, halves, infinities, NaN, the largest and the least value, as far as the dtype has
// them.
std::vector<Real> special_values(DType dtype);

// A way to view stored values. `stored` is the shape in memory.
struct View {
  const char* name;
  std::vector<i64> stored;
  Tensor (*of_tensor)(const Tensor&);
  Array (*of_array)(const Array&);
  bool large = false;
};
const std::vector<View>& views();
const View& view_named(std::string_view name);

}  // namespace doorbell::conformance
