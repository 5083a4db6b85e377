// Masked accesses of vectors that are wider than a register, split into accesses of registers.
#pragma once

#include <llvm/IR/Function.h>

namespace doorbell::codegen {

// LLVM splits them too, but LLVM 22 drops the mask of a part none of whose lanes is accessed where
// it sees that only after the split: that part is then loaded from behind the end of memory, and
// its lanes are not what the load gives where its mask is false [llc -mcpu=x86-64-v3, a load of 16
// floats with a mask of select i1 %c, 8 lanes true and 8 false, all false].
// Needs: registers are values. Guarantees: the same values, and parts of no lanes are gone.
void split_masked(llvm::Function& function, unsigned register_bits);

}  // namespace doorbell::codegen
