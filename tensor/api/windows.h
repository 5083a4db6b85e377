// Parts of tensors: windows, padding, and the windows of a pooling or convolution.
//
// Not for users.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::detail {

// The windows of the last kernel.size() axes: x (..., spatial) gives (..., out, kernel).
Tensor pool(const Tensor& x, std::span<const i64> kernel, std::span<const i64> stride,
            std::span<const i64> dilation);
// Pads with any value; an identity of a reduction, say.
Tensor pad_value(const Tensor& x, const PadAmounts& amounts, Number value);
// What {start, stop} of each axis hold, which are known to lie inside.
Tensor window(const Tensor& x, const std::vector<std::pair<Size, Size>>& windows);
// x between zeros: `starts` of them before it on each axis, in a tensor of shape `whole`.
Tensor pad_into(const Tensor& x, const Shape& starts, const Shape& whole);
// Pads with elements of x: mirrored, repeated or wrapped around.
Tensor pad_from_inside(const Tensor& x, const std::vector<std::pair<i64, i64>>& amounts,
                       PadMode mode);

}  // namespace doorbell::detail
