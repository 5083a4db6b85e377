// Tensors made from no data: constants, ranges, identity. They are graphs, not storage, and belong
// to no device unless one is named. Data comes in through storage.cc.
#include <cmath>

#include "tensor/api/build.h"
#include "tensor/api/storage.h"

namespace doorbell {

using core::Op;
using detail::constant;

Tensor Tensor::full(const Shape& shape, Number value, const TensorOptions& options) {
  for (const Size& size : shape) {
    if (size.min() < 0) throw fail(ErrorKind::Invalid, "shape {} has a negative size", shape.str());
  }
  const DType dtype = options.dtype.value_or(value.dtype());
  return detail::finish(constant(value, dtype).expand(shape), options);
}

namespace {

DType or_f32(const TensorOptions& options) { return options.dtype.value_or(dtypes::f32); }

}  // namespace

Tensor Tensor::zeros(const Shape& shape, const TensorOptions& options) {
  TensorOptions chosen = options;
  chosen.dtype = or_f32(options);
  return full(shape, 0, chosen);
}

Tensor Tensor::ones(const Shape& shape, const TensorOptions& options) {
  TensorOptions chosen = options;
  chosen.dtype = or_f32(options);
  return full(shape, 1, chosen);
}

Tensor Tensor::full_like(Number value, const TensorOptions& options) const {
  return detail::finish(constant(value, options.dtype.value_or(dtype())).expand(shape()), options);
}

Tensor Tensor::arange(Number stop, const TensorOptions& options) {
  return arange(stop.is_float() ? Number(0.0) : Number(0), stop, 1, options);
}

// A running sum of steps: the scheduler turns the sum over a triangle of constants back into index
// arithmetic, so that no table is stored.
Tensor Tensor::arange(Number start, Number stop, Number step, const TensorOptions& options) {
  const bool is_float = start.is_float() || stop.is_float() || step.is_float();
  if (step.real() == 0) throw fail(ErrorKind::Invalid, "arange with a step of 0");
  const i64 length =
      is_float
          ? static_cast<i64>(std::ceil((stop.real() - start.real()) / step.real()))
          : (stop.integer() - start.integer() + step.integer() - (step.integer() > 0 ? 1 : -1)) /
                step.integer();
  const bool wide = start.dtype() == dtypes::i64 || stop.dtype() == dtypes::i64;
  const DType dtype =
      options.dtype.value_or(is_float ? dtypes::f32 : (wide ? dtypes::i64 : dtypes::i32));
  if (length <= 0) return detail::finish(constant(0, dtype).expand({0}), options);
  // Counts are exact as integers whatever the dtype.
  const DType counting = wide || length > INT32_MAX ? dtypes::i64 : dtypes::i32;
  const i64 kernel[] = {length}, one[] = {1};
  const Tensor ones = constant(1, counting).expand({length}).pad({{length - 1, 0}});
  const Tensor windows = detail::pool(ones, kernel, one, one);
  const Tensor counts = detail::reduce_axes(Op::Add, windows, 2).reshape({length}) - 1;
  if (!is_float && start.integer() == 0 && step.integer() == 1) {
    return detail::finish(counts.cast(dtype), options);
  }
  const Tensor result = is_float ? counts.cast(dtypes::f32) * step.real() + start.real()
                                 : counts * step.integer() + start.integer();
  return detail::finish(result.cast(dtype), options);
}

Tensor Tensor::linspace(f64 start, f64 stop, i64 steps, const TensorOptions& options) {
  if (steps < 0) throw fail(ErrorKind::Invalid, "linspace of {} steps", steps);
  if (steps == 1) return full({1}, start, options);
  const Tensor ramp = arange(steps).cast(dtypes::f32);
  // From both ends, so that both are exact.
  const f64 step = (stop - start) / static_cast<f64>(steps - 1);
  const Tensor from_start = ramp * step + start;
  const Tensor from_stop = (ramp - (steps - 1)) * step + stop;
  const Tensor result = doorbell::where(ramp < steps / 2, from_start, from_stop);
  return detail::finish(result.cast(or_f32(options)), options);
}

Tensor Tensor::eye(i64 rows, const TensorOptions& options) { return eye(rows, rows, options); }

Tensor Tensor::eye(i64 rows, i64 columns, const TensorOptions& options) {
  if (rows < 0 || columns < 0) {
    throw fail(ErrorKind::Invalid, "identity of {} rows and {} columns", rows, columns);
  }
  const Tensor diagonal = arange(rows).unsqueeze(1) == arange(columns);
  return detail::finish(diagonal.cast(or_f32(options)), options);
}

}  // namespace doorbell
