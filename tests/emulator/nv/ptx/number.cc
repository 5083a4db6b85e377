// Arithmetic on integers of 128 bits. [IEEE 754-2019, 4 to 6]
#include "tests/emulator/nv/ptx/number.h"

#include <utility>

namespace doorbell::ptx {

namespace {

using Kind = Number::Kind;
constexpr int kHighest = 124;  // the mantissa's first bit, once aligned

int highest_bit(u128 value) {
  int at = -1;
  for (; value != 0; value >>= 1) ++at;
  return at;
}

// The first bit of the mantissa at kHighest: what shifts out to the right is sticky.
Number aligned(Number n) {
  if (n.mantissa == 0) return n;
  const int shift = kHighest - highest_bit(n.mantissa);
  if (shift >= 0) {
    n.mantissa <<= shift;
  } else {
    n.sticky |= (n.mantissa & ((u128{1} << -shift) - 1)) != 0;
    n.mantissa >>= -shift;
  }
  n.exponent -= shift;
  return n;
}

Number special(Kind kind, bool negative = false) { return {.kind = kind, .negative = negative}; }

Number shifted_right(Number n, int count) {
  if (count > 127) {
    n.sticky |= n.mantissa != 0;
    n.mantissa = 0;
  } else if (count > 0) {
    n.sticky |= (n.mantissa & ((u128{1} << count) - 1)) != 0;
    n.mantissa >>= count;
  }
  n.exponent += count;
  return n;
}

// The mantissa without its last `shift` bits, which round it.
u128 rounded(const Number& n, int shift, Rounding rounding) {
  if (shift <= 0) return n.mantissa << -shift;
  const u128 kept = shift > 127 ? 0 : n.mantissa >> shift;
  const u128 rest = shift > 127 ? n.mantissa : n.mantissa & ((u128{1} << shift) - 1);
  const bool inexact = rest != 0 || n.sticky;
  const u128 half = shift > 127 ? 0 : u128{1} << (shift - 1);
  const bool tie = half != 0 && rest == half && !n.sticky;
  const bool beyond = half != 0 && rest >= half && !tie;
  bool up = false;
  switch (rounding) {
    case Rounding::Nearest: up = beyond || (tie && (kept & 1) != 0); break;
    case Rounding::NearestAway: up = beyond || tie; break;
    case Rounding::Zero: break;
    case Rounding::Down: up = inexact && n.negative; break;
    case Rounding::Up: up = inexact && !n.negative; break;
  }
  return kept + (up ? 1 : 0);
}

u64 overflowed(const Format& format, Rounding rounding, bool negative, bool saturate) {
  const bool away = rounding == Rounding::Nearest || rounding == Rounding::NearestAway ||
                    rounding == (negative ? Rounding::Down : Rounding::Up);
  const u64 beyond = format.has_infinity ? format.infinity() : format.nan();
  return (away && !saturate ? beyond : format.largest()) | (negative ? format.sign() : 0);
}

}  // namespace

Number decode(u64 bits, const Format& format) {
  Number n;
  n.negative = (bits & format.sign()) != 0;
  bits &= format.sign() - 1;
  if (format.has_infinity ? bits > format.infinity() : bits == format.nan())
    return special(Kind::NaN, n.negative);
  if (format.has_infinity && bits == format.infinity()) return special(Kind::Infinity, n.negative);
  const u64 hidden = u64{1} << format.mantissa_bits;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits);
  n.mantissa = (bits & (hidden - 1)) | (exponent == 0 ? 0 : hidden);
  n.exponent = (exponent == 0 ? 1 : exponent) - format.bias() - format.mantissa_bits;
  return n;
}

u64 encode(const Number& number, const Format& format, Rounding rounding, bool saturate) {
  if (number.is_nan()) return format.nan();
  const u64 sign = number.negative ? format.sign() : 0;
  if (number.is_infinite()) {
    const u64 beyond = format.has_infinity ? format.infinity() : format.nan();
    return sign | (saturate ? format.largest() : beyond);
  }
  if (number.mantissa == 0) return sign;
  const Number n = aligned(number);
  const int least = 1 - format.bias();
  const int exponent = n.exponent + kHighest < least ? least : n.exponent + kHighest;
  const u128 kept = rounded(n, exponent - format.mantissa_bits - n.exponent, rounding);
  // The hidden bit adds one to the exponent, and a carry of the rounding another one.
  const int biased = exponent + format.bias() - 1;
  if (biased > 1 << format.exponent_bits) return overflowed(format, rounding, n.negative, saturate);
  const u64 bits = (static_cast<u64>(biased) << format.mantissa_bits) + static_cast<u64>(kept);
  if (bits > format.largest()) return overflowed(format, rounding, n.negative, saturate);
  return sign | bits;
}

