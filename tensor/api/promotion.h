// Dtypes of operands, results and constants.
//
// Not for users.
#pragma once

#include <utility>

#include "tensor/api/tensor.h"

namespace doorbell::detail {

DType promote(DType tensor, Number number);
Tensor as_tensor(const Operand& x, DType beside);
// Both as tensors of the common dtype.
std::pair<Tensor, Tensor> promote(const Operand& a, const Operand& b);
// Ints and bools as f32; floats as they are.
Tensor as_float(const Tensor& x);
Tensor widened(const Tensor& x);                        // at least f32
Tensor narrowed(const Tensor& value, const Tensor& x);  // as the dtype of a float function of x
inline DType float_dtype(DType dtype) { return dtype.is_float() ? dtype : dtypes::f32; }
// Of sums of many elements: wide enough not to overflow or lose precision soon.
DType accumulator(DType dtype);
Number lowest(DType dtype);   // the identity of max
Number highest(DType dtype);  // the identity of min

// A number as integers of `dtype` hold it, in 64 bits: wrapped, without its fraction. Throws for
// one of 2^63 and more where that is not u64.
i64 integer_bits(const Number& value, DType dtype);
// Throws for a number that would become another one in integers of `dtype`. One below 0 may become
// an unsigned one, as in PyTorch, and a float may lose its fraction.
void check_holds(DType dtype, const Number& value);

}  // namespace doorbell::detail
