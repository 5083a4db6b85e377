// Known divisors of an index, from which the alignment of an address follows.
#pragma once

#include "core/uop/uop.h"

namespace doorbell::codegen {

// The largest power of two, at most 64, that divides `expr` whatever its ranges and variables are.
// Of Index and int dtypes, before and after lowering. With memory aligned to as many elements, a
// vector access at `expr` is aligned to them.
i64 known_multiple(core::UOp expr);

}  // namespace doorbell::codegen
