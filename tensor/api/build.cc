// Making nodes from checked arguments, and the dtype and shape rules all operations share.
#include "tensor/api/build.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/util/check.h"
#include "core/eval/eval.h"
#include "core/uop/placement.h"
#include "tensor/api/bound_size.h"
#include "tensor/api/disk.h"
#include "tensor/api/gradient.h"
#include "tensor/api/view.h"
#include "tensor/engine/realize.h"

namespace doorbell::detail {

namespace {

void check_devices(u16 a, u16 b) {
  if (core::devices_compatible(a, b)) [[likely]]
    return;
  throw fail(ErrorKind::Invalid,
             "tensors are on devices {} and {}; move one with to() or "
             "shard_like()",
             engine::device_name(a), engine::device_name(b));
}

// As broadcast_shapes, for what every operation asks: no Shape is made unless to name it.
void check_broadcast(const Tensor& x, const Tensor& y) {
  const UOp a = *Access::cell(x).value, b = *Access::cell(y).value;
  const usize shared = std::min(a.ndim(), b.ndim());
  for (usize i = 1; i <= shared; ++i) {
    const core::Dim left = a.dim(a.ndim() - i), right = b.dim(b.ndim() - i);
    if (left == right || left == core::Dim(1) || right == core::Dim(1)) continue;
    throw fail(ErrorKind::Invalid, "cannot broadcast shapes {} and {}", x.shape().str(),
               y.shape().str());
  }
}

// Symbolic sizes count as one element: their bounds may be far above what they will be.
void check_count(UOp node) {
  i64 count = 1;
  bool fits = true;
  for (usize axis = 0; axis < node.ndim(); ++axis) {
    const core::Dim size = node.dim(axis);
    if (size == core::Dim(0)) return;
    if (size.is_const()) fits = fits && !__builtin_mul_overflow(count, size.value(), &count);
  }
  if (fits && count <= kMaxElements) [[likely]]
    return;
  Shape shape;
  for (usize axis = 0; axis < node.ndim(); ++axis) shape.push_back(Size(node.dim(axis)));
  refuse_count(shape);
}

bool gradients_flow(std::span<const Tensor* const> srcs) {
  if (NoGradScope::active()) return false;
  for (const Tensor* tensor : srcs) {
    const Cell& cell = Access::cell(*tensor);
    if (cell.tracked || cell.is_leaf) return true;
  }
  return false;
}

}  // namespace

void refuse_count(const Shape& shape) {
  throw fail(ErrorKind::Invalid, "shape {} does not fit: {} elements are the most", shape.str(),
             kMaxElements);
}

i64 bytes_of(i64 count, DType dtype) {
  i64 bytes;
  if (!__builtin_mul_overflow(count, dtype.bytes(), &bytes)) return bytes;
  throw fail(ErrorKind::Invalid, "the size of {} elements of {} does not fit 64 bits", count,
             core::long_name_of(dtype.scalar));
}

Tensor make(Op op, DType dtype, std::span<const Tensor* const> srcs, std::span<const i64> args,
            std::span<const UOpRef> sizes, core::Payload* payload) {
  absl::InlinedVector<UOpRef, 3> owned;
  absl::InlinedVector<UOp, 8> nodes;
  u16 device = 0;
  for (const Tensor* tensor : srcs) {
    owned.push_back(tensor->uop());
    nodes.push_back(*owned.back());
    check_on_disk(op, nodes.back().device());
    check_devices(device, nodes.back().device());
    if (device == 0) device = nodes.back().device();
  }
  for (const UOpRef& size : sizes) nodes.push_back(*size);
  UOpRef node = TensorGraph::make(op, dtype, std::span<const UOp>(nodes), args, payload);
  check_count(*node);
  return Tensor::from_uop(std::move(node), gradients_flow(srcs));
}

Tensor make(Op op, DType dtype, std::initializer_list<const Tensor*> srcs,
            std::initializer_list<i64> args) {
  return make(op, dtype, std::span<const Tensor* const>(srcs.begin(), srcs.size()),
              std::span<const i64>(args.begin(), args.size()));
}

Tensor unary(Op op, const Tensor& x) { return make(op, x.dtype(), {&x}); }

Tensor binary(Op op, const Tensor& a, const Tensor& b) {
  check_broadcast(a, b);
  return make(op, core::is_comparison(op) ? dtypes::bool_ : a.dtype(), {&a, &b});
}

Tensor select(const Tensor& condition, const Tensor& yes, const Tensor& no) {
  if (!condition.dtype().is_bool()) {
    throw fail(ErrorKind::Invalid, "condition has dtype {}, expected bool",
               core::long_name_of(condition.dtype().scalar));
  }
  broadcast_shapes(condition.shape(), broadcast_shapes(yes.shape(), no.shape()));
  return make(Op::Where, yes.dtype(), {&condition, &yes, &no});
}

Tensor reduce_axes(Op op, const Tensor& x, i64 mask) {
  const Shape shape = x.shape();
  bool empty = false;
  for (usize i = 0; i < shape.size(); ++i) {
    if (!(mask >> i & 1)) continue;
    if (shape[i].is(1)) mask &= ~(i64{1} << i);  // nothing to reduce
    if (shape[i].is(0)) empty = true;
  }
  if (mask == 0) return unshared(x);
  if (!empty) return make(Op::Reduce, x.dtype(), {&x}, {static_cast<i64>(op), mask});
  Shape reduced = shape;
  for (usize i = 0; i < shape.size(); ++i) {
    if (mask >> i & 1) reduced[i] = 1;
  }
  Number identity = op == Op::Add ? Number(0) : op == Op::Mul ? Number(1) : lowest(x.dtype());
  return unshared(flat_in(constant(identity, x.dtype()).expand(reduced), {x}));
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

Tensor constant(Number value, DType dtype) {
  i64 bits;
  if (dtype.is_float()) {
    f64 real = value.real();
    if (dtype == dtypes::f32) real = static_cast<f32>(real);
    bits = std::bit_cast<i64>(real);
  } else if (dtype.is_bool()) {
    bits = value.real() != 0;
  } else {
    bits = integer_bits(value, dtype);
  }
  return Tensor::from_uop(
      TensorGraph::make(Op::Const, dtype, std::span<const UOp>(), std::span<const i64>(&bits, 1)));
}

Tensor size_tensor(const Size& size, DType dtype) {
  if (size.is_const()) return constant(size.value(), dtype);
  return Tensor::from_uop(TensorGraph::make(Op::Cast, dtype, {*size.expression()}));
}

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

bool is_always_empty(const Tensor& x) {
  const UOp node = *Access::cell(x).value;
  for (usize axis = 0; axis < node.ndim(); ++axis)
    if (node.dim(axis).max() == 0) return true;
  return false;
}

i64 resolve_axis(i64 axis, i64 rank) {
  const i64 resolved = axis < 0 ? axis + rank : axis;
  if (resolved < 0 || resolved >= rank) {
    throw fail(ErrorKind::Invalid, "axis {} of a tensor with {} axes", axis, rank);
  }
  return resolved;
}

std::vector<bool> resolve_axes(const Axes& axes, i64 rank) {
  std::vector<bool> chosen(static_cast<usize>(rank), axes.all());
  if (axes.all()) return chosen;
  for (i64 axis : axes.axes()) {
    // A scalar has an axis to reduce in name only, as in PyTorch.
    if (rank == 0 && (axis == 0 || axis == -1)) continue;
    const usize resolved = static_cast<usize>(resolve_axis(axis, rank));
    if (chosen[resolved]) throw fail(ErrorKind::Invalid, "axis {} is named twice", axis);
    chosen[resolved] = true;
  }
  return chosen;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const usize offset = longer.size() - shorter.size();
  for (usize i = 0; i < shorter.size(); ++i) {
    Size& size = result[offset + i];
    if (size == shorter[i] || shorter[i].is(1)) continue;
    if (!size.is(1)) {
      throw fail(ErrorKind::Invalid, "cannot broadcast shapes {} and {}", a.str(), b.str());
    }
    size = shorter[i];
  }
  return result;
}

void require(const Size& low, const Size& high, absl::FunctionRef<std::string()> what) {
  const bool is_const = low.is_const() && high.is_const();
  if (is_const ? low.value() <= high.value() : (high - low).min() >= 0) return;
  const std::string begin = what();
  require_now(low, high, begin);
  if (observer != nullptr) observer->require(low, high, begin);
}

std::vector<i64> per_axis(const PerAxis& values, usize count, const char* what) {
  if (values.values().size() == 1) return std::vector<i64>(count, values.values()[0]);
  if (values.values().size() != count) {
    throw fail(ErrorKind::Invalid, "{} names {} axes, expected {}", what, values.values().size(),
               count);
  }
  return values.values();
}

Amounts both_sides(const PerAxis& padding, usize count) {
  const std::vector<i64>& given = padding.values();
  Amounts amounts;
  if (given.size() != 2 * count || count == 0) {
    for (i64 amount : per_axis(padding, count, "padding")) amounts.emplace_back(amount, amount);
    return amounts;
  }
  for (usize i = count; i-- > 0;) amounts.emplace_back(given[2 * i], given[2 * i + 1]);
  return amounts;
}

}  // namespace doorbell::detail
