// A pass over IR for AMD's GPUs.
#pragma once

#include <llvm/IR/Function.h>

namespace doorbell::codegen {

// A loop over a ring has one copy of its body for each buffer (codegen/linear/ring.h), and each
// loads from where the one before does, and a constant on. The scalar part of a buffer's address
// has no room for a constant: it would be another register, and an addition in each copy. A buffer
// that begins as much later does without, and so do all copies but the first. Needs: loads whose
// scalar part is a loop's counter, times and plus constants. Guarantees: the same addresses, and
// zeros behind the same end.
void shift_buffers(llvm::Function& function);

}  // namespace doorbell::codegen
