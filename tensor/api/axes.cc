// Which axes and shapes operations may have.
#include "tensor/api/axes.h"

#include "tensor/api/bound_size.h"
#include "tensor/api/cell.h"
#include "tensor/api/observer.h"

namespace doorbell::detail {

void refuse_count(const Shape& shape) {
  throw fail(ErrorKind::Invalid, "shape {} does not fit: it has more than {} elements", shape.str(),
             kMaxElements);
}

i64 bytes_of(i64 count, DType dtype) {
  i64 bytes;
  if (!__builtin_mul_overflow(count, dtype.bytes(), &bytes)) return bytes;
  throw fail(ErrorKind::Invalid, "the size of {} elements of {} does not fit 64 bits", count,
             core::long_name_of(dtype.scalar));
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
