// Values as the suite holds them: numbers of every dtype as long double, which represents all of
// i64, u64 and f64, with extra digits for references. Rounding, wrapping and encoding are
// implemented anew here, so that core/eval is not tested against itself. For comparing see
// compare.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::conformance {

using Real = long double;
using Place = std::vector<i64>;

// The dtypes that memory can hold, in the order of core's enum.
const std::vector<DType>& all_dtypes();
bool is_fp8(DType dtype);

// The parameters of a float dtype. For f32 and f64 these are the IEEE formats.
struct FloatFormat {
  int mantissa_bits, least_exponent;  // of normal numbers
  Real max;
  // Beyond max: infinity, or max where it saturates. The fnuz formats have one zero and no
  // infinity, and an infinity becomes NaN.
  bool saturates, fnuz;
};
FloatFormat format_of(DType dtype);
// Distance from 1 to the next value, and between neighbours around a value.
Real epsilon_of(DType dtype);
Real unit_of(DType dtype, Real value);

// To the nearest value, ties to even; integers wrap; to bool is "not zero".
Real round_to(DType dtype, Real value);
Real wrap(DType dtype, __int128 value);
// As Cast converts: floats truncate and saturate on their way to integers, NaN gives 0.
Real cast_value(DType from, DType to, Real value);
Real lowest_of(DType integer);
Real highest_of(DType integer);

u64 encode(DType dtype, Real value);
Real decode(DType dtype, u64 bits);

struct Array {
  DType dtype;
  std::vector<i64> shape;
  std::vector<Real> values;  // row-major

  static Array make(DType dtype, std::vector<i64> shape,
                    const std::function<Real(const Place&)>& value);
  static Array from_bytes(DType dtype, std::vector<i64> shape, std::span<const std::byte> bytes);
  i64 count() const;
  Real at(const Place& place) const;
  // The element that broadcasting gives at an index of a larger shape.
  Real broadcast_at(const Place& place) const;
  std::vector<std::byte> bytes() const;
};

i64 count_of(const std::vector<i64>& shape);
Place unflatten(i64 flat, const std::vector<i64>& shape);
std::vector<i64> broadcast_shape(const std::vector<i64>& a, const std::vector<i64>& b);
std::string text_of(Real value);
std::string text_of(const std::vector<i64>& shape);

// Elementwise over arrays that broadcast; the result is rounded to `dtype` only by comparing.
Array map(DType dtype, const Array& x, const std::function<Real(Real)>& f);
Array zip(DType dtype, const Array& x, const Array& y, const std::function<Real(Real, Real)>& f);

// Movement of elements, as the tensor API names it.
Array flip(const Array& x, const std::vector<i64>& axes);
Array permute(const Array& x, const std::vector<i64>& axes);
Array expand(const Array& x, const std::vector<i64>& shape);
Array pad(const Array& x, const std::vector<std::pair<i64, i64>>& amounts);
Array slice(const Array& x, i64 axis, i64 start, i64 step, i64 count);
Array reshape(const Array& x, std::vector<i64> shape);
// Adds up over the axes that broadcasting from `shape` has made.
Array sum_to(const Array& x, const std::vector<i64>& shape);

// A small stream of random numbers, the same everywhere (splitmix64).
class Random {
 public:
  explicit Random(u64 seed) : state_(seed) {}
  u64 next();
  u64 below(u64 bound) { return next() % bound; }
  f64 unit();  // [0, 1)

 private:
  u64 state_;
};
u64 seed_of(u64 seed, std::string_view name);

}  // namespace doorbell::conformance
