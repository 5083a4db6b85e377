// AMD's matrix instructions in LLVM: the intrinsic of a tensor core and its operands.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "codegen/tensor_core.h"

namespace doorbell::codegen {

// x * y + sum; vectors of an item's elements. Elements without an LLVM type are integers of their
// bits.
llvm::Value* multiply_matrices(llvm::IRBuilder<>& b, const TensorCore& core, llvm::Value* x,
                               llvm::Value* y, llvm::Value* sum);

}  // namespace doorbell::codegen
