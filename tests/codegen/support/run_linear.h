// Runs a linear program by its definition (codegen/linear/program.h), one value at a time: the
// reference that needs neither renderer nor compiler.
#pragma once

#include <span>

#include "codegen/linear/program.h"

namespace doorbell::codegen {

// `params` by slot, `variables` in order; all threads and work groups, one after another. Fails
// where two work items race for memory or do not meet at the same barriers.
void run_linear(const LinearProgram& program, std::span<void* const> params,
                std::span<const i64> variables = {});

}  // namespace doorbell::codegen
