// From a scheduled kernel to a linear program: the code generator but for rendering and compiling.
#pragma once

#include "codegen/caps.h"
#include "codegen/linear/program.h"
#include "codegen/opt/kernel_info.h"
#include "codegen/opt/opt.h"
#include "core/schedule/kernel.h"

namespace doorbell::codegen {

struct LowerOptions {
  bool optimise = true;        // false (NOOPT=1): loops as they come, no opts
  const Plan* plan = nullptr;  // this plan instead of the heuristic's; range ids after merge_ranges

  // As of Caps. A kernel with a plan of its own has no key: see compile_kernel.
  static void fields(auto& options, auto f) {
    auto& [optimise, plan] = options;
    f("optimise", optimise);
    f("plan", plan);
  }
};

// The program's ops live in `arena`, which must be empty; `ast` is only read. A mistake of ours is
// a failed CHECK; a program that `caps` cannot express is one too (the scheduler keeps to limits).
LinearProgram lower(const core::KernelAst& ast, const Caps& caps, core::Arena& arena,
                    const LowerOptions& options = {});

// The analysis that plans refer to: of the kernel after merge_ranges. For searches and tests.
KernelInfo merged_info(const core::KernelAst& ast, core::Arena& arena);

}  // namespace doorbell::codegen
