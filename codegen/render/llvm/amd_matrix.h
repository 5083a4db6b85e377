// AMD's matrix instructions as LLVM has them: which intrinsic a tensor core is, and what it takes.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "codegen/tensor_core.h"

namespace doorbell::codegen {

// x * y + sum; vectors of an item's elements. Those without a type of LLVM's are integers of their
// bits.
llvm::Value* multiply_matrices(llvm::IRBuilder<>& b, const TensorCore& core, llvm::Value* x,
                               llvm::Value* y, llvm::Value* sum);

}  // namespace doorbell::codegen
