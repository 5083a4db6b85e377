// Rounding and encoding of float formats, generic over exponent and mantissa widths.
#include "core/eval/float_format.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/util/check.h"

namespace doorbell::core {
namespace {

enum class Specials : u8 {
  Ieee,    // all-ones exponent: infinity and NaN
  Finite,  // OFP8 E4M3: no infinity, NaN is all ones
  Fnuz,    // no infinity, no negative zero, NaN is the pattern of negative zero
};

struct Format {
  int exponent_bits, mantissa_bits, bias;
  Specials specials;
  bool saturates;
  f64 max;
};

constexpr Format format_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::F16: return {5, 10, 15, Specials::Ieee, false, 65504.0};
    case Scalar::BF16: return {8, 7, 127, Specials::Ieee, false, 0x1.fep127};
    case Scalar::F8E4M3: return {4, 3, 7, Specials::Finite, true, 448.0};
    case Scalar::F8E5M2: return {5, 2, 15, Specials::Ieee, true, 57344.0};
    case Scalar::F8E4M3FNUZ: return {4, 3, 8, Specials::Fnuz, true, 240.0};
    case Scalar::F8E5M2FNUZ: return {5, 2, 16, Specials::Fnuz, true, 57344.0};
    default: return {};
  }
}

f64 round_narrow(const Format& format, f64 value) {
  if (std::isnan(value)) return value;
  f64 magnitude = std::fabs(value);
  if (magnitude == 0) return format.specials == Specials::Fnuz ? 0.0 : value;
  if (std::isinf(value)) {
    if (format.specials == Specials::Fnuz) return std::numeric_limits<f64>::quiet_NaN();
    return format.saturates ? std::copysign(format.max, value) : value;
  }
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  f64 unit = std::ldexp(1.0, exponent - format.mantissa_bits);
  // The quotient is exact (a power of two); nearbyint rounds ties to even in the default mode.
  f64 rounded = std::nearbyint(magnitude / unit) * unit;
  if (rounded > format.max) {
    rounded = format.saturates ? format.max : std::numeric_limits<f64>::infinity();
  }
  if (rounded == 0 && format.specials == Specials::Fnuz) return 0.0;
  return std::copysign(rounded, value);
}

u64 narrow_bits(const Format& format, f64 value) {
  const int e = format.exponent_bits, m = format.mantissa_bits;
  const u64 sign = u64{std::signbit(value)} << (e + m);
  const u64 exponent_ones = ((u64{1} << e) - 1) << m;
  if (std::isnan(value)) {
    if (format.specials == Specials::Fnuz) return u64{1} << (e + m);
    if (format.specials == Specials::Finite) return sign | exponent_ones | ((u64{1} << m) - 1);
    return sign | exponent_ones | u64{1} << (m - 1);
  }
  if (std::isinf(value)) return sign | exponent_ones;
  f64 magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  u64 significand = static_cast<u64>(std::ldexp(magnitude, m - exponent));
  // A subnormal has no hidden bit, and the exponent field of zero that follows from adding it.
  return sign + (static_cast<u64>(exponent + format.bias - 1) << m) + significand;
}

f64 narrow_value(const Format& format, u64 bits) {
  const int e = format.exponent_bits, m = format.mantissa_bits;
  const u64 exponent_max = (u64{1} << e) - 1, mantissa_max = (u64{1} << m) - 1;
  const u64 exponent = bits >> m & exponent_max, mantissa = bits & mantissa_max;
  const f64 sign = bits >> (e + m) & 1 ? -1.0 : 1.0;
  const f64 nan = std::numeric_limits<f64>::quiet_NaN();
  if (format.specials == Specials::Fnuz && bits == u64{1} << (e + m)) return nan;
  if (format.specials == Specials::Finite && exponent == exponent_max && mantissa == mantissa_max)
    return std::copysign(nan, sign);
  if (format.specials == Specials::Ieee && exponent == exponent_max)
    return std::copysign(mantissa ? nan : std::numeric_limits<f64>::infinity(), sign);
  if (exponent == 0) return sign * std::ldexp(static_cast<f64>(mantissa), 1 - format.bias - m);
  return sign * std::ldexp(static_cast<f64>(mantissa | u64{1} << m),
                           static_cast<int>(exponent) - format.bias - m);
}

}  // namespace

f64 round_to_format(Scalar format, f64 value) {
  if (format == Scalar::F64) return value;
  if (format == Scalar::F32) return static_cast<f64>(static_cast<f32>(value));
  return round_narrow(format_of(format), value);
}

u64 float_bits(Scalar format, f64 value) {
  if (format == Scalar::F64) return std::bit_cast<u64>(value);
  if (format == Scalar::F32) return std::bit_cast<u32>(static_cast<f32>(value));
  return narrow_bits(format_of(format), value);
}

f64 float_from_bits(Scalar format, u64 bits) {
  if (format == Scalar::F64) return std::bit_cast<f64>(bits);
  if (format == Scalar::F32) return static_cast<f64>(std::bit_cast<f32>(static_cast<u32>(bits)));
  const Format narrow = format_of(format);
  CHECK(narrow.exponent_bits > 0, "{} is no float", static_cast<int>(format));
  return narrow_value(narrow, bits);
}

}  // namespace doorbell::core
