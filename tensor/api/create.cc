// Tensors made from no data: constants, ranges, identity. They are graphs, not storage, and belong
// to no device unless one is named. Data comes in through storage.cc.
#include <algorithm>
#include <cmath>

#include "core/eval/eval.h"
#include "core/uop/placement.h"
#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"
#include "tensor/api/sharding.h"
#include "tensor/api/storage.h"
#include "tensor/api/windows.h"

namespace doorbell {

using core::Op;
using detail::constant;

namespace {

// As a tensor holds it: a number beside a tensor keeps the digits that a 16-bit float lacks.
Tensor element(Number value, DType dtype) {
  detail::check_holds(dtype, value);
  if (!dtype.is_float()) return constant(value, dtype);
  return constant(core::ScalarValue::of_float(dtype, value.real()).as_float(), dtype);
}

DType or_f32(const TensorOptions& options) { return options.dtype.value_or(dtypes::f32); }

}  // namespace

Tensor Tensor::full(const Shape& shape, Number value, const TensorOptions& options) {
  for (const Size& size : shape) {
    if (size.min() < 0) throw fail(ErrorKind::Invalid, "shape {} has a negative size", shape.str());
  }
  const DType dtype = options.dtype.value_or(value.dtype());
  return detail::finish(element(value, dtype).expand(shape), options);
}

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
  const Tensor filled = element(value, options.dtype.value_or(dtype())).expand(shape());
  const u16 at = uop()->device();
  // A constant goes with any one device, but does not know how several share it.
  const bool is_shared = options.device.empty() && core::is_placement(at);
  return detail::finish(is_shared ? detail::moved_to(filled, at) : filled, options);
}

Tensor Tensor::arange(Number stop, const TensorOptions& options) {
  return arange(stop.is_float() ? Number(0.0) : Number(0), stop, 1, options);
}

namespace {

// 0, 1, ..., length - 1 in i32, or i64 where `wide`. A running sum of ones: the scheduler turns the
// sum over a triangle of constants back into index arithmetic, so that no table is stored. The
// triangle has length * length elements, so what is long is made of two short ones.
Tensor counts_to(i64 length, bool wide) {
  constexpr i64 kRow = i64{1} << 30;
  if (length > kRow) {
    const i64 rows = (length + kRow - 1) / kRow;
    const Tensor first = counts_to(rows, true) * kRow;
    const Tensor all = first.unsqueeze(1) + counts_to(kRow, true);
    return all.reshape({rows * kRow}).shrink({{0, length}});
  }
  const i64 kernel[] = {length}, one[] = {1};
  const Tensor ones =
      constant(1, wide ? dtypes::i64 : dtypes::i32).expand({length}).pad({{length - 1, 0}});
  const Tensor windows = detail::pool(ones, kernel, one, one);
  return detail::reduce_axes(Op::Add, windows, 2).reshape({length}) - 1;
}

// f64 and long integers hold more digits than f32 computes with.
DType computing_dtype(DType result) {
  const bool is_long = result.is_int() && result.bytes() >= 4;
  return result == dtypes::f64 || is_long ? dtypes::f64 : dtypes::f32;
}

__extension__ using i128 = __int128;

i128 exact(Number number) {
  return number.exceeds_i64() ? i128{static_cast<u64>(number.integer())} : i128{number.integer()};
}

// How many steps lead from start to before stop; not positive where none does.
i64 steps_between(Number start, Number stop, Number step) {
  if (!start.is_float() && !stop.is_float() && !step.is_float()) {
    const i128 away = exact(step) > 0 ? 1 : -1;
    const i128 length = (exact(stop) - exact(start) + exact(step) - away) / exact(step);
    return static_cast<i64>(std::clamp<i128>(length, 0, INT64_MAX));
  }
  const f64 length = std::ceil((stop.real() - start.real()) / step.real());
  if (std::isnan(length)) {
    throw fail(ErrorKind::Invalid, "arange from {} to {} by {}", start.real(), stop.real(),
               step.real());
  }
  return length < 0x1p63 ? static_cast<i64>(std::max(length, 0.0)) : INT64_MAX;
}

}  // namespace

Tensor Tensor::arange(Number start, Number stop, Number step, const TensorOptions& options) {
  const bool is_float = start.is_float() || stop.is_float() || step.is_float();
  if (step.real() == 0) throw fail(ErrorKind::Invalid, "arange with a step of 0");
  const i64 length = steps_between(start, stop, step);
  if (length > detail::kMaxElements) detail::refuse_count({length});
  const bool above = start.exceeds_i64() || stop.exceeds_i64();
  const bool wide = above || start.dtype() == dtypes::i64 || stop.dtype() == dtypes::i64;
  const DType own = is_float ? dtypes::f32
                    : above  ? dtypes::u64
                             : (wide ? dtypes::i64 : dtypes::i32);
  const DType dtype = options.dtype.value_or(own);
  if (length == 0) return detail::finish(constant(0, dtype).expand({0}), options);
  // Counts are exact as integers whatever the dtype.
  const Tensor counts = counts_to(length, wide || length > INT32_MAX);
  if (is_float) {
    const Tensor reals = counts.cast(computing_dtype(dtype)) * step.real() + start.real();
    return detail::finish(reals.cast(dtype), options);
  }
  if (start.integer() == 0 && step.integer() == 1) {
    return detail::finish(counts.cast(dtype), options);
  }
  const Tensor steps = above ? counts.cast(dtypes::u64) : counts;
  return detail::finish((steps * step.integer()).add(start).cast(dtype), options);
}

Tensor Tensor::linspace(f64 start, f64 stop, i64 steps, const TensorOptions& options) {
  if (steps < 0) throw fail(ErrorKind::Invalid, "linspace of {} steps, expected 0 or more", steps);
  const DType dtype = or_f32(options), computing = computing_dtype(dtype);
  if (steps == 1) {
    TensorOptions chosen = options;
    chosen.dtype = dtype;
    return full({1}, start, chosen);
  }
  // From both ends, so that both are exact.
  const f64 step = (stop - start) / static_cast<f64>(steps - 1);
  const Tensor place = arange(steps);
  const Tensor from_start = place.cast(computing) * step + start;
  const Tensor from_stop = (place - (steps - 1)).cast(computing) * step + stop;
  const Tensor result = doorbell::where(place < steps / 2, from_start, from_stop);
  return detail::finish(result.cast(dtype), options);
}

Tensor Tensor::eye(i64 rows, const TensorOptions& options) { return eye(rows, rows, options); }

Tensor Tensor::eye(i64 rows, i64 columns, const TensorOptions& options) {
  if (rows < 0 || columns < 0) {
    throw fail(ErrorKind::Invalid, "identity of {} rows and {} columns, expected 0 or more", rows,
               columns);
  }
  const Tensor diagonal = arange(rows).unsqueeze(1) == arange(columns);
  return detail::finish(diagonal.cast(or_f32(options)), options);
}

}  // namespace doorbell
