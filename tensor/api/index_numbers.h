// Index tensors: checked, in a narrower dtype, or as masks.
//
// Not for users.
#pragma once

#include "tensor/api/tensor.h"

namespace doorbell::detail {

// Numbers as i32, or i64 where the size needs that; those out of lowest..size stay out of it.
Tensor narrow_index(const Tensor& index, i64 lowest, i64 size);
// With the setting CHECK_INDEX computes the index, and throws where one of its numbers is not in
// lowest..size-1; `axis` is for the message. `counted`, where it is defined, says of which that
// matters. Nothing in a function that jit captures.
void check_index(const Tensor& index, i64 lowest, i64 size, i64 axis, const Tensor& counted = {});

// Bool: where class numbers 0..classes-1 laid along `axis` equal x.
Tensor one_hot_mask(const Tensor& x, i64 classes, i64 axis);

}  // namespace doorbell::detail
