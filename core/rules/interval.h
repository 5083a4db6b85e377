// Checked i64 arithmetic and intervals whose ends may be infinite, for rules about bounds.
#pragma once

#include <optional>

#include "core/uop/uop.h"

namespace doorbell::core {

constexpr bool is_finite(i64 bound) { return bound != kMinusInf && bound != kPlusInf; }

// Exact, or none where i64 cannot hold it. The two infinities count as overflow.
inline std::optional<i64> checked_add(i64 a, i64 b) {
  i64 r;
  if (__builtin_add_overflow(a, b, &r) || !is_finite(r)) return std::nullopt;
  return r;
}
inline std::optional<i64> checked_mul(i64 a, i64 b) {
  i64 r;
  if (__builtin_mul_overflow(a, b, &r) || !is_finite(r)) return std::nullopt;
  return r;
}

// Of finite numbers, b > 0.
constexpr i64 floor_div(i64 a, i64 b) {
  i64 q = a / b;
  return a % b < 0 ? q - 1 : q;
}
constexpr i64 floor_mod(i64 a, i64 b) {
  i64 r = a % b;
  return r < 0 ? r + b : r;
}
constexpr i64 ceil_div(i64 a, i64 b) {
  i64 q = a / b;
  return a % b > 0 ? q + 1 : q;
}

struct Interval {
  i64 lo = 0, hi = 0;

  bool finite() const { return is_finite(lo) && is_finite(hi); }
  void add(i64 value) { add(Interval{value, value}); }
  void add(Interval other) {
    lo = lo == kMinusInf || other.lo == kMinusInf ? kMinusInf
                                                  : checked_add(lo, other.lo).value_or(kMinusInf);
    hi = hi == kPlusInf || other.hi == kPlusInf ? kPlusInf
                                                : checked_add(hi, other.hi).value_or(kPlusInf);
  }
  // Of the node's values times a factor.
  static Interval of(UOp uop, i64 factor = 1) {
    i64 a = factor >= 0 ? uop.vmin() : uop.vmax(), b = factor >= 0 ? uop.vmax() : uop.vmin();
    Interval r{kMinusInf, kPlusInf};
    if (factor == 0) return {0, 0};
    if (is_finite(a)) r.lo = checked_mul(a, factor).value_or(kMinusInf);
    if (is_finite(b)) r.hi = checked_mul(b, factor).value_or(kPlusInf);
    return r;
  }
  // The one value of floor(v / c) over the interval, if there is one; c > 0.
  std::optional<i64> only_quotient(i64 c) const {
    if (!finite() || floor_div(lo, c) != floor_div(hi, c)) return std::nullopt;
    return floor_div(lo, c);
  }
};

}  // namespace doorbell::core
