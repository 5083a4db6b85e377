// How far a device's result may be from the reference, and the message when it is farther.
#pragma once

#include <optional>

#include "conformance/values.h"

namespace doorbell::conformance {

// |got - want| <= ulps * (distance of neighbours at want) + absolute + relative * |want|. Integers
// and bools are equal or wrong. NaN is NaN; infinities have signs.
struct Tolerance {
  f64 ulps = kRounded;
  f64 absolute = 0, relative = 0;
  // A zero must have the sign of the reference's zero.
  bool zero_sign = false;

  // Rounded once, to nearest; the references have more digits, but not arbitrarily many.
  static constexpr f64 kRounded = 0.501;
};

struct Difference {
  usize element;
  std::string
      text;  // "element (1, 2): got 3, expected 4, off by 1e6 ulps; 5 of 24 elements differ"
};

// `want` holds unrounded values; its dtype and shape are those that `got` must have.
std::optional<Difference> compare(const Array& got, const Array& want, const Tolerance& tolerance);

}  // namespace doorbell::conformance
