// The functions through which every operation makes its node. They check what the graph only
// asserts, and remember whether gradients flow.
//
// Not for users.
#pragma once

#include <initializer_list>
#include <span>

#include "tensor/api/cell.h"

namespace doorbell::detail {

// Checks rank and devices, and remembers whether gradients flow.
Tensor make(Op op, DType dtype, std::span<const Tensor* const> srcs, std::span<const i64> args = {},
            std::span<const UOpRef> sizes = {}, core::Payload* payload = nullptr);
Tensor make(Op op, DType dtype, std::initializer_list<const Tensor*> srcs,
            std::initializer_list<i64> args = {});
// x, read from memory where it would be computed again: another kernel may round it otherwise, and
// then no element equals what is the maximum of all. Movement stays above what is stored.
Tensor from_memory(const Tensor& x);

Tensor unary(Op op, const Tensor& x);
// Operands of one dtype; checks that the shapes broadcast. Comparisons give bool.
Tensor binary(Op op, const Tensor& a, const Tensor& b);
// Both of integers of one dtype.
Tensor integer_power(const Tensor& base, const Tensor& exponent);
Tensor select(const Tensor& condition, const Tensor& yes, const Tensor& no);
// Keeps reduced axes with size 1. Bit i of the mask: axis i.
Tensor reduce_axes(Op op, const Tensor& x, i64 mask);
// A 0-d constant; converted to what `dtype` can hold.
Tensor constant(Number value, DType dtype);
// A size, symbolic or not, as a 0-d tensor.
Tensor size_tensor(const Size& size, DType dtype);

}  // namespace doorbell::detail
