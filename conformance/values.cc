// Float formats from their parameters, and plain loops over arrays.
#include "conformance/values.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/util/check.h"

namespace doorbell::conformance {

using core::Scalar;

namespace {

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

struct Encoding {
  int exponent_bits, mantissa_bits, bias;
};
// [IEEE 754-2019 3.6; bfloat16 as the upper half of binary32; OCP 8-bit FP 1.0 table 1; fnuz:
// Noune et al. 2022, arXiv:2206.02915]
Encoding encoding_of(DType dtype) {
  switch (dtype.scalar) {
    case Scalar::F16: return {5, 10, 15};
    case Scalar::BF16: return {8, 7, 127};
    case Scalar::F8E4M3: return {4, 3, 7};
    case Scalar::F8E5M2: return {5, 2, 15};
    case Scalar::F8E4M3FNUZ: return {4, 3, 8};
    case Scalar::F8E5M2FNUZ: return {5, 2, 16};
    case Scalar::F32: return {8, 23, 127};
    case Scalar::F64: return {11, 52, 1023};
    default: UNREACHABLE("{} is no float", dtype.str());
  }
}

bool is_e4m3(DType dtype) { return dtype.scalar == Scalar::F8E4M3; }

}  // namespace

const std::vector<DType>& all_dtypes() {
  static const auto& dtypes = *new std::vector<DType>([] {
    std::vector<DType> made;
    for (usize i = static_cast<usize>(Scalar::Bool); i <= static_cast<usize>(Scalar::F64); ++i)
      made.push_back({static_cast<Scalar>(i), 1});
    return made;
  }());
  return dtypes;
}

bool is_fp8(DType dtype) { return dtype.is_float() && dtype.bytes() == 1; }

FloatFormat format_of(DType dtype) {
  const Encoding e = encoding_of(dtype);
  FloatFormat format{e.mantissa_bits, 1 - e.bias, 0, is_fp8(dtype), false};
  format.fnuz = dtype.scalar == Scalar::F8E4M3FNUZ || dtype.scalar == Scalar::F8E5M2FNUZ;
  // In the fnuz formats and in e4m3 the greatest exponent field encodes numbers; in e4m3 only the
  // all-ones pattern is NaN.
  const int top = (1 << e.exponent_bits) - (format.fnuz || is_e4m3(dtype) ? 1 : 2) - e.bias;
  const Real fraction = 2 - std::ldexp(is_e4m3(dtype) ? 2.0L : 1.0L, -e.mantissa_bits);
  format.max = std::ldexp(fraction, top);
  return format;
}

Real epsilon_of(DType dtype) { return std::ldexp(1.0L, -format_of(dtype).mantissa_bits); }

Real unit_of(DType dtype, Real value) {
  const FloatFormat format = format_of(dtype);
  const Real magnitude = std::min(std::fabs(value), format.max);
  const int exponent = magnitude == 0 ? format.least_exponent
                                      : std::max(std::ilogb(magnitude), format.least_exponent);
  return std::ldexp(1.0L, exponent - format.mantissa_bits);
}

Real lowest_of(DType integer) {
  return integer.is_signed_int() ? -std::ldexp(1.0L, integer.bits() - 1) : 0;
}
Real highest_of(DType integer) {
  return std::ldexp(1.0L, integer.is_signed_int() ? integer.bits() - 1 : integer.bits()) - 1;
}

Real wrap(DType dtype, __int128 value) {
  if (dtype.is_bool()) return value != 0;
  const int bits = dtype.bits();
  const auto low =
      static_cast<unsigned __int128>(value) & ((static_cast<unsigned __int128>(1) << bits) - 1);
  const bool negative = dtype.is_signed_int() && (low >> (bits - 1) & 1) != 0;
  return static_cast<Real>(static_cast<u64>(low)) - (negative ? std::ldexp(1.0L, bits) : 0);
}

Real round_to(DType dtype, Real value) {
  if (dtype.is_bool()) return value != 0;
  if (dtype.is_int()) return wrap(dtype, static_cast<__int128>(value));
  const FloatFormat format = format_of(dtype);
  if (std::isnan(value)) return value;
  if (value == 0) return format.fnuz ? 0 : value;
  if (std::isinf(value)) {
    if (format.fnuz) return kNan;
    return format.saturates ? std::copysign(format.max, value) : value;
  }
  const int exponent = std::max(std::ilogb(value), format.least_exponent);
  const Real unit = std::ldexp(1.0L, exponent - format.mantissa_bits);
  const Real rounded = std::nearbyint(std::fabs(value) / unit) * unit;  // the quotient is exact
  if (rounded == 0 && format.fnuz) return 0;
  if (rounded <= format.max) return std::copysign(rounded, value);
  return std::copysign(format.saturates ? format.max : kInf, value);
}

Real cast_value(DType from, DType to, Real value) {
  if (to.is_bool()) return value != 0 || std::isnan(value);
  if (to.is_float() || !from.is_float()) return round_to(to, value);
  if (std::isnan(value)) return 0;
  return std::min(std::max(std::trunc(value), lowest_of(to)), highest_of(to)) + 0.0L;
}

u64 encode(DType dtype, Real value) {
  if (!dtype.is_float()) {
    return value < 0 ? static_cast<u64>(static_cast<i64>(value)) : static_cast<u64>(value);
  }
  const Encoding e = encoding_of(dtype);
  const FloatFormat format = format_of(dtype);
  const u64 sign = u64{std::signbit(value)} << (e.exponent_bits + e.mantissa_bits);
  const u64 top = ((u64{1} << e.exponent_bits) - 1) << e.mantissa_bits;
  if (std::isnan(value)) {
    if (format.fnuz) return u64{1} << (e.exponent_bits + e.mantissa_bits);
    return top |
           (is_e4m3(dtype) ? (u64{1} << e.mantissa_bits) - 1 : u64{1} << (e.mantissa_bits - 1));
  }
  if (std::isinf(value)) return sign | top;
  if (value == 0) return format.fnuz ? 0 : sign;
  const int exponent = std::max(std::ilogb(value), format.least_exponent);
  const u64 significand =
      static_cast<u64>(std::ldexp(std::fabs(value), e.mantissa_bits - exponent));
  // A subnormal has no hidden bit, which adding it to the exponent's field would show.
  return sign + (static_cast<u64>(exponent + e.bias - 1) << e.mantissa_bits) + significand;
}

Real decode(DType dtype, u64 bits) {
  if (!dtype.is_float()) return wrap(dtype, static_cast<__int128>(bits));
  const Encoding e = encoding_of(dtype);
  const FloatFormat format = format_of(dtype);
  const u64 field = bits >> e.mantissa_bits & ((u64{1} << e.exponent_bits) - 1);
  const u64 mantissa = bits & ((u64{1} << e.mantissa_bits) - 1);
  const u64 top = (u64{1} << e.exponent_bits) - 1;
  const bool negative = bits >> (e.exponent_bits + e.mantissa_bits) & 1;
  if (format.fnuz && negative && field == 0 && mantissa == 0) return kNan;
  if (is_e4m3(dtype) && field == top && mantissa + 1 == u64{1} << e.mantissa_bits) return kNan;
  const bool ieee = !format.fnuz && !is_e4m3(dtype);
  if (ieee && field == top && mantissa != 0) return kNan;
  Real magnitude = 0;
  if (ieee && field == top)
    magnitude = kInf;
  else if (field == 0)
    magnitude = std::ldexp(static_cast<Real>(mantissa), format.least_exponent - e.mantissa_bits);
  else
    magnitude = std::ldexp(static_cast<Real>(mantissa + (u64{1} << e.mantissa_bits)),
                           static_cast<int>(field) - e.bias - e.mantissa_bits);
  return negative ? -magnitude : magnitude;
}

i64 count_of(const std::vector<i64>& shape) {
  i64 count = 1;
  for (i64 size : shape) count *= size;
  return count;
}

Place unflatten(i64 flat, const std::vector<i64>& shape) {
  Place at(shape.size());
  for (usize axis = shape.size(); axis-- > 0;) {
    at[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return at;
}

std::vector<i64> broadcast_shape(const std::vector<i64>& a, const std::vector<i64>& b) {
  std::vector<i64> shape = a.size() > b.size() ? a : b;
  const std::vector<i64>& other = a.size() > b.size() ? b : a;
  for (usize i = 0; i < other.size(); ++i) {
    i64& size = shape[shape.size() - other.size() + i];
    if (size == 1) size = other[i];
  }
  return shape;
}

std::string text_of(Real value) {
  if (std::isnan(value)) return "nan";
  const bool negative_zero = value == 0 && std::signbit(value);
  if (value == std::trunc(value) && std::fabs(value) < 0x1p64L && !negative_zero) {
    return fmt::format("{}{}", value < 0 ? "-" : "", static_cast<u64>(std::fabs(value)));
  }
  return fmt::format("{} ({:a})", static_cast<f64>(value), static_cast<f64>(value));
}
std::string text_of(const std::vector<i64>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

Array Array::make(DType dtype, std::vector<i64> shape,
                  const std::function<Real(const Place&)>& value) {
  Array array{dtype, std::move(shape), {}};
  const i64 count = array.count();
  array.values.reserve(static_cast<usize>(count));
  for (i64 i = 0; i < count; ++i) array.values.push_back(value(unflatten(i, array.shape)));
  return array;
}

Array Array::from_bytes(DType dtype, std::vector<i64> shape, std::span<const std::byte> bytes) {
  Array array{dtype, std::move(shape), {}};
  const usize width = static_cast<usize>(dtype.bytes());
  for (usize at = 0; at + width <= bytes.size(); at += width) {
    u64 bits = 0;
    std::memcpy(&bits, bytes.data() + at, width);
    array.values.push_back(decode(dtype, bits));
  }
  return array;
}

i64 Array::count() const { return count_of(shape); }

Real Array::at(const Place& place) const {
  i64 flat = 0;
  for (usize i = 0; i < shape.size(); ++i) flat = flat * shape[i] + place[i];
  return values[static_cast<usize>(flat)];
}

Real Array::broadcast_at(const Place& place) const {
  i64 flat = 0;
  const usize skipped = place.size() - shape.size();
  for (usize i = 0; i < shape.size(); ++i)
    flat = flat * shape[i] + (shape[i] == 1 ? 0 : place[skipped + i]);
  return values[static_cast<usize>(flat)];
}

std::vector<std::byte> Array::bytes() const {
  const usize width = static_cast<usize>(dtype.bytes());
  std::vector<std::byte> bytes(values.size() * width);
  for (usize i = 0; i < values.size(); ++i) {
    const u64 bits = encode(dtype, values[i]);
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

Array map(DType dtype, const Array& x, const std::function<Real(Real)>& f) {
  Array result{dtype, x.shape, {}};
  for (Real value : x.values) result.values.push_back(f(value));
  return result;
}

Array zip(DType dtype, const Array& x, const Array& y, const std::function<Real(Real, Real)>& f) {
  return Array::make(dtype, broadcast_shape(x.shape, y.shape),
                     [&](const Place& at) { return f(x.broadcast_at(at), y.broadcast_at(at)); });
}

Array flip(const Array& x, const std::vector<i64>& axes) {
  return Array::make(x.dtype, x.shape, [&](Place at) {
    for (i64 axis : axes)
      at[static_cast<usize>(axis)] =
          x.shape[static_cast<usize>(axis)] - 1 - at[static_cast<usize>(axis)];
    return x.at(at);
  });
}

Array permute(const Array& x, const std::vector<i64>& axes) {
  std::vector<i64> shape;
  for (i64 axis : axes) shape.push_back(x.shape[static_cast<usize>(axis)]);
  return Array::make(x.dtype, shape, [&](const Place& at) {
    Place from(at.size());
    for (usize i = 0; i < axes.size(); ++i) from[static_cast<usize>(axes[i])] = at[i];
    return x.at(from);
  });
}

Array expand(const Array& x, const std::vector<i64>& shape) {
  return Array::make(x.dtype, shape, [&](const Place& at) { return x.broadcast_at(at); });
}

Array pad(const Array& x, const std::vector<std::pair<i64, i64>>& amounts) {
  std::vector<i64> shape = x.shape;
  for (usize i = 0; i < shape.size(); ++i) shape[i] += amounts[i].first + amounts[i].second;
  return Array::make(x.dtype, shape, [&](Place at) -> Real {
    for (usize i = 0; i < at.size(); ++i) {
      at[i] -= amounts[i].first;
      if (at[i] < 0 || at[i] >= x.shape[i]) return 0;
    }
    return x.at(at);
  });
}

Array slice(const Array& x, i64 axis, i64 start, i64 step, i64 count) {
  std::vector<i64> shape = x.shape;
  shape[static_cast<usize>(axis)] = count;
  return Array::make(x.dtype, shape, [&](Place at) {
    at[static_cast<usize>(axis)] = start + step * at[static_cast<usize>(axis)];
    return x.at(at);
  });
}

Array reshape(const Array& x, std::vector<i64> shape) {
  return {x.dtype, std::move(shape), x.values};
}

Array sum_to(const Array& x, const std::vector<i64>& shape) {
  Array total = Array::make(x.dtype, shape, [](const Place&) { return 0; });
  const usize skipped = x.shape.size() - shape.size();
  for (i64 i = 0; i < x.count(); ++i) {
    const Place at = unflatten(i, x.shape);
    i64 flat = 0;
    for (usize axis = 0; axis < shape.size(); ++axis)
      flat = flat * shape[axis] + (shape[axis] == 1 ? 0 : at[skipped + axis]);
    total.values[static_cast<usize>(flat)] += x.values[static_cast<usize>(i)];
  }
  return total;
}

u64 Random::next() {
  u64 z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
f64 Random::unit() { return static_cast<f64>(next() >> 11) * 0x1p-53; }

u64 seed_of(u64 seed, std::string_view name) {
  u64 hash = 0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u);
  for (char c : name) hash = (hash ^ static_cast<u8>(c)) * 0x100000001b3u;  // FNV-1a
  return Random(hash).next();
}

}  // namespace doorbell::conformance
