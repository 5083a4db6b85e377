// From a scheduled kernel to a linear program: the code generator without rendering and compiling.
#pragma once

#include "codegen/caps.h"
#include "codegen/linear/program.h"
#include "codegen/opt/kernel_info.h"
#include "codegen/opt/opt.h"
#include "core/schedule/kernel.h"

namespace doorbell::codegen {

struct LowerOptions {
  bool optimise = true;        // false (NOOPT=1): loops as they come, no opts
  const Plan* plan = nullptr;  // used instead of the heuristic's plan; range ids after merge_ranges
  bool aligned = true;         // false: arguments are aligned to their elements, whatever Caps say

  // As Caps::fields.
  static void fields(auto& options, auto f) {
    auto& [optimise, plan, aligned] = options;
    f("optimise", optimise);
    f("plan", plan);
    f("aligned", aligned);
  }
};

// The program's ops live in `arena`, which must be empty; `ast` is only read. A bug is a failed
// CHECK, and so is a program beyond the limits of `caps`, because the scheduler respects them.
LinearProgram lower(const core::KernelAst& ast, const Caps& caps, core::Arena& arena,
                    const LowerOptions& options = {});

// The analysis that plans refer to: of the kernel after merge_ranges. For searches and tests.
KernelInfo merged_info(const core::KernelAst& ast, core::Arena& arena);

}  // namespace doorbell::codegen
