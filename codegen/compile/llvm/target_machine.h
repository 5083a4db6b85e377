// LLVM's targets by Doorbell's names: triple, CPU, and target machines that generate code.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "codegen/compile/llvm/llvm_api.h"

namespace doorbell::codegen {

struct TargetNames {
  std::string triple, cpu, features;
};

// Initialises LLVM's part for the target at the first call.
TargetNames target_names(const LlvmTarget& target);

// Fails for a chip, or a family of chips, that this LLVM does not know.
Result<std::unique_ptr<llvm::TargetMachine>> make_target_machine(const LlvmTarget& target);

// Triple and data layout of the machine.
void set_target(llvm::Module& module, const llvm::TargetMachine& machine);

}  // namespace doorbell::codegen
