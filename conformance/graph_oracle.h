// Evaluates a tensor graph directly: every node is an array of values, movement ops copy elements,
// nothing is scheduled or compiled. Slow, and independent of everything below the tensor graph
// except core/eval, which evaluates single elementwise ops.
#pragma once

#include <vector>

#include "core/eval/eval.h"
#include "core/uop/graph.h"

namespace doorbell::conformance {

// The elements of `root` in row-major order. Buffers are read from their devices; throws Error.
std::vector<core::ScalarValue> evaluate_tensor_graph(core::UOp root);

}  // namespace doorbell::conformance