Number from_integer(i128 value) {
  Number n;
  n.negative = value < 0;
  n.mantissa = n.negative ? -static_cast<u128>(value) : static_cast<u128>(value);
  return n;
}

Number round_to_integer(const Number& number, Rounding rounding) {
  if (number.kind != Kind::Finite || number.mantissa == 0) return number;
  const Number n = aligned(number);
  if (n.exponent >= 0) return n;
  Number whole = n;
  whole.mantissa = rounded(n, -n.exponent, rounding);
  whole.exponent = 0;
  whole.sticky = false;
  return whole;
}

i128 to_integer(const Number& number, Rounding rounding, i128 least, i128 most) {
  if (number.is_nan()) return 0;
  const Number n = round_to_integer(number, rounding);
  if (n.is_zero()) return 0;
  if (n.is_infinite() || highest_bit(n.mantissa) + n.exponent > 100)
    return n.negative ? least : most;
  const u128 magnitude = n.exponent >= 0 ? n.mantissa << n.exponent : n.mantissa >> -n.exponent;
  const i128 value = n.negative ? -static_cast<i128>(magnitude) : static_cast<i128>(magnitude);
  return value < least ? least : value > most ? most : value;
}

Number add(const Number& a, const Number& b, Rounding rounding) {
  if (a.is_nan() || b.is_nan()) return special(Kind::NaN);
  if (a.is_infinite() && b.is_infinite() && a.negative != b.negative) return special(Kind::NaN);
  if (a.is_infinite()) return a;
  if (b.is_infinite()) return b;
  if (a.is_zero() && b.is_zero()) {
    const bool negative = a.negative == b.negative ? a.negative : rounding == Rounding::Down;
    return {.negative = negative};
  }
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  Number large = aligned(a), small = aligned(b);
  if (small.exponent > large.exponent) std::swap(large, small);
  small = shifted_right(small, large.exponent - small.exponent);
  Number sum = large;
  sum.sticky |= small.sticky;
  if (large.negative == small.negative) {
    sum.mantissa += small.mantissa;
    return aligned(sum);
  }
  if (large.mantissa == small.mantissa && !small.sticky)
    return {.negative = rounding == Rounding::Down};
  if (large.mantissa < small.mantissa) {
    sum.negative = small.negative;
    sum.mantissa = small.mantissa - large.mantissa;
  } else {
    // Something below the last bit is subtracted too: borrow, and something stays below.
    sum.mantissa -= small.mantissa + (small.sticky ? 1 : 0);
  }
  return aligned(sum);
}

Number multiply(const Number& a, const Number& b) {
  const bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan()) return special(Kind::NaN);
  if (a.is_infinite() || b.is_infinite())
    return special(a.is_zero() || b.is_zero() ? Kind::NaN : Kind::Infinity, negative);
  return {.negative = negative,
          .mantissa = a.mantissa * b.mantissa,
          .exponent = a.exponent + b.exponent};
}

Number divide(const Number& a, const Number& b) {
  const bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan() || (a.is_infinite() && b.is_infinite()) ||
      (a.is_zero() && b.is_zero()))
    return special(Kind::NaN);
  if (a.is_infinite() || b.is_zero()) return special(Kind::Infinity, negative);
  if (a.is_zero() || b.is_infinite()) return {.negative = negative};
  const Number n = aligned(a);
  Number quotient{.negative = negative,
                  .mantissa = n.mantissa / b.mantissa,
                  .exponent = n.exponent - b.exponent};
  quotient.sticky = n.mantissa % b.mantissa != 0;
  return quotient;
}

Number square_root(const Number& a) {
  if (a.is_nan() || a.is_zero()) return a;
  if (a.negative) return special(Kind::NaN);
  if (a.is_infinite()) return a;
  Number n = aligned(a);
  if (n.exponent % 2 != 0) {
    n.mantissa >>= 1;  // the last bits of a format's number are zeros here
    ++n.exponent;
  }
  u128 root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const u128 with = root | (u128{1} << bit);
    if (with * with <= n.mantissa) root = with;
  }
  return {.mantissa = root, .exponent = n.exponent / 2, .sticky = root * root != n.mantissa};
}

int compare(const Number& a, const Number& b) {
  if (a.is_zero() && b.is_zero()) return 0;
  if (a.is_infinite() && b.is_infinite() && a.negative == b.negative) return 0;
  Number minus = b;
  minus.negative = !b.negative;
  const Number difference = add(a, minus, Rounding::Nearest);
  if (difference.is_zero()) return 0;
  return difference.negative ? -1 : 1;
}

}  // namespace doorbell::ptx
