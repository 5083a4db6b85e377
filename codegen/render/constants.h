// The bits of a Const as its dtype stores them, for renderers that write numbers as bits.
#pragma once

#include "core/uop/uop.h"

namespace doorbell::codegen {

// Right-aligned in the word: an i8 of -1 is 0xff, an f16 of 1 is 0x3c00. Element type only.
u64 constant_bits(core::UOp u);

}  // namespace doorbell::codegen
