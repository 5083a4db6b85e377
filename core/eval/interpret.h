// Runs a kernel on memory, one value at a time: the oracle for the code generator, and what tests
// of the scheduler compute with. For loops and arithmetic see eval_graph.h.
#pragma once

#include <span>

#include "core/schedule/kernel.h"

namespace doorbell::core {

// `params` by Param slot; `variables` in the order of kernel.variables. An access outside a Param's
// elements is a failed CHECK. Stores are made in the order of the Sink's sources.
void interpret(const KernelAst& kernel, std::span<void* const> params,
               std::span<const i64> variables);

// The same for a graph that is not a finished kernel. Accesses are bounded by the counts of its
// Params.
void interpret(UOp sink, std::span<void* const> params, std::span<const i64> variable_names,
               std::span<const i64> variables);

}  // namespace doorbell::core
