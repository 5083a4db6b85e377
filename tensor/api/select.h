// Inside the tensor API: what indexing by a mask is made of.
#pragma once

#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::detail {

// The places where a bool tensor holds, in order: one i32 vector per axis. Reads the mask, and so
// refuses to in a capture.
std::vector<Tensor> places_of(const Tensor& mask);

}  // namespace doorbell::detail
