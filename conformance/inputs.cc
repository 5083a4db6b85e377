// Random and special values, and the views.
#include "conformance/inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/util/check.h"

namespace doorbell::conformance {
namespace {

Real draw(Random& random, Domain domain) {
  const Real unit = random.unit();
  const Real sign = random.below(2) == 0 ? 1 : -1;
  switch (domain) {
    case Domain::Any: return sign * std::exp2(unit * 16 - 8);
    case Domain::Small: return sign * unit * 6;
    case Domain::Positive: return std::exp2(unit * 16 - 8);
    case Domain::Unit: return sign * unit * 0.96875L;
    case Domain::AboveOne: return 1 + std::exp2(unit * 8 - 2);
    case Domain::AwayFromZero: return sign * std::exp2(unit * 8 - 2);
  }
  UNREACHABLE("domain {}", static_cast<int>(domain));
}

}  // namespace

Array random_array(Random& random, DType dtype, std::vector<i64> shape, Domain domain) {
  return Array::make(dtype, std::move(shape), [&](const Place&) -> Real {
    const Real value = draw(random, domain);
    if (dtype.is_float()) return round_to(dtype, value);
    if (dtype.is_bool()) return random.below(2);
    const Real whole = std::trunc(dtype.is_unsigned() ? std::fabs(value) : value);
    return std::clamp(whole, lowest_of(dtype), highest_of(dtype)) + 0.0L;  // no negative zero
  });
}

std::vector<Real> special_values(DType dtype) {
  if (dtype.is_bool()) return {0, 1};
  if (dtype.is_int()) {
    const Real low = lowest_of(dtype), high = highest_of(dtype);
    std::vector<Real> values = {0, 1, 2, 3, 7, high, high - 1, std::trunc(high / 2)};
    if (dtype.is_signed_int()) values.insert(values.end(), {-1.0L, -2.0L, -7.0L, low, low + 1});
    return values;
  }
  const FloatFormat format = format_of(dtype);
  std::vector<Real> values = {0, 1, -1, 0.5L, -0.5L, 1.5L, 2.5L, -2.5L, 3, format.max, -format.max};
  values.push_back(std::ldexp(1.0L, format.least_exponent));
  values.push_back(std::numeric_limits<Real>::quiet_NaN());
  if (!format.fnuz) values.push_back(-0.0L);
  if (!is_fp8(dtype)) {
    values.push_back(std::numeric_limits<Real>::infinity());
    values.push_back(-std::numeric_limits<Real>::infinity());
  }
  return values;
}

const std::vector<View>& views() {
  static const auto& all = *new std::vector<View>{
      {"empty", {0}, [](const Tensor& x) { return x; }, [](const Array& x) { return x; }},
      {"empty_axis",
       {3, 0, 2},
       [](const Tensor& x) { return x; },
       [](const Array& x) { return x; }},
      {"scalar", {}, [](const Tensor& x) { return x; }, [](const Array& x) { return x; }},
      {"one", {1}, [](const Tensor& x) { return x; }, [](const Array& x) { return x; }},
      {"odd", {3, 5, 7}, [](const Tensor& x) { return x; }, [](const Array& x) { return x; }},
      {"flip",
       {5, 9},
       [](const Tensor& x) { return x.flip({0, 1}); },
       [](const Array& x) { return flip(x, {0, 1}); }},
      {"transposed",
       {6, 11},
       [](const Tensor& x) { return x.transpose(0, 1); },
       [](const Array& x) { return permute(x, {1, 0}); }},
      {"strided",
       {4, 13},
       [](const Tensor& x) { return x[{Ellipsis, Slice(1, None, 3)}]; },
       [](const Array& x) { return slice(x, 1, 1, 3, 4); }},
      {"repeated",
       {1, 7},
       [](const Tensor& x) { return x.expand({5, 7}); },
       [](const Array& x) { return expand(x, {5, 7}); }},
      {"offset",
       {67},
       [](const Tensor& x) { return x[{Slice(3, None)}]; },
       [](const Array& x) { return slice(x, 0, 3, 1, 64); }},
      {"padded",
       {3, 4},
       [](const Tensor& x) { return x.pad({{1, 0}, {2, 3}}); },
       [](const Array& x) { return pad(x, {{1, 0}, {2, 3}}); }},
      {"large", {4099}, [](const Tensor& x) { return x; }, [](const Array& x) { return x; }, true},
  };
  return all;
}

const View& view_named(std::string_view name) {
  for (const View& view : views())
    if (view.name == name) return view;
  UNREACHABLE("no view {}", name);
}

}  // namespace doorbell::conformance
