// Random tensor graphs of all kinds of operations, from a seed. For evaluating them independently
// see graph_oracle.h.
#pragma once

#include <string>

#include "tensor/api/tensor.h"

namespace doorbell::conformance {

// Lazy, f32, of one axis; from f32 tensors on the device, or laid out at random on several; of four
// as a mesh, too. The same for the same arguments.
Tensor random_graph(u32 seed, int steps, const std::string& device);

}  // namespace doorbell::conformance
