// Axes, shapes and numbers of elements.
//
// Not for users.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>

#include "tensor/api/tensor.h"

namespace doorbell::detail {

// The most elements of a shape, and so the largest size of an axis: a core::Dim keeps 63 bits.
inline constexpr i64 kMaxElements = (i64{1} << 62) - 1;
// Throws: the shape has more elements than that.
[[noreturn]] void refuse_count(const Shape& shape);
// Throws where 64 bits do not hold it.
i64 bytes_of(i64 count, DType dtype);

// In 0..rank-1. Throws Error for an axis that is not there.
i64 resolve_axis(i64 axis, i64 rank);
// The same for what runs along one axis: a scalar has axis 0 in name only, as in PyTorch.
inline void check_axis(i64 axis, i64 rank) { (void)resolve_axis(axis, rank == 0 ? 1 : rank); }
std::vector<bool> resolve_axes(const Axes& axes, i64 rank);
Shape broadcast_shapes(const Shape& a, const Shape& b);
// Whatever its symbolic sizes are bound to.
bool is_always_empty(const Tensor& x);
// One value per spatial axis.
std::vector<i64> per_axis(const PerAxis& values, usize count, const char* what);

using Amounts = std::vector<std::pair<i64, i64>>;
// Before and after each of the last `count` axes: one number, one per axis, or two per axis, the
// last axis first, as PyTorch's pad has them (left, right, top, bottom).
Amounts both_sides(const PerAxis& padding, usize count);

// Throws Error, which begins with `what`, unless low <= high for what is bound now, and lets each
// later call of a function that is being captured do the same.
void require(const Size& low, const Size& high, absl::FunctionRef<std::string()> what);

}  // namespace doorbell::detail
