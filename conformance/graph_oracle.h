// Evaluates a tensor graph directly: every node is an array of values, movement ops copy elements,
// nothing is scheduled or compiled. Slow and independent of all that lies below the tensor graph;
// the meaning of one elementwise op is core/eval's.
#pragma once

#include <vector>

#include "core/eval/eval.h"
#include "core/uop/graph.h"

namespace doorbell::conformance {

// The elements of `root` in row-major order. Buffers are read from their devices; throws Error.
std::vector<core::ScalarValue> evaluate_tensor_graph(core::UOp root);

}  // namespace doorbell::conformance
