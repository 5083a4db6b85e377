// interpret: binds memory and variables to a GraphProgram over the Sink.
#include "core/eval/interpret.h"

#include "base/util/check.h"
#include "core/eval/eval_graph.h"

namespace doorbell::core {

void interpret(const KernelAst& kernel, std::span<void* const> params,
               std::span<const i64> variables) {
  CHECK_EQ(params.size(), kernel.param_count);
  interpret(kernel.sink, params, kernel.variables, variables);
}

void interpret(UOp sink, std::span<void* const> params, std::span<const i64> variable_names,
               std::span<const i64> variables) {
  CHECK(variables.size() == variable_names.size(), "{} values for {} variables", variables.size(),
        variable_names.size());
  GraphProgram program(sink);
  for (usize slot = 0; slot < params.size(); ++slot)
    program.set_memory(static_cast<i64>(slot), params[slot], INT64_MAX);
  for (UOp variable : program.variables()) {
    bool found = false;
    for (usize i = 0; i < variables.size(); ++i) {
      if (variable_names[i] != variable.arg(0)) continue;
      program.set(variable, variables[i]);
      found = true;
    }
    CHECK(found, "variable {} is not among the kernel's", variable.arg(0));
  }
  program.run();
}

}  // namespace doorbell::core
