// Loops over the buffers of a ring in local memory, in a linear program.
#pragma once

#include <span>

#include "core/uop/uop.h"

namespace doorbell::codegen {

// Whether u is the number of an iteration's buffer: that of the range modulo a power of two.
bool is_buffer_number(core::UOp u, core::UOp range);

// The number of buffers that iterations of the loop take in turn, if its iterations meet at a
// barrier and are a known multiple of them; otherwise 1. `body`: the ops between the Range and its
// End, or more.
i64 buffers_of_loop(core::UOp range, std::span<const core::UOp> body);

}  // namespace doorbell::codegen
