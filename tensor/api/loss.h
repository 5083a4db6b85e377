// What all losses share.
//
// Not for users.
#pragma once

#include "tensor/api/tensor.h"

namespace doorbell::detail {

// The loss of all elements as what is asked for.
Tensor reduced(const Tensor& loss, Reduction reduction);

}  // namespace doorbell::detail
