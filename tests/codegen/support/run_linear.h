// Runs a linear program by its definition (codegen/linear/program.h), one value at a time: the
// reference that needs neither renderer nor compiler.
#pragma once

#include <span>
#include <vector>

#include "codegen/linear/program.h"
#include "core/schedule/kernel.h"

namespace doorbell::codegen {

// `params` by slot, `variables` in order; all threads and work groups, one after another. Fails
// where two work items race for memory or do not meet at the same barriers.
void run_linear(const LinearProgram& program, std::span<void* const> params,
                std::span<const i64> variables = {});

// All memory, slot after slot, that a kernel leaves of f32 buffers which held small random whole
// numbers: as core/eval/interpret.h has it, and as `program` does, which the kernel was lowered to.
// `counts`: elements by slot.
struct BothOutputs {
  std::vector<f32> expected, got;
};
BothOutputs run_both(const core::KernelAst& ast, const LinearProgram& program,
                     std::span<const i64> counts, u32 seed);

}  // namespace doorbell::codegen
