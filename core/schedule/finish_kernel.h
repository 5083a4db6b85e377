// A finished kernel: copied from the schedule's arena into one of its own, with Params and Ranges
// renumbered densely in order of first use, so that equal kernels are equal graphs.
#pragma once

#include <vector>

#include "core/schedule/kernel.h"

namespace doorbell::core {

struct FinishedKernel {
  KernelAst ast;
  std::vector<u32> slots;  // by Param slot: the slot in the graph that was copied
};

// `sink` is of `arena`; each of its sources is an End of a Store.
FinishedKernel finish_kernel(Arena& arena, UOp sink);

}  // namespace doorbell::core
