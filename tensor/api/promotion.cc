// Which dtypes operands and results have, and which numbers a dtype holds.
#include "tensor/api/promotion.h"

#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "base/util/check.h"
#include "core/eval/eval.h"
#include "tensor/api/node.h"

namespace doorbell::detail {

DType promote(DType tensor, Number number) {
  switch (number.kind()) {
    case Number::Kind::Bool: return tensor;
    case Number::Kind::Int: return tensor.is_bool() ? number.dtype() : tensor;
    case Number::Kind::Float: return float_dtype(tensor);
  }
  UNREACHABLE("number kind {}", static_cast<int>(number.kind()));
}

Tensor as_tensor(const Operand& x, DType dtype) {
  return x.tensor == nullptr ? constant(x.number, dtype) : x.tensor->cast(dtype);
}

std::pair<Tensor, Tensor> promote(const Operand& a, const Operand& b) {
  DType common;
  if (a.tensor != nullptr && b.tensor != nullptr) {
    common = core::promote(a.tensor->dtype(), b.tensor->dtype());
  } else if (a.tensor != nullptr) {
    common = promote(a.tensor->dtype(), b.number);
  } else {
    common = promote(b.tensor != nullptr ? b.tensor->dtype() : b.number.dtype(), a.number);
  }
  Tensor left = as_tensor(a, common);
  Tensor right = as_tensor(b, common);
  return {std::move(left), std::move(right)};
}

Tensor as_float(const Tensor& x) { return x.cast(float_dtype(x.dtype())); }

Tensor widened(const Tensor& x) {
  const Tensor value = as_float(x);
  return value.dtype().bytes() < 4 ? value.cast(dtypes::f32) : value;
}

Tensor narrowed(const Tensor& value, const Tensor& x) { return value.cast(float_dtype(x.dtype())); }

DType accumulator(DType dtype) {
  if (dtype.is_float()) return dtype.bytes() < 4 ? dtypes::f32 : dtype;
  if (dtype.is_unsigned()) return dtype.bytes() < 4 ? dtypes::u32 : dtype;
  return dtype.is_bool() || dtype.bytes() < 4 ? dtypes::i32 : dtype;
}

Number lowest(DType dtype) {
  if (dtype.is_float()) return -std::numeric_limits<f64>::infinity();
  if (dtype.is_bool()) return false;
  return dtype.is_unsigned() ? i64{0} : INT64_MIN >> (64 - dtype.bits());
}

Number highest(DType dtype) {
  if (dtype.is_float()) return std::numeric_limits<f64>::infinity();
  if (dtype.is_bool()) return true;
  const u64 all = ~u64{0} >> (64 - dtype.bits());
  return dtype.is_unsigned() ? all : all >> 1;
}

i64 integer_bits(const Number& value, DType dtype) {
  if (value.is_float()) {  // as a cast has it
    return core::convert(dtype, core::ScalarValue::of_float(dtypes::f64, value.real())).bits;
  }
  if (value.exceeds_i64() && dtype != dtypes::u64) {
    throw fail(ErrorKind::Invalid, "{} does not fit {}", static_cast<u64>(value.integer()),
               core::long_name_of(dtype.scalar));
  }
  return core::ScalarValue::of_int(dtype, value.integer()).bits;
}

void check_holds(DType dtype, const Number& value) {
  if (!dtype.is_int()) return;
  const bool is_unsigned = dtype.is_unsigned();
  const f64 whole = std::trunc(value.real()), above = std::ldexp(1.0, dtype.bits() - !is_unsigned);
  bool fits = whole < above && (is_unsigned ? whole > -above : whole >= -above);
  if (!value.is_float() && dtype.bits() == 64)  // f64 rounds those
    fits = is_unsigned || !value.exceeds_i64();
  if (fits) [[likely]]
    return;
  const std::string text = value.is_float() ? fmt::format("{}", value.real())
                           : value.exceeds_i64()
                               ? fmt::format("{}", static_cast<u64>(value.integer()))
                               : fmt::format("{}", value.integer());
  throw fail(ErrorKind::Invalid, "{} does not fit {}", text, core::long_name_of(dtype.scalar));
}

}  // namespace doorbell::detail
