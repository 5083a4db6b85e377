// The order of matrix instructions and of the loads that feed them, for AMD's scheduler: it has
// loads wait behind each other for few registers, and multiplications for each of them.
#pragma once

#include <llvm/IR/Function.h>

namespace doorbell::codegen {

// All operands of a step along the depth are loaded from local memory together, and its
// instructions wait once: a step ahead where registers are left, else as the step before leaves
// registers free.
// What the next tile is stored from waits for its loads once. Needs: registers are values.
// Guarantees: the same values.
void order_matrices(llvm::Function& function);

}  // namespace doorbell::codegen
