// Functions of two floats that are more than an op: atan2, hypot, copysign, nextafter, and integer
// powers. For arithmetic see elementwise.cc. Half floats compute in f32.
#include <cmath>
#include <numbers>

#include "tensor/api/axes.h"
#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"

namespace doorbell {

using detail::constant;
using detail::narrowed;
using detail::select;
using detail::widened;

namespace {

// The slopes of a function for its two inputs, which have the result's value beside them.
using Slopes = Tensor (*)(const Tensor& a, const Tensor& b, usize input);

class SlopesRule final : public detail::GradientRule {
 public:
  explicit SlopesRule(Slopes slopes) : slopes_(slopes) {}
  Tensor derivative(const Tensor& gradient, const std::vector<Tensor>& inputs,
                    usize input) const override {
    const Tensor slope = slopes_(widened(inputs[0]), widened(inputs[1]), input);
    return (gradient.cast(slope.dtype()) * slope).cast(inputs[input].dtype());
  }

 private:
  const Slopes slopes_;
};

// Both as floats of one dtype and shape.
std::pair<Tensor, Tensor> floats_of(const Operand& a, const Operand& b) {
  const auto [x, y] = detail::promote(a, b);
  const Shape shape = detail::broadcast_shapes(x.shape(), y.shape());
  return {detail::as_float(x).expand(shape), detail::as_float(y).expand(shape)};
}

Tensor with_slopes(const Tensor& value, const Tensor& a, const Tensor& b, Slopes slopes) {
  return detail::with_gradient(narrowed(value, a), {a, b}, std::make_unique<SlopesRule>(slopes));
}

// The smaller by the larger of two magnitudes, 0 to 1: 0 of zeros, 1 of infinities.
Tensor ratio_of(const Tensor& least, const Tensor& most) {
  const Tensor same = least == most;
  const Tensor ratio = least / select(same, constant(1, most.dtype()), most);
  return select(same, (most != 0).cast(most.dtype()), ratio);
}

// x / (y^2 + x^2) and -y / (y^2 + x^2), without squares that overflow; 0 at the origin, and 0 or,
// of the infinite one, NaN at infinities.
Tensor slopes_of_atan2(const Tensor& y, const Tensor& x, usize input) {
  const Tensor most = y.abs().maximum(x.abs());
  const Tensor at_origin = most == 0;
  const Tensor scale = select(at_origin | most.isinf(), constant(1, most.dtype()), most);
  const Tensor u = y / scale, v = x / scale;
  const Tensor square = select(at_origin, constant(1, most.dtype()), u * u + v * v);
  return (input == 0 ? v : u.neg()) / square / scale;
}

Tensor slopes_of_hypot(const Tensor& a, const Tensor& b, usize input) {
  return (input == 0 ? a : b) / a.hypot(b);
}

DType integer_of(DType dtype) {
  switch (dtype.bytes()) {
    case 1: return dtypes::i8;
    case 2: return dtypes::i16;
    case 4: return dtypes::i32;
    default: return dtypes::i64;
  }
}

// x, or -x where the sign bit of `sign` is set: of -0 and of NaN it counts, too.
Tensor negated_as(const Tensor& sign, const Tensor& x) {
  return select(sign.detach().bitcast(integer_of(sign.dtype())) < 0, x.neg(), x);
}

}  // namespace

Tensor Tensor::atan2(const Operand& other) const {
  const auto [a, b] = floats_of(*this, other);
  const Tensor y = widened(a.detach()), x = widened(b.detach());
  const Tensor rise = y.abs(), run = x.abs();
  const Tensor nearer = ratio_of(rise.minimum(run), rise.maximum(run)).atan();
  const Tensor steep = select(run < rise, std::numbers::pi / 2 - nearer, nearer);
  // The reciprocal tells -0 from 0.
  const Tensor is_left = (x < 0) | ((x == 0) & (x.reciprocal() < 0));
  const Tensor angle = select(is_left, std::numbers::pi - steep, steep).copysign(y);
  return with_slopes(select(y.isnan() | x.isnan(), x + y, angle), a, b, slopes_of_atan2);
}

Tensor Tensor::hypot(const Operand& other) const {
  const auto [a, b] = floats_of(*this, other);
  const Tensor x = widened(a.detach()).abs(), y = widened(b.detach()).abs();
  const Tensor most = x.maximum(y), ratio = ratio_of(x.minimum(y), most);
  const Tensor length = most * (ratio * ratio + 1).sqrt();
  // An infinite side makes it infinite, even beside NaN.
  const Tensor infinite = x.isinf() | y.isinf();
  return with_slopes(select(infinite, constant(INFINITY, most.dtype()), length), a, b,
                     slopes_of_hypot);
}

Tensor Tensor::copysign(const Operand& other) const {
  const auto [a, b] = floats_of(*this, other);
  return detail::with_derivative(
      negated_as(b, a.abs()), {a, b},
      [](const Tensor& gradient, const std::vector<Tensor>& inputs, usize input) {
        return input == 0 ? negated_as(inputs[1], gradient * inputs[0].sign()) : Tensor();
      });
}

// The bits of a float count its distance from 0; gradients do not pass.
Tensor Tensor::nextafter(const Operand& other) const {
  const auto [a, b] = floats_of(detach(), other);
  const Tensor to = b.detach();
  const DType integer = integer_of(a.dtype());
  const Tensor bits = a.bitcast(integer);
  const Tensor away = (a < to) == (a > 0);
  const Tensor moved = select(away, bits + 1, bits - 1).bitcast(a.dtype());
  const Tensor least = constant(1, integer).bitcast(a.dtype()).expand(a.shape());
  const Tensor stepped = select(a == 0, select(to < 0, least.neg(), least), moved);
  return select(a.isnan() | to.isnan(), a + to, select(a == to, to, stepped));
}

// By squaring, a bit of the exponent after the other; what does not fit wraps around. Negative
// exponents give 0 but of 1 and -1.
Tensor detail::integer_power(const Tensor& base, const Tensor& exponent) {
  const DType dtype = base.dtype();
  Tensor result = constant(1, dtype), square = base;
  for (int bit = 0; bit < dtype.bits(); ++bit) {
    const Tensor is_set = ((exponent >> bit) & 1) != 0;
    result = select(is_set, result * square, result);
    if (bit + 1 < dtype.bits()) square = square * square;
  }
  if (dtype.is_unsigned()) return result;
  const Tensor of_unit = select((exponent & 1) != 0, base, constant(1, dtype));
  const Tensor is_unit = (base == 1) | (base == -1);
  return select(exponent < 0, select(is_unit, of_unit, constant(0, dtype)), result);
}

}  // namespace doorbell
