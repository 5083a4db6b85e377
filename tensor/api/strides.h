// Inside the tensor API: strides, as PyTorch would have them, of what movement ops give. Views ask
// whether a reshape shares elements (view.cc), tensors on files where theirs lie (disk.cc).
#pragma once

#include <span>

#include <absl/container/inlined_vector.h>

#include "core/uop/graph.h"
#include "tensor/api/tensor.h"

namespace doorbell::detail {

using Numbers = absl::InlinedVector<i64, 8>;

// The sizes. False where one is symbolic.
bool numbers_of(const Shape& shape, Numbers* numbers);
bool numbers_of(core::UOp node, Numbers* numbers);
// Neighbouring axes that lie in one run are split and joined freely; `strides` becomes those of
// `to`. False where elements would have to be copied.
bool restride(const Numbers& from, const Numbers& to, Numbers* strides);
// The strides after a movement op; false where they cannot be told.
bool take_step(core::Op op, std::span<const i64> args, const Numbers& from, const Numbers& to,
               Numbers* strides);

}  // namespace doorbell::detail
