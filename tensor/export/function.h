// ExportedFunction: a captured function as ahead-of-time code needs it: what it takes, keeps and
// gives, by name, and where each memory of its layout comes from. Made by JitProgram; written out
// by export.h.
#pragma once

#include <string>
#include <vector>

#include "tensor/api/tensor.h"
#include "tensor/engine/replay_plan.h"

namespace doorbell::detail {

struct ExportedFunction {
  // An argument, a result, or a tensor that the function refers to.
  struct Value {
    std::string name;  // a C identifier; of state: what the weights file calls it
    core::DType dtype;
    std::vector<i64> shape;
    bool is_written = false;
    i64 bytes() const;
  };
  // Memory that a run brings: an argument's, a state's, or fresh memory of the plan.
  struct Source {
    enum class Kind : u8 { Unused, Argument, State, Fresh } kind = Kind::Unused;
    u32 index = 0;
  };
  // After a run, a result becomes the value of an argument or of state.
  struct Write {
    Source target;
    u32 result;
  };
  struct Output {
    Value value;
    u32 result;  // of the plan
  };

  const engine::ReplayPlan* plan = nullptr;
  std::vector<Value> arguments, states;
  std::vector<Tensor> state_values;
  std::vector<Source> sources;         // as the plan numbers them
  std::vector<std::string> variables;  // C identifiers, in the plan's order
  std::vector<Write> writes;
  std::vector<Output> outputs;
};

}  // namespace doorbell::detail
