// Making nodes from checked arguments.
#include "tensor/api/node.h"

#include <algorithm>
#include <bit>

#include "core/uop/placement.h"
#include "tensor/api/axes.h"
#include "tensor/api/disk.h"
#include "tensor/api/gradient.h"
#include "tensor/api/promotion.h"
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

Tensor make(Op op, DType dtype, std::span<const Tensor* const> srcs, std::span<const i64> args,
            std::span<const UOpRef> sizes, core::Payload* payload) {
  absl::InlinedVector<UOp, 8> nodes;
  const bool with_gradient = !NoGradScope::active();
  u16 device = 0;
  for (const Tensor* tensor : srcs) {
    nodes.push_back(Access::cell(*tensor).node(with_gradient));
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

}  // namespace doorbell::detail
