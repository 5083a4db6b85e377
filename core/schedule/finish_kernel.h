// A finished kernel: copied from the schedule's arena into one of its own, with Params and Ranges
// renumbered densely in order of first use, so that equal kernels are equal graphs.
#pragma once

#include <vector>

#include "core/schedule/kernel.h"

namespace doorbell::core {

struct FinishedKernel {
  KernelAst ast;
  std::vector<i64> slots;  // by Param slot: the slot in the graph that was copied
};

// `sink` is of `arena`: Sink(End(Store or Group of Stores, ranges...)).
FinishedKernel finish_kernel(Arena& arena, UOp sink);

}  // namespace doorbell::core
