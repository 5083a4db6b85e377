// A pass over IR for AMD's GPUs.
#pragma once

#include <llvm/IR/Function.h>

namespace doorbell::codegen {

// While a tile is used, the next one is loaded; after the last tile the first is, which nobody uses
// (codegen/opt/stage_local.cc). RDNA's loads of buffers may go on behind the last tile instead:
// behind the buffer's end they are of zeros, whichever part of the address leads there. [AMD "RDNA3
// ISA", OOB_SELECT 3; ROCm/rocMLIR#678; llvm/llvm-project#207796] (The scalar part does not count
// for CDNA's, by some documents.) So the choice of the first tile is left out where it is made in
// the last iteration of a loop only, for loads of buffers only, whose values are for the iteration
// after that.
void drop_wraps(llvm::Function& function);

}  // namespace doorbell::codegen
