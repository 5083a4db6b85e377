// Evaluates a tensor graph directly: every node is an array of values, movement ops copy elements,
// nothing is scheduled or compiled. Slow and independent of all that lies below the tensor graph;
// the meaning of one elementwise op is core/eval's.
#pragma once

#include <vector>

#include "core/eval/eval.h"
#include "core/uop/graph.h"

namespace doorbell::test {

// The elements of `root` in row-major order. Buffers must be visible to the host.
std::vector<core::ScalarValue> evaluate_tensor_graph(core::UOp root);

}  // namespace doorbell::test
